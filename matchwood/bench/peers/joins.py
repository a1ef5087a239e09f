"""Databases that users might pick instead: all rules and events as tables, all events of a batch in one query.

Every predicate becomes disjoint ranges of integers (`spark/rivals.py`), cut to the values that events have. Each
database has its best of the forms that were tried, all of them with all cores, 100,000 rules of BEGen, 200 events, on
two cores. Microseconds an event:

    counting join   how many predicates of a rule hold: those of each pair of attribute and value are a list, found by
                    one integer key. DuckDB 1,870 (joined by attribute and bounds 2,160, by points 2,060); Polars 1,090
                    with event and rule as one number (as two columns 2,990, streaming 1,180).
    access join     a rule is found by its most selective predicate, and then the others are verified. DuckDB 890;
                    Polars 480 with values looked up in a dense column (joined 850, streaming 780).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.bench.spark.rivals import pairs_of, ranges_of
from matchwood.workloads import Workload

Integers: TypeAlias = NDArray[np.int64]
Query: TypeAlias = Callable[[int, int], pa.Table]
"""The hits of the events from one number to another, as columns event and rule; events count from 0."""


class Tables(NamedTuple):
    """Rules as ranges and as the points that these hold; `key` is a pair of attribute and value as one number.

    `is_access` marks the ranges of each rule's most selective predicate, the one that holds for the fewest values.
    """

    workload: Workload
    values: int
    ranges: pa.Table
    points: pa.Table
    needed: NDArray[np.int32]
    is_access: NDArray[np.bool_]
    access_points: pa.Table

    def pairs(self, first: int, stop: int) -> pa.Table:
        """The pairs of some events, with their keys."""
        found = pairs_of(self.workload, first, stop)
        columns = {name: found[name].to_numpy().astype(np.int32) for name in ("event", "attribute", "value")}
        return pa.table({**columns, "key": columns["attribute"] * np.int32(self.values) + columns["value"]})


def tables_of(workload: Workload) -> Tables:
    """The tables of a workload whose values are whole numbers from 0 on."""
    found, needed = ranges_of(workload.rules)
    values = int(workload.events.values.max()) + 1
    rule, attribute, low, high = (found[name].to_numpy() for name in ("rule", "attribute", "low", "high"))
    low, high = np.maximum(low, 0), np.minimum(high, values - 1)
    ranges = {"rule": rule, "attribute": attribute, "low": low, "high": high}
    counts = np.maximum(0, high - low + 1)
    owners = np.repeat(np.arange(len(low)), counts)
    keys = attribute[owners] * values + low[owners] + np.arange(len(owners)) - (np.cumsum(counts) - counts)[owners]
    is_access = _access(rule, attribute, counts)
    points = pa.table({"key": keys.astype(np.int32), "rule": rule[owners].astype(np.int32)})
    return Tables(
        workload,
        values,
        pa.table({name: column.astype(np.int32) for name, column in ranges.items()}),
        points.sort_by("key"),
        needed["predicates"].to_numpy().astype(np.int32),
        is_access,
        points.filter(pa.array(is_access[owners])).sort_by("key"),
    )


def _access(rule: Integers, attribute: Integers, counts: Integers) -> NDArray[np.bool_]:
    """Which ranges belong to the predicate of their rule that holds for the fewest values."""
    predicates, of_range = np.unique(rule * (int(attribute.max()) + 1) + attribute, return_inverse=True)
    held = np.bincount(of_range, weights=counts)
    rules = predicates // (int(attribute.max()) + 1)
    order = np.lexsort((held, rules))
    chosen = np.zeros(len(predicates), np.bool_)
    chosen[order[np.diff(rules[order], prepend=-1) > 0]] = True
    return np.asarray(chosen[of_range])


def duckdb_counting(tables: Tables) -> Query:
    connection = _connection()
    _stored(connection, "points", tables.points)
    _stored(connection, "needed", _needed(tables))
    connection.execute("CREATE TABLE lists AS SELECT key, list(rule) AS rules FROM points GROUP BY key")
    return _queried(connection, tables, _COUNTING)


def duckdb_access(tables: Tables) -> Query:
    connection = _connection()
    _stored(connection, "access", tables.access_points)
    _stored(connection, "rest", tables.ranges.filter(pa.array(~tables.is_access)).sort_by("rule"))
    _stored(connection, "needed", _needed(tables))
    return _queried(connection, tables, _ACCESS)


_COUNTING = """
SELECT event, rule
FROM (SELECT event, rule, count(*) AS held
      FROM (SELECT event, unnest(rules) AS rule FROM lists JOIN pairs USING (key)) GROUP BY event, rule)
