"""Operands of xor and xnor that differ as written and are one node in the tree cancel, under every option."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from atree_support import p, tree_of, true

import matchwood as mw
from matchwood.engines.atree.options import DEFAULTS
from tests.conftest import SOAK

SWITCHES = [name for name, value in DEFAULTS.items() if isinstance(value, bool)]
COMBINATIONS = [
    dict(zip(SWITCHES, values, strict=True)) for values in itertools.product((True, False), repeat=len(SWITCHES))
]
TRIED = COMBINATIONS if SOAK else COMBINATIONS[::5]

NEARLY_EQUAL = [
    "(a = 1 and (b = 1 and c = 1)) xor ((a = 1 and b = 1) and c = 1)",
    "(a = 1 or (b = 1 or c = 1)) xnor ((a = 1 or b = 1) or c = 1)",
    "((a = 1 and b = 1) and (c = 1 and d = 1)) xor ((a = 1 and c = 1) and (b = 1 and d = 1)) xor a = 1",
    "(a = 1 and b = 1 and c = 1) xor ((a = 1 and b = 1) and c = 1)",
    "(a = 1 or b = 1 or c = 1) xnor ((a = 1 or b = 1) or c = 1) xnor d = 1",
    "(not (a = 1 and (b = 1 and c = 1))) xor (not ((a = 1 and b = 1) and c = 1)) xor not d = 1",
    "(a = 1 and (b = 1 and c = 1)) xor ((a = 1 and b = 1) and c = 1) xor ((c = 1 and b = 1) and a = 1)",
    "(a = 1 and (b = 1 and a = 1)) xor (a = 1 and b = 1)",
    "((a = 1 and (b = 1 and c = 1)) xor ((a = 1 and b = 1) and c = 1)) xnor"
    " ((a = 1 and b = 1 and c = 1) and not (a = 1 and b = 1 and c = 1))",
]

EVENTS = [
    {name: value for name, value in zip("abcd", values, strict=True) if value is not None}
    for values in itertools.product((0, 1, None), repeat=4)
]


def disagreements(rules: dict[int, str], options: dict[str, Any], events: list[dict[str, int]]) -> list[str]:
    """The rules that an A-Tree answers otherwise than the oracle, or what its audit finds."""
    index, oracle = mw.Index("atree", options=options), mw.Index("oracle")
    for each in (index, oracle):
        each.insert_many(rules)
    assert index.audit() == []
    found, expected = (each.match_many(events).to_pylist() for each in (index, oracle))
    wrong = {row["rule"] for row in found if row not in expected} | {
        row["rule"] for row in expected if row not in found
    }
    return [rules[rule] for rule in sorted(wrong)]


@pytest.mark.parametrize(
    "options", COMBINATIONS[:: 1 if SOAK else 5], ids=lambda each: "".join("01"[value] for value in each.values())
)
def test_what_becomes_one_node_cancels(options: dict[str, bool]) -> None:
    assert disagreements(dict(enumerate(NEARLY_EQUAL)), options, EVENTS) == []


def nested(rng: random.Random, members: list[str], word: str) -> str:
    """Members joined by one operator, in brackets here and there."""
    parts = list(members)
    rng.shuffle(parts)
    while len(parts) > 2 and rng.random() < 0.85:
        first = rng.randrange(len(parts) - 1)
        stop = min(len(parts), first + rng.randint(2, 3))
        parts[first:stop] = [f"({f' {word} '.join(parts[first:stop])})"]
    return f"({f' {word} '.join(parts)})"


def atom(rng: random.Random) -> str:
    name = rng.choice("abcd")
    return rng.choice(
        (f"{name} = 1", f"{name} = 1", f"{name} in (1)", f"{name} is null", f"{name} != 1", f"{name} > 0")
    )


def near_equal_rule(rng: random.Random, depth: int) -> str:
    """A nest in which a part comes again in other brackets, with an operand more, or negated."""
    if depth == 0:
        return atom(rng)
    if rng.random() < 0.5:
        word = rng.choice(("and", "or", "xor"))
        members = [
            near_equal_rule(rng, depth - 1) if rng.random() < 0.3 else atom(rng) for _ in range(rng.randint(2, 4))
        ]
        again = [*members, *rng.sample([*members, atom(rng)], rng.randint(0, 1))]
        parts = [nested(rng, members, word), nested(rng, again, word)]
        parts += rng.choices(parts, k=rng.randint(0, 2))
        parts = [f"(not {part})" if rng.random() < 0.2 else part for part in parts]
        return nested(rng, parts, rng.choice(("xor", "xnor")))
    parts = [near_equal_rule(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    if rng.random() < 0.15:
        return f"({parts[0]} is {rng.choice(('', 'not '))}{rng.choice(('true', 'false', 'unknown'))})"
    return nested(rng, parts, rng.choice(("and", "or", "xor", "xnor")))


@pytest.mark.long(2)
@pytest.mark.parametrize("seed", range(200 if SOAK else 4))
def test_deep_nests_with_near_equal_parts(seed: int) -> None:
    rng = random.Random(seed)
    rules = {number: near_equal_rule(rng, rng.randint(1, 3)) for number in range(12)}
    for options in rng.sample(COMBINATIONS, 4):
        assert disagreements(rules, {**options, "zero_suppression": False}, EVENTS) == []


def test_a_rule_that_cancels_may_come_and_go_and_leaves_nothing() -> None:
    index = tree_of(NEARLY_EQUAL, zero_suppression=False)
    for rule in range(len(NEARLY_EQUAL)):
        del index[rule]
        assert index.audit() == []
    assert index.stats()["nodes"] == 0


def test_room_is_found_while_parities_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes that stand for what cancelled are none of the batch: room may run short between them."""
    monkeypatch.setattr("matchwood.engines.atree.construction.insert._LEAST_ROOM", 1)
    monkeypatch.setattr("matchwood.engines.atree.construction.insert._LINKS", 1)
    rng = random.Random(5)
    rules = {}
    for number in range(120):
        members = [p(each) for each in rng.sample(range(1, 40), 5)]
        rules[number] = f"{nested(rng, members, 'and')} xor {nested(rng, members, 'and')} xor {p(40)}"
    index = mw.Index("atree", options={"zero_suppression": False})
    index.insert_many(rules)
    assert index.audit() == []
    assert index.match(true(*range(1, 40), of=40)) == []
    assert index.match(true(*range(1, 41), of=40)) == list(rules)
