"""Match a stream that follows new versions of an index: one version a micro-batch, written down for its replay."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from matchwood import storage
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.spark.frames import checked_frame
from matchwood.spark.locations import location_for
from matchwood.spark.match.match import matched
from matchwood.spark.match.options import MatchOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

Writer = Callable[["DataFrame", int, int], Any]

OWN_OPTIONS = ("checkpointLocation", "queryName", "trigger")
_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


def match_stream(
    events: DataFrame,
    path: storage.Path,
    writer: Writer,
    *,
    checkpointLocation: str | os.PathLike[str] | None = None,  # noqa: N803
    queryName: str | None = None,  # noqa: N803
    trigger: Mapping[str, Any] | None = None,
    **options: Any,
) -> StreamingQuery:
    """Match each micro-batch of a stream, and hand the hits to `writer(hits, batch_id, version)`.

    Each batch uses the version that is current when it begins. The version is recorded beside the index before the
    writer is called, and a batch that is processed again after a restart uses the recorded one. So a writer that
    replaces what it wrote before for the same `batch_id` writes every hit exactly once.

    `checkpointLocation`  where Spark keeps the stream's progress; a restart with the same one continues
    `queryName`           the name of the query and of its records
    `trigger`             arguments of Spark's trigger, such as {"availableNow": True}; by default, as soon as possible

    These have Spark's own names. All other options are those of `match`; `version=` keeps all batches at one version.
    """
    _check(events, writer)
    settings = MatchOptions.from_names(options, OWN_OPTIONS)
    place = location_for(events.sparkSession, path)
    checkpoint = _checkpoint(events, checkpointLocation, queryName)
    name = queryName or _name_for(checkpoint)
    stream = events.writeStream.foreachBatch(_each_batch(place, writer, settings, name, checkpoint))
    if queryName is not None:
        stream = stream.queryName(queryName)
    if checkpointLocation is not None:
        stream = stream.option("checkpointLocation", os.fspath(checkpointLocation))
    if trigger is not None:
        stream = stream.trigger(**trigger)
    return stream.start()


def _each_batch(
    path: storage.Location, writer: Writer, settings: MatchOptions, name: str, checkpoint: str | None
) -> Callable[[DataFrame, int], None]:
    """What Spark calls for a micro-batch; through Spark Connect it is pickled and runs beside the server."""
    known = [uuid.uuid4().hex] if checkpoint is None else []

    def match_batch(batch: DataFrame, batch_id: int) -> None:
        if checkpoint is not None and not known:
            known.append(query_of(batch.sparkSession, checkpoint))
        query = known[0]
        version = storage.pinned_version(path, name, query, batch_id, settings.version)
        writer(matched(batch, path, dataclasses.replace(settings, version=version)), batch_id, version)

    return match_batch


def query_of(spark: SparkSession, checkpoint: str) -> str:
    """The identity of the query that a checkpoint belongs to, which a new checkpoint at the same place does not share.

    Spark has just written it there; where Arrow cannot read the place, Spark can.
    """
    try:
        told = storage.location_of(checkpoint).read("metadata", 65_536).decode()
    except (OSError, ValueError, MatchwoodError):
        told = spark.read.text(f"{checkpoint.rstrip('/')}/metadata", wholetext=True).collect()[0][0]
    try:
        return str(json.loads(told)["id"])
    except (ValueError, LookupError, TypeError) as error:
        raise MatchwoodError(
            f"{checkpoint}/metadata does not tell which query the checkpoint is of ({error})"
        ) from error


def _check(events: DataFrame, writer: Writer) -> None:
    if not callable(writer):
        raise InvalidArgument(f"writer must be a function of hits, batch_id and version (got {writer!r:.80})")
    checked_frame(events, "events")
    if not events.isStreaming:
        raise InvalidArgument("match_stream takes a streaming DataFrame; match takes tables as well")


def _checkpoint(events: DataFrame, given: str | os.PathLike[str] | None, query_name: str | None) -> str | None:
    """Where Spark will keep the checkpoint; None for a temporary place, which no restart finds again."""
    if given is not None:
        return os.fspath(given)
    root = events.sparkSession.conf.get(_CHECKPOINTS, None)
    return f"{root.rstrip('/')}/{query_name}" if root and query_name else None


def _name_for(checkpoint: str | None) -> str:
    """A name for a query that has none: the same after a restart."""
    if checkpoint is None:
        return "unnamed"
    return "checkpoint-" + hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()
