"""Unions of many sets of values, as cuts by number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.logic.columnar._union_kernels import unite_all


def united(
    members: NDArray[np.int32],
    member_ends: NDArray[np.int64],
    negated: NDArray[np.bool_],
    set_ends: NDArray[np.int64],
    set_cuts: NDArray[np.int32],
    ranks: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """For each row of members the cuts of the union of these sets, or of what is outside it; and where its cuts end.

    >>> cuts, ends = np.array([1, 2, 2, 3], np.int32), np.array([0, 2, 4])
    >>> both = np.array([0, 1, 0, 1], np.int32), np.array([2, 4]), np.array([False, True])
    >>> [part.tolist() for part in united(*both, ends, cuts, np.array([-1, 0, 1, 2]))]
    [[1, 3, 0, 1, 3], [2, 5]]
    """
    sizes = np.diff(set_ends)[members]
    longest = int(np.add.reduceat(sizes, np.append(0, member_ends[:-1])).max(initial=0)) if len(sizes) else 0
    buffers = np.empty((2, longest + 1), np.int32)
    out, ends = np.empty(int(sizes.sum()) + len(member_ends), np.int32), np.empty(len(member_ends), np.int64)
    count = unite_all(members, member_ends, negated, set_ends, set_cuts, ranks, buffers, out, ends)
    return out[:count], ends
