"""Streams: what a stream finds is what a table finds, and each micro-batch keeps to one recorded version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from match_support import EVENTS_DDL, expected, index_of, save_shards, some_events, some_rules
from pyspark.sql import functions as sf

from matchwood import InvalidArgument, storage
from matchwood.errors import CorruptSnapshot, MatchwoodError
from matchwood.spark.match.match import match
from matchwood.spark.stream.match_stream import match_stream
from matchwood.spark.stream.query import query_of
from matchwood.storage import drop_stream, location_of, pinned_version, streams, vacuum, version_of_query
from matchwood.storage.stream_record import KEPT, file_name, recorded_versions

everywhere = pytest.mark.everywhere
NOW = {"availableNow": True}


@pytest.fixture(scope="module")
def source(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Events in three files, each of which becomes a micro-batch."""
    path = str(tmp_path_factory.mktemp("events") / "in")
    events = some_events(90, seed=8)
    for start in range(0, 90, 30):
        frame = spark.createDataFrame(events[start : start + 30], EVENTS_DDL).coalesce(1)
        frame.write.mode("append").parquet(path)
    return path


def stream_of(spark: Any, source: str) -> Any:
    return spark.readStream.schema(EVENTS_DDL).option("maxFilesPerTrigger", 1).parquet(source)


def keyed_writer(out: str) -> Any:
    """A writer that replaces what it wrote for a batch before."""

    def write(hits: Any, batch_id: int, version: int) -> None:
        hits.withColumn("version", sf.lit(version)).write.mode("overwrite").parquet(f"{out}/batch={batch_id}")

    return write


def pairs(frame: Any) -> list[tuple[int, int]]:
    return sorted((row["id"], row["rule"]) for row in frame.select("id", "rule").collect())


@pytest.mark.parametrize(
    "strategy",
    [pytest.param("broadcast", marks=everywhere), pytest.param("sharded", marks=pytest.mark.everywhere_in_soak)],
)
def test_a_stream_finds_what_a_table_finds(spark: Any, source: str, path: str, tmp_path: Path, strategy: str) -> None:
    rules = some_rules(50, seed=9)
    save_shards(path, rules, 2)
    hits = match(stream_of(spark, source), path, keep=["id"], strategy=strategy)
    writer = hits.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.option("path", str(tmp_path / "out")).trigger(availableNow=True).start()
    query.awaitTermination()
    answers = expected(index_of(rules), some_events(90, seed=8))
    assert pairs(spark.read.parquet(str(tmp_path / "out"))) == [
        (event, rule) for event, found in sorted(answers.items()) for rule in found
    ]


def test_arrays_to_a_sink_in_memory(spark: Any, source: str, path: str) -> None:
    index_of({1: "age >= 0"}).save(path)
    hits = match(stream_of(spark, source), path, "array", keep=["id"])
    query = hits.writeStream.format("memory").queryName("match_arrays").trigger(availableNow=True).start()
    query.awaitTermination()
    found = {row["id"]: row["rules"] for row in spark.table("match_arrays").collect()}
    assert found == {event["id"]: [1] * (event["age"] is not None) for event in some_events(90, seed=8)}


@everywhere
def test_match_stream_hands_each_batch_to_the_writer(spark: Any, source: str, path: str, tmp_path: Path) -> None:
    index_of(some_rules(20, seed=4)).save(path)
    out, table = str(tmp_path / "out"), spark.read.parquet(source)
    options = {"checkpointLocation": str(tmp_path / "checkpoint"), "queryName": "batches", "trigger": NOW}
    match_stream(stream_of(spark, source), path, keyed_writer(out), keep=["id"], **options).awaitTermination()
    assert pairs(spark.read.parquet(out)) == pairs(match(table, path))
    records = sorted((Path(path) / "streams" / "batches").iterdir())
    assert [json.loads(record.read_text())["version"] for record in records] == [1, 1, 1]
    assert recorded_versions(location_of(path)) == {1}


