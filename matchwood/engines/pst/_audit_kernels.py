"""Kernels that hold candidates against the store: whether each tests all that its unit asks for, and nothing else.

VLDB 2018, the invariants of 5 and 6; blocks are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import kernel
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH
from matchwood.engines.pst._packed_kernels import (
    MASK_WIDTH,
    PACKED_START,
    PACKED_TEST_WIDTH,
    SINGLE_WIDTH,
    counts_of,
    long_word,
)
from matchwood.engines.pst._packing_kernels import (
    DRAFT_START,
    MOST_ENTRIES,
    count_entries,
    is_left,
    write_packed_residual,
    write_packed_test,
)
from matchwood.engines.shared._access_kernels import UNUSED
from matchwood.engines.shared._residual_kernels import (
    ALWAYS_WIDTH,
    LAST,
    MASKED,
    MASKED_WIDTH,
    MOST_INLINE,
    MOST_SINGLE,
    OTHER_START,
    RESIDUAL_BITS,
    RESIDUAL_START,
    SHIFT_BITS,
    SINGLE,
    SINGLE_BITS,
    is_access,
    kind_of,
    write_mask,
    write_other,
)
from matchwood.engines.shared.constraints._record_kernels import FLAG_BITS, SEVERAL, WIDTH, record_at


@kernel
def _constraint_of(conjunctions: Any, unit: int, attribute: Any) -> int:
    """The position of a unit's constraint on an attribute; -1 if it has none."""
    for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
        if conjunctions.records[record_at(conjunctions.leaves, position)] >> FLAG_BITS == attribute:
            return position
    return -1


@kernel
def _record_of(conjunctions: Any, unit: int, attribute: Any) -> int:
    """Where the record of a unit's constraint on an attribute begins; -1 if it has none."""
    position = _constraint_of(conjunctions, unit, attribute)
    return record_at(conjunctions.leaves, position) if position >= 0 else -1


@kernel
def _same_words(residuals: Any, start: int, expected: Any, count: int, ignored: int) -> Any:
    same = (residuals[start] ^ expected[0]) & ~ignored == 0
    for word in range(1, count):
        same &= residuals[start + word] == expected[word]
    return same


@kernel
def _is_right(conjunctions: Any, access: Any, wanted: int, first_tests: Any, residuals: Any, first_test: int) -> Any:
    """Whether a first test and its residual together test all constraints that do not give access, and no others."""
    offsets, leaves = conjunctions.offsets, conjunctions.leaves
    records, intervals = conjunctions.records, conjunctions.intervals
    residual = first_tests[TEST_WIDTH * first_test + 3]
    unit, shape, at = residuals[residual], residuals[residual + 1], residual + RESIDUAL_START
    expected, tested = np.empty(OTHER_START + 2 * MOST_INLINE, dtype=np.int32), 0
    middle = at + WIDTH * ((shape >> 1) & MOST_SINGLE)
    end = middle + MASKED_WIDTH * (shape >> (1 + SINGLE_BITS))
    code = LAST if shape & 1 == 0 else 0
    while at < end or code & LAST == 0:
        if at < middle:
            found, size = _record_of(conjunctions, unit, residuals[at]), WIDTH
            if found < 0 or kind_of(records, intervals, found) != SINGLE:
                return False
            expected[0], expected[1] = records[found] >> FLAG_BITS, records[found + 1]
            expected[2] = records[found + 2] - records[found + 1]
        elif at < end:
            found, size = _record_of(conjunctions, unit, residuals[at] >> SHIFT_BITS), MASKED_WIDTH
            if found < 0 or kind_of(records, intervals, found) != MASKED:
                return False
            write_mask(records, intervals, found, expected, 0)
        else:
            code = residuals[at]
            found = _record_of(conjunctions, unit, code >> RESIDUAL_BITS)
            if found < 0:
                return False
            size = write_other(records, intervals, found, expected, 0)
        if not _same_words(residuals, at, expected, size, LAST if at >= end else 0):
            return False
        at += size
        tested += 1
    given = 0
    for nth in range(wanted):
        given += access[wanted * unit + nth] != UNUSED
    attribute, low, width = (
        first_tests[TEST_WIDTH * first_test],
        first_tests[TEST_WIDTH * first_test + 1],
        first_tests[TEST_WIDTH * first_test + 2],
    )
    if width != ALWAYS_WIDTH:
        position = _constraint_of(conjunctions, unit, attribute)
        if position < 0 or is_access(access, wanted * unit, wanted, position - offsets[unit]):
            return False
        found = record_at(leaves, position)
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
    conjunctions: Any, access: Any, wanted: int, first_tests: Any, residuals: Any, starts: Any, counts: Any, live: Any
) -> int:
    """How many candidates of live units do not test what they should."""
    wrong = 0
    for found in range(len(starts)):
        for first_test in range(starts[found], starts[found] + counts[found]):
            if live[residuals[first_tests[TEST_WIDTH * first_test + 3]]]:
                wrong += not _is_right(conjunctions, access, wanted, first_tests, residuals, first_test)
    return wrong


