"""Shards on different workers, for indexes larger than a machine: events go to every shard, hits come back by key.

One shuffle brings a copy of each event's named columns to each shard's tasks, another brings the hits together. What
else is to be kept of an event travels with the first copy alone. A shard always has the same partitions, by number, and
as few as keep the cores busy. Spark decides where they run, of which a DataFrame has no say: so workers keep the shards
that they met open, as far as there is room, and a host maps each of its shards once for all of its workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from matchwood.spark.match.answer import ANSWER, answer_of
from matchwood.spark.match.event_columns import by_position
from matchwood.spark.match.options import MatchOptions, position_of
from matchwood.spark.match.plan import MatchPlan
from matchwood.spark.match.strategy import cores_of
from matchwood.spark.match.task import ERROR, FOUND, MISFITS, WORK, WORK_TYPE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SHARD, _KEY, _KEPT, _COPIES = "matchwood_shard", "matchwood_key", "matchwood_kept", "matchwood_copies"


def partitioned_answers(events: DataFrame, plan: MatchPlan, kept: list[int], options: MatchOptions) -> DataFrame:
    """The kept columns, by position, and beside them what all shards together answer."""
    key = position_of(events.columns, options.key or "", "key")
    copies = _copies(by_position(events), plan, kept, key)
    answer = answer_of(plan.task, plan.id_type)(_SHARD, *map(_argument, range(len(plan.arguments))))
    answered = (
        copies.select(_KEY, _KEPT, answer.alias(ANSWER))
        .groupBy(_KEY)
        .agg(
            sf.first(_KEPT, ignorenulls=True).alias(_KEPT),
            sf.count(sf.lit(1)).alias(_COPIES),
            *_together(plan, options),
        )
    )
    fields = [sf.col(name) for name in plan.task.fields]
    refusal = sf.raise_error(sf.lit(f"key: {options.key!r} has the same value in several events, or NULL in several"))
    # Within the answer, which every output needs: where nobody looks at a column Spark leaves out its checks.
    checked = sf.when(sf.col(_COPIES) == plan.shards, sf.struct(*fields)).otherwise(refusal)
    columns = [sf.col(_KEPT)[f"_{position}"].alias(f"_{position}") for position in kept]
    return answered.select(*columns, checked.alias(ANSWER))


def _copies(columns: DataFrame, plan: MatchPlan, kept: list[int], key: int) -> DataFrame:
    """A copy of each event for each shard, on the workers of that shard."""
    arguments = [_as_column(value).alias(_argument(number)) for number, value in enumerate(plan.arguments)]
    keep = sf.struct(sf.lit(True).alias("kept"), *(sf.col(f"_{position}") for position in kept))
    shards = sf.explode(sf.sequence(sf.lit(0), sf.lit(plan.shards - 1))).alias(_SHARD)
    copies = columns.select(sf.col(f"_{key}").alias(_KEY), keep.alias(_KEPT), *arguments).select("*", shards)
    copies = copies.withColumn(_KEPT, sf.when(sf.col(_SHARD) == 0, sf.col(_KEPT)))
    width = _width(columns, plan.shards)
    part = sf.col(_SHARD) * width + sf.pmod(sf.hash(_KEY), sf.lit(width))
    return copies.repartitionById(plan.shards * width, part.cast("int"))


def _width(columns: DataFrame, shards: int) -> int:
    """Tasks for each shard: as few as keep the cores busy, since each of them opens the shard where it runs.

    Where Spark does not tell how many cores there are, as many as all shards together need for a shuffle's partitions.
    """
    session = columns.sparkSession
    cores = cores_of(session)
    if cores:
        return -(-cores // shards)
    return max(1, int(session.conf.get("spark.sql.shuffle.partitions", "200")) // shards)


def _together(plan: MatchPlan, options: MatchOptions) -> list[Column]:
    """The answers of all shards as one, of which the first alone tells errors. Rule order across shards is by id."""
    found = sf.col(ANSWER)[FOUND]
    if options.output == "count":
        hits = sf.sum(found) if options.top is None else sf.least(sf.sum(found), sf.lit(options.top).cast("bigint"))
    else:
        hits = sf.flatten(sf.collect_list(found))
        hits = _in_order(hits, options.top) if plan.shards > 1 else hits
    told = {
        FOUND: hits,
        ERROR: sf.max(sf.col(ANSWER).getItem(ERROR)) if ERROR in plan.task.fields else None,
        MISFITS: sf.flatten(sf.collect_list(sf.col(ANSWER)[MISFITS])) if MISFITS in plan.task.fields else None,
        WORK: _work(sf.col(ANSWER)[WORK]) if WORK in plan.task.fields else None,
    }
    return [column.alias(name) for name, column in told.items() if column is not None]


def _work(work: Column) -> Column:
    """What all shards took together for an event."""
    total = [sf.sum(work[name]).alias(name) for name in WORK_TYPE.names if name != "engine"]
    return sf.struct(sf.max(work["engine"]).alias("engine"), *total)


def _in_order(hits: Column, top: int | None) -> Column:
    """The hits of several shards by id; or the best of them by score, then id, ranked anew."""
    if top is None:
        return sf.array_sort(hits)
    keyed = sf.transform(hits, lambda hit: sf.struct((-hit["score"]).alias("worse"), hit["rule"].alias("rule")))
    best = sf.slice(sf.array_sort(keyed), 1, top)
    return sf.transform(
        best,
        lambda hit, place: sf.struct(
            (place + 1).alias("rank"), hit["rule"].alias("rule"), (-hit["worse"]).alias("score")
        ),
    )


def _as_column(value: Column | str) -> Column:
    return sf.col(value) if isinstance(value, str) else value


def _argument(number: int) -> str:
    return f"matchwood_argument_{number}"
