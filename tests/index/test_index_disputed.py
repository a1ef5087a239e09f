"""Rules that contradict each other on a type are told apart in columns, as if each had been taken in turn."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from matchwood import Index
from matchwood.encoding import AskedUses
from matchwood.matching.loading import load as bulk
from matchwood.matching.loading import preparation, sources, votes

CONSTANTS = ("1", "7", "'a'", "'b'", "true", "date '2024-02-29'")


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "LEAST_COMPILED", 64)
    monkeypatch.setattr(votes, "LEAST_COMPILED", 64)


def text(rng: random.Random, mistyped: float) -> str:
    """Attributes have one type most of the time; some rules are for the parser alone."""
    names = rng.sample(range(6), rng.choice((1, 2, 3)))
    kinds = [(name + 2) % 6 if rng.random() < mistyped else name for name in names]
    tests = [f"x{name} = {CONSTANTS[kind]}" for name, kind in zip(names, kinds, strict=True)]
    tests += rng.choice(([], [], [], ["x0 is null"], ["`odd name` = 1"]))
    rng.shuffle(tests)
    return rng.choice((" and ", " or ")).join(tests)


def table(seed: int, count: int, mistyped: float) -> pa.Table:
    rng = random.Random(seed)
    texts = [text(rng, mistyped) if rng.random() < 0.99 else "x0 =" for _ in range(count)]
    return pa.table({"id": [f"r{number}" for number in range(count)], "expression": texts})


def loaded(rules: Any, **options: Any) -> tuple[Index, Any]:
    index = Index(engine="scan")
    report = index.insert_many(rules, max_rejected=1.0, **options)
    return index, (report.inserted, report.replaced, report.rejected.to_pylist())


def loaded_in_turn(monkeypatch: pytest.MonkeyPatch, rules: Any, **options: Any) -> tuple[Index, Any]:
    with monkeypatch.context() as patch:
        for place in (bulk, votes):
            patch.setattr(place, "LEAST_COMPILED", 10**9)
        return loaded(rules, **options)


@pytest.mark.long(2)
@pytest.mark.few
@pytest.mark.parametrize("chunk", [100, 333, 20_000])
@pytest.mark.parametrize("mistyped", [0.001, 0.02, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_rules_are_refused_for_the_same_reasons(
    seed: int, mistyped: float, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    rules = table(seed, 1_000, mistyped)
    index, told = loaded(rules)
    other, expected = loaded_in_turn(monkeypatch, rules)
    assert told == expected
    assert dict(index) == dict(other)
    assert index.types() == other.types()
    assert index.audit() == []


@pytest.mark.parametrize("place", [0, 500, 1_000])
def test_one_mistyped_rule_has_no_other_parsed(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[Any] = []
    for module in (preparation, votes):
        monkeypatch.setattr(module, "as_expression", _noting(preparation.as_expression, parsed))
    rules = [(f"r{number}", f"age >= {number} and x = 1") for number in range(1_000)]
    rules.insert(place, ("mistyped", "age = '18'"))
    index, (inserted, _, rejected) = loaded(rules)
    assert inserted == 1_000
    assert [row["id"] for row in rejected] == ["mistyped"]
    assert "'age' must be number, as in rule 'r0' and 999 other rules" in rejected[0]["error"]
    assert set(parsed) == {"age = '18'"}
    assert index.match({"age": 1, "x": 1}) == ["r0", "r1"]


def _noting(function: Any, parsed: list[Any]) -> Any:
    def noted(source: Any) -> Any:
        parsed.append(source)
        return function(source)

    return noted


@pytest.mark.parametrize("on_duplicate", ["error", "replace"])
def test_of_rules_with_one_id_one_votes(on_duplicate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", 100)
    rules = [(f"r{number}", f"x = {number}") for number in range(150)]
    rules += [(f"r{number}", f"x = 'a{number}'") for number in range(100)]
    index, told = loaded(rules, on_duplicate=on_duplicate)
    other, expected = loaded_in_turn(monkeypatch, rules, on_duplicate=on_duplicate)
    assert told == expected
    assert dict(index) == dict(other)


def test_uses_of_rules_that_were_read_and_of_others() -> None:
    first = AskedUses.listed([[("a", "number"), ("b", "any")], [], [("b", "string")]])
    both = first.with_more(AskedUses.listed([[("c", "bool"), ("a", "string")], [("b", "string")]]))
    assert both.at(np.array([3, 0, 1])).alike() == {
        (("c", "bool"), ("a", "string")): (1, 0),
        (("a", "number"), ("b", "any")): (1, 1),
        (): (1, 2),
    }
    assert both.on({"b"}).alike() == {(("b", "any"),): (1, 0), (): (2, 1), (("b", "string"),): (2, 2)}
    allowed = both.comparing(lambda use: use != ("a", "string"))
    assert allowed.alike() == {(("a", "number"),): (1, 0), (): (2, 1), (("b", "string"),): (2, 2)}