def test_batches_follow_new_versions(spark: Any, source: str, path: str, tmp_path: Path) -> None:
    """The writer itself publishes a new version, which the next batch must use, and the running one must not."""
    index_of({1: "id >= 0"}).save(path)
    seen: list[tuple[int, int, set[int]]] = []

    def write(hits: Any, batch_id: int, version: int) -> None:
        index_of({batch_id + 2: "id >= 0"}).save(path)
        seen.append((batch_id, version, {row["rule"] for row in hits.collect()}))

    match_stream(stream_of(spark, source), path, write, trigger=NOW).awaitTermination()
    assert seen == [(0, 1, {1}), (1, 2, {2}), (2, 3, {3})]


def test_a_batch_that_failed_is_replayed_with_its_version(spark: Any, source: str, path: str, tmp_path: Path) -> None:
    index_of({1: "id >= 0"}).save(path)
    seen: list[tuple[int, int]] = []

    def fails_once(hits: Any, batch_id: int, version: int) -> None:
        seen.append((batch_id, version))
        if seen.count((1, 1)) == 1 and batch_id == 1:
            index_of({2: "id >= 0"}).save(path)
            raise RuntimeError("the writer fails")

    options = {"checkpointLocation": str(tmp_path / "checkpoint"), "queryName": "replayed", "trigger": NOW}
    with pytest.raises(Exception, match="the writer fails"):
        match_stream(stream_of(spark, source), path, fails_once, **options).awaitTermination()
    match_stream(stream_of(spark, source), path, fails_once, **options).awaitTermination()
    assert seen == [(0, 1), (1, 1), (1, 1), (2, 2)]


def test_a_new_checkpoint_under_an_old_name_starts_afresh(spark: Any, source: str, path: str, tmp_path: Path) -> None:
    seen: list[int] = []

    def write(hits: Any, batch_id: int, version: int) -> None:
        seen.append(version)

    for number in (1, 2):
        index_of({number: "id >= 0"}).save(path)
        checkpoint = str(tmp_path / f"checkpoint {number}")
        options = {"checkpointLocation": checkpoint, "queryName": "same", "trigger": NOW}
        match_stream(stream_of(spark, source), path, write, **options).awaitTermination()
    assert seen == [1, 1, 1, 2, 2, 2]


def test_what_match_stream_refuses(spark: Any, source: str, path: str) -> None:
    index_of({1: "id >= 0"}).save(path)
    stream = stream_of(spark, source)
    with pytest.raises(InvalidArgument, match="streaming DataFrame"):
        match_stream(spark.range(1), path, print)
    with pytest.raises(InvalidArgument, match="no option 'checkpoint'"):
        match_stream(stream, path, print, checkpoint="x")
    with pytest.raises(InvalidArgument, match="writer must be"):
        match_stream(stream, path, None)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="is for tables"):
        match(stream, path, strategy="partitioned", key="id")


# ------------------------------------------------------------------- records


def test_records_name_the_versions_that_a_stream_may_need(path: str) -> None:
    index_of({1: "a = 1"}).save(path)
    assert pinned_version(path, "s", "q", 0, None) == 1
    index_of({1: "a = 1"}).save(path)
    assert pinned_version(path, "s", "q", 0, None) == 1
    assert pinned_version(path, "s", "q", 1, None) == 2
    assert pinned_version(path, "../s", "q", 0, 1) == 1
    assert pinned_version(path, "s", "another query", 0, None) == 2
    assert recorded_versions(location_of(path)) == {1, 2}
    assert {entry.name for entry in (Path(path) / "streams").iterdir()} == {"s", file_name("../s")}


def test_old_records_go(path: str) -> None:
    index_of({1: "a = 1"}).save(path)
    for batch in range(KEPT + 3):
        pinned_version(path, "s", "q", batch, None)
    names = sorted(entry.name for entry in (Path(path) / "streams" / "s").iterdir())
    assert (len(names), names[0]) == (KEPT, "000000000003.json")


