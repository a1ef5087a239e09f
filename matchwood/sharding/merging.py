"""The rows that several shards found for the same events, as one list of ids an event, ordered by id."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.sharding.shard import Shard


class Found(NamedTuple):
    """What one shard found for some events: the i-th has rows[offsets[i] : offsets[i + 1]]."""

    shard: Shard
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]


def without_dead(found: Found) -> Found:
    """The same without rows that tombstones name."""
    dead = found.shard.dead
    if dead is None or not len(found.rows):
        return found
    kept = ~dead[found.rows]
    before = np.concatenate(([0], np.cumsum(kept)))
    return Found(found.shard, before[found.offsets], found.rows[kept])


def ids_in_order(parts: list[Found]) -> tuple[NDArray[np.int64], pa.Array]:
    """Offsets and ids; each event's ids ascend.

    Only the distinct ids are compared with each other: hits are many, and sorting text is slow.
    """
    counts = np.sum([np.diff(part.offsets) for part in parts], axis=0)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    every = [_distinct(part) for part in parts]
    ids = pa.concat_arrays([ids for ids, _ in every])
    rank = np.empty(len(ids), np.int64)
    by_id = pc.sort_indices(ids).to_numpy()
    rank[by_id] = np.arange(len(ids))
    starts = np.cumsum([0, *(len(ids) for ids, _ in every)])
    ranks = np.concatenate([rank[places + start] for (_, places), start in zip(every, starts, strict=False)])
    events = np.concatenate([np.repeat(np.arange(len(counts)), np.diff(part.offsets)) for part in parts])
    # One integer for both: sorting by two keys takes three times as long.
    keys = np.sort(events * max(len(ids), 1) + ranks)
    return offsets, ids.take(pa.array(by_id[keys % max(len(ids), 1)]))


def _distinct(part: Found) -> tuple[pa.Array, NDArray[np.int64]]:
    """The ids of the distinct rows, and the place among them of each row."""
    rows, places = np.unique(part.rows, return_inverse=True)
    return part.shard.table.ids(rows), places
