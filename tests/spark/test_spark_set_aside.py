"""Events that are set aside: unreadable, late and repeated ones reach a table of their own, and the stream goes on."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from match_support import index_of
from pyspark.sql import functions as sf

from matchwood import InvalidArgument
from matchwood.spark.match.match import match
from matchwood.spark.stream import seen
from matchwood.spark.stream.match_stream import match_stream

NOW = {"availableNow": True}
DDL = "id bigint, at timestamp, value binary"
SCHEMA = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", tz="UTC")), ("value", pa.binary())])
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def write_batches(folder: Path, *batches: list[tuple[Any, int | None, bytes | None]]) -> None:
    """A file for each micro-batch, read in the order of their times: (id, minutes from the start, value)."""
    folder.mkdir()
    for number, batch in enumerate(batches):
        times = [None if at is None else START + datetime.timedelta(minutes=at) for _, at, _ in batch]
        rows = [{"id": event, "at": at, "value": value} for (event, _, value), at in zip(batch, times, strict=True)]
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (1_000_000 + number, 1_000_000 + number))


def stream_of(spark: Any, folder: Path) -> Any:
    """As from Kafka: a time, and a value that is cast to text."""
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return stream.withColumn("value", sf.col("value").cast("string"))


class Collected:
    """A writer that replaces what it collected for a batch before."""

    def __init__(self, *columns: str) -> None:
        self.columns, self.batches = columns, dict[int, list[Any]]()

    def __call__(self, rows: Any, batch_id: int, version: int) -> None:
        self.batches[batch_id] = [tuple(row) for row in rows.select(*self.columns).collect()]

    @property
    def rows(self) -> list[Any]:
        return sorted(row for batch in self.batches.values() for row in batch)


POISON = [
    (1, 0, b'{"amount": 5000}'),
    (2, 0, b'{"amount": 50'),
    (3, 0, b'{"note": "\xff"}'),
    (4, 0, b'{"amount": "much", "vip": true}'),
    (5, 0, None),
    (6, 0, b"[1]"),
]


@pytest.mark.parametrize(("on_error", "hits"), [("raise", [(1, 1)]), ("null", [(1, 1), (4, 2)])])
def test_what_cannot_be_read_is_set_aside(
    spark: Any, path: str, tmp_path: Path, on_error: str, hits: list[tuple[int, int]]
) -> None:
    index_of({1: "amount > 1000", 2: "vip"}).save(path)
    write_batches(tmp_path / "in", POISON)
    found, aside = Collected("id", "rule"), Collected("id", "problem", "reason", "at")
    stream = stream_of(spark, tmp_path / "in")
    options = {"event": "value", "keep": ["id"], "on_error": on_error, "trigger": NOW}
    match_stream(stream, path, found, poison=aside, **options).awaitTermination()
    assert found.rows == hits
    assert [row[:2] for row in aside.rows] == [(number, "unreadable") for number in (2, 3, 4, 6)]
    reasons = [row[2] for row in aside.rows]
    assert [word in reason for word, reason in zip(("JSON", "utf-8", "amount", "JSON"), reasons, strict=True)] == [
        True
    ] * 4


LATE = [
    [(1, 0, b"{}"), (2, 10, b"{}"), (2, 9, b"{}"), (None, 5, b"{}"), (None, 5, b"{}")],
    [(1, 11, b"{}"), (3, 3, b"{}"), (4, -1, b"{}"), (5, None, b"{}")],
    [(2, 30, b"{}"), (6, 12, b"{}")],
    [(6, 30, b"{}"), (3, 25, b"{}"), (2, 31, b"{}")],
]
"""More than ten minutes are late; when events 3 and 6 come again, they have been forgotten."""

ASIDE = [(1, "repeated"), (2, "repeated"), (2, "repeated"), (2, "repeated"), (4, "late"), (5, "late")]


def test_one_late_and_one_repeated_event_are_set_aside(spark: Any, path: str, tmp_path: Path) -> None:
    index_of({1: "true"}).save(path)
    write_batches(tmp_path / "in", [(1, 0, b"{}"), (2, 20, b"{}")], [(2, 21, b"{}"), (3, 5, b"{}"), (4, 15, b"{}")])
    found, aside = Collected("id"), Collected("id", "problem")
    options = {"checkpointLocation": str(tmp_path / "checkpoint"), "time": "at", "within": "10 minutes"}
    stream = stream_of(spark, tmp_path / "in")
    match_stream(stream, path, found, poison=aside, distinct="id", trigger=NOW, **options).awaitTermination()
    assert aside.rows == [(2, "repeated"), (3, "late")]
    assert found.rows == [(1,), (2,), (4,)]


@pytest.mark.long
def test_late_and_repeated_events_are_set_aside(
    spark: Any, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that fails once, after its fold was begun, is judged the same way when it is replayed."""
    monkeypatch.setattr(seen, "FOLD", 2)
    index_of({1: "true"}).save(path)
    write_batches(tmp_path / "in", *LATE)
    found, aside, failed = Collected("id"), Collected("id", "problem"), list[int]()

    def fails_once(rows: Any, batch_id: int, version: int) -> None:
        found(rows, batch_id, version)
        if batch_id == 2 and not failed:
            failed.append(batch_id)
            raise RuntimeError("the writer fails")

    def run() -> None:
        options = {"checkpointLocation": str(tmp_path / "checkpoint"), "time": "at", "within": "10 minutes"}
        stream = stream_of(spark, tmp_path / "in")
        query = match_stream(stream, path, fails_once, poison=aside, distinct="id", trigger=NOW, **options)
        query.awaitTermination()

    with pytest.raises(Exception, match="the writer fails"):
        run()
    run()
    assert aside.rows == ASIDE
    numbers = [row[0] for batch in found.batches.values() for row in batch]
    assert sorted(numbers, key=str) == [1, 2, 3, 3, 6, 6, None, None]


