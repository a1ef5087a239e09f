"""Change some rules of an index: a delta shard and tombstones, at the cost of the change; compacted now and then."""

from __future__ import annotations

import dataclasses
import json
import logging
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from matchwood import storage
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.matching import RejectLimit
from matchwood.sharding import ShardSet, open_shards, read_layout
from matchwood.spark.build.build import check_choices, refusal, refuse_beyond, refuse_duplicates
from matchwood.spark.build.compaction import compact, is_due
from matchwood.spark.build.delta_task import Delta, DeltaTask
from matchwood.spark.build.report import UpdateReport
from matchwood.spark.build.rule_columns import RuleColumns, checked_rules, id_type, in_shards
from matchwood.spark.build.shard_task import TOLD, settings_of
from matchwood.spark.jobs import described
from matchwood.spark.locations import location_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger("matchwood.spark")

TRIES = 20
"""How often an update begins again because another one was published first."""


def update(
    changes: DataFrame,
    path: Any,
    id: str = "id",
    expression: str = "expression",
    weight: str | None = None,
    weights: str | None = None,
    on_error: str = "quarantine",
    on_duplicate: str = "error",
    order: str | None = None,
    max_rejected: float | None = None,
) -> UpdateReport:
    """Insert, replace and delete rules of the index at `path`, and publish the result as a new version.

    A row whose expression is NULL deletes the rule with that id; any other inserts or replaces. A replacement that
    is rejected leaves the old rule. The other arguments are those of `build`. Of several updates at once each is
    applied: one that finds another published first begins again from there.
    """
    started = time.monotonic()
    check_choices(on_error, on_duplicate, order)
    plain = checked_rules(changes, RuleColumns(id, expression, weight, weights, order))
    place, limit = location_for(plain.sparkSession, path), RejectLimit.of(max_rejected)
    with described(plain.sparkSession, f"updating {place}"):
        version, delta = _published(plain, place, on_error, order is not None, limit)
    compacted, problem = _compacted(plain.sparkSession, place, version, delta)
    report = _report(place, compacted or version, delta, compacted is not None, time.monotonic() - started)
    return dataclasses.replace(report, problem=problem)


def _published(
    changes: DataFrame, place: storage.Location, on_error: str, keeps_last: bool, limit: RejectLimit
) -> tuple[int, Delta | None]:
    for _ in range(TRIES):
        try:
            return _applied(changes, place, on_error, keeps_last, limit)
        except storage.Overtaken:
            continue
    raise MatchwoodError(f"{place}: {TRIES} other writers were faster, so nothing was published; try again")


def _compacted(
    spark: SparkSession, place: storage.Location, version: int, delta: Delta | None
) -> tuple[int | None, str | None]:
    """The version with all shards built anew, if that is due; what went wrong does not undo the update before it."""
    if delta is None or not is_due(delta):
        return None, None
    try:
        with described(spark, f"rebuilding all shards of {place}, version {version}"):
            return compact(spark, place, version), None
    except Exception as error:  # whatever Spark, the workers and the file system may raise
        told = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        _log.warning(
            "%s: version %d has all changes, but its shards could not be rebuilt; the next update will try "
            "again: %s", place, version, told,
        )  # fmt: skip
        return None, told


def _applied(
    changes: DataFrame, place: storage.Location, on_error: str, keeps_last: bool, limit: RejectLimit
) -> tuple[int, Delta | None]:
    """Publish a version with the changes; without any, the version is the current one."""
    base = open_shards(place)
    if len(base) and id_type(changes) != base.layout.id_type:
        raise InvalidArgument(f"the ids of the changes are {id_type(changes)}, those of {place} {base.layout.id_type}")
    with storage.begin(place) as staging:
        delta = _run(changes, staging, base, keeps_last)
        if delta is None:
            staging.abort()
            return base.version, None
        refuse_duplicates(delta.twice, delta.ids, keeps_last)
        if on_error == "fail" and delta.rejected:
            raise MatchwoodError(refusal(delta.rejected, delta.examples))
        refuse_beyond(limit, delta.rejected, delta.changes, delta.examples)
        staying = [name for name in delta.layout.shards if name in base.layout.shards]
        descriptions = [*base.snapshot.link_parts(staying, staging), *delta.descriptions]
        return staging.publish(descriptions, delta.layout.header(base.settings), after=base.version), delta


def _run(changes: DataFrame, staging: storage.Staging, base: ShardSet, keeps_last: bool) -> Delta | None:
    settings = settings_of(base.snapshot, base.layout.bases[0])
    task = DeltaTask(staging, base.version, settings, id_type(changes), keeps_last)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(batches)

    rows = in_shards(changes, 1).mapInArrow(run, TOLD).collect()
    if not rows:
        return None
    told = json.loads(rows[0].told)
    return Delta(**{**told, "layout": read_layout(told["layout"], str(staging.place))})


def _report(
    place: storage.Location, version: int, delta: Delta | None, compacted: bool, seconds: float
) -> UpdateReport:
    shards = open_shards(place, version)
    return UpdateReport(
        rules=len(shards),
        rejected=delta.rejected if delta else 0,
        shards=len(shards.layout.shards),
        bytes=shards.bytes,
        version=version,
        seconds=seconds,
        inserted=delta.inserted if delta else 0,
        replaced=delta.replaced if delta else 0,
        deleted=delta.deleted if delta else 0,
        compacted=compacted,
        misfits=delta.misfits if delta else {},
    )
