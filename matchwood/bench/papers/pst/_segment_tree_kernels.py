"""A Segment-Tree in arrays, compiled: the rival that the PS-Tree paper compares with in its Table 3.

The sorted ends of all intervals cut the domain into segments, the leaves of a complete binary tree in heap order:
node n has the children 2n and 2n + 1. An interval is filed under the fewest nodes that make it up; a point reports
what is filed on its way down. The tree is static.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel


@kernel
def build(low: Any, high: Any, bounds: Any) -> Any:
    """For half-open intervals and their distinct sorted ends: splits of the inner nodes, and what each node files.

    Returns (splits, offsets, ids): node n files ids[offsets[n] : offsets[n + 1]].
    """
    size = 1
    while size < len(bounds) + 1:
        size *= 2
    splits = np.empty(size, np.int64)
    for node in range(size - 1, 0, -1):
        level = 1
        while node * 2 * level < size:
            level *= 2
        # The first leaf below the right child; leaf s begins at bounds[s - 1].
        leaf = (2 * node + 1) * level - size
        splits[node] = bounds[leaf - 1] if leaf <= len(bounds) else np.iinfo(np.int64).max
    offsets = np.zeros(2 * size + 1, np.int64)
    for step in range(2):
        if step == 1:
            for node in range(2 * size):
                offsets[node + 1] += offsets[node]
            ids = np.empty(offsets[2 * size], np.int32)
            filled = offsets.copy()
        for interval in range(len(low)):
            left = np.searchsorted(bounds, low[interval], "right") + size
            right = np.searchsorted(bounds, high[interval], "right") + size
            while left < right:
                if left & 1:
                    if step == 0:
                        offsets[left + 1] += 1
                    else:
                        ids[filled[left]] = interval
                        filled[left] += 1
                    left += 1
                if right & 1:
                    right -= 1
                    if step == 0:
                        offsets[right + 1] += 1
                    else:
                        ids[filled[right]] = interval
                        filled[right] += 1
                left >>= 1
                right >>= 1
    return splits, offsets, ids


@kernel
def locate(splits: Any, points: Any) -> Any:
    """The segment of each point."""
    found = np.empty(len(points), np.int32)
    for position in range(len(points)):
        node = 1
        while node < len(splits):
            node = 2 * node + (1 if points[position] >= splits[node] else 0)
        found[position] = node - len(splits)
    return found


@kernel
def report(splits: Any, offsets: Any, ids: Any, points: Any, output: Any) -> Any:
    """Write the intervals of each point to `output`, one point after the other; returns where each ends."""
    ends = np.empty(len(points), np.int64)
    used = 0
    for position in range(len(points)):
        node = 1
        while True:
            for place in range(offsets[node], offsets[node + 1]):
                output[used] = ids[place]
                used += 1
            if node >= len(splits):
                break
            node = 2 * node + (1 if points[position] >= splits[node] else 0)
        ends[position] = used
    return ends
