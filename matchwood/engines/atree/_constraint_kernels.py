"""Kernels of the constraints of leaves: how they are written, read, relabelled, and held against a label.

A constraint is a code and two integers, as `layout` describes. Of one interval these are its labels. With SEVERAL in
the code, of a constraint with more intervals or none, they are a range of positions in an array that holds the low and
the high label of each interval in turn.

SIGMOD 2021, ours: what the paper's predicates are once values have become labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.atree.layout import ACCEPTS_NULL, FIRST, FLAG_BITS, ROOM, SEVERAL, SIZE, WIDTH

_FEW = 8


@bare_kernel
def write_leaf(source: Any, constraint: Any, intervals: Any, used: Any) -> Any:
    """The code of a constraint and its two integers; its intervals are written behind the `used` ones if it has not
    just one. Returns where they end, too."""
    start, stop = np.int64(source.pieces[constraint]), np.int64(source.pieces[constraint + 1])
    code = np.int64(source.attributes[constraint]) << FLAG_BITS
    if source.accepts_null[constraint]:
        code |= ACCEPTS_NULL
    first = np.int64(used)
    if stop - start == 1:
        return code, np.int64(source.low[start]), np.int64(source.high[start]), first
    end = first
    for piece in range(start, stop):
        intervals[2 * end], intervals[2 * end + 1] = source.low[piece], source.high[piece]
        end += 1
    return code | SEVERAL, first, end, end


@bare_kernel
def _inside(start: Any, stop: Any, label: Any, intervals: Any) -> Any:
    """Whether a label lies in one of the intervals start : stop, which increase."""
    one, two = np.uint64(1), np.uint64(2)
    first, last = np.uint64(start), np.uint64(stop)
    while last - first > np.uint64(_FEW):
        middle = (first + last) >> one
        if label < intervals[two * middle]:
            last = middle
        else:
            first = middle
    while first < last:
        if label < intervals[two * first + one]:
            return label >= intervals[two * first]
        first += one
    return False


@bare_kernel
def passes(code: Any, low: Any, high: Any, label: Any, intervals: Any) -> Any:
    """Whether a label, or NULL_LABEL, satisfies a constraint."""
    if label == NULL_LABEL:
        return code & ACCEPTS_NULL != 0
    if code & SEVERAL == 0:
        return low <= label and label < high
    return _inside(low, high, label, intervals)


@bare_kernel
def read_leaves(nodes: Any, intervals: Any, leaves: Any, target: Any) -> None:
    """Write the constraints of leaves into `target`, whose arrays have just the room."""
    piece = 0
    for place in range(len(leaves)):
        at = WIDTH * np.int64(leaves[place])
        code, low, high = nodes[at + ROOM], nodes[at + FIRST], nodes[at + SIZE]
        target.attributes[place], target.accepts_null[place] = code >> FLAG_BITS, code & ACCEPTS_NULL != 0
        if code & SEVERAL == 0:
            target.low[piece], target.high[piece] = low, high
            piece += 1
            continue
        for interval in range(low, high):
            target.low[piece], target.high[piece] = intervals[2 * interval], intervals[2 * interval + 1]
            piece += 1


@bare_kernel
def relabel_leaves(nodes: Any, intervals: Any, leaves: Any, attribute: int, old: Any, new: Any) -> None:
    """Replace the labels of one attribute; those not in `old`, which increases, stay. Each leaf has intervals of its
    own."""
    for leaf in leaves:
        at = WIDTH * np.int64(leaf)
        if nodes[at + ROOM] >> FLAG_BITS != attribute:
            continue
        low, high = nodes[at + FIRST], nodes[at + SIZE]
        if nodes[at + ROOM] & SEVERAL == 0:
            nodes[at + FIRST], nodes[at + SIZE] = _relabelled(low, old, new), _relabelled(high, old, new)
            continue
        for step in range(2 * low, 2 * high):
            intervals[step] = _relabelled(intervals[step], old, new)


@bare_kernel
def _relabelled(label: Any, old: Any, new: Any) -> Any:
    place = np.searchsorted(old, label)
    return new[place] if place < len(old) and old[place] == label else label
