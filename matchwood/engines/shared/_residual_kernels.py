"""Kernels of candidates' residuals: what is left to test of a unit, written, and verified (docs/protocols.md).

A *residual* holds the constraints that neither the list of a candidate nor its first test has decided:

- the unit, and its *shape*: how many single and masked records there are, and whether others follow;
- single records, each an attribute, a low label and a width: constraints of one interval that NULL fails;
- masked records, each an attribute with a shift, a low label, and 64 bits: constraints of several intervals that NULL
  fails, where the labels from the first to the last interval make at most 64 steps of two to the power of the shift;
- the others, each a code, a number of intervals, and their low labels and widths, the last one marked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import lowest_bit
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.prefetch import prefetch
from matchwood.encoding.codes import NULL_LABEL
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.shared._verification_kernels import inside
from matchwood.engines.shared.constraints._record_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    SEVERAL,
    WIDTH,
    hull,
    record_at,
)

LIVE = 1
STALE = 2
"""States of a unit; 0 is one that is in no list."""

LINE = 16
"""Integers in a cache line."""

RESIDUAL_START = 2
MASKED_WIDTH = 4
OTHER_START = 2

SINGLE_BITS, MASKED_BITS = 20, 10
MOST_SINGLE, MOST_MASKED = 2**SINGLE_BITS - 1, 2**MASKED_BITS - 1
"""A shape holds, from the lowest bit on, whether others follow, the number of single records, and that of masked ones;
what is beyond these counts is written as other."""

MASK_STEPS = 64
SHIFT_BITS = 5
STORED = 2
LAST = 4
RESIDUAL_BITS = 3
"""The code of another record is its attribute, and below it ACCEPTS_NULL, STORED and LAST."""

MOST_INLINE = 8
"""Of a constraint with more intervals a residual has only the range of their positions in the store (STORED)."""

SINGLE, MASKED, OTHER, SKIPPED = 0, 1, 2, 3

ALWAYS_LOW = -1
ALWAYS_WIDTH = -(2**31) + 1
"""A test that every label passes, and NULL_LABEL: 2**31 + 1, taken as unsigned."""


@bare_kernel
def is_access(access: Any, start: int, wanted: int, position: int) -> bool:
    """Whether the constraint at a position gives access to the unit whose choice begins at `start`."""
    if wanted == 1:  # as most have it: no loop
        return bool(access[start] == position)
    found = False
    for nth in range(wanted):
        found |= access[start + nth] == position
    return found


@bare_kernel
def write_first_test(conjunctions: Any, unit: Any, test: Any, first_tests: Any, at: Any) -> None:
    """Write the first test of a unit, of its constraint number `test`; one that all pass if there is none."""
    first_tests[at], first_tests[at + 1], first_tests[at + 2] = 0, ALWAYS_LOW, ALWAYS_WIDTH
    if test >= 0:
        records, tested = conjunctions.records, record_at(conjunctions.leaves, conjunctions.offsets[unit] + test)
        low, high = hull(records, conjunctions.intervals, tested)
        first_tests[at], first_tests[at + 1], first_tests[at + 2] = records[tested] >> FLAG_BITS, low, high - low


@bare_kernel
def step_shift(intervals: Any, first: int, last: int) -> Any:
    """The largest shift such that the intervals first : last begin and end whole steps behind the first one."""
    base, steps = np.int64(intervals[2 * first]), np.int64(0)
    for interval in range(first, last):
        steps |= (intervals[2 * interval] - base) | (block_end(intervals[2 * interval + 1]) - base)
    return lowest_bit(np.uint64(steps))


@bare_kernel
def steps_between(intervals: Any, first: int, last: int, shift: int) -> Any:
    """How many steps of two to the power of the shift there are from the first interval to the end of the last."""
    return (block_end(intervals[2 * last - 1]) - np.int64(intervals[2 * first])) >> shift


@bare_kernel
def step_bits(intervals: Any, first: int, last: int, shift: int) -> Any:
    """A bit for each step that lies in one of the intervals first : last."""
    base, bits = np.int64(intervals[2 * first]), np.uint64(0)
    for interval in range(first, last):
        start = (intervals[2 * interval] - base) >> shift
        steps = ((block_end(intervals[2 * interval + 1]) - base) >> shift) - start
        if steps > 0:
            bits |= (~np.uint64(0) >> np.uint64(MASK_STEPS - steps)) << np.uint64(start)
    return bits


@bare_kernel
def _mask_shift(records: Any, intervals: Any, at: int) -> int:
    """The shift by which the intervals of a record fit into 64 bits; -1 if they do not."""
    first, last = records[at + 1], records[at + 2]
    if last <= first:
        return -1
    shift = step_shift(intervals, first, last)
    return shift if steps_between(intervals, first, last, shift) <= MASK_STEPS else -1


@bare_kernel
def kind_of(records: Any, intervals: Any, at: int) -> int:
    """How the constraint of a record is written in a residual."""
    if records[at] & ACCEPTS_NULL != 0:
        return OTHER
    if records[at] & SEVERAL == 0:
        return SINGLE
    return MASKED if _mask_shift(records, intervals, at) >= 0 else OTHER


@bare_kernel
def residual_words(records: Any, intervals: Any, at: int) -> int:
    """How many integers the constraint of a record takes in a residual at most."""
    if records[at] & SEVERAL == 0:
        return OTHER_START + 2
    pieces = records[at + 2] - records[at + 1]
    return OTHER_START + 2 * (1 if pieces > MOST_INLINE else max(1, pieces))


@bare_kernel
def write_mask(records: Any, intervals: Any, at: int, residuals: Any, end: int) -> int:
    shift = _mask_shift(records, intervals, at)
    mask = step_bits(intervals, records[at + 1], records[at + 2], shift)
    residuals[end], residuals[end + 1] = (
        ((records[at] >> FLAG_BITS) << SHIFT_BITS) | shift,
        intervals[2 * records[at + 1]],
    )
    residuals[end + 2] = np.int32(np.uint32(mask & np.uint64(2**32 - 1)))
    residuals[end + 3] = np.int32(np.uint32(mask >> np.uint64(32)))
    return end + MASKED_WIDTH


@bare_kernel
def write_other(records: Any, intervals: Any, at: int, residuals: Any, end: int) -> int:
    code, low, high = records[at], records[at + 1], records[at + 2]
    residuals[end] = ((code >> FLAG_BITS) << RESIDUAL_BITS) | (code & ACCEPTS_NULL)
    residuals[end + 1], residuals[end + 2], residuals[end + 3] = 1, low, high - low
    if code & SEVERAL == 0:
        return end + OTHER_START + 2
    residuals[end + 1] = high - low
    if high - low > MOST_INLINE:
        residuals[end] |= STORED
        residuals[end + 1], residuals[end + 2], residuals[end + 3] = low, high, 0
        return end + OTHER_START + 2
    end += OTHER_START
    for interval in range(low, high):
        residuals[end], residuals[end + 1] = (
            intervals[2 * interval],
            intervals[2 * interval + 1] - intervals[2 * interval],
        )
        end += 2
    return end


@bare_kernel
def write_residual(
    conjunctions: Any, unit: int, order: Any, start: int, count: int, access: Any, wanted: int, test: int, kinds: Any,
    residuals: Any, begin: int,
) -> int:  # fmt: skip
    """Append a unit's residual, of each kind of records the most selective first; returns the new end.

    Its constraints are those at the positions order[start : start + count], but `test` and the access predicates.
    """
    records, intervals, leaves = conjunctions.records, conjunctions.intervals, conjunctions.leaves
    first = conjunctions.offsets[unit]
    end, last, shape = begin + RESIDUAL_START, -1, 0
    for rank in range(count):
        position = order[start + rank]
        at = record_at(leaves, first + position)
        decided = position == test and records[at] & SEVERAL == 0
        skipped = decided or is_access(access, wanted * unit, wanted, position)
        kinds[rank] = SKIPPED if skipped else kind_of(records, intervals, at)
    for kind in range(3):
        single, masked = 0, 0
        for rank in range(count):
            own, at = kinds[rank], record_at(leaves, first + order[start + rank])
            if own == SKIPPED:
                continue
            single, masked = single + (own == SINGLE), masked + (own == MASKED)
            if single > MOST_SINGLE or masked > MOST_MASKED:
                own = OTHER
            if own != kind:
                continue
            if kind == SINGLE:
                residuals[end], residuals[end + 1] = records[at] >> FLAG_BITS, records[at + 1]
                residuals[end + 2] = records[at + 2] - records[at + 1]
                end += WIDTH
            elif kind == MASKED:
                end = write_mask(records, intervals, at, residuals, end)
            else:
                last, end = end, write_other(records, intervals, at, residuals, end)
        if kind == OTHER:
            shape = min(single, MOST_SINGLE) << 1 | min(masked, MOST_MASKED) << (1 + SINGLE_BITS) | (last >= 0)
    if last >= 0:
        residuals[last] |= LAST
    residuals[begin], residuals[begin + 1] = unit, shape
    return end


@bare_kernel
def verify_residuals(
    residuals: Any,
    intervals: Any,
    passing: Any,
    count: int,
    labels: Any,
    states: Any,
    stale: bool,
    units: Any,
    used: int,
) -> Any:
    """Write the units behind `used` whose residuals hold of the scattered labels; returns the new end.

    As in `verify`, one unsigned comparison does for both ends of an interval and for NULL. All in one function: a call
    for each residual, with the arrays handed over, takes 30 ns. Units that are not LIVE are left out, and what is past
    the end of `units`, should damaged lists hold more than there are.
    """
    one, two, room = np.uint64(1), np.uint64(2), np.uint64(len(units))
    written = np.uint64(used)
    for place in range(np.uint64(count)):
        start = np.uint64(np.uint32(passing[place]))
        shape = np.uint32(residuals[start + one])
        at = start + np.uint64(RESIDUAL_START)
        end = at + np.uint64(WIDTH) * np.uint64((shape >> np.uint32(1)) & np.uint32(MOST_SINGLE))
        held = True
        while at < end:
            if np.uint32(labels[np.uint32(residuals[at])] - residuals[at + one]) >= np.uint32(residuals[at + two]):
                held = False
                break
            at += np.uint64(WIDTH)
        if not held:
            continue
        end = at + np.uint64(MASKED_WIDTH) * np.uint64(shape >> np.uint32(1 + SINGLE_BITS))
        while at < end:
            code = np.uint32(residuals[at])
            step = np.uint32(labels[code >> np.uint32(SHIFT_BITS)] - residuals[at + one]) >> (code & np.uint32(31))
            bits = np.uint32(residuals[at + two + np.uint64((step >> np.uint32(5)) & np.uint32(1))])
            if step >= np.uint32(64) or (bits >> (step & np.uint32(31))) & np.uint32(1) == 0:
                held = False
                break
            at += np.uint64(MASKED_WIDTH)
        left = held and shape & np.uint32(1) != 0
        while left:
            code, pieces = np.uint32(residuals[at]), np.uint64(residuals[at + one])
            label = labels[code >> np.uint32(RESIDUAL_BITS)]
            at += np.uint64(OTHER_START)
            held = (label == NULL_LABEL) & (code & np.uint32(ACCEPTS_NULL) != 0)
            if code & np.uint32(STORED) != 0:
                held |= label != NULL_LABEL and inside(pieces, residuals[at], label, intervals)
                pieces = one
            else:
                for piece in range(at, at + two * pieces, two):
                    held |= np.uint32(label - residuals[piece]) < np.uint32(residuals[piece + one])
            at += two * pieces
            left = held and code & np.uint32(LAST) == 0
        if not held:
            continue
        unit = np.uint32(residuals[start])
        if written < room and not (stale and states[unit] != LIVE):
            units[written] = unit
            written += one
    return np.int64(written)


@kernel
def residual_is_safe(residuals: Any, residual: int, units: int, attributes: int, intervals: int) -> bool:
    if (
        not 0 <= residual <= len(residuals) - RESIDUAL_START
        or not 0 <= residuals[residual] < units
        or residuals[residual + 1] < 0
    ):
        return False
    shape, at = residuals[residual + 1], residual + RESIDUAL_START
    middle = at + WIDTH * ((shape >> 1) & MOST_SINGLE)
    end = middle + MASKED_WIDTH * (shape >> (1 + SINGLE_BITS))
    if end > len(residuals):
        return False
    while at < end:
        attribute = residuals[at] if at < middle else residuals[at] >> SHIFT_BITS
        if not 0 <= attribute < attributes:
            return False
        at += WIDTH if at < middle else MASKED_WIDTH
    code = LAST if shape & 1 == 0 else 0
    while code & LAST == 0:
        if at + OTHER_START > len(residuals):
            return False
        code, count = residuals[at], residuals[at + 1]
        at += OTHER_START
        if code < 0 or code >> RESIDUAL_BITS >= attributes or count < 0:
            return False
        if code & STORED != 0:
            if at + 2 > len(residuals) or not count <= residuals[at] <= intervals:
                return False
            count = 1
        at += 2 * count
    return at <= len(residuals)


@bare_kernel
def fetch_residuals(residuals: Any, passing: Any, count: Any) -> None:
    """Ask for the first two cache lines of each residual, so that their misses overlap."""
    for place in range(np.uint64(count)):
        residual = np.int64(np.uint32(passing[place]))
        prefetch(residuals, residual)
        prefetch(residuals, residual + LINE)