@kernel
def _sum_of(words: Any, at: Any, count: Any, width: int) -> Any:
    """A number that tells entries apart from others, whatever their order."""
    total = np.uint64(0)
    for entry in range(at, at + width * count, width):
        mixed = np.uint64(0)
        for word in range(width):
            mixed = mix64(mixed ^ np.uint64(words[entry + word]))
        total += mixed
    return total


@kernel
def _is_packed_right(
    conjunctions: Any, unit: Any, access: Any, wanted: int, tests: Any, at: int, residuals: Any, residual: Any,
    order: Any, written: Any,
) -> Any:  # fmt: skip
    """Whether the packed test at `at` and the packed residual are those that its unit would be written with."""
    first, count, given = conjunctions.offsets[unit], conjunctions.offsets[unit + 1] - conjunctions.offsets[unit], 0
    for nth in range(wanted):
        given += access[wanted * unit + nth] != UNUSED
    position = _constraint_of(conjunctions, unit, tests[at])
    if position < 0 or count > len(order):
        return False
    test = position - first
    if is_access(access, wanted * unit, wanted, test):
        test = -1
        if given < count:
            return False
    left = count - given - (test >= 0 and conjunctions.records[record_at(conjunctions.leaves, position)] & SEVERAL == 0)
    claimed, alone, masked, _ = counts_of(residuals, np.uint64(residual))
    singles, masks = _entries_left(conjunctions, unit, access, wanted, test)
    if np.int64(claimed) != singles or np.int64(masked) != masks:
        return False
    write_packed_test(conjunctions, unit, access, wanted, test, written, 0)
    begin = DRAFT_START
    write_packed_residual(
        conjunctions, unit, order, 0, access, wanted, test, (left, singles, masks), written, begin
    )  # fmt: skip
    same = True
    for word in range(DRAFT_START):
        same &= tests[at + word] == written[word]
    for word in range(PACKED_START):
        same &= residuals[residual + word] == written[begin + word]
    ahead, deciding = begin - residual, np.int64(alone)
    others = residual + PACKED_START + SINGLE_WIDTH * deciding
    masked_at = residual + PACKED_START + SINGLE_WIDTH * singles
    for entry, some, width in (
        (residual + PACKED_START, deciding, SINGLE_WIDTH),
        (others, singles - deciding, SINGLE_WIDTH),
        (masked_at, masks, MASK_WIDTH),
    ):
        same &= _sum_of(residuals, entry, some, width) == _sum_of(written, entry + ahead, some, width)
    return same


@kernel
def _entries_left(conjunctions: Any, unit: int, access: Any, wanted: int, test: int) -> Any:
    """The single and masked entries of a unit's constraints that neither its list nor its first test decides."""
    records, intervals, leaves = conjunctions.records, conjunctions.intervals, conjunctions.leaves
    first, singles, masks = conjunctions.offsets[unit], 0, 0
    for position in range(conjunctions.offsets[unit + 1] - first):
        at = record_at(leaves, first + position)
        if is_left(records, at, access, wanted * unit, wanted, test, position):
            more, masks_more = count_entries(records, intervals, at)
            singles, masks = singles + more, masks + masks_more
    return singles, masks


@kernel
def wrong_when_packed(conjunctions: Any, access: Any, wanted: int, tests: Any, residuals: Any, live: Any) -> int:
    """How many packed candidates of live units do not test what they should, or have a residual that is not their
    unit's only one; and whether there are words in no residual."""
    order, wrong, used = np.arange(2 * MOST_ENTRIES), 0, np.int64(0)
    written = np.empty(
        DRAFT_START + PACKED_START + (SINGLE_WIDTH + MASK_WIDTH) * (MOST_ENTRIES + 1), dtype=np.uint16
    )  # fmt: skip
    found = np.full(len(live), -1, dtype=np.int64)
    for at in range(0, len(tests), PACKED_TEST_WIDTH):
        residual = np.int64(long_word(tests, np.uint64(at + 3)))
        unit = long_word(residuals, np.uint64(residual))
        if found[unit] < 0:
            found[unit] = residual
            singles, _, masks, _ = counts_of(residuals, np.uint64(residual))
            used += PACKED_START + SINGLE_WIDTH * np.int64(singles) + MASK_WIDTH * np.int64(masks)
        if found[unit] != residual:
            wrong += 1
        elif live[unit]:
            wrong += not _is_packed_right(
                conjunctions, np.int64(unit), access, wanted, tests, at, residuals, residual, order, written
            )  # fmt: skip
    return wrong + int(used != len(residuals))