def test_a_damaged_record_is_not_guessed_at(path: str) -> None:
    index_of({1: "a = 1"}).save(path)
    pinned_version(path, "s", "q", 0, None)
    (Path(path) / "streams" / "s" / "000000000000.json").write_text('{"batch": 0}')
    with pytest.raises(CorruptSnapshot, match="does not tell the version"):
        pinned_version(path, "s", "q", 0, None)
    with pytest.raises(CorruptSnapshot, match="does not tell the version"):
        recorded_versions(location_of(path))


def test_old_queries_are_forgotten(path: str) -> None:
    index_of({1: "a = 1"}).save(path)
    assert version_of_query(path, "q-1") == 1
    index_of({2: "a = 1"}).save(path)
    assert (version_of_query(path, "q-1"), version_of_query(path, "q-2")) == (1, 2)
    (old,) = [entry for entry in (Path(path) / "queries").iterdir() if '"version": 1' in entry.read_text()]
    os.utime(old, (1, 1))
    assert vacuum(path, keep=1, grace="0 seconds") == [1]
    (kept,) = (Path(path) / "queries").iterdir()
    kept.write_text("{}")
    with pytest.raises(CorruptSnapshot, match="does not tell the version of a query"):
        version_of_query(path, "q-2")


def test_a_stream_by_match_is_recorded(spark: Any, source: str, path: str) -> None:
    """Its version stays until somebody says that it is over."""
    index_of({1: "id >= 0"}).save(path)
    hits = match(stream_of(spark, source), path, "array", keep=["id"])
    for number in (2, 3):
        index_of({number: "id >= 0"}).save(path)
    (recorded,) = streams(path)
    assert (recorded.name[:6], recorded.batches, recorded.versions) == ("match-", 1, (1,))
    assert vacuum(path, keep=1, grace="0 seconds") == [2]
    query = hits.writeStream.format("memory").queryName("recorded").trigger(availableNow=True).start()
    query.awaitTermination()
    assert {rule for row in spark.table("recorded").collect() for rule in row["rules"]} == {1}
    drop_stream(path, recorded.name)
    assert streams(path) == []
    assert vacuum(path, keep=1, grace="0 seconds") == [1]
    with pytest.raises(InvalidArgument, match="no records of a stream"):
        drop_stream(path, recorded.name)
    match(spark.read.parquet(source), path)
    assert streams(path) == []


def test_records_of_streams_are_listed_and_dropped_by_name(path: str) -> None:
    index_of({1: "a = 1"}).save(path)
    for batch in range(3):
        pinned_version(path, "../odd name", "q", batch, None)
    pinned_version(path, "plain", "q", 0, None)
    assert {info.name: info.batches for info in streams(path)} == {file_name("../odd name"): 3, "plain": 1}
    drop_stream(path, "../odd name")
    assert [info.name for info in streams(path)] == ["plain"]


def test_a_stream_whose_version_cannot_be_recorded_says_so(
    spark: Any, source: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    index_of({1: "id >= 0"}).save(path)
    (Path(path) / "streams").write_text("in the way")
    match(stream_of(spark, source), path)
    assert "cannot be recorded" in caplog.text


def test_a_checkpoint_that_only_spark_can_read_still_tells_its_query(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any) -> Any:
        raise InvalidArgument(f"{path}: Arrow knows no such file system")

    (tmp_path / "metadata").write_text('{"id":"7f3a"}')
    assert query_of(spark, str(tmp_path)) == "7f3a"
    monkeypatch.setattr(storage, "location_of", refuse)
    assert query_of(spark, f"file:{tmp_path}/") == "7f3a"
    (tmp_path / "metadata").write_text("{}")
    with pytest.raises(MatchwoodError, match="does not tell which query"):
        query_of(spark, f"file:{tmp_path}")
