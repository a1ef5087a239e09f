"""Compiled reports by space, and a plain scan: what the PS-Tree and a sorted array do once a point's space is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel


@kernel
def lists(first: Any, last: Any, spaces: Any) -> Any:
    """The intervals of each space, given the first and the last space that each interval covers."""
    offsets = np.zeros(spaces + 2, np.int64)
    for interval in range(len(first)):
        offsets[first[interval] + 1] += 1
        offsets[last[interval] + 2] -= 1
    # Twice summed: first to the number of intervals of a space, then to where its list begins.
    for space in range(spaces):
        offsets[space + 1] += offsets[space]
    for space in range(spaces):
        offsets[space + 1] += offsets[space]
    ids = np.empty(offsets[spaces], np.int32)
    filled = offsets.copy()
    for interval in range(len(first)):
        for space in range(first[interval], last[interval] + 1):
            ids[filled[space]] = interval
            filled[space] += 1
    return offsets[: spaces + 1], ids


@kernel
def report(offsets: Any, ids: Any, spaces: Any, output: Any) -> Any:
    """Write the intervals of each point's space to `output`; returns where each point's end."""
    ends = np.empty(len(spaces), np.int64)
    used = 0
    for position in range(len(spaces)):
        for place in range(offsets[spaces[position]], offsets[spaces[position] + 1]):
            output[used] = ids[place]
            used += 1
        ends[position] = used
    return ends


@kernel
def scan(low: Any, high: Any, points: Any, output: Any) -> Any:
    """The same by looking at every interval."""
    ends = np.empty(len(points), np.int64)
    used = 0
    for position in range(len(points)):
        for interval in range(len(low)):
            if low[interval] <= points[position] < high[interval]:
                output[used] = interval
                used += 1
        ends[position] = used
    return ends
