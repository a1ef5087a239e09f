"""The streaming query itself: how it is started, where its checkpoint lies, and what tells it from another."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from matchwood import storage
from matchwood.errors import MatchwoodError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


def started(
    events: DataFrame,
    each_batch: Callable[[DataFrame, int], None],
    checkpoint: str | os.PathLike[str] | None,
    query_name: str | None,
    trigger: Mapping[str, Any] | None,
) -> StreamingQuery:
    """A query that hands each micro-batch to a function."""
    stream = events.writeStream.foreachBatch(each_batch)
    if query_name is not None:
        stream = stream.queryName(query_name)
    if checkpoint is not None:
        stream = stream.option("checkpointLocation", os.fspath(checkpoint))
    if trigger is not None:
        stream = stream.trigger(**trigger)
    return stream.start()


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


def checkpoint_of(events: DataFrame, given: str | os.PathLike[str] | None, query_name: str | None) -> str | None:
    """Where Spark will keep the checkpoint; None for a temporary place, which no restart finds again."""
    if given is not None:
        return os.fspath(given)
    root = events.sparkSession.conf.get(_CHECKPOINTS, None)
    return f"{root.rstrip('/')}/{query_name}" if root and query_name else None


def name_for(checkpoint: str | None) -> str:
    """A name for a query that has none: the same after a restart."""
    if checkpoint is None:
        return "unnamed"
    return "checkpoint-" + hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()
