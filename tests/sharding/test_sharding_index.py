"""`mw.open` of several shards: an Index like any other."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from sharding_support import write_shards

import matchwood as mw
from matchwood.errors import CorruptSnapshot, MatchwoodError, TypeConflict, UnknownRule
from matchwood.sharding import ShardedIndex

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
