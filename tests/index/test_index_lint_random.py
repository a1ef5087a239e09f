"""`index.lint()` against brute force: on domains with a value in every cell, truth tables tell everything."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import matchwood as mw
from matchwood.language.tree import And, Expression, Not, Or, Predicate, Truth, Xor
from matchwood.semantics.evaluation import evaluate
from tests.conftest import SOAK

NUMBERS = [None, -1, 0, 0.5, 1, 1.5, 2, 2.5]
STRINGS = [None, "", "a", "ab", "b", "c"]
BOOLS = [None, False, True]
EVENTS = [{"x": x, "s": s, "v": v} for x, s, v in itertools.product(NUMBERS, STRINGS, BOOLS)]
"""Constants are 0, 1, 2 and 'a', 'b': each of them, something between any two, beyond them, and NULL."""

TYPES = {"x": "number", "s": "string", "v": "bool"}
ROUNDS = 150 if SOAK else 6


def predicate(rng: random.Random) -> Predicate:
    name = rng.choice(("x", "x", "s", "v"))
    constants: list[Any] = {"x": [0, 1, 2], "s": ["a", "b"], "v": [False, True]}[name]
    operators = ["=", "!=", "in", "not in", "is null", "is not null"]
    operators += [] if name == "v" else ["<", "<=", ">", ">=", "between", "not between"]
    operator = rng.choice(operators)
    if operator.startswith("is "):
        return Predicate(name, operator, None)
    if operator.endswith("in"):
        return Predicate(name, operator, tuple(rng.sample(constants, rng.randint(1, len(constants)))))
    if operator.endswith("between"):
        return Predicate(name, operator, tuple(sorted(rng.choices(constants, k=2))))
    return Predicate(name, operator, rng.choice(constants))


def constraint(rng: random.Random) -> Expression:
    """A test of one attribute: a predicate, or one that NULL passes, or one that it fails."""
    made = predicate(rng)
    return rng.choice((made, made, Truth(made, "true", True), Not(made), Truth(made, "unknown", True)))


def conjunction(rng: random.Random) -> Expression:
    parts = [constraint(rng) for _ in range(rng.randint(1, 3))]
    return parts[0] if len(parts) == 1 else And(*parts)


def tree(rng: random.Random) -> Expression:
    parts = [conjunction(rng) for _ in range(rng.randint(2, 3))]
    made: Expression = rng.choice((Or, Or, And, Xor))(*parts)
    return Not(made) if rng.random() < 0.2 else made


def truth(rule: Expression) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.array([evaluate(rule, event, TYPES) is True for event in EVENTS])


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("limit", [1, 256])
def test_findings_are_true_and_none_of_conjunctions_is_missing(seed: int, limit: int) -> None:
    rng = random.Random(f"lint {seed}")
    rules = [conjunction(rng) if rng.random() < 0.7 else tree(rng) for _ in range(30)]
    index = mw.Index(dnf_limit=limit)
    index.insert_many(enumerate(rules))
    tables = [truth(rule) for rule in rules]
    found = {(row["id"], row["problem"]): row["other"] for row in index.lint().to_pylist()}
    single = [number for number in range(30) if is_single(index, number)]
    assert len(single) > 10
    for number, table in enumerate(tables):
        # Small rules are searched whole: `never` and `always` are exact.
        assert ((number, "never") in found) == (not table.any()), rules[number]
        assert ((number, "always") in found) == bool(table.all()), rules[number]
        check_others(number, found, tables, rules)
    for number in single:
        check_nothing_missing(number, single, found, tables, rules)
    assert index.lint().schema.metadata == {b"unsearched": b"0"}


def is_single(index: mw.Index, number: int) -> bool:
    units = index._table.units(index._table.row_of(number))
    return len(units["conjunctions"]) == sum(map(len, units.values())) == 1


def check_others(number: int, found: dict[tuple[int, str], Any], tables: list[Any], rules: list[Expression]) -> None:
    same, implying = found.get((number, "duplicate")), found.get((number, "implied"))
    if same is not None:
        assert same < number
        assert (tables[same] == tables[number]).all(), (rules[number], rules[same])
    if implying is not None:
        assert implying != number
        assert tables[implying].any()
        assert not (tables[implying] & ~tables[number]).any(), (rules[number], rules[implying])


def check_nothing_missing(
    number: int, single: list[int], found: dict[tuple[int, str], Any], tables: list[Any], rules: list[Expression]
) -> None:
    """Among rules of one conjunction, whatever the tables show is found, or something stronger."""
    table = tables[number]
    equal = [other for other in single if (tables[other] == table).all()]
    narrower = [other for other in single if not (tables[other] & ~table).any() and other not in equal]
    stronger = {problem for problem in ("never", "always") if (number, problem) in found}
    if equal[0] < number and not stronger:
        assert found[number, "duplicate"] == equal[0], (rules[number], rules[equal[0]])
        stronger.add("duplicate")
    if narrower and not stronger:
        assert found[number, "implied"] == narrower[0], (rules[number], rules[narrower[0]])


@pytest.mark.parametrize("seed", range(4))
def test_every_engine_finds_the_same(seed: int) -> None:
    rng = random.Random(f"engines {seed}")
    rules = [conjunction(rng) if rng.random() < 0.6 else tree(rng) for _ in range(25)]
    tables = []
    for engine in ("oracle", "scan", "counting", "atree"):
        index = mw.Index(engine=engine, dnf_limit=3)
        index.insert_many(enumerate(rules))
        tables.append(index.lint())
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
