"""Kernels that put the inner nodes of a batch into the order in which they come into an A-Tree.

SIGMOD 2021, 4.2, Algorithm 4: children come before their parents.
"""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import wide_kernel


@wide_kernel
def measure_heights(offsets: Any, items: Any, leaves: int, heights: Any) -> Any:
    """How far each inner node of a batch is above its leaves; returns the most, and the most children of one."""
    highest, widest = 0, 0
    for node in range(len(heights)):
        height = 0
        for place in range(offsets[node], offsets[node + 1]):
            if items[place] >= leaves:
                height = max(height, heights[items[place] - leaves])
        heights[node] = height + 1
        highest, widest = max(highest, height + 1), max(widest, offsets[node + 1] - offsets[node])
    return highest, widest


@wide_kernel
def order_by_height(
    offsets: Any, heights: Any, highest: int, widest: int, starts: Any, by_size: Any, order: Any
) -> None:
    """The nodes of a batch from the lowest to the highest, of one height those with fewer children first, else as they
    come: sorted by counting, once by each.

    `starts` has room for one more than the largest of either and one, `by_size` is scratch for all nodes. A tenth of
    the time of sorting by comparison, which was 6% of building a tree of 1,392,196 ads.
    """
    starts[: widest + 2] = 0
    for node in range(len(order)):
        starts[offsets[node + 1] - offsets[node] + 1] += 1
    for size in range(widest + 1):
        starts[size + 1] += starts[size]
    for node in range(len(order)):
        size = offsets[node + 1] - offsets[node]
        by_size[starts[size]] = node
        starts[size] += 1
    starts[: highest + 2] = 0
    for node in range(len(order)):
        starts[heights[node] + 1] += 1
    for height in range(highest + 1):
        starts[height + 1] += starts[height]
    for node in by_size:
        order[starts[heights[node]]] = node
        starts[heights[node]] += 1
