"""Changes to rules from a stream: each micro-batch is one update, applied exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from match_support import index_of

import matchwood as mw
from matchwood import InvalidArgument, storage
from matchwood import spark as mws
from matchwood.errors import SnapshotNotFound
from matchwood.spark.build.update import UpdateJob
from matchwood.spark.stream.update_stream import update_stream

NOW = {"availableNow": True}
SCHEMA = pa.schema([("key", pa.string()), ("value", pa.string()), ("offset", pa.int64())])


def send(folder: Path, *changes: tuple[str, str | None]) -> None:
    """One more micro-batch."""
    folder.mkdir(exist_ok=True)
    number = len(list(folder.iterdir()))
    rows = [{"key": key, "value": value, "offset": offset} for offset, (key, value) in enumerate(changes)]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / f"{number}.parquet")


def follow(spark: Any, home: Path, path: str) -> None:
    stream = spark.readStream.schema("key string, value string, offset long").parquet(str(home / "in"))
    where = {"checkpointLocation": str(home / "checkpoint"), "trigger": NOW}
    update_stream(stream, path, "key", "value", order="offset", **where).awaitTermination()


def rules_at(path: str) -> dict[str, Any]:
    return dict(mw.open(path))


def batches_of(path: str) -> list[int | None]:
    return [info.follows["batch"] if info.follows else None for info in storage.versions(path)]


def test_a_batch_is_applied_once(spark: Any, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver goes down between the publication and Spark's own commit, and somebody else changes the rule."""
    index_of({f"r{number}": f"a = {number}" for number in range(99)}).save(path)
    send(tmp_path / "in", ("r1", "a = 5"), ("r2", None), ("r1", "a = 6"), ("bad", "a ="))

    def goes_down(*_: Any) -> None:
        raise RuntimeError("goes down")

    monkeypatch.setattr(UpdateJob, "finished", goes_down)
    with pytest.raises(Exception, match="goes down"):
        follow(spark, tmp_path, path)
    monkeypatch.undo()
    assert batches_of(path) == [None, 0]
    assert [row["id"] for row in mws.rejects(spark, path).collect()] == ["bad"]
    mws.update(spark.createDataFrame([("r1", "a = 7")], "id string, expression string"), path)
    follow(spark, tmp_path, path)
    assert batches_of(path) == [None, 0, 0]
    assert (rules_at(path)["r1"], "r2" in rules_at(path), len(rules_at(path))) == ("a = 7", False, 98)
    send(tmp_path / "in", ("r1", "a = 8"))
    follow(spark, tmp_path, path)
    assert (rules_at(path)["r1"], batches_of(path)) == ("a = 8", [None, 0, 0, 1])


def test_mistakes_are_told(spark: Any, path: str, tmp_path: Path) -> None:
    send(tmp_path / "in", ("r1", "a = 5"))
    stream = spark.readStream.schema("key string, value string, offset long").parquet(str(tmp_path / "in"))
    checkpoint = {"checkpointLocation": str(tmp_path / "checkpoint")}
    with pytest.raises(SnapshotNotFound, match="allow_empty=True"):
        update_stream(stream, path, "key", "value", **checkpoint)
    index_of({"r": "a = 1"}).save(path)
    with pytest.raises(InvalidArgument, match="give a checkpointLocation="):
        update_stream(stream, path, "key", "value")
    with pytest.raises(InvalidArgument, match="takes a streaming DataFrame"):
        update_stream(spark.range(1), path, **checkpoint)
    with pytest.raises(InvalidArgument, match="no column 'id'"):
        update_stream(stream, path, **checkpoint)
