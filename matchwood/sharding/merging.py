"""The rows that several shards found for the same events, as one list of ids an event, ordered by id."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.matching import Request
from matchwood.rules import RuleRows, event_positions
from matchwood.sharding.shard import Shard


class Found(NamedTuple):
    """What one shard found for some events; none of the rows is dead."""

    shard: Shard
    answer: RuleRows


def merged(parts: list[Found], request: Request) -> tuple[NDArray[np.int64], pa.Array, NDArray[np.float64] | None]:
    """Offsets, ids and, of the best, scores, in the order that the request has for them; ties by id.

    Only the distinct ids are compared with each other: hits are many, and sorting text is slow.
    """
    ids, by_id, ranks, events = _placed(parts)
    scores = np.concatenate([np.empty(0), *(part.answer.scores for part in parts if part.answer.scores is not None)])
    found = request.ordered(parts[0].answer.count, events, ranks, scores)
    return found.offsets, ids.take(pa.array(by_id[found.places])), found.scores


def _placed(parts: list[Found]) -> tuple[pa.Array, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct ids, which of them comes where in their order; for each hit the place of its id, and its event."""
    every = [_distinct(part) for part in parts]
    ids = pa.concat_arrays([ids for ids, _ in every])
    rank = np.empty(len(ids), np.int64)
    by_id = pc.sort_indices(ids).to_numpy()
    rank[by_id] = np.arange(len(ids))
    starts = np.cumsum([0, *(len(ids) for ids, _ in every)])
    ranks = np.concatenate([rank[places + start] for (_, places), start in zip(every, starts, strict=False)])
    events = [event_positions(0, part.answer.offsets) for part in parts]
    return ids, by_id, ranks, np.concatenate(events)


def _distinct(part: Found) -> tuple[pa.Array, NDArray[np.int64]]:
    """The ids of the distinct rows, and the place among them of each row."""
    rows, places = np.unique(part.answer.rows, return_inverse=True)
    return part.shard.table.ids(rows), places
