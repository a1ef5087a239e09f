"""`index.find` against brute force over its definitions, on every engine."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matchwood as mw
from tests.conftest import SOAK
from tests.contract.engines import ENGINES
from tests.index.find_support import (
    LOGICAL,
    SEMANTICS,
    TYPES,
    boxes,
    by_truth,
    conjunction,
    expected,
    rule,
    truth,
    written,
)

ROUNDS = 40 if SOAK else 3
OPTIONS: list[dict[str, Any]] = [{}, {"spaces": "pstree"}]


def check(index: mw.Index, rules: dict[int, Any], query: Any) -> int:
    """All eight semantics of one query; returns how many rules were found."""
    text, own = written(query), {number: boxes(rows) for number, rows in rules.items()}
    asked, found = boxes(query), 0
    for semantics in SEMANTICS:
        wanted = [number for number in rules if expected(semantics, own[number], asked)]
        answer = index.find(text, semantics)
        assert answer == wanted, (semantics, text, {each: written(rules[each]) for each in set(answer) ^ set(wanted)})
        found += len(wanted)
    return found


def check_logical(index: mw.Index, texts: dict[int, str], query: str) -> int:
    tables, asked, found = {number: truth(text) for number, text in texts.items()}, truth(query), 0
    for semantics in LOGICAL:
        wanted = [number for number in texts if by_truth(semantics, tables[number], asked)]
        answer = index.find(query, semantics)
        assert answer == wanted, (semantics, query, {each: texts[each] for each in set(answer) ^ set(wanted)})
        found += len(wanted)
    return found


def satisfiable_query(rng: random.Random) -> Any:
    while True:
        made = [conjunction(rng)] if rng.random() < 0.6 else rule(rng)
        if boxes(made):
            return made


@pytest.mark.few
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_find_is_brute_force_over_the_definitions(engine: str, seed: int) -> None:
    """Through insertions, replacements and deletions; half of the rules go the way of forms in every other round."""
    rng = random.Random(f"find {seed}")
    index = mw.Index(engine=engine, schema=TYPES, options=OPTIONS[seed % 2], dnf_limit=(256, 1)[seed % 2])
    rules: dict[int, Any] = {}
    found = 0
    for _ in range(4):
        for number in rng.sample(range(40), 14):
            if number in rules and rng.random() < 0.4:
                del index[number], rules[number]
            else:
                made = rule(rng)
                index[number] = written(made)
                rules[number] = made
        for _ in range(6):
            found += check(index, rules, satisfiable_query(rng))
    assert found > 100
    assert index.audit() == []


@pytest.mark.few
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_implication_is_that_of_truth_tables(engine: str, seed: int) -> None:
    """Rules and queries of several conjunctions, which often cover each other only together."""
    rng = random.Random(f"implication {seed}")
    index = mw.Index(engine=engine, schema=TYPES, dnf_limit=(256, 2)[seed % 2])
    texts = {number: written(rule(rng, 5)) for number in range(15)}
    texts[90], texts[91] = "x < 2 and y = 1 or x >= 2 and y = 1 or x is null and y = 1", "not (x = 1 xor y = 1)"
    texts[92], texts[93] = "x = 1 and x != 1", "x = 1 or x != 1 or x is null"
    index.insert_many(texts)
    found = sum(check_logical(index, texts, written(satisfiable_query(rng))) for _ in range(6))
    for query in ("y = 1", "x < 2 and y = 1 or x >= 1 and y = 1 or x is null", "x = 1 xnor y = 1", "true"):
        found += check_logical(index, texts, query)
    assert found > 20


def test_joint_coverage_is_seen_both_ways(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many({"whole": "y = 1", "parts": "x < 2 and y = 1 or x >= 2 and y = 1 or x is null and y = 1"})
    parts = "x < 5 and y = 1 or x >= 5 and y = 1 or x is null and y = 1"
    for query in ("y = 1", parts):
        assert index.find(query, "implies") == index.find(query, "implied_by") == ["whole", "parts"]
    assert index.find(parts.replace("x >= 5", "x > 5"), "implies") == []


# ------------------------------------------------------------- events and rules


TEXTS = {None: [], "abc": ["s = 'abc'"], "": ["s = ''"], "it's": ["s = 'it''s'"]}
NUMBERS = {None: [], 0.25: ["d = 0.25"], 1: ["d = 1"], math.nan: ["d = cast('NaN' as double)"]}
FLAGS = {None: [], True: ["v"], False: ["not v"]}
MOMENTS = {None: [], "2025-12-31T23:59:59": ["at = timestamp '2025-12-31 23:59:59'"]}


def test_a_stabbed_subscription_is_a_match(engine: str) -> None:
    """An event as equalities, attributes that it lacks left out: texts, patterns, doubles, null tests and all."""
    index = mw.Index(engine=engine)
    rules = ["s like '%b%'", "s not like '%b%'", "s ilike '%B%' and d > 0.5", "s rlike '^a'", "s like 'a%'", "d = 0.25"]
    rules += ["s is null", "s is not null", "(s like '%b%') is not true", "s in ('abc', 'x') and d is null"]
    rules += ["d >= cast('NaN' as double)", "at < timestamp '2026-01-01 00:00:00'", "not (v xor d = 1)", "true"]
    index.insert_many(dict(enumerate([*rules, "v or d < 1", "s like '%b%' and s not like 'a%' or s like '%''%'"])))
    for (s, one), (d, two), (v, three), (at, four) in itertools.product(
        *map(dict.items, (TEXTS, NUMBERS, FLAGS, MOMENTS))
    ):
        query = " and ".join(one + two + three + four) or "true"
        assert index.find(query) == index.match({"s": s, "d": d, "v": v, "at": at}), query


def test_patterns_on_texts_that_the_query_names(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many(
        {"b": "name like '%b%'", "not b": "name not like '%b%'", "both": "name like '%b%' and name >= 'b'"}
    )
    assert index.find("name = 'abc'", "stabbing_event") == ["b"]
    assert (
        index.find("name in ('abc', 'bcd')", "enclosure") == index.find("name in ('abc', 'bcd')", "implied_by") == ["b"]
    )
    assert index.find("name = 'bcd'", "enclosure") == ["b", "both"]
    assert index.find("name in ('abc', 'xyz')", "enclosure") == []
    # No single text fits the pattern and lies in the range.
    assert index.find("name in ('abc', 'xyz')", "stabbing_subscription") == ["b", "not b"]
    assert index.find("name in ('abc', 'xyz')", "symmetric") == ["b", "not b"]
    index["either"] = "name like '%b%' or name like '%y%'"
    assert index.find("name in ('abc', 'xyz')", "implied_by") == ["either"]
    assert index.find("name in ('abc', 'xyz')", "enclosure") == []
    del index["either"]
    assert index.find("name = 'abc'", "containment") == index.find("name = 'abc'", "implies") == []
    assert index.find("name like '%b%'", "containment") == ["b"]
    assert index.find("name like '%b%'", "implies") == ["b", "both"]
    # The text that does not fit the query's own pattern is none of the query's.
    assert index.find("name in ('abc', 'xyz') and name like '%b%'", "implied_by") == ["b"]
    with pytest.raises(mw.InvalidArgument, match="no event can satisfy the query"):
        index.find("name = 'xyz' and name like '%b%'")


def test_lists_are_attributes_of_their_own(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many({1: "tags one of ('a', 'b')", 2: "tags all of ('a', 'b')", 3: "'a' not in tags"})
    assert index.find("tags one of ('b', 'a')", "exact") == [1]
    assert index.find("tags one of ('b', 'a') and x = 1", "stabbing_subscription") == [1]
    assert index.find("'a' in tags", "implied_by") == []


@pytest.mark.few
@pytest.mark.parametrize("seed", range(2))
def test_labels_of_values_that_the_index_does_not_know(engine: str, seed: int) -> None:
    """Queries whose ends fall between boundaries, several of them between the same two."""
    rng = random.Random(f"between {seed}")
    index = mw.Index(engine=engine, schema={"x": "int"}, options=OPTIONS[seed])
    ends = {number: sorted(rng.sample(range(0, 100, 10), 2)) for number in range(30)}
    index.insert_many({number: f"x between {low} and {high}" for number, (low, high) in ends.items()})
    for _ in range(40):
        low, high = sorted(rng.sample(range(-5, 110), 2))
        query = f"x between {low} and {high} or x = {high + 2}"
        spans = {number: set(range(*span)) | {span[1]} for number, span in ends.items()}
        asked = {*range(low, high + 1), high + 2}
        assert index.find(query, "containment") == [number for number, span in spans.items() if span <= asked]
        assert index.find(query, "enclosure") == [number for number, span in spans.items() if span >= asked]
        assert index.find(query, "symmetric") == [number for number, span in spans.items() if span & asked]


# --------------------------------------------------------------- what it leaves


def test_the_query_changes_nothing(engine: str, tmp_path: Path) -> None:
    index = mw.Index(engine=engine)
    index.insert_many({1: "x > 5 and s like '%a%'", 2: "s = 'a' or x < 2", 3: "x is null"})
    index.match_many([{"x": 1, "s": "ab"}, {"s": "a"}])
    state, before = index._encoder.arrays(), index.stats()
    for semantics in SEMANTICS + LOGICAL:
        index.find("x between 3 and 4 and s in ('abc', 'a') or unknown = 'new' or s like '%new%'", semantics)
    assert index.stats() == before
    assert index._encoder.arrays().keys() == state.keys()
    assert all(np.array_equal(array, state[name]) for name, array in index._encoder.arrays().items())
    assert index.types() == {"x": "number", "s": "string"}
    index[4] = "unknown = 7"
    assert index.match({"unknown": 7}) == [3, 4]
    assert index.audit() == []


def test_opened_indexes_find_the_same(engine: str, tmp_path: Path) -> None:
    rng = random.Random("opened")
    rules = {number: rule(rng) for number in range(40)}
    index = mw.Index(engine=engine, schema=TYPES, dnf_limit=2)
    index.insert_many({number: written(made) for number, made in rules.items()})
    index.save(tmp_path / "index")
    opened = mw.open(tmp_path / "index", read_only=True)
    for _ in range(8):
        check(opened, rules, satisfiable_query(rng))
    changed = mw.open(tmp_path / "index")
    for number in range(0, 40, 3):
        del changed[number], rules[number]
    for _ in range(8):
        check(changed, rules, satisfiable_query(rng))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_index_finds_nothing(engine: str) -> None:
    assert mw.Index(engine=engine).find("x = 1 or y = 2", "implied_by") == []


# ---------------------------------------------------------------------- errors


def test_errors(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["r"] = "age > 5 and name = 'x'"
    with pytest.raises(mw.InvalidArgument, match=r"'stabbing_subscription', .* 'implied_by' \(got 'subset'\)"):
        index.find("age > 5", "subset")
    with pytest.raises(mw.ParseError, match="line 1, column 8"):
        index.find("age >  and", "exact")
    with pytest.raises(mw.ParseError, match="regular expression"):
        index.find("name rlike '('")
    with pytest.raises(mw.TypeConflict, match="query: 'age' must be number, as in rule 'r'"):
        index.find("age = 'old'")
    with pytest.raises(mw.TypeConflict, match=r"query: 'other' must be .*earlier"):
        index.find("other = 'old' and other = 5")
    with pytest.raises(mw.InvalidArgument, match="no event can satisfy the query 'age > 5 and age < 3'"):
        index.find("age > 5 and age < 3")
    with pytest.raises(mw.InvalidArgument, match="a rule must be text"):
        index.find(7)


def test_json_and_expressions_are_queries_too() -> None:
    index = mw.Index()
    index["r"] = "age = 20"
    assert index.find(mw.attr("age") >= 18, "containment") == ["r"]
    assert index.find({"attr": "age", "op": ">=", "value": 18}, "containment") == ["r"]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_same(engine: str) -> None:
    """Also those that keep some rules as clauses, and what they keep while rules come and go."""
    rng = random.Random("engines")
    index, oracle = mw.Index(engine=engine, schema=TYPES, dnf_limit=2), mw.Index(engine="oracle", schema=TYPES)
    for each in (index, oracle):
        each[99] = "(x = 1 or y = 2) and (s = 'a' or v) and (x = 2 or s = 'b')"
    for step in range(3):
        for number in rng.sample(range(30), 12):
            text = written(rule(rng))
            for each in (index, oracle):
                each[number] = text
        query = written(satisfiable_query(rng)) if step else "x in (1, 2) and s = 'a' or y >= 1"
        for semantics in SEMANTICS + LOGICAL:
            assert index.find(query, semantics) == oracle.find(query, semantics), (query, semantics)
