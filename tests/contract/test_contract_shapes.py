"""Rules of awkward shapes: enormous, deep, identical, or beyond every normal form."""

from __future__ import annotations

import random
from functools import reduce
from typing import Any

import pytest

import matchwood
from matchwood.language.tree import And, Not, Or, Predicate, Xnor, Xor
from tests.cases import chain
from tests.conftest import SOAK
from tests.contract.twin import Twin

pytestmark = pytest.mark.few


def depth_for(engine: str) -> int:
    """10,000 levels for one engine that takes rules whole, and for one that leaves such rules to the fall-back, as all
    others do; those have more than Python's own stack would bear."""
    return 10_000 if SOAK or engine in ("atree", "counting") else 1_200


@pytest.mark.long(4)
@pytest.mark.parametrize("kind", [Xor, Xnor])
def test_a_chain_of_thousands(engine: str, kind: type) -> None:
    """As one node, and as thousands of nodes of two operands each."""
    terms = [Predicate(f"a{number % 50}", "=", number // 50) for number in range(depth_for(engine))]
    twin = Twin(engine)
    twin.put(1, kind(*terms) if kind is Xor else reduce(lambda left, right: kind(left, right), terms))
    twin.put(2, "a0 = 1")
    rng = random.Random(1)
    full = [{f"a{number}": rng.randrange(len(terms) * 3 // 100) for number in range(50)} for _ in range(3)]
    assert twin.check([*full, {"a0": 1}]) > 1


def test_a_rule_over_the_dnf_limit(engine: str) -> None:
    """4,096 conjunctions of distinct attributes, against a limit of 256: the fall-back takes it."""
    rule = " and ".join(f"(a{number} = 1 or b{number} = 1)" for number in range(12))
    twin = Twin(engine)
    twin.put(1, rule)
    twin.put(2, f"not ({rule})")
    twin.put(3, f"({rule}) is not true")
    twin.put(4, "a0 = 1")
    every = {f"a{number}": 1 for number in range(12)}
    either = {f"{'ab'[number % 2]}{number}": 1 for number in range(12)}
    none = {f"{letter}{number}": 0 for letter in "ab" for number in range(12)}
    twin.check([every, either, none, {**every, "a3": 0}, {**every, "a3": 0, "b3": 0}, {}])
    assert twin.index.match(either) == [1, 4]
    assert twin.index.match(none) == [2, 3]
    twin.remove(1)
    twin.put(2, "a1 = 1")
    twin.check([every, either, none, {}])


def test_small_limits(engine: str) -> None:
    twin = Twin(engine, dnf_limit=1)
    for number in range(30):
        twin.put(number, f"x = {number} or y = {number % 5} and z is null")
    twin.check([{"x": 3}, {"y": 3}, {"x": 1, "y": 2, "z": 1}, {"y": 4, "z": None}, {}])


@pytest.mark.parametrize(
    "rule", ["x = 1", "x = 1 or y = 2", "not x = 1", "x is null", "tags one of ('a')", "s like '%a%'"]
)
def test_many_identical_rules(engine: str, rule: str) -> None:
    twin, count = Twin(engine), 1_000 if SOAK else 100
    twin.put_many([(number, matchwood.parse(rule)) for number in range(count)])
    events: list[dict[str, Any]] = [{"x": 1, "tags": ["a"], "s": "bab"}, {"x": 2, "y": 2, "tags": [], "s": ""}, {}]
    assert twin.check(events) >= count
    for number in range(0, count, 2):
        twin.remove(number)
    twin.index.compact()
    assert twin.check(events) >= count // 2
    for number in range(1, count, 2):
        twin.remove(number)
    assert twin.check(events) == 0


@pytest.mark.long(4)
def test_depth(engine: str) -> None:
    """Thousands of levels of not, and of every other operator."""
    leaves = [Predicate("x", "=", 1), Predicate("y", "<", 5), Predicate("z", "is null", None)]
    twin, depth = Twin(engine), depth_for(engine)
    node: Any = leaves[0]
    for _ in range(depth):
        node = Not(node)
    twin.put(1, node)
    twin.put(2, chain(random.Random(3), list(leaves), depth))
    twin.put(3, reduce(lambda node, level: (And, Or)[level % 2](leaves[level % 3], node), range(depth), leaves[0]))
    twin.check([{}, {"x": 1, "y": 3}, {"x": 1, "y": 9, "z": 1}, {"x": 3, "y": 4}])


@pytest.mark.long(4)
def test_many_constants(engine: str) -> None:
    twin, many = Twin(engine), 1_000 if SOAK else 300
    last = 10 * many - 1
    twin.put(1, Predicate("x", "in", tuple(range(0, last, 2))))
    twin.put(2, Predicate("x", "not in", tuple(range(0, last, 2))))
    twin.put(3, " or ".join(f"x = {number}" for number in range(many)))
    twin.put(4, " and ".join(f"x != {number}" for number in range(many)))
    twin.put(5, Predicate("s", "in", tuple(f"é{number}" for number in range(3 * many))))
    twin.check([{"x": x} for x in (-1, 0, 1, many // 2, many - 1, many, last - 1, last, 0.5)])
    twin.check([{"s": f"é{3 * many - 1}"}, {"s": f"é{3 * many}"}, {}])


def test_many_ranges_of_one_attribute(engine: str) -> None:
    """Every rule cuts the attribute once more; each insertion one by one, after matching has begun."""
    twin = Twin(engine)
    rng = random.Random(7)
    constants = rng.sample(range(100_000), 300 if SOAK else 60)
    for number, constant in enumerate(constants):
        twin.put(number, f"x {rng.choice(('<', '<=', '>', '>=', '=', '!='))} {constant}")
        if number % 30 == 0:
            twin.check([{"x": constant}, {"x": constant - 1}, {"x": constant + 0.5}])
    twin.check([{"x": x} for constant in constants[::15] for x in (constant - 0.5, constant, constant + 1)])


def test_patterns_and_lists_by_the_hundred(engine: str) -> None:
    twin = Twin(engine)
    words = [f"w{number}" for number in range(100 if SOAK else 20)]
    for number, word in enumerate(words):
        twin.put(5 * number, f"s like '%{word}%'")
        twin.put(5 * number + 1, f"s rlike '{word}$'")
        twin.put(5 * number + 2, f"tags one of ('{word}', 'w{number + 1}')")
        twin.put(5 * number + 3, f"tags none of ('{word}')")
        twin.put(5 * number + 4, f"s ilike 'W{number}%'")
    twin.check(
        [{"s": "xw7y"}, {"s": "W42"}, {"s": "w1w2w33"}, {"tags": ["w5", None, "w44"]}, {"tags": []}, {"s": ""}, {}]
    )


def test_rules_that_every_event_must_look_at(engine: str) -> None:
    twin = Twin(engine)
    for number in range(50):
        twin.put(number, f"a{number} is null")
        twin.put(100 + number, f"a{number} is null or a{number} not in ({number})")
        twin.put(200 + number, f"a{number} is null and b = {number % 3}")
    twin.check([{}, {"a3": 3}, {"a3": 4, "b": 1}, {f"a{number}": number for number in range(50)}, {"b": 2}])


def test_more_hits_than_any_buffer(engine: str) -> None:
    """Every event hits every rule; compiled engines get enough of both to fill an output several times."""
    rules, events = (200, 50) if engine == "oracle" else (4_000, 1_000)
    index = matchwood.Index(engine=engine)
    index.insert_many([(number, f"x != {number}" if number else "x >= -1") for number in range(rules)])
    found = index.match_many([{"x": -1}] * events)
    assert found.num_rows == rules * events
    assert found["rule"].slice(rules * (events - 1)).to_pylist() == list(range(rules))
