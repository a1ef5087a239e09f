"""Constraints as records of three integers, the layout in which every engine verifies.

A record is (code, low, high). The code is the attribute shifted by two bits, with two flags below:
ACCEPTS_NULL, and SEVERAL where the constraint has no interval or more than one. Of a single interval,
low and high are its labels. With SEVERAL they are a range of positions in a side array of intervals,
which holds low and high label in turn.

A store has each distinct record once, as a *leaf* with a number; a conjunction is a stretch of `leaves`, the numbers of
its constraints, four bytes each. The *position* of a constraint is its place there.

ALTERNATIVE, the highest bit of a code, marks a constraint that is an alternative to the one before it. Only stores that
were made for clauses have such records, and only engines that know of clauses are given those stores.

Three integers side by side because a record is read as a whole and at random: it takes one cache line or two, where an
array for each field would take three.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import combine64, mix64
from matchwood.core.jit import bare_kernel

ACCEPTS_NULL = 1
SEVERAL = 2
FLAG_BITS = 2
ALTERNATIVE = 1 << 30
WIDTH = 3


@bare_kernel
def record_at(leaves: Any, position: Any) -> Any:
    """Where the record of the constraint at a position begins."""
    return WIDTH * np.int64(leaves[position])


@bare_kernel
def attribute_of(code: Any) -> Any:
    """The attribute of a record, whether or not it is an alternative."""
    return (code & ~ALTERNATIVE) >> FLAG_BITS


@bare_kernel
def hull(records: Any, intervals: Any, at: Any) -> Any:
    """The interval from the first label of a record to its last, whatever lies between; (0, 0) if it has none."""
    low, high = records[at + 1], records[at + 2]
    if records[at] & SEVERAL == 0:
        return low, high
    if low >= high:
        return np.int32(0), np.int32(0)
    return intervals[2 * low], intervals[2 * high - 1]


@bare_kernel
def pack(source: Any, constraint: int, records: Any, position: int, intervals: Any, used: int) -> int:
    """Write a constraint as the record at `position`; returns how many intervals are then in use."""
    start, stop = source.pieces[constraint], source.pieces[constraint + 1]
    code = source.attributes[constraint] << FLAG_BITS
    if source.accepts_null[constraint]:
        code |= ACCEPTS_NULL
    if len(source.alternatives) > 0 and source.alternatives[constraint]:
        code |= ALTERNATIVE
    at = WIDTH * position
    if stop - start == 1:
        records[at], records[at + 1], records[at + 2] = code, source.low[start], source.high[start]
        return used
    records[at], records[at + 1], records[at + 2] = code | SEVERAL, used, used + stop - start
    for piece in range(start, stop):
        intervals[2 * used], intervals[2 * used + 1] = source.low[piece], source.high[piece]
        used += 1
    return used


@bare_kernel
def unpack(records: Any, intervals: Any, at: Any, target: Any, constraint: int) -> None:
    """Write the record at `at` as a constraint behind those that `target` already holds."""
    code, low, high = records[at], records[at + 1], records[at + 2]
    target.attributes[constraint] = attribute_of(code)
    target.accepts_null[constraint] = code & ACCEPTS_NULL != 0
    if len(target.alternatives) > 0:
        target.alternatives[constraint] = code & ALTERNATIVE != 0
    piece = target.pieces[constraint]
    if code & SEVERAL == 0:
        target.low[piece], target.high[piece] = low, high
        target.pieces[constraint + 1] = piece + 1
        return
    for interval in range(low, high):
        target.low[piece], target.high[piece] = intervals[2 * interval], intervals[2 * interval + 1]
        piece += 1
    target.pieces[constraint + 1] = piece


@bare_kernel
def piece_count(records: Any, at: Any) -> int:
    """The number of intervals of the record at `at`."""
    return records[at + 2] - records[at + 1] if records[at] & SEVERAL != 0 else 1


@bare_kernel
def hash_record(records: Any, intervals: Any, at: Any) -> Any:
    """A hash of what a record says, wherever its intervals lie."""
    code, low, high = records[at], records[at + 1], records[at + 2]
    accumulated = mix64(np.uint64(code))
    if code & SEVERAL == 0:
        return combine64(accumulated, (np.uint64(low) << np.uint64(32)) | np.uint64(high))
    accumulated = combine64(accumulated, np.uint64(high - low))
    for interval in range(low, high):
        low_label, high_label = np.uint64(intervals[2 * interval]), np.uint64(intervals[2 * interval + 1])
        accumulated = combine64(accumulated, (low_label << np.uint64(32)) | high_label)
    return accumulated


@bare_kernel
def same_record(records: Any, intervals: Any, one: Any, other: Any) -> bool:
    """Whether the records at two places say the same."""
    if records[one] != records[other]:
        return False
    one_low, one_high = records[one + 1], records[one + 2]
    other_low, other_high = records[other + 1], records[other + 2]
    if records[one] & SEVERAL == 0:
        return bool(one_low == other_low and one_high == other_high)
    if one_high - one_low != other_high - other_low:
        return False
    step, steps = 0, 2 * (one_high - one_low)
    while step < steps and intervals[2 * one_low + step] == intervals[2 * other_low + step]:
        step += 1
    return bool(step == steps)


@bare_kernel
def relabel_records(records: Any, intervals: Any, attribute: int, old: Any, new: Any) -> None:
    """Replace the labels of one attribute; those not in `old` stay. Each record has intervals of its own."""
    for at in range(0, len(records), WIDTH):
        if attribute_of(records[at]) != attribute:
            continue
        low, high = records[at + 1], records[at + 2]
        if records[at] & SEVERAL == 0:
            records[at + 1] = _relabelled(low, old, new)
            records[at + 2] = _relabelled(high, old, new)
            continue
        for step in range(2 * low, 2 * high):
            intervals[step] = _relabelled(intervals[step], old, new)


@bare_kernel
def _relabelled(label: Any, old: Any, new: Any) -> Any:
    place = np.searchsorted(old, label)
    return new[place] if place < len(old) and old[place] == label else label
