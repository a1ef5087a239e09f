"""`mw.open` of several shards: an Index like any other."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from sharding_support import write_shards

import matchwood as mw
from matchwood.errors import CorruptSnapshot, MatchwoodError, TypeConflict, UnknownRule
from matchwood.insight.find.query import SEMANTICS
from matchwood.sharding import ShardedIndex
from tests.index.find_support import TYPES, rule, written

RULES = {1: "age > 5", 2: "age > 5 and city = 'Rome'", 3: "city is null", 4: "age > 5"}


@pytest.fixture
def index(tmp_path: Path) -> mw.Index:
    write_shards(tmp_path, [{1: RULES[1], 4: RULES[4]}, {2: RULES[2], 3: RULES[3], 5: "vip"}], dead={1: [5]})
    return mw.open(tmp_path)


def test_reading_gathers_nothing(index: mw.Index) -> None:
    assert isinstance(index, ShardedIndex)
    assert len(index) == 4
    assert list(index) == [1, 2, 3, 4]
    assert index[2] == RULES[2]
    assert dict(index.items()) == RULES
    assert 4 in index
    assert 5 not in index
    assert "4" not in index
    assert index.id_kind is int
    assert index.engine == "pstbloom"
    assert index.types()["city"] == "string"
    assert index.match({"age": 6}) == [1, 3, 4]
    assert index.match_many([{"age": 6}, {"city": "Rome"}]).to_pydict() == {"event": [0, 0, 0], "rule": [1, 3, 4]}
    assert index.match_batches(pa.table({"age": [1, 9]})).read_all()["rule"].to_pylist() == [3, 1, 3, 4]
    assert index.explain({"age": 6}, 2).verdict is None
    assert index.stats()["rules"] == 4
    assert not index._is_gathered
    with pytest.raises(UnknownRule):
        index[5]


@pytest.mark.parametrize("engine", ["oracle", "scan", "pstbloom", "atree"])
def test_find_is_that_of_one_index(tmp_path: Path, engine: str) -> None:
    rng = random.Random("sharded find")
    rules = {number: written(rule(rng)) for number in range(60)}
    rules[61] = "name like '%b%'"
    groups = [{number: text for number, text in rules.items() if number % 3 == group} for group in range(3)]
    write_shards(tmp_path, groups, dead={0: [3, 6], 1: [61]}, schema=TYPES, engine=engine, dnf_limit=2)
    sharded, whole = mw.open(tmp_path), mw.Index(schema=TYPES)
    whole.insert_many({number: text for number, text in rules.items() if number not in (3, 6, 61)})
    for query in ("x >= 1 and s = 'a'", "x = 2 and name = 'abc' or y is null", "v or x < 2"):
        for semantics in SEMANTICS:
            assert sharded.find(query, semantics) == whole.find(query, semantics), (query, semantics)
    with pytest.raises(TypeConflict, match="query: 's' must be string"):
        sharded.find("s = 5")
    assert not sharded._is_gathered
    sharded[70] = "x = 1"
    assert sharded.find("x = 1", "exact")[-1] == 70


def test_types_of_all_shards_count_for_a_query(index: mw.Index) -> None:
    assert index.find("age = 6") == [1, 3, 4]
    with pytest.raises(TypeConflict, match="query: 'city' must be string, as in rule 2"):
        index.find("city = 5")
    assert not index._is_gathered


def test_changing_gathers(index: mw.Index) -> None:
    index[6] = "age < 7"
    del index[1]
    index[3] = "city = 'Oslo'"
    assert list(index) == [2, 3, 4, 6]
    assert index.match({"age": 6}) == [4, 6]
    with pytest.raises(TypeConflict, match="as in rule"):
        index[7] = "city > 5"
    assert index.audit() == []


def test_whatever_needs_all_rules_gathers(index: mw.Index, tmp_path: Path) -> None:
    problems = {(row["id"], row["problem"], row["other"]) for row in index.lint().to_pylist()}
    assert (4, "duplicate", 1) in problems
    index.compact()
    index.save(tmp_path / "one")
    again = mw.open(tmp_path / "one")
    assert not isinstance(again, ShardedIndex)
    assert dict(again) == RULES


def test_read_only(tmp_path: Path) -> None:
    write_shards(tmp_path, [{"a": "vip"}, {"b": "not vip"}])
    index = mw.open(tmp_path, read_only=True)
    with pytest.raises(MatchwoodError, match="read_only"):
        index["c"] = "vip"
    assert index.match({"vip": True}) == ["a"]


def test_declared_types_and_the_oracle(tmp_path: Path) -> None:
    write_shards(
        tmp_path, [{"a": "seen > date '2026-01-01'"}, {"b": "n = 1"}], schema="seen date, n int", engine="oracle"
    )
    index = mw.open(tmp_path)
    assert index.match({"seen": "2026-02-01", "n": 1}) == ["a", "b"]
    index["c"] = "n = 2"
    assert index.match({"seen": "2026-02-01", "n": 2}) == ["a", "c"]
    assert index.types() == {"seen": "date", "n": "int"}


@pytest.mark.parametrize(
    "change",
    [{"bases": []}, {"uses": [["a"]]}, {"rules": {"x": 1}}, {"attributes": {"a": "decimal"}}, {"id_type": "float"}],
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    from matchwood import storage

    write_shards(tmp_path, [{"a": "vip"}, {"b": "not vip"}])
    snapshot = storage.load(tmp_path)
    storage.save(tmp_path, dict(snapshot.parts), {**snapshot.header, **change})
    with pytest.raises(CorruptSnapshot):
        mw.open(tmp_path)


def test_shards_may_have_chosen_different_engines(tmp_path: Path) -> None:
    wide = {n: f"a between {n} and {n + 2_000} and b between {2 * n} and {2 * n + 3_000}" for n in range(1_500)}
    few = {2_000 + n: f"a = {n} and c is null" for n in range(20)}
    write_shards(tmp_path, [wide, few])
    sharded, whole = mw.open(tmp_path), mw.Index("scan")
    whole.insert_many({**wide, **few})
    assert sharded.engine == "counting, pstbloom"
    stats = sharded.stats()
    assert {name: told["engine"] for name, told in stats["choice"].items()} == {
        "base-0": "counting",
        "base-1": "pstbloom",
    }
    assert stats["health"]["base-1"]["skew"]["attributes"][0] == {"attribute": "a", "share": 1.0}
    assert (stats["units"], stats["engine"]) == (1_520, "counting, pstbloom")
    events = [{"a": 10 * n, "b": 20 * n} for n in range(40)]
    assert sharded.match_many(events).equals(whole.match_many(events))
    sharded[5_000] = "a >= 0"
    whole[5_000] = "a >= 0"
    assert sharded.engine == "counting"
    assert sharded.match_many(events).equals(whole.match_many(events))
