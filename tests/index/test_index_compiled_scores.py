"""Rules that an engine ranks by itself come as columns too: bounds, programs and answers are those of single rules."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import matchwood
from matchwood import Index
from matchwood.encoding import Encoder, RuleReader
from matchwood.logic import AS_WRITTEN
from matchwood.matching import ReadRules
from matchwood.matching.loading import load as bulk
from matchwood.matching.loading import sources
from matchwood.rules import encode_many
from tests.conftest import SOAK
from tests.encoding.compiled_support import nested, predicate
from tests.index.test_index_compiled import assert_same, counted, in_turn, refused
from tests.index.test_index_read_apart import read_apart

PART = 50 if SOAK else 6
"""What the numbers of rules are multiples of."""

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"form": "dnf"},
    {"form": "dnf", "direct": False},
    {"direct": False, "compressed": True},
    {"as_published": True},
)


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "LEAST_COMPILED", 64)
    monkeypatch.setattr(sources, "CHUNK_RULES", 200)


def term(rng: random.Random) -> str:
    """An AND of predicates that often repeat an attribute."""
    return " and ".join(predicate(rng) for _ in range(rng.choice((1, 1, 2, 2, 3, 5))))


def negation(rng: random.Random) -> str:
    inner = predicate(rng) if rng.random() < 0.6 else f"{predicate(rng)} {rng.choice(('or', 'and'))} {predicate(rng)}"
    return rng.choice(("not ({})", "({}) is not true", "({}) is false", "not not ({})", "({}) is true")).format(inner)


def written(rng: random.Random) -> str:
    """Mostly what is taken as it is written, and much that is so only at first sight."""
    draw = rng.random()
    if draw < 0.35:
        return term(rng)
    if draw < 0.65:
        return " or ".join(rng.choice(("({})", "{}")).format(term(rng)) for _ in range(rng.randint(2, 5)))
    if draw < 0.8:
        parts = [negation(rng) for _ in range(rng.randint(1, 2))] + [predicate(rng) for _ in range(rng.randint(0, 3))]
        rng.shuffle(parts)
        return " and ".join(parts)
    if draw < 0.9:
        return rng.choice((f"({term(rng)}) and ({term(rng)})", f"({term(rng)} or {term(rng)}) or {term(rng)}"))
    return nested(rng, 2)


def rule_table(seed: int, count: int, first: int = 0) -> pa.Table:
    """Some rules have a constant weight, and a few have weights by attribute, which kernels do not take."""
    rng = random.Random(seed)
    return pa.table(
        {
            "id": list(range(first, first + count)),
            "expression": [written(rng) for _ in range(count)],
            "weight": pa.array([rng.choice((None, None, 0.5, 3.0)) for _ in range(count)], pa.float64()),
            "weights": [rng.choice(('{"a": 2.5, "b": {"3": 0.5}}', *[None] * 19)) for _ in range(count)],
        }
    )


def events(seed: int, count: int = 12) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    values: dict[str, Any] = {name: lambda: rng.randrange(7) for name in "abcdef"}
    values |= {f"s{name}": lambda: rng.choice(("a", "ab", "c", "B")) for name in "abcdef"}
    return [{name: draw() for name, draw in values.items() if rng.random() < 0.7} for _ in range(count)]


def assert_ranks_as(index: Index, oracle: Index, seed: int) -> None:
    rng, given = random.Random(seed), events(seed)
    weights = [{name: rng.choice((0.0, 0.1, 0.7, 3.1)) for name in "abcdef" if rng.random() < 0.5} for _ in given]
    for own in (None, weights):
        assert index.top_many(given, n=4, weights=own).equals(oracle.top_many(given, n=4, weights=own))
    assert index.match_many(given).equals(oracle.match_many(given))


@pytest.mark.long(2)
@pytest.mark.parametrize(("seed", "options"), list(enumerate(OPTIONS)), ids=list(map(str, OPTIONS)))
def test_bounds_and_programs_are_those_of_single_rules(
    seed: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Inserted in several chunks and calls, replaced, deleted, saved and opened: the same arrays, the best rules."""
    monkeypatch.setattr(bulk, "LEAST_COMPILED", PART)
    monkeypatch.setattr(sources, "CHUNK_RULES", 4 * PART)
    alone, together = (Index("kindex", options=options) for _ in range(2))
    oracle, taken = Index("oracle"), counted(monkeypatch)
    given = ((0, 10, 0), (100, 5, 10), (200, 8, 6))
    steps = [rule_table(seed + more, count * PART, first=first * PART) for more, count, first in given]
    for step in steps:
        expected = in_turn(monkeypatch, alone, step, on_duplicate="replace")
        report = together.insert_many(step, max_rejected=1.0, on_duplicate="replace")
        oracle.insert_many(step, max_rejected=1.0, on_duplicate="replace")
        assert str(report) == str(expected)
        assert refused(report) == refused(expected)
        assert_same(together, alone)
        gone = [rule_id for rule_id in together if rule_id % 7 == seed]
        for index in (alone, together, oracle):
            for rule_id in gone:
                del index[rule_id]
        assert_same(together, alone)
    assert sum(taken) > 8 * PART
    assert_ranks_as(together, oracle, seed)
    together.save(tmp_path / "rules")
    opened = matchwood.open(tmp_path / "rules")
    assert opened.audit() == []
    assert_ranks_as(opened, oracle, seed + 50)


