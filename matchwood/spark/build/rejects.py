"""Rejected rules: a small Parquet file for each task that refused some, kept as a part of the version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from matchwood import storage
from matchwood.errors import InvalidArgument
from matchwood.sharding import ID_TYPES
from matchwood.spark.locations import location_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFIX, ARRAY = "rejects-", "rejects.parquet"
_SQL_IDS = {"int64": "bigint", "string": "string"}


def rejects_schema(id_type: str) -> pa.Schema:
    text, number = pa.string(), pa.int64()
    return pa.schema(
        [("id", ID_TYPES[id_type]), ("expression", text), ("error", text), ("line", number), ("column", number)]
    )


def write_rejects(staging: storage.Staging, name: str, rejected: pa.Table, id_type: str) -> list[dict[str, Any]]:
    """Write a table of rejected rules, if there are any; returns the descriptions to publish."""
    if not len(rejected):
        return []
    sink = pa.BufferOutputStream()
    pq.write_table(rejected.cast(rejects_schema(id_type)), sink)
    contents = np.frombuffer(sink.getvalue(), np.uint8)
    return [staging.write_part(f"{PREFIX}{name}", storage.SavedPart({"id_type": id_type}, {ARRAY: contents}))]


def reject_parts(snapshot: storage.Snapshot) -> list[str]:
    return [name for name in snapshot.parts if name.startswith(PREFIX)]


def rejects(spark: SparkSession, path: Any, version: int | None = None) -> DataFrame:
    """The rules that were rejected when a version was made: id, expression, error, line, column.

    `version`  the current one by default
    """
    if not hasattr(spark, "createDataFrame"):
        raise InvalidArgument(f"rejects(spark, path) takes a Spark session first (got {spark!r:.80})")
    place = location_for(spark, path)
    snapshot = storage.load(place, version)
    names = reject_parts(snapshot)
    id_type = snapshot.parts[names[0]].header["id_type"] if names else "string"
    number = snapshot.version
    columns = f"id {_SQL_IDS[id_type]}, expression string, error string, line bigint, column bigint"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for position in batch.column(0).to_pylist():
                yield from _table(storage.load(place, number), names[position]).to_batches()

    return spark.range(len(names), numPartitions=max(1, min(len(names), 16))).mapInArrow(read, columns)


def _table(snapshot: storage.Snapshot, name: str) -> pa.Table:
    return pq.read_table(pa.BufferReader(pa.py_buffer(snapshot.parts[name].arrays[ARRAY])))
