"""`mws.plot`: charts of hits and of reasons, counted by Spark and drawn by Altair."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions as sf

from matchwood import insight
from matchwood.errors import InvalidArgument
from matchwood.spark.frames import checked_frame
from matchwood.spark.insight import why_not as reasons

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def why_not(events: DataFrame, path: str | os.PathLike[str], rules: Sequence[Any]) -> Any:
    """Why rules of an index do not match events; `mws.why_not` has the counts."""
    return insight.why_not([row.asDict() for row in reasons.why_not(events, path, rules).collect()])


def hits_per_event(counts: DataFrame) -> Any:
    """How many events have how many hits, from `mws.match(…, output="count")`."""
    _check(counts, "rule_count", 'hits of mws.match(…, output="count")')
    grouped = counts.groupBy("rule_count").count().collect()
    return insight.hits_per_event(insight.events_by_hits({row[0]: row[1] for row in grouped}))


def hits_per_rule(hits: DataFrame, n: int = 30) -> Any:
    """The `n` rules with the most hits, from `mws.match(…)` with one row per hit."""
    best, total = _best(hits, n)
    return insight.hits_per_rule(best, total)


def overlap(hits: DataFrame, key: str, n: int = 30, least: float = 0.05) -> Any:
    """A graph of the `n` rules with the most hits: lines join rules that match the same events.

    `key`    the column of the hits that identifies events
    `least`  the smallest share of common events (those of both among those of either) for a line
    """
    _check(hits, key, "hits")
    best, total = _best(hits, n)
    numbers = {row["rule"]: number for number, row in enumerate(best)}
    kept = hits.where(sf.col("rule").isin(list(numbers))).select(sf.col(key).alias("key"), "rule")
    pairs = kept.join(kept.withColumnRenamed("rule", "other"), "key").groupBy("rule", "other").count()
    shared = np.zeros((len(best), len(best)), np.int64)
    for rule, other, count in pairs.collect():
        shared[numbers[rule], numbers[other]] = count
    return insight.overlap(insight.graph_of(best, shared, least, total))


def _best(hits: DataFrame, n: int) -> tuple[list[dict[str, Any]], int]:
    _check(hits, "rule", "hits of mws.match(…)")
    counted = hits.groupBy("rule").agg(sf.count("*").alias("hits"))
    best = counted.orderBy(sf.desc("hits"), "rule").limit(n).collect()
    return [row.asDict() for row in best], counted.count()


def _check(frame: DataFrame, column: str, what: str) -> None:
    checked_frame(frame, what)
    if column not in frame.columns:
        raise InvalidArgument(f"{what} have no column {column!r} (they have {', '.join(frame.columns)})")
