"""How an index reaches the events: which strategy `auto` takes, and the estimate behind it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from pyspark.errors import PySparkException

from matchwood.errors import InvalidArgument
from matchwood.spark.match.opened import OpenedIndex
from matchwood.spark.match.options import MatchOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNITS = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_SIZE = re.compile(r"(\d+)\s*([bkmgtp]?)b?", re.IGNORECASE)
_EXECUTOR_DEFAULT = 2**30
_LOCAL = re.compile(r"local\[(\d+|\*)(?:,.*)?\]")


class StrategyChoice(NamedTuple):
    """A strategy, in words what it was chosen by, and bytes of shards that stay open in a worker; None for all."""

    strategy: str
    estimate: str
    room: int | None = None


def chosen(events: DataFrame, index: OpenedIndex, options: MatchOptions) -> StrategyChoice:
    """The strategy asked for, if it can be used; for `auto`, one that fits the workers' memory."""
    room, shards = worker_memory(events.sparkSession), len(index.shards)
    estimate = (
        f"the index takes {_megabytes(index.bytes)} in {shards} shard{'s' * (shards != 1)}, "
        f"a worker has about {_megabytes(room)} for it"
    )
    strategy = options.strategy
    if strategy == "auto":
        strategy = _by_size(index.bytes <= room, shards, options.key is not None and not events.isStreaming)
    if strategy == "partitioned":
        _check_partitioned(events, options, estimate)
    # Of the half that stays free, one shard after the other takes a part while it has its turn.
    return StrategyChoice(strategy, estimate, None if strategy == "broadcast" else room // 2)


def _by_size(fits: bool, shards: int, can_regroup: bool) -> str:
    """One shard alone cannot be walked through or spread: it stays mapped, and the host keeps what is in use."""
    if fits or shards == 1:
        return "broadcast"
    return "partitioned" if can_regroup else "sharded"


def _check_partitioned(events: DataFrame, options: MatchOptions, estimate: str) -> None:
    if options.key is None:
        raise InvalidArgument(f"strategy 'partitioned' needs key=, a column whose values are distinct ({estimate})")
    if events.isStreaming:
        raise InvalidArgument(
            f"strategy 'partitioned' is for tables, as it regroups hits; a stream takes 'broadcast' or 'sharded', or "
            f"match_stream, whose batches are tables ({estimate})"
        )


def worker_memory(session: SparkSession) -> int:
    """Bytes that a worker's host can keep of an index: half of this machine's under a local master; of another as much
    as its executor has, as nobody can say what else runs there."""
    if (_setting(session, "spark.master") or "").startswith("local["):
        return _installed() // 2
    return size_in_bytes(_setting(session, "spark.executor.memory")) or _EXECUTOR_DEFAULT


def cores_of(session: SparkSession) -> int:
    """The cores that tasks can run on at once, 0 where nothing tells.

    A local master says it; a cluster's settings do, where they have a number of executors and of cores.
    """
    local = _LOCAL.fullmatch(_setting(session, "spark.master") or "")
    if local is not None:
        return os.cpu_count() or 1 if local[1] == "*" else int(local[1])
    dynamic = _setting(session, "spark.dynamicAllocation.maxExecutors")
    counts = (_setting(session, "spark.executor.instances") or dynamic, _setting(session, "spark.executor.cores"))
    executors, each = (int(count) if count and count.isdigit() else 0 for count in counts)
    return executors * each


def _setting(session: SparkSession, name: str) -> str | None:
    """None where a platform does not tell."""
    try:
        value: str | None = session.conf.get(name, None)
    except PySparkException:
        return None
    return value


def size_in_bytes(text: str | None) -> int:
    """
    >>> size_in_bytes("2g"), size_in_bytes("512 MB"), size_in_bytes(None)
    (2147483648, 536870912, 0)
    """
    found = _SIZE.fullmatch((text or "").strip())
    return int(found[1]) * _UNITS[found[2].lower() or "b"] if found else 0


def _installed() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 * 2**30


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
