"""An Interval-Tree in arrays, compiled: the other rival of the PS-Tree paper's Table 3.

Each node has a centre and the intervals that hold it, once by their lower ends and once by their upper ends; those
below the centre are in its left subtree, those above it in its right one. A point on the left of a centre reports the
node's intervals from the lowest lower end on, as far as they begin before it, and goes on to the left; likewise on the
right.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel

CENTRE, LEFT, RIGHT, FIRST, STOP = 0, 1, 2, 3, 4


@kernel
def build(low: Any, high: Any) -> Any:
    """For half-open intervals: nodes, and two lists of their intervals.

    Node rows are CENTRE, LEFT, RIGHT (0: none, the root is node 0), FIRST and STOP in both lists.
    """
    count = len(low)
    nodes = np.zeros((count, 5), np.int64)
    by_low, by_high = np.empty(count, np.int32), np.empty(count, np.int32)
    waiting, other = np.arange(count), np.empty(count, np.int64)
    stack = np.empty((count + 1, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, count, -1, 0
    height, used, filed = 1, 0, 0
    while height > 0:
        height -= 1
        start, stop, parent, side = stack[height]
        middles = np.sort(low[waiting[start:stop]])
        centre = middles[len(middles) // 2]
        node = used
        used += 1
        if parent >= 0:
            nodes[parent, side] = node
        below, held, above = start, 0, stop
        first = filed
        for place in range(start, stop):
            interval = waiting[place]
            if high[interval] <= centre:
                other[below] = interval
                below += 1
            elif low[interval] > centre:
                above -= 1
                other[above] = interval
            else:
                by_low[filed] = interval
                filed += 1
                held += 1
        waiting[start:stop] = other[start:stop]
        nodes[node, CENTRE], nodes[node, FIRST], nodes[node, STOP] = centre, first, filed
        own = by_low[first:filed].copy()
        by_low[first:filed] = own[np.argsort(low[own])]
        by_high[first:filed] = own[np.argsort(-high[own])]
        if below > start:
            stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = start, below, node, LEFT
            height += 1
        if above < stop:
            stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = above, stop, node, RIGHT
            height += 1
    return nodes[:used], by_low, by_high


@kernel
def report(nodes: Any, by_low: Any, by_high: Any, low: Any, high: Any, points: Any, output: Any) -> Any:
    """Write the intervals of each point to `output`, one point after the other; returns where each ends."""
    ends = np.empty(len(points), np.int64)
    used = 0
    for position in range(len(points)):
        point, node = points[position], np.int64(0)
        while True:
            if point < nodes[node, CENTRE]:
                for place in range(nodes[node, FIRST], nodes[node, STOP]):
                    if low[by_low[place]] > point:
                        break
                    output[used] = by_low[place]
                    used += 1
                node = nodes[node, LEFT]
            else:
                for place in range(nodes[node, FIRST], nodes[node, STOP]):
                    if high[by_high[place]] <= point:
                        break
                    output[used] = by_high[place]
                    used += 1
                node = nodes[node, RIGHT]
            if node == 0:
                break
        ends[position] = used
    return ends
