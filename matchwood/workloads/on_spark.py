"""Rows made by Spark's executors, in blocks that each depend on their number alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCK = 5_000
"""Rows a block: whatever the number of executors and partitions, the same rows come out."""


def made_on_spark(spark: SparkSession, count: int, make: Callable[[int, int, int], pa.Table], schema: str) -> DataFrame:
    """`count` rows of a schema (DDL); `make(block, first, rows)` makes those of one block."""

    def make_blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for block in batch.column(0).to_pylist():
                first = block * BLOCK
                yield from make(block, first, min(BLOCK, count - first)).to_batches()

    return spark.range(-(-count // BLOCK)).mapInArrow(make_blocks, schema)