def test_rules_read_apart_bring_their_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    given = rule_table(5, 1_500)
    alone, together = Index("kindex"), Index("kindex")
    monkeypatch.setattr(sources, "CHUNK_RULES", 700)
    in_turn(monkeypatch, alone, given)
    taken = counted(monkeypatch)
    together.insert_many(ReadRules(read_apart(given, engine="kindex")), max_rejected=1.0)
    assert sum(taken) > 600
    assert_same(together, alone)


def test_what_needs_trees_is_taken_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given bounds hold every weight against them, and clauses are no terms."""
    taken = counted(monkeypatch)
    for options in ({"bounds": {"a": 9.0}}, {"form": "cnf"}):
        index = Index("kindex", options=options)
        index.insert_many(rule_table(1, 300).select(["id", "expression"]), max_rejected=1.0)
        assert len(index) > 200
    assert taken == []


@pytest.mark.parametrize(
    ("text", "terms", "rows"),
    [
        ("a = 1", [0], [0]),
        ("b = 1 and a = 1 and b > 0", [0, 0, 0], [0]),
        ("a = 1 and a = 2", [0, 0], []),
        ("b = 1 and c = 1 or a = 1", [0, 0, 1], [1, 0]),
        ("b > 1 and b < 5 or a = 1 and a != 3", [0, 0, 1, 1], [1, 0]),
        ("a = 1 and not b = 2 and (c = 3 or d = 1) is not true", [0, -1, -1, -1], [0]),
        ("not (a = 1 and b = 2)", [-1, -1], [0, 0]),
        ("a = 1 or a = 2", None, None),
        ("a = 1 or a = 1 and b = 2", None, None),
        ("a = 1 and a = 2 or b = 1", None, None),
        ("a = 1 and (b = 2 and c = 3)", None, None),
        ("a = 1 or not b = 2", None, None),
        ("(a = 1) is true and b = 2", None, None),
        ("a = 1 or b = 2 or (c = 3 or d = 4)", None, None),
        ("a = 1 and (b = 2 or c = 3)", None, None),
        ("true", None, None),
    ],
)
def test_terms(text: str, terms: list[int] | None, rows: list[int] | None) -> None:
    """In which term each predicate stands and which of them each conjunction is; None if the rule is not taken so."""
    read = RuleReader(Encoder()).read(*encode_many([text]), np.ones(1, np.bool_), 256, AS_WRITTEN)
    assert len(read) == (terms is not None)
    if terms is not None:
        assert read.written().terms.tolist() == terms
        assert read.written().row_terms.tolist() == rows


def test_rules_that_fill_an_index_wait_with_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the last chunk has come no event matches; an equal rule in a later chunk raises the bound of the first."""
    texts = [f"a = {number % 150} and b > {number % 150}" for number in range(600)]
    given = pa.table({"id": list(range(600)), "expression": texts, "weight": [float(number) for number in range(600)]})
    index, seen, taken = Index("kindex"), list[Any](), counted(monkeypatch)
    event = {"a": 7, "b": 9}
    index.insert_many(given, progress=lambda _: seen.append((index.match(event), index.top(event, n=1))))
    assert seen == [([], [])] * 3
    assert taken == [200, 200, 200]
    assert index.top(event, n=2) == [(457, 459.0), (307, 309.0)]
    assert index.audit() == []


@pytest.mark.parametrize(
    "text", ["a = {}", "a != {}", "a = {} and b = 1", "c = 1 or a = {} and b = 1 and d > 2 or b = 3"]
)
def test_programs_in_columns_know_how_deep_their_stack_gets(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is not saved, but found again when an index is opened."""
    given = [(number, text.format(number)) for number in range(100)]
    alone, together = Index("kindex"), Index("kindex")
    in_turn(monkeypatch, alone, given)
    taken = counted(monkeypatch)
    together.insert_many(given)
    assert taken == [100]
    matchers: list[Any] = [index._matcher for index in (alone, together)]
    assert matchers[0].score_programs.depth == matchers[1].score_programs.depth
    assert_same(together, alone)
