"""Build the shards of an index anew once deltas and tombstones are more than a tenth of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from matchwood import storage
from matchwood.sharding import open_shards
from matchwood.spark.build.build import Job, begin_version
from matchwood.spark.build.delta_task import Delta
from matchwood.spark.build.rejects import reject_parts
from matchwood.spark.build.shard_task import settings_of
from matchwood.spark.build.sizes import shards_for, totals_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHARE = 0.1


def is_due(delta: Delta) -> bool:
    """Whether what is not in the base shards, or dead in them, is more than a tenth of all rules."""
    rules = delta.layout.rules
    late = sum(rules[name] for name in delta.layout.deltas)
    return late + delta.dead > SHARE * sum(rules.values())


def compact(spark: SparkSession, place: storage.Location, version: int) -> int | None:
    """Publish a version with the same rules in base shards alone; None if another writer was faster."""
    base = open_shards(place, version)
    settings = settings_of(base.snapshot, base.layout.bases[0])
    rules = live_rules(spark, place, version, base.layout.shards, base.layout.id_type)
    count = max(len(base.layout.bases), shards_for(totals_of(rules), spark))
    follows = base.snapshot.header.get(storage.FOLLOWS)
    job = Job(rules, settings, count, on_error="fail", allow_empty=True, follows=follows)
    try:
        with begin_version(place, count) as staging:
            more = base.snapshot.link_parts(reject_parts(base.snapshot), staging)
            return job.publish(staging, after=version, more=more)[0]
    except storage.Overtaken:
        return None


def live_rules(
    spark: SparkSession, place: storage.Location, version: int, shards: tuple[str, ...], id_type: str
) -> DataFrame:
    """All live rules of a version, read by the executors: id, expression, weight, weights."""
    ids = "string" if id_type == "string" else "bigint"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for position in batch.column(0).to_pylist():
                yield from open_shards(place, version).table(shards[position]).rules()

    numbers = spark.range(len(shards), numPartitions=len(shards))
    return numbers.mapInArrow(read, f"id {ids}, expression string, weight double, weights string")
