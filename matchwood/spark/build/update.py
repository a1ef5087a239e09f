"""Change some rules of an index: a delta shard and tombstones, at the cost of the change; compacted now and then."""

from __future__ import annotations

import dataclasses
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pyarrow as pa

from matchwood import storage
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.matching import USUAL, RejectLimit
from matchwood.progress import Progress
from matchwood.sharding import ShardSet, open_shards, read_layout
from matchwood.spark.build.build import check_choices, followed, refusal, refuse_beyond, refuse_duplicates
from matchwood.spark.build.compaction import compact, is_due
from matchwood.spark.build.delta_task import Delta, DeltaTask
from matchwood.spark.build.notes import counting_rules
from matchwood.spark.build.report import UpdateReport
from matchwood.spark.build.rule_columns import RuleColumns, checked_rules, id_type, in_shards
from matchwood.spark.build.shard_task import TOLD, settings_of
from matchwood.spark.jobs import described
from matchwood.spark.locations import location_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger("matchwood.spark")

T = TypeVar("T")

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
    is rejected leaves the old rule. The other arguments are those of `build`. If several updates run at once, all are
    applied: if another one was published first, this one starts again from there.
    """
    started = time.monotonic()
    check_choices(on_error, on_duplicate, order)
    plain = checked_rules(changes, RuleColumns(id, expression, weight, weights, order))
    place, limit = location_for(plain.sparkSession, path), RejectLimit.of(max_rejected)
    job = UpdateJob(plain, place, on_error, order is not None, limit)
    with described(plain.sparkSession, f"updating {place}") as line:
        version, delta = until_first(place, dataclasses.replace(job, line=line).publish)
    return job.finished(version, delta, started)


def until_first(place: storage.Location, publish: Callable[[], T]) -> T:
    """What a publication returns that no other writer overtakes."""
    for _ in range(TRIES):
        try:
            return publish()
        except storage.Overtaken:
            continue
    raise MatchwoodError(f"{place}: {TRIES} other writers were faster, so nothing was published; try again")


class Advance(NamedTuple):
    """An update that leads an index from one state of the table or stream that it follows to another; {} is none."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True)
class UpdateJob:
    """One update under way: `changes` are plain ones, see `rule_columns`.

    `advance`  for an index that follows a table; the states are recorded with the versions
    `line`     that shows how far it is, if somebody watches
    """

    changes: DataFrame
    place: storage.Location
    on_error: str = "quarantine"
    keeps_last: bool = False
    limit: RejectLimit = USUAL
    advance: Advance | None = None
    line: Progress | None = None

    def publish(self) -> tuple[int, Delta | None]:
        """Publish a version with the changes; Overtaken if another was published meanwhile.

        Without any change the version is the current one, or a new one that records how far the table is.
        """
        base = open_shards(self.place)
        self._check(base)
        with storage.begin(self.place) as staging:
            delta = self.made(staging, base)
            if delta is None:
                return self._unchanged(base, staging), None
            self._judge(delta)
            staying = [name for name in delta.layout.shards if name in base.layout.shards]
            descriptions = [*base.snapshot.link_parts(staying, staging), *delta.descriptions]
            header = followed(delta.layout.header(base.settings), self._follows(base))
            return staging.publish(descriptions, header, after=base.version), delta

    def made(self, staging: storage.Staging, base: ShardSet) -> Delta | None:
        """What the changes come to, made by one task; None if there are none."""
        settings = settings_of(base.snapshot, base.layout.bases[0])
        is_watched = self.line is not None
        task = DeltaTask(staging, base.version, settings, id_type(self.changes), self.keeps_last, is_watched)

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return task(batches)

        with counting_rules(self.line, staging, None):
            rows = in_shards(self.changes, 1).mapInArrow(run, TOLD).collect()
        return read_delta(rows[0].told, staging) if rows else None

    def _check(self, base: ShardSet) -> None:
        ids, follows = id_type(self.changes), base.snapshot.header.get(storage.FOLLOWS)
        if self.advance is not None and (follows or {}) != self.advance.before:
            raise storage.Overtaken(f"version {base.version} of {self.place} stands for another state of the table")
        if len(base) and ids != base.layout.id_type:
            raise InvalidArgument(f"the ids of the changes are {ids}, those of {self.place} {base.layout.id_type}")

    def _judge(self, delta: Delta) -> None:
        refuse_duplicates(delta.twice, delta.ids, self.keeps_last)
        if self.on_error == "fail" and delta.rejected:
            raise MatchwoodError(refusal(delta.rejected, delta.examples))
        refuse_beyond(self.limit, delta.rejected, delta.changes, delta.examples)

    def _follows(self, base: ShardSet) -> Mapping[str, Any] | None:
        """Changes that come from elsewhere leave the index where it is in the table that it follows."""
        return self.advance.after if self.advance else base.snapshot.header.get(storage.FOLLOWS)

    def _unchanged(self, base: ShardSet, staging: storage.Staging) -> int:
        if self.advance is None:
            staging.abort()
            return base.version
        header = followed(base.snapshot.header, self.advance.after)
        return staging.publish(base.snapshot.link_parts(base.snapshot.parts, staging), header, after=base.version)

    def finished(self, version: int, delta: Delta | None, started: float) -> UpdateReport:
        """What became of a version that was published, once all shards are built anew if that is due."""
        compacted, problem = _compacted(self.changes.sparkSession, self.place, version, delta)
        seconds = time.monotonic() - started
        report = _report(self.place, compacted or version, delta, compacted is not None, seconds)
        return dataclasses.replace(report, problem=problem)


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
        told = first_line(error)
        _log.warning(
            "%s: version %d has all changes, but its shards could not be rebuilt; the next update will try "
            "again: %s", place, version, told,
        )  # fmt: skip
        return None, told


def first_line(error: Exception) -> str:
    """An error's kind and the first line of what it says."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def read_delta(text: str, staging: storage.Staging) -> Delta:
    """What a task tells of the delta that it made."""
    told = json.loads(text)
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
