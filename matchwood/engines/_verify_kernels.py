"""Whether a conjunction is true of an event: shared by every engine.

An event's labels are scattered into a dense array by attribute, NULL_LABEL elsewhere, and cleared by walking the
same pairs. Attributes beyond the dense array are known to no rule and left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines._record_kernels import ACCEPTS_NULL, FLAG_BITS, SEVERAL, WIDTH


@kernel
def scatter(events: Any, event: int, labels: Any) -> None:
    """Put the labels of an event where `verify` looks for them."""
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute = events.attributes[pair]
        if attribute < len(labels):
            labels[attribute] = events.labels[pair]


@kernel
def clear(events: Any, event: int, labels: Any) -> None:
    """Undo `scatter`."""
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute = events.attributes[pair]
        if attribute < len(labels):
            labels[attribute] = NULL_LABEL


@kernel
def passes(code: Any, low: Any, high: Any, label: Any, intervals: Any) -> bool:
    """Whether a label, or NULL_LABEL, satisfies the constraint of a record.

    Subtracting as unsigned integers makes one comparison of two: below `low`, NULL included, wraps to a large number.
    """
    if code & (ACCEPTS_NULL | SEVERAL) == 0:
        return np.uint32(label - low) < np.uint32(high - low)
    if label == NULL_LABEL:
        return code & ACCEPTS_NULL != 0
    if code & SEVERAL == 0:
        return np.uint32(label - low) < np.uint32(high - low)
    return inside(np.uint64(low), np.uint64(high), label, intervals)


@kernel
def inside(start: Any, stop: Any, label: Any, intervals: Any) -> bool:
    """Whether a label lies in one of the intervals start : stop, which increase.

    The last eight are compared without branches: a halving costs a misprediction as often as not.
    """
    one, two = np.uint64(1), np.uint64(2)
    while stop - start > np.uint64(8):
        middle = (start + stop) >> one
        if label < intervals[two * middle]:
            stop = middle
        else:
            start = middle
    found = False
    while start < stop:
        low = intervals[two * start]
        found |= np.uint32(label - low) < np.uint32(intervals[two * start + one] - low)
        start += one
    return found


@kernel
def verify(offsets: Any, records: Any, intervals: Any, unit: int, labels: Any) -> bool:
    """Whether all constraints of a conjunction hold of the scattered labels.

    Takes the arrays one by one: taken out of a tuple in here, each would be counted up and down for every
    candidate, which made this three times slower.
    """
    at, end = WIDTH * offsets[unit], WIDTH * offsets[unit + 1]
    while at < end:
        code = records[at]
        label = labels[np.uint32(code >> FLAG_BITS)]
        if not passes(code, records[at + 1], records[at + 2], label, intervals):
            return False
        at += WIDTH
    return True
