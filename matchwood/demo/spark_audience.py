"""The demo's campaigns and page views as Spark DataFrames, made by the executors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from matchwood.demo.audience import campaigns, page_views
from matchwood.workloads import made_on_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RULES = "id string, expression string"
_VIEWS = (
    "view bigint, age bigint, country string, device string, hour bigint, interests array<string>, plan string, "
    "site string, spend double"
)


_BLOCK = 5_000
"""Rows a block: whatever the number of executors and partitions, the same rows come out."""


def rules_on_spark(spark: SparkSession, count: int) -> DataFrame:
    """Campaigns: id and expression."""
    return made_on_spark(spark, _blocks(count), _rules, _RULES)


def _blocks(count: int) -> list[tuple[int, int, int]]:
    """Number, first row and number of rows of each block."""
    firsts = range(0, count, _BLOCK)
    return [(number, first, min(_BLOCK, count - first)) for number, first in enumerate(firsts)]


def _rules(given: tuple[int, int, int]) -> pa.Table:
    block, first, count = given
    ids, texts = zip(*campaigns(count, f"1/{block}", first), strict=True)
    return pa.table({"id": ids, "expression": texts})


def views_on_spark(spark: SparkSession, count: int) -> DataFrame:
    """Page views, told apart by `view`."""
    return made_on_spark(spark, _blocks(count), _views, _VIEWS)


def _views(given: tuple[int, int, int]) -> pa.Table:
    block, first, count = given
    return page_views(count, (2, block), first)
