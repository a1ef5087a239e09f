"""Lists of best rules put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.engines import Ranked, Work, read_only
from matchwood.engines.shared._scoring_kernels import merge

NO_WORK = Work(0, 0, 0)


class RankedLists(NamedTuple):
    """The arrays of a Ranked."""

    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    scores: NDArray[np.float64]


def _lists(ranked: Ranked) -> RankedLists:
    return RankedLists(
        read_only(ranked.offsets, np.int64), read_only(ranked.rows, np.int32), read_only(ranked.scores, np.float64)
    )


def joined(parts: Sequence[Ranked]) -> Ranked:
    """Lists of events that follow each other."""
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return Ranked(
        parts[0].first,
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.scores for part in parts]),
        NO_WORK,
        sum(part.scored for part in parts),
    )


def merged(left: Ranked, right: Ranked, n: int) -> Ranked:
    """The best `n` of both, for the events that both reach; their rules are different ones."""
    count = min(left.count, right.count)
    offsets = np.zeros(count + 1, np.int64)
    room = int(left.offsets[count] + right.offsets[count])
    rows, scores = np.empty(room, np.int32), np.empty(room, np.float64)
    merge(_lists(left), _lists(right), n, offsets[1:], rows, scores)
    found = int(offsets[-1])
    return Ranked(left.first, offsets, rows[:found], scores[:found], NO_WORK, left.scored + right.scored)
