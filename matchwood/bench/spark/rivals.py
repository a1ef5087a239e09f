"""What Spark does without Matchwood: a UDF that only emits, and a join of exploded predicates.

For the join every predicate becomes disjoint ranges of values, so that an event's value lies in one of them or in none.
Ranges of one value are joined by equality, the others by attribute and bounds; a rule is true of an event when as many
ranges were hit as it has predicates.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matchwood.workloads import AT_LEAST, AT_MOST, BETWEEN, EQUAL, GREATER, IN, LESS, NOT_EQUAL, NOT_IN, Rules, Workload

_LOW, _HIGH = -(2**62), 2**62


@contextmanager
def session_for() -> Iterator[Any]:
    """The session that is there, or one for this run alone."""
    from pyspark.sql import SparkSession

    from matchwood import spark as mws

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    session = mws.session()
    try:
        yield session
    finally:
        session.stop()


def constant_hits(frame: Any, hits: int, output: str) -> Any:
    """As many hits for each event as there are on average, without looking at it; the same columns travel."""
    from pyspark.sql import functions as sf

    def emit(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for batch in batches:
            count = len(batch[0])
            offsets = pa.array(np.arange(count + 1, dtype=np.int32) * hits)
            ids = pa.array(np.arange(count * hits, dtype=np.int64))
            yield pa.StructArray.from_arrays([pa.ListArray.from_arrays(offsets, ids)], names=["found"])

    named = [name for name in frame.columns if name != "id"]
    answer = sf.arrow_udf(emit, "struct<found: array<bigint>>")(*named)
    answered = frame.select("id", answer.alias("answer"))
    found = sf.col("answer")["found"]
    return answered.select("id", (sf.explode(found) if output == "rows" else found).alias("rules"))


def sql_rules(session: Any, workload: Workload) -> None:
    """The predicates of all rules, as tables that Spark SQL joins with events."""
    ranges, needed = ranges_of(workload.rules)
    session.createDataFrame(ranges.filter(_is_point(ranges))).createOrReplaceTempView("points")
    session.createDataFrame(ranges.filter(pc.invert(_is_point(ranges)))).createOrReplaceTempView("spans")
    session.createDataFrame(needed).createOrReplaceTempView("needed")
    for view in ("points", "spans", "needed"):
        session.table(view).cache().count()


def sql_hits(session: Any, workload: Workload, first: int, stop: int) -> Any:
    """The pairs of event and rule, for the events from `first` to `stop`, by Spark SQL alone; they count from 0."""
    session.createDataFrame(pairs_of(workload, first, stop)).createOrReplaceTempView("pairs")
    session.table("pairs").cache().count()
    return session.sql(_QUERY)


_QUERY = """
WITH held AS (
  SELECT /*+ BROADCAST(pairs) */ event, rule FROM points JOIN pairs
    ON points.attribute = pairs.attribute AND points.low = pairs.value
  UNION ALL
  SELECT /*+ BROADCAST(pairs) */ event, rule FROM spans JOIN pairs
    ON spans.attribute = pairs.attribute AND pairs.value BETWEEN spans.low AND spans.high
),
counted AS (SELECT event, rule, count(*) AS held FROM held GROUP BY event, rule)
SELECT event, counted.rule FROM counted JOIN needed ON counted.rule = needed.rule AND counted.held = needed.predicates
"""


def _is_point(ranges: pa.Table) -> Any:
    return pc.equal(ranges["low"], ranges["high"])


def pairs_of(workload: Workload, first: int, stop: int) -> pa.Table:
    """The events from `first` to `stop` as triples; they count from 0."""
    events = workload.events
    own = slice(int(events.offsets[first]), int(events.offsets[stop]))
    owners = np.repeat(np.arange(stop - first), np.diff(events.offsets[first : stop + 1]))
    return pa.table({"event": owners, "attribute": events.attributes[own], "value": events.values[own]})


def ranges_of(rules: Rules) -> tuple[pa.Table, pa.Table]:
    """Each predicate as disjoint ranges of integers, and how many predicates each rule has."""
    predicates = np.arange(len(rules.operators))
    pieces = [_of_operator(rules, predicates[rules.operators == code], code) for code in range(BETWEEN + 1)]
    owner, low, high = (np.concatenate(column) for column in zip(*pieces, strict=True))
    rule_of = np.repeat(np.arange(rules.count), np.diff(rules.offsets))
    columns = {"rule": rule_of[owner], "attribute": rules.attributes[owner], "low": low, "high": high}
    return pa.table(columns), pa.table({"rule": np.arange(rules.count), "predicates": np.diff(rules.offsets)})


def _of_operator(rules: Rules, chosen: Any, code: int) -> tuple[Any, Any, Any]:
    starts, stops = rules.constant_offsets[chosen], rules.constant_offsets[chosen + 1]
    if code in (IN, NOT_IN):
        return _of_lists(rules, chosen, starts, stops, code)
    first, last = rules.constants[starts], rules.constants[stops - 1]
    low, high = np.full(len(chosen), _LOW), np.full(len(chosen), _HIGH)
    simple = {
        EQUAL: (first, first),
        LESS: (low, first - 1),
        AT_MOST: (low, first),
        GREATER: (first + 1, high),
        AT_LEAST: (first, high),
        BETWEEN: (first, last),
    }
    if code == NOT_EQUAL:
        return np.tile(chosen, 2), np.concatenate([low, first + 1]), np.concatenate([first - 1, high])
    return chosen, *simple[code]


def _of_lists(rules: Rules, chosen: Any, starts: Any, stops: Any, code: int) -> tuple[Any, Any, Any]:
    """Elements ascend, so that what a list leaves out lies before, between and after them."""
    lengths = stops - starts
    owner = np.repeat(chosen, lengths)
    places = np.arange(lengths.sum()) + np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    elements = rules.constants[places.astype(np.int64)]
    if code == IN:
        return owner, elements, elements
    is_last = places == np.repeat(stops - 1, lengths)
    following = np.where(is_last, _HIGH + 1, np.concatenate([elements[1:], [0]])) if len(elements) else elements
    before_first = rules.constants[starts] - 1
    lows, highs = (
        np.concatenate([np.full(len(chosen), _LOW), elements + 1]),
        np.concatenate([before_first, following - 1]),
    )
    kept = lows <= highs
    return np.concatenate([chosen, owner])[kept], lows[kept], highs[kept]
