"""Match a stream that follows new versions of an index: one version a micro-batch, written down for its replay."""

from __future__ import annotations

import dataclasses
import datetime
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from matchwood import storage
from matchwood.errors import InvalidArgument
from matchwood.spark.frames import checked_frame
from matchwood.spark.locations import location_for
from matchwood.spark.match.answer import refuse_clash
from matchwood.spark.match.match import matched
from matchwood.spark.match.options import MatchOptions
from matchwood.spark.stream.query import checkpoint_of, name_for, query_of, started
from matchwood.spark.stream.seen import PROBLEM, REASON, Seen
from matchwood.spark.stream.set_aside import parted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

Writer = Callable[["DataFrame", int, int], Any]

OWN_OPTIONS = ("checkpointLocation", "queryName", "trigger", "poison", "time", "within", "distinct")


def match_stream(
    events: DataFrame,
    path: storage.Path,
    writer: Writer,
    *,
    checkpointLocation: str | os.PathLike[str] | None = None,  # noqa: N803
    queryName: str | None = None,  # noqa: N803
    trigger: Mapping[str, Any] | None = None,
    poison: Writer | None = None,
    time: str | None = None,
    within: str | datetime.timedelta | None = None,
    distinct: str | Sequence[str] = (),
    **options: Any,
) -> StreamingQuery:
    """Match each micro-batch of a stream, and hand the hits to `writer(hits, batch_id, version)`.

    Each batch uses the version that is current when it begins. The version is recorded beside the index before the
    writer is called, and a batch that is processed again after a restart uses the recorded one. So a writer that
    replaces what it wrote before for the same `batch_id` writes every hit exactly once.

    `checkpointLocation`  where Spark keeps the stream's progress; a restart with the same one continues
    `queryName`           the name of the query and of its records
    `trigger`             arguments of Spark's trigger, such as {"availableNow": True}; by default, as soon as possible

    These have Spark's own names. One event that cannot be used need not stop the others:

    `poison`    a function like the writer, for the events of a batch that are set aside, if there are any: all their
                columns, `problem` (`unreadable`, `late` or `repeated`) and `reason`. It must replace what it wrote for
                a batch before, too. With on_error="raise" an event in which something does not fit has no hits then,
                and the stream goes on; with `null` and `report` it is matched by the rest, and set aside as well
    `time`      the column with an event's time: one that lies more than `within` before the latest time of earlier
                batches is late, or has none; it is set aside
    `within`    how long that is, as "10 minutes"
    `distinct`  columns whose values name an event: one that comes again before it would be late is set aside

    All other options are those of `match`; `version=` keeps all batches at one version.
    """
    _check(events, writer)
    settings = MatchOptions.from_names(options, OWN_OPTIONS)
    place = location_for(events.sparkSession, path)
    checkpoint = checkpoint_of(events, checkpointLocation, queryName)
    if poison is not None:
        refuse_clash(events, events.columns, [settings.prefix + PROBLEM, settings.prefix + REASON])
    aside = _aside(events, checkpoint, poison, (time, within, distinct))
    name = queryName or name_for(checkpoint)
    each = _each_batch(place, _BatchOutputs(writer, *aside), settings, name, checkpoint)
    return started(events, each, checkpointLocation, queryName, trigger)


class _BatchOutputs(NamedTuple):
    """What becomes of a batch: the hits, and what is set aside."""

    hits: Writer
    aside: Writer | None
    seen: Seen | None

    def __call__(self, batch: DataFrame, batch_id: int, path: storage.Location, settings: MatchOptions) -> None:
        version = settings.version or 0
        if self.aside is None:
            self.hits(matched(batch, path, settings), batch_id, version)
            return
        with parted(batch, batch_id, path, settings, self.seen) as found:
            self.hits(found.hits, batch_id, version)
            if not found.aside.isEmpty():
                self.aside(found.aside, batch_id, version)


def _aside(
    events: DataFrame, checkpoint: str | None, poison: Writer | None, how: tuple[Any, Any, Any]
) -> tuple[Writer | None, Seen | None]:
    """Where events go that are set aside, and how late and repeated ones are told."""
    if poison is not None and not callable(poison):
        raise InvalidArgument(f"poison must be a function of rows, batch_id and version (got {poison!r:.80})")
    time, within, distinct = how
    if time is None and within is None and not distinct:
        return poison, None
    if time is None or within is None:
        raise InvalidArgument("late and repeated events are told by time= (a column) and within= (as '10 minutes')")
    if poison is None:
        raise InvalidArgument("time= and distinct= set events aside: give poison= as well, which takes them")
    if checkpoint is None:
        raise InvalidArgument("time= and distinct= remember what came before: give a checkpointLocation= for it")
    names = (distinct,) if isinstance(distinct, str) else tuple(distinct)
    seen = Seen(checkpoint, time, storage.duration_of("within", within), names)
    seen.check(events)
    return poison, seen


def _each_batch(
    path: storage.Location, write: _BatchOutputs, settings: MatchOptions, name: str, checkpoint: str | None
) -> Callable[[DataFrame, int], None]:
    """What Spark calls for a micro-batch; through Spark Connect it is pickled and runs beside the server."""
    known = [uuid.uuid4().hex] if checkpoint is None else []

    def match_batch(batch: DataFrame, batch_id: int) -> None:
        if checkpoint is not None and not known:
            known.append(query_of(batch.sparkSession, checkpoint))
        query = known[0]
        version = storage.pinned_version(path, name, query, batch_id, settings.version)
        write(batch, batch_id, path, dataclasses.replace(settings, version=version))

    return match_batch


def _check(events: DataFrame, writer: Writer) -> None:
    if not callable(writer):
        raise InvalidArgument(f"writer must be a function of hits, batch_id and version (got {writer!r:.80})")
    checked_frame(events, "events")
    if not events.isStreaming:
        raise InvalidArgument("match_stream takes a streaming DataFrame; match takes tables as well")
