"""Rows made by Spark's executors, in blocks that each depend on their number alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Piece = TypeVar("Piece")

_BATCH = 10_000
"""Rows that go to Spark at a time."""


def made_on_spark(
    spark: SparkSession, blocks: Sequence[Piece], make: Callable[[Piece], pa.Table], schema: str
) -> DataFrame:
    """All rows of a schema (DDL); `make(block)` makes those of one block, whoever does it and in whatever order."""

    def make_blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from make(blocks[number]).to_batches(_BATCH)

    return spark.range(len(blocks)).mapInArrow(make_blocks, schema)
