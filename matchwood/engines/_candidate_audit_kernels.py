"""Kernels that hold candidates against the store: whether each tests all that its unit asks for, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.engines._access_kernels import UNUSED
from matchwood.engines._candidate_kernels import ALWAYS_WIDTH, HEAD
from matchwood.engines._record_kernels import FLAG_BITS, SEVERAL, WIDTH
from matchwood.engines._tail_kernels import (
    LAST,
    MASKED,
    MASKED_WIDTH,
    MOST_INLINE,
    MOST_PLAIN,
    OTHER_START,
    PLAIN,
    PLAIN_BITS,
    SHIFT_BITS,
    TAIL_BITS,
    TAIL_START,
    is_access,
    kind_of,
    write_mask,
    write_other,
)


@kernel
def _constraint_of(conjunctions: Any, unit: int, attribute: int) -> int:
    """Where the record of a unit's constraint on an attribute begins; -1 if it has none."""
    for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
        if conjunctions.records[WIDTH * position] >> FLAG_BITS == attribute:
            return WIDTH * position
    return -1


@kernel
def _same_words(tails: Any, start: int, expected: Any, count: int, ignored: int) -> Any:
    same = (tails[start] ^ expected[0]) & ~ignored == 0
    for word in range(1, count):
        same &= tails[start + word] == expected[word]
    return same


@kernel
def _is_right(conjunctions: Any, access: Any, wanted: int, heads: Any, tails: Any, head: int) -> Any:
    """Whether a head and its tail together test all constraints of the unit that do not give access, and no others."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    tail = heads[HEAD * head + 3]
    unit, shape, at = tails[tail], tails[tail + 1], tail + TAIL_START
    expected, tested = np.empty(OTHER_START + 2 * MOST_INLINE, dtype=np.int32), 0
    middle = at + WIDTH * ((shape >> 1) & MOST_PLAIN)
    end = middle + MASKED_WIDTH * (shape >> (1 + PLAIN_BITS))
    code = LAST if shape & 1 == 0 else 0
    while at < end or code & LAST == 0:
        if at < middle:
            found, size = _constraint_of(conjunctions, unit, tails[at]), WIDTH
            if found < 0 or kind_of(records, intervals, found) != PLAIN:
                return False
            expected[0], expected[1] = records[found] >> FLAG_BITS, records[found + 1]
            expected[2] = records[found + 2] - records[found + 1]
        elif at < end:
            found, size = _constraint_of(conjunctions, unit, tails[at] >> SHIFT_BITS), MASKED_WIDTH
            if found < 0 or kind_of(records, intervals, found) != MASKED:
                return False
            write_mask(records, intervals, found, expected, 0)
        else:
            code = tails[at]
            found = _constraint_of(conjunctions, unit, code >> TAIL_BITS)
            if found < 0:
                return False
            size = write_other(records, intervals, found, expected, 0)
        if not _same_words(tails, at, expected, size, LAST if at >= end else 0):
            return False
        at += size
        tested += 1
    given = 0
    for nth in range(wanted):
        given += access[wanted * unit + nth] != UNUSED
    attribute, low, width = heads[HEAD * head], heads[HEAD * head + 1], heads[HEAD * head + 2]
    if width != ALWAYS_WIDTH:
        found = _constraint_of(conjunctions, unit, attribute)
        if found < 0 or is_access(access, wanted * unit, wanted, found // WIDTH - offsets[unit]):
            return False
        first, last = records[found + 1], records[found + 2]
        if records[found] & SEVERAL == 0:
            tested += 1
        else:
            first, last = (intervals[2 * first], intervals[2 * last - 1]) if first < last else (0, 0)
        if low != first or width != last - first:
            return False
    return tested + given == offsets[unit + 1] - offsets[unit]


@kernel
def wrong_candidates(
    conjunctions: Any, access: Any, wanted: int, heads: Any, tails: Any, starts: Any, counts: Any, live: Any
) -> int:
    """How many candidates of live units do not test what they should."""
    wrong = 0
    for found in range(len(starts)):
        for head in range(starts[found], starts[found] + counts[found]):
            if live[tails[heads[HEAD * head + 3]]]:
                wrong += not _is_right(conjunctions, access, wanted, heads, tails, head)
    return wrong
