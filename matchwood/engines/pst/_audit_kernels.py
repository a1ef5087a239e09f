"""Kernels that hold candidates against the store: whether each tests all that its unit asks for, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import kernel
from matchwood.engines.pst._block_kernels import HEAD_WIDTH, MARK_WIDTH, MASK_WIDTH, PACK_START, PLAIN_WIDTH, pack_end
from matchwood.engines.pst._block_write_kernels import (
    MOST_ENTRIES,
    entries_of,
    write_candidate,
    write_mark,
    write_pack_head,
)
from matchwood.engines.pst._candidate_kernels import HEAD
from matchwood.engines.shared._access_kernels import UNUSED
from matchwood.engines.shared._record_kernels import FLAG_BITS, SEVERAL, WIDTH
from matchwood.engines.shared._residual_kernels import (
    ALWAYS_WIDTH,
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
def _constraint_of(conjunctions: Any, unit: int, attribute: Any) -> int:
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


@kernel
def _sum_of(packs: Any, at: int, count: int, width: int) -> Any:
    """A number that tells entries apart from others, whatever their order."""
    total = np.uint64(0)
    for entry in range(at, at + width * count, width):
        mixed = np.uint64(0)
        for word in range(width):
            mixed = mix64(mixed ^ np.uint64(np.uint32(packs[entry + word])))
        total += mixed
    return total


@kernel
def _packed_is_right(
    conjunctions: Any, access: Any, wanted: int, packs: Any, head: Any, mark: Any, owner: int, order: Any, written: Any
) -> Any:
    """Whether the head, the mark and the entries of a candidate are those that its unit would be written with."""
    unit = packs[mark]
    first, count, given = conjunctions.offsets[unit], conjunctions.offsets[unit + 1] - conjunctions.offsets[unit], 0
    for nth in range(wanted):
        given += access[wanted * unit + nth] != UNUSED
    found = _constraint_of(conjunctions, unit, np.int64(packs[head]) & 0xFFFF)
    if found < 0 or count > len(order):
        return False
    test = found // WIDTH - first
    if is_access(access, wanted * unit, wanted, test):
        test = -1
        if given < count:
            return False
    plain_at, plains, mask_at, masks, alone = entries_of(packs, mark)
    begin = HEAD_WIDTH + MARK_WIDTH
    middle = begin + PLAIN_WIDTH * (MOST_ENTRIES + 1)
    single, plain_end, mask_end = write_candidate(
        conjunctions, unit, order, 0, access, wanted, test, owner, written, begin, middle
    )
    left = count - given - (test >= 0 and conjunctions.records[found] & SEVERAL == 0)
    if plain_end != begin + PLAIN_WIDTH * plains or mask_end != middle + MASK_WIDTH * masks or single != alone:
        return False
    write_pack_head(conjunctions, unit, access, wanted, test, left, written, 0)
    write_mark(unit, mark, plain_at, plains, mask_at, masks, left, single, written, HEAD_WIDTH)
    same = packs[head] == written[0] and packs[head + 1] == written[1]
    for word in range(MARK_WIDTH):
        same &= packs[mark + word] == written[HEAD_WIDTH + word]
    rest, behind = plain_at + PLAIN_WIDTH * single, begin + PLAIN_WIDTH * single
    same &= _sum_of(packs, plain_at, single, PLAIN_WIDTH) == _sum_of(written, begin, single, PLAIN_WIDTH)
    same &= _sum_of(packs, rest, plains - single, PLAIN_WIDTH) == _sum_of(written, behind, plains - single, PLAIN_WIDTH)
    return same & (_sum_of(packs, mask_at, masks, MASK_WIDTH) == _sum_of(written, middle, masks, MASK_WIDTH))


@kernel
def wrong_packed(conjunctions: Any, access: Any, wanted: int, packs: Any, live: Any) -> int:
    """How many packed candidates of live units do not test what they should, or are not alone with their entries."""
    order, wrong, at = np.arange(2 * MOST_ENTRIES), 0, np.int64(0)
    written = np.empty(
        HEAD_WIDTH + MARK_WIDTH + (PLAIN_WIDTH + MASK_WIDTH) * (MOST_ENTRIES + 1), dtype=np.int32
    )  # fmt: skip
    while at < len(packs):
        head = at + PACK_START
        mark = head + HEAD_WIDTH * packs[at]
        entry = mark + MARK_WIDTH * packs[at]
        masked = entry + PLAIN_WIDTH * packs[at + 1]
        for owner in range(packs[at]):
            plain_at, plains, mask_at, masks, _ = entries_of(packs, mark)
            if plain_at != entry or mask_at != masked:
                wrong += 1
            elif live[packs[mark]]:
                wrong += not _packed_is_right(conjunctions, access, wanted, packs, head, mark, owner, order, written)
            entry, masked = plain_at + PLAIN_WIDTH * plains, mask_at + MASK_WIDTH * masks
            head, mark = head + HEAD_WIDTH, mark + MARK_WIDTH
        at = pack_end(packs, at)
        wrong += masked != at
    return wrong
