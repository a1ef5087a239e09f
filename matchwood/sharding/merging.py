"""The rows that several shards found for the same events, as one list of ids an event, ordered by id."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.sharding.shard import Shard


class Found(NamedTuple):
    """What one shard found for some events: the i-th has rows[offsets[i] : offsets[i + 1]], none of them dead.

    `scores`  of the best rows, where those are wanted
    """

    shard: Shard
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    scores: NDArray[np.float64] | None = None


def ids_in_order(parts: list[Found]) -> tuple[NDArray[np.int64], pa.Array]:
    """Offsets and ids; each event's ids ascend.

    Only the distinct ids are compared with each other: hits are many, and sorting text is slow.
    """
    counts = np.sum([np.diff(part.offsets) for part in parts], axis=0)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    ids, by_id, ranks, events = _placed(parts)
    # One integer for both: sorting by two keys takes three times as long.
    keys = np.sort(events * max(len(ids), 1) + ranks)
    return offsets, ids.take(pa.array(by_id[keys % max(len(ids), 1)]))


def best_in_order(parts: list[Found], n: int) -> tuple[NDArray[np.int64], pa.Array, NDArray[np.float64]]:
    """Offsets, ids and scores of the best `n` rows of each event, from the best `n` of each shard; ties by id."""
    ids, by_id, ranks, events = _placed(parts)
    scores = np.concatenate([np.empty(0) if part.scores is None else part.scores for part in parts])
    order = np.lexsort((ranks, -scores, events))
    found = np.bincount(events, minlength=len(parts[0].offsets) - 1)
    within = np.arange(len(order)) - np.repeat(np.cumsum(found) - found, found)
    kept = order[within < n]
    offsets = np.concatenate(([0], np.cumsum(np.minimum(found, n)))).astype(np.int64)
    return offsets, ids.take(pa.array(by_id[ranks[kept]])), scores[kept]


def _placed(parts: list[Found]) -> tuple[pa.Array, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct ids, which of them comes where in their order; for each hit the place of its id, and its event."""
    every = [_distinct(part) for part in parts]
    ids = pa.concat_arrays([ids for ids, _ in every])
    rank = np.empty(len(ids), np.int64)
    by_id = pc.sort_indices(ids).to_numpy()
    rank[by_id] = np.arange(len(ids))
    starts = np.cumsum([0, *(len(ids) for ids, _ in every)])
    ranks = np.concatenate([rank[places + start] for (_, places), start in zip(every, starts, strict=False)])
    events = [np.repeat(np.arange(len(part.offsets) - 1), np.diff(part.offsets)) for part in parts]
    return ids, by_id, ranks, np.concatenate(events)


def _distinct(part: Found) -> tuple[pa.Array, NDArray[np.int64]]:
    """The ids of the distinct rows, and the place among them of each row."""
    rows, places = np.unique(part.rows, return_inverse=True)
    return part.shard.table.ids(rows), places
