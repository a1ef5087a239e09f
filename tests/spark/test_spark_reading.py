"""`build` on more cores than it has shards: tasks read the rules, one task a shard puts them together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from build_support import embedded, frame, same_answers, sound_rules
from test_spark_progress import PARTITIONS, read_by

import matchwood as mw
from matchwood import spark as mws
from matchwood.errors import InvalidArgument
from matchwood.spark.build import reading
from matchwood.spark.build.build import Job

BAD = [(1001, "age >"), (1002, None), (1003, "city rlike '('"), (1004, "age > 5 and age = 'x'")]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[reading.ReadFile]:
    """Many tasks read few rules, on many cores; the files that they write are listed."""
    building, written = sys.modules["matchwood.spark.build.build"], list[reading.ReadFile]()

    def noted(*given: Any) -> list[reading.ReadFile]:
        written.extend(reading.read_files(*given))
        return written

    monkeypatch.setattr(reading, "READ_RULES", 60)
    monkeypatch.setattr(reading, "READ_FROM", 61)
    monkeypatch.setattr(reading, "cores_of", lambda session: 8)
    monkeypatch.setattr(building, "read_files", noted)
    return written


@pytest.mark.long(1)
@pytest.mark.parametrize("shards", [pytest.param(1, marks=pytest.mark.everywhere), 3])
def test_rules_read_by_many_tasks_are_one_index(
    spark: Any, path: str, files: list[reading.ReadFile], shards: int
) -> None:
    rules = [*sound_rules(300), *BAD]
    report = mws.build(frame(spark, rules), path, shards=shards)
    expected, told = embedded(rules)
    assert len({(file.shard, file.first) for file in files}) == len(files) >= 5
    assert {file.shard for file in files} == set(range(shards))
    same_answers(mw.open(path), expected)
    assert list(mw.open(path)) == list(expected)
    assert mw.open(path).types() == expected.types()
    assert (report.rules, report.rejected, report.shards) == (300, len(BAD), shards)
    rejected = {row["id"]: row.asDict() for row in mws.rejects(spark, path).collect()}
    assert rejected == {row["id"]: row for row in told.rejected.to_pylist()}
    assert not list(Path(path).rglob("aside"))


@pytest.mark.long
def test_chunks_that_kernels_take(spark: Any, path: str, files: list[reading.ReadFile]) -> None:
    """So many rules that what was read is stored as columns, of an index with settings of its own."""
    rules = [(f"rule {number:05}", text, float(number % 5)) for number, (_, text) in enumerate(sound_rules(9_000))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "READ_RULES", 3_000)
        settings: dict[str, Any] = {"schema": {"age": "double"}, "engine": "kindex", "options": {"form": "dnf"}}
        table = frame(spark, rules, "id string, expression string, w double")
        report = mws.build(table, path, weight="w", shards=1, **settings)
    assert len(files) == 3
    assert report.rules == 9_000
    expected = mw.Index(**settings)
    expected.insert_many([(rule, text, {"weight": weight}) for rule, text, weight in rules])
    opened, event = mw.open(path), {"age": 30, "city": "Rome", "vip": False, "tags": ["z7"]}
    same_answers(opened, expected)
    assert list(opened) == list(expected)
    assert opened.top(event, 20) == expected.top(event, 20)
    assert opened.audit() == []


@pytest.mark.few(0)
@pytest.mark.parametrize("shards", [1, 4])
def test_most_rules_decide_a_type_whoever_reads_them(
    spark: Any, path: str, files: list[reading.ReadFile], shards: int
) -> None:
    rules = [*((number, "kind = 'a'") for number in range(90)), *((number, "kind = 1") for number in range(90, 300))]
    mws.build(frame(spark, rules), path, shards=shards, max_rejected=0.5)
    expected = mw.Index()
    told = expected.insert_many(rules, max_rejected=0.5)
    assert len(files) >= 5
    assert dict(mw.open(path).items()) == dict(expected.items())
    errors = {row["id"]: row["error"] for row in mws.rejects(spark, path).collect()}
    assert errors == {row["id"]: row["error"] for row in told.rejected.to_pylist()}


def test_duplicates_are_told_before_shards_are_built(
    spark: Any, path: str, files: list[reading.ReadFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Job, "_run", lambda *given: pytest.fail("shards are built"))
    rules = [*sound_rules(200), (7, "vip"), (7, "age = 1"), (150, "vip")]
    with pytest.raises(InvalidArgument, match=r"ids occur more than once .*: 7, 150"):
        mws.build(frame(spark, rules), path, shards=1)
    assert files
    assert not list(Path(path).rglob("part-*"))


def test_the_last_of_several_rules_and_no_id(spark: Any, path: str, files: list[reading.ReadFile]) -> None:
    rules = [(number, f"age = {turn}", turn) for number in range(100) for turn in range(3)]
    table = frame(spark, [*rules, (None, "vip", 1)], "id long, expression string, turn int")
    report = mws.build(table, path, shards=1, on_duplicate="last", order="turn")
    assert len(files) >= 4
    assert dict(mw.open(path).items()) == dict.fromkeys(range(100), "age = 2")
    assert report.rejected == 1


def test_the_source_is_read_once_also_then(
    spark: Any, path: str, tmp_path: Path, files: list[reading.ReadFile]
) -> None:
    (tmp_path / "reads").mkdir()
    source = frame(spark, sound_rules(150)).mapInArrow(read_by(tmp_path / "reads"), "id long, expression string")
    assert mws.build(source, path, shards=1).rules == 150
    assert len(files) == PARTITIONS == len(list((tmp_path / "reads").iterdir()))


@pytest.mark.parametrize(
    ("rules", "shards", "cores", "tasks"),
    [(499_999, 1, 8, 0), (500_000, 1, 8, 5), (1_000_000, 1, 1, 0), (1_000_000, 2, 2, 0), (1_000_000, 2, 4, 10)],
)
def test_tasks_read_where_cores_would_wait(
    monkeypatch: pytest.MonkeyPatch, rules: int, shards: int, cores: int, tasks: int
) -> None:
    """Where nobody says how many cores there are, there may be enough."""
    monkeypatch.setattr(reading, "cores_of", lambda session: cores)
    assert reading.reading_tasks(rules, shards, None) == tasks  # type: ignore[arg-type]
    monkeypatch.setattr(reading, "cores_of", lambda session: 0)
    assert bool(reading.reading_tasks(1_000_000, 9, None)) is True  # type: ignore[arg-type]
    assert reading.reading_tasks(1_000_000, 10, None) == 0  # type: ignore[arg-type]
