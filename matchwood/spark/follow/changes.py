"""What changed in a table of rules between two of its versions: of each id what became of it, and nothing else.

Both ways return plain changes (see `rule_columns`): an expression that is NULL deletes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_VALUES = ("expression", "weight", "weights")


def net_changes(feed: DataFrame) -> DataFrame:
    """The last state of each id in a feed of plain rules with their order (see `tables.ORDER`).

    Rules that are in the end what they were in the beginning are left out: a MERGE rewrites many of these. Two rows
    that stay with one id, by the same change, are both returned: an update refuses them.
    """
    state = F.struct("order", *_VALUES)
    states = feed.groupBy("id").agg(F.sort_array(F.collect_set(state)).alias("states"))
    first, last = F.col("states")[0], F.element_at("states", -1)
    was_there, is_there = first["order"] % 2 == 0, last["order"] % 2 == 1
    changed = states.where(~(was_there & is_there & _same(first, last)))
    newest = F.explode(F.filter("states", lambda each: each["order"] == last["order"]))
    rows = changed.select("id", newest.alias("state")).select("id", "state.*")
    kept = {name: F.when(F.col("order") % 2 == 1, F.col(name)).alias(name) for name in _VALUES}
    return rows.where("id IS NOT NULL OR order % 2 = 1").select("id", *kept.values(), "order")


def compared(old: DataFrame, new: DataFrame) -> DataFrame:
    """The rules in which two versions of a table differ, each read whole."""
    before = old.select(F.col("id").alias("old_id"), F.struct(*_VALUES).alias("old"))
    after = new.select("id", F.struct(*_VALUES).alias("new"))
    both = before.join(after, F.col("old_id").eqNullSafe(F.col("id")), "full_outer")
    changed = both.where(~(F.col("old").isNotNull() & F.col("new").isNotNull() & _same(F.col("old"), F.col("new"))))
    ids = F.when(F.col("new").isNull(), F.col("old_id")).otherwise(F.col("id"))
    rows = changed.select(
        ids.alias("id"), *(F.col("new")[name].alias(name) for name in _VALUES), F.lit(1).alias("order")
    )
    return rows.where("id IS NOT NULL OR expression IS NOT NULL")


def _same(one: Column, other: Column) -> Column:
    same = F.lit(True)
    for name in _VALUES:
        same = same & one[name].eqNullSafe(other[name])
    return same
