"""Kernels that hold candidates against the store: whether each tests all that its unit asks for, and nothing else.

VLDB 2018, the invariants of 5 and 6; blocks are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import kernel
from matchwood.engines.pst._block_kernels import (
    BLOCK_START,
    BLOCK_TEST_WIDTH,
    MARK_WIDTH,
    MASK_WIDTH,
    SINGLE_WIDTH,
    end_of_block,
)
from matchwood.engines.pst._block_write_kernels import (
    MOST_ENTRIES,
    entries_of,
    write_block_test,
    write_candidate,
    write_mark,
)
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH
from matchwood.engines.shared._access_kernels import UNUSED
from matchwood.engines.shared._record_kernels import FLAG_BITS, SEVERAL, WIDTH
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


@kernel
def _constraint_of(conjunctions: Any, unit: int, attribute: Any) -> int:
    """Where the record of a unit's constraint on an attribute begins; -1 if it has none."""
    for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
        if conjunctions.records[WIDTH * position] >> FLAG_BITS == attribute:
            return WIDTH * position
    return -1


@kernel
def _same_words(residuals: Any, start: int, expected: Any, count: int, ignored: int) -> Any:
    same = (residuals[start] ^ expected[0]) & ~ignored == 0
    for word in range(1, count):
        same &= residuals[start + word] == expected[word]
    return same


@kernel
def _is_right(conjunctions: Any, access: Any, wanted: int, first_tests: Any, residuals: Any, first_test: int) -> Any:
    """Whether a first test and its residual together test all constraints that do not give access, and no others."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    residual = first_tests[TEST_WIDTH * first_test + 3]
    unit, shape, at = residuals[residual], residuals[residual + 1], residual + RESIDUAL_START
    expected, tested = np.empty(OTHER_START + 2 * MOST_INLINE, dtype=np.int32), 0
    middle = at + WIDTH * ((shape >> 1) & MOST_SINGLE)
    end = middle + MASKED_WIDTH * (shape >> (1 + SINGLE_BITS))
    code = LAST if shape & 1 == 0 else 0
    while at < end or code & LAST == 0:
        if at < middle:
            found, size = _constraint_of(conjunctions, unit, residuals[at]), WIDTH
            if found < 0 or kind_of(records, intervals, found) != SINGLE:
                return False
            expected[0], expected[1] = records[found] >> FLAG_BITS, records[found + 1]
            expected[2] = records[found + 2] - records[found + 1]
        elif at < end:
            found, size = _constraint_of(conjunctions, unit, residuals[at] >> SHIFT_BITS), MASKED_WIDTH
            if found < 0 or kind_of(records, intervals, found) != MASKED:
                return False
            write_mask(records, intervals, found, expected, 0)
        else:
            code = residuals[at]
            found = _constraint_of(conjunctions, unit, code >> RESIDUAL_BITS)
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
def _sum_of(blocks: Any, at: int, count: int, width: int) -> Any:
    """A number that tells entries apart from others, whatever their order."""
    total = np.uint64(0)
    for entry in range(at, at + width * count, width):
        mixed = np.uint64(0)
        for word in range(width):
            mixed = mix64(mixed ^ np.uint64(np.uint32(blocks[entry + word])))
        total += mixed
    return total


@kernel
def _is_right_in_blocks(
    conjunctions: Any,
    access: Any,
    wanted: int,
    blocks: Any,
    first_test: Any,
    mark: Any,
    owner: int,
    order: Any,
    written: Any,
) -> Any:
    """Whether the first test, the mark and the entries of a candidate are those that its unit would be written with."""
    unit = blocks[mark]
    first, count, given = conjunctions.offsets[unit], conjunctions.offsets[unit + 1] - conjunctions.offsets[unit], 0
    for nth in range(wanted):
        given += access[wanted * unit + nth] != UNUSED
    found = _constraint_of(conjunctions, unit, np.int64(blocks[first_test]) & 0xFFFF)
    if found < 0 or count > len(order):
        return False
    test = found // WIDTH - first
    if is_access(access, wanted * unit, wanted, test):
        test = -1
        if given < count:
            return False
    single_at, singles, mask_at, masks, claimed = entries_of(blocks, mark)
    begin = BLOCK_TEST_WIDTH + MARK_WIDTH
    middle = begin + SINGLE_WIDTH * (MOST_ENTRIES + 1)
    alone, single_end, mask_end = write_candidate(
        conjunctions, unit, order, 0, access, wanted, test, owner, written, begin, middle
    )
    left = count - given - (test >= 0 and conjunctions.records[found] & SEVERAL == 0)
    if single_end != begin + SINGLE_WIDTH * singles or mask_end != middle + MASK_WIDTH * masks or alone != claimed:
        return False
    write_block_test(conjunctions, unit, access, wanted, test, left, written, 0)
    write_mark(unit, mark, single_at, singles, mask_at, masks, left, alone, written, BLOCK_TEST_WIDTH)
    same = blocks[first_test] == written[0] and blocks[first_test + 1] == written[1]
    for word in range(MARK_WIDTH):
        same &= blocks[mark + word] == written[BLOCK_TEST_WIDTH + word]
    rest, behind = single_at + SINGLE_WIDTH * alone, begin + SINGLE_WIDTH * alone
    same &= _sum_of(blocks, single_at, alone, SINGLE_WIDTH) == _sum_of(written, begin, alone, SINGLE_WIDTH)
    same &= _sum_of(blocks, rest, singles - alone, SINGLE_WIDTH) == _sum_of(
        written, behind, singles - alone, SINGLE_WIDTH
    )
    return same & (_sum_of(blocks, mask_at, masks, MASK_WIDTH) == _sum_of(written, middle, masks, MASK_WIDTH))


@kernel
def wrong_in_blocks(conjunctions: Any, access: Any, wanted: int, blocks: Any, live: Any) -> int:
    """How many packed candidates of live units do not test what they should, or are not alone with their entries."""
    order, wrong, at = np.arange(2 * MOST_ENTRIES), 0, np.int64(0)
    written = np.empty(
        BLOCK_TEST_WIDTH + MARK_WIDTH + (SINGLE_WIDTH + MASK_WIDTH) * (MOST_ENTRIES + 1), dtype=np.int32
    )  # fmt: skip
    while at < len(blocks):
        first_test = at + BLOCK_START
        mark = first_test + BLOCK_TEST_WIDTH * blocks[at]
        entry = mark + MARK_WIDTH * blocks[at]
        masked = entry + SINGLE_WIDTH * blocks[at + 1]
        for owner in range(blocks[at]):
            single_at, singles, mask_at, masks, _ = entries_of(blocks, mark)
            if single_at != entry or mask_at != masked:
                wrong += 1
            elif live[blocks[mark]]:
                wrong += not _is_right_in_blocks(
                    conjunctions, access, wanted, blocks, first_test, mark, owner, order, written
                )
            entry, masked = single_at + SINGLE_WIDTH * singles, mask_at + MASK_WIDTH * masks
            first_test, mark = first_test + BLOCK_TEST_WIDTH, mark + MARK_WIDTH
        at = end_of_block(blocks, at)
        wrong += masked != at
    return wrong