def test_metrics_count_what_is_set_aside_too(spark: Any, path: str, tmp_path: Path) -> None:
    from pyspark.sql import Observation

    index_of({1: "amount > 1000"}).save(path)
    write_batches(tmp_path / "in", POISON)
    found, counts = Collected("rules"), Observation("set_aside")
    options = {"event": "value", "output": "array", "metrics": counts, "trigger": NOW}
    match_stream(stream_of(spark, tmp_path / "in"), path, found, poison=Collected("id"), **options).awaitTermination()
    assert found.rows == [([],), ([1],)]
    assert (counts.get["events"], counts.get["hits"]) == (6, 1)


def test_mistakes_are_told(spark: Any, path: str, tmp_path: Path) -> None:
    index_of({1: "true"}).save(path)
    write_batches(tmp_path / "in", POISON)
    stream = stream_of(spark, tmp_path / "in")
    write, timed = Collected("id"), {"time": "at", "within": "1 minute"}
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"poison": "table"}, "poison must be a function"),
        ({"poison": write, "time": "at"}, r"told by time= .* and within="),
        ({"poison": write, "distinct": "id"}, r"told by time= .* and within="),
        ({**timed}, "give poison= as well"),
        ({"poison": write, **timed}, "give a checkpointLocation="),
        ({"poison": write, **timed, "checkpointLocation": "c", "within": "soon"}, "within must be like '1 day'"),
        ({"poison": write, **timed, "checkpointLocation": "c", "time": "id"}, r"must be a timestamp .*cast\('timest"),
        ({"poison": write, **timed, "checkpointLocation": "c", "time": "At"}, "there is no column 'At', but 'at'"),
        ({"poison": write, **timed, "checkpointLocation": "c", "distinct": ["x"]}, "there is no column 'x'"),
    ]
    for options, told in mistakes:
        with pytest.raises(InvalidArgument, match=told):
            match_stream(stream, path, write, **options)
    with pytest.raises(InvalidArgument, match="already have a column 'reason': give prefix="):
        match_stream(stream.withColumnRenamed("id", "reason"), path, write, poison=write)


def test_a_binary_column_says_how_to_cast_it(spark: Any, path: str) -> None:
    index_of({1: "a = 1"}).save(path)
    events = spark.createDataFrame([(bytearray(b'{"a": 1}'),)], "value binary")
    with pytest.raises(InvalidArgument) as told:
        match(events, path, event="value")
    advice = str(told.value).partition("write ")[2]
    assert advice == "events.withColumn('value', F.col('value').cast('string'))"
    casted = eval(advice, {"events": events, "F": sf})
    assert [row["rule"] for row in match(casted, path, event="value").collect()] == [1]