JOIN needed USING (rule) WHERE held = predicates
"""

_ACCESS = """
WITH candidates AS (SELECT event, rule FROM access JOIN pairs USING (key)),
verified AS (
  SELECT candidates.event, candidates.rule, count(*) AS held
  FROM candidates JOIN rest ON candidates.rule = rest.rule
  JOIN pairs ON pairs.event = candidates.event AND pairs.attribute = rest.attribute
  WHERE pairs.value BETWEEN low AND high GROUP BY candidates.event, candidates.rule)
SELECT event, rule FROM verified JOIN needed USING (rule) WHERE held = predicates - 1
UNION ALL SELECT event, rule FROM candidates JOIN needed USING (rule) WHERE predicates = 1
"""


def _connection() -> Any:
    import duckdb

    return duckdb.connect()


def _stored(connection: Any, name: str, table: pa.Table) -> None:
    """A table of the database's own, which it reads faster than one of Arrow."""
    connection.register("given", table)
    connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")
    connection.unregister("given")


def _needed(tables: Tables) -> pa.Table:
    return pa.table({"rule": np.arange(len(tables.needed), dtype=np.int32), "predicates": tables.needed})


def _queried(connection: Any, tables: Tables, query: str) -> Query:
    def hits(first: int, stop: int) -> pa.Table:
        _stored(connection, "pairs", tables.pairs(first, stop))
        found: pa.Table = connection.sql(query).to_arrow_table()
        return found

    return hits


def polars_counting(tables: Tables) -> Query:
    import polars as pl

    frame: Any = pl.from_arrow(tables.points)
    lists, needed = frame.group_by("key", maintain_order=True).agg("rule"), pl.Series(tables.needed)
    rules = tables.workload.rules.count

    def hits(first: int, stop: int) -> pa.Table:
        pairs: Any = pl.from_arrow(tables.pairs(first, stop).select(["key", "event"]))
        both = pl.col("event").cast(pl.Int64) * rules + pl.col("rule")
        held = (
            pairs.lazy().join(lists.lazy(), on="key").explode("rule").select(both.alias("both")).group_by("both").len()
        )
        counted = held.collect()
        counted = counted.with_columns(rule=pl.col("both") % rules, event=pl.col("both") // rules)
        found = counted.filter(counted["len"] == needed.gather(counted["rule"]))
        answer: pa.Table = found.select("event", "rule").to_arrow()
        return answer

    return hits


def polars_access(tables: Tables) -> Query:
    import polars as pl

    access: Any = pl.from_arrow(tables.access_points)
    rest: Any = pl.from_arrow(tables.ranges.filter(pa.array(~tables.is_access)).sort_by("rule"))
    lists, needed = access.group_by("key", maintain_order=True).agg("rule"), pl.Series(tables.needed)
    others = rest.group_by("rule", maintain_order=True).agg("attribute", "low", "high")
    width = tables.workload.dimensions

    def hits(first: int, stop: int) -> pa.Table:
        given = tables.pairs(first, stop)
        pairs: Any = pl.from_arrow(given.select(["key", "event"]))
        dense = np.full((stop - first) * width, -1, np.int32)
        dense[given["event"].to_numpy() * width + given["attribute"].to_numpy()] = given["value"].to_numpy()
        looked_up = pl.lit(pl.Series(dense)).gather(pl.col("event") * width + pl.col("attribute"))
        candidates = pairs.lazy().join(lists.lazy(), on="key").select("event", "rule").explode("rule").collect()
        held = candidates.lazy().join(others.lazy(), on="rule").explode("attribute", "low", "high")
        held = held.filter(looked_up.is_between("low", "high")).group_by("event", "rule").len().collect()
        verified = held.filter(held["len"] == needed.gather(held["rule"]) - 1).select("event", "rule")
        alone = candidates.filter(needed.gather(candidates["rule"]) == 1)
        answer: pa.Table = pl.concat([verified, alone]).to_arrow()
        return answer

    return hits


JOINS: dict[str, Callable[[Tables], Query]] = {
    "DuckDB, counting join": duckdb_counting,
    "DuckDB, access join": duckdb_access,
    "Polars, counting join": polars_counting,
    "Polars, access join": polars_access,
}
