"""A stream of changes to rules, a compacted Kafka topic for one, becomes updates of an index, each exactly once.

Which micro-batch was applied last stands in the version that it was published as. A batch that is processed again
after a restart finds itself there, and is left out.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from matchwood import storage
from matchwood.errors import InvalidArgument, SnapshotNotFound
from matchwood.matching import RejectLimit
from matchwood.spark.build.build import check_choices
from matchwood.spark.build.delta_task import Delta
from matchwood.spark.build.rule_columns import RuleColumns, checked_rules
from matchwood.spark.build.update import Advance, UpdateJob, until_first
from matchwood.spark.frames import checked_frame
from matchwood.spark.jobs import described
from matchwood.spark.locations import location_for
from matchwood.spark.stream.query import checkpoint_of, query_of, started

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

_log = logging.getLogger("matchwood.spark")

FORMAT = "stream"
"""What a version's record of the batch calls the kind of source."""


def update_stream(
    changes: DataFrame,
    path: storage.Path,
    id: str = "id",
    expression: str = "expression",
    weight: str | None = None,
    weights: str | None = None,
    *,
    order: str | None = None,
    checkpointLocation: str | os.PathLike[str] | None = None,  # noqa: N803
    queryName: str | None = None,  # noqa: N803
    trigger: Mapping[str, Any] | None = None,
    on_error: str = "quarantine",
    max_rejected: float = 1.0,
) -> StreamingQuery:
    """Publish each micro-batch of a stream of changes as one update of the index at `path`, exactly once.

    A change whose expression is NULL deletes the rule with that id; any other inserts or replaces it.

    `order`  the column that tells which of several changes of one id in a batch is the last, such as Kafka's `offset`

    `checkpointLocation`, `queryName` and `trigger` are those of `match_stream`; a checkpoint is needed. The others are
    those of `update`, except that rules are quarantined however many are rejected: one bad batch would otherwise stop
    the stream for good. The index must be there: `build(…, allow_empty=True)` makes one without rules. Let one stream
    feed an index.
    """
    columns = RuleColumns(id, expression, weight, weights, order)
    _check(changes, columns, on_error)
    place, limit = location_for(changes.sparkSession, path), RejectLimit.of(max_rejected)
    checkpoint = checkpoint_of(changes, checkpointLocation, queryName)
    if checkpoint is None:
        raise InvalidArgument("an update is applied once by what the checkpoint tells: give a checkpointLocation=")
    _check_index(place)
    each = _each_batch(place, columns, on_error, limit, checkpoint)
    return started(changes, each, checkpointLocation, queryName, trigger)


def _each_batch(
    place: storage.Location, columns: RuleColumns, on_error: str, limit: RejectLimit, checkpoint: str
) -> Callable[[DataFrame, int], None]:
    """What Spark calls for a micro-batch; through Spark Connect it is pickled and runs beside the server."""

    def update_batch(batch: DataFrame, batch_id: int) -> None:
        if batch.isEmpty():
            return
        query = query_of(batch.sparkSession, checkpoint)
        record = {"format": FORMAT, "query": query, "batch": batch_id}
        plain = checked_rules(batch, columns)
        job = UpdateJob(plain, place, on_error, columns.order is not None, limit)
        with described(batch.sparkSession, f"updating {place} by batch {batch_id} of a stream"):
            _apply(job, record)

    return update_batch


def _apply(job: UpdateJob, record: Mapping[str, Any]) -> None:
    """Publish the changes and the record as one version, unless a version has the record already."""
    began = time.monotonic()

    def publish() -> tuple[int, Delta | None] | None:
        known = storage.header_of(job.place)[1].get(storage.FOLLOWS) or {}
        if known.get("query") == record["query"] and known["batch"] >= record["batch"]:
            return None
        return dataclasses.replace(job, advance=Advance(known, record)).publish()

    published = until_first(job.place, publish)
    done = "was applied before" if published is None else job.finished(*published, began)
    _log.info("%s, batch %d: %s", job.place, record["batch"], done)


def _check(changes: DataFrame, columns: RuleColumns, on_error: str) -> None:
    check_choices(on_error, "last" if columns.order is not None else "error", columns.order)
    checked_frame(changes, "changes")
    if not changes.isStreaming:
        raise InvalidArgument("update_stream takes a streaming DataFrame; update takes tables")
    checked_rules(changes, columns)


def _check_index(place: storage.Location) -> None:
    try:
        known = storage.header_of(place)[1].get(storage.FOLLOWS)
    except SnapshotNotFound as error:
        raise SnapshotNotFound(
            f"{error}: update_stream changes an index; build(…, allow_empty=True) makes one without rules"
        ) from error
    if known is not None and known.get("format") != FORMAT:
        raise InvalidArgument(f"the index at {place} follows the table {known.get('table')}: change that one instead")
