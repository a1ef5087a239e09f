"""Kernels that write packs, as `_block_kernels` describes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.pst._block_kernels import (
    COUNT_BITS,
    HEAD_WIDTH,
    MARK_WIDTH,
    MASK_FAR,
    MASK_WIDTH,
    PACK_START,
    PACKED,
    PLAIN_FAR,
    PLAIN_WIDTH,
    RANK_SHIFT,
    pack_end,
)
from matchwood.engines.shared._record_kernels import ACCEPTS_NULL, FLAG_BITS, SEVERAL, WIDTH, hull
from matchwood.engines.shared._residual_kernels import MASK_STEPS, is_access, step_bits, step_shift, steps_between

MOST_ATTRIBUTES = 2**16
MOST_ENTRIES = 2**COUNT_BITS - 1
"""Entries of one kind that a packed unit may have, as marks count them."""

MOST_PIECES = 8
"""Intervals that a packed unit's constraint may have; more are looked for, and not tried in turn."""

NOT_PACKED = -1

LAST_RANK = 2**16 - 1
_ROUND = 2**RANK_SHIFT - 1


@kernel
def _is_round(low: Any, high: Any) -> Any:
    """Whether ranks tell if a label lies in an interval, which is not empty."""
    return low < high and (np.int64(low) | block_end(high)) & _ROUND == 0


@kernel
def _ranks(low: Any, high: Any) -> Any:
    """The first rank of an interval, and how many more it has."""
    first = np.int64(low) >> RANK_SHIFT
    return first, (block_end(high) >> RANK_SHIFT) - first - 1


@kernel
def is_packable(records: Any, intervals: Any, at: Any) -> Any:
    """Whether the constraint of a record can be written as entries."""
    code, first, last = records[at], records[at + 1], records[at + 2]
    if code & ACCEPTS_NULL != 0 or code >> FLAG_BITS >= MOST_ATTRIBUTES:
        return False
    if code & SEVERAL == 0:
        return _is_round(first, last)
    sound = 0 < last - first <= MOST_PIECES
    for interval in range(first, last if sound else first):
        sound &= _is_round(intervals[2 * interval], intervals[2 * interval + 1])
    return sound


@kernel
def _piece_end(intervals: Any, first: int, last: int, shift: int) -> int:
    """The end of the intervals from `first` on that fit into one entry."""
    stop = first + 1
    while stop < last and steps_between(intervals, first, stop + 1, shift) <= MASK_STEPS:
        stop += 1
    return stop


@kernel
def _count_entries(records: Any, intervals: Any, at: int) -> Any:
    """How many plain and masked entries the constraint of a record has, which is packable."""
    if records[at] & SEVERAL == 0:
        return 1, 0
    first, last, plain, masked = records[at + 1], records[at + 2], 0, 0
    shift = step_shift(intervals, first, last)
    while first < last:
        stop = _piece_end(intervals, first, last, shift)
        plain, masked = plain + (stop == first + 1), masked + (stop > first + 1)
        first = stop
    return plain, masked


@kernel
def _write_plain(attribute: Any, low: Any, high: Any, above: Any, packs: Any, at: int) -> None:
    """Write a test of two integers; `above` goes into the upper half of the second."""
    rank, more = _ranks(low, high)
    packs[at] = np.int32(np.uint32(attribute | rank << 16))
    packs[at + 1] = np.int32(np.uint32(more | np.int64(above) << 16))


@kernel
def _write_mask(
    attribute: Any, intervals: Any, first: int, stop: int, shift: int, owner: int, packs: Any, at: int
) -> None:
    bits = step_bits(intervals, first, stop, shift)
    packs[at] = np.int32(np.uint32(attribute | np.int64(intervals[2 * first]) >> RANK_SHIFT << 16))
    packs[at + 1] = np.int32(np.uint32((shift - RANK_SHIFT) | owner << 16))
    packs[at + 2] = np.int32(np.uint32(bits & np.uint64(2**32 - 1)))
    packs[at + 3] = np.int32(np.uint32(bits >> np.uint64(32)))


@kernel
def write_entries(
    records: Any, intervals: Any, at: int, owner: int, packs: Any, plain: int, masked: int
) -> tuple[int, int]:
    """Write the entries of the constraint of a record; returns where the next plain and masked ones go."""
    attribute, first, last = np.int64(records[at] >> FLAG_BITS), records[at + 1], records[at + 2]
    if records[at] & SEVERAL == 0:
        _write_plain(attribute, first, last, owner, packs, plain)
        return plain + PLAIN_WIDTH, masked
    shift = step_shift(intervals, first, last)
    while first < last:
        stop = _piece_end(intervals, first, last, shift)
        if stop == first + 1:
            _write_plain(attribute, intervals[2 * first], intervals[2 * first + 1], owner, packs, plain)
            plain += PLAIN_WIDTH
        else:
            _write_mask(attribute, intervals, first, stop, shift, owner, packs, masked)
            masked += MASK_WIDTH
        first = stop
    return plain, masked


@kernel
def _is_left(records: Any, access: Any, choice: int, wanted: int, first: int, test: int, position: int) -> bool:
    """Whether a constraint is decided neither by the list nor by the head, which only decides single intervals."""
    decided = position == test and records[WIDTH * (first + position)] & SEVERAL == 0
    return not decided and not is_access(access, choice, wanted, position)


@kernel
def plan_packs(
    conjunctions: Any, units: Any, access: Any, wanted: int, tests: Any, needed: Any, plain: Any, masked: Any
) -> None:
    """How many constraints lists and heads leave of each unit, and the entries of these; NOT_PACKED if that cannot be.

    A unit without access predicates is in no list.
    """
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    for place in range(len(units)):
        unit, test = units[place], tests[place]
        first, left, plains, masks = offsets[unit], 0, 0, 0
        fits = access[wanted * unit] < offsets[unit + 1] - first
        if fits:
            fits = records[WIDTH * (first + access[wanted * unit])] >> FLAG_BITS < MOST_ATTRIBUTES
        for position in range(offsets[unit + 1] - first):
            if fits and not is_access(access, wanted * unit, wanted, position):
                fits = is_packable(records, intervals, WIDTH * (first + position))
            if fits and _is_left(records, access, wanted * unit, wanted, first, test, position):
                more, masks_more = _count_entries(records, intervals, WIDTH * (first + position))
                left, plains, masks = left + 1, plains + more, masks + masks_more
                fits = max(left, plains, masks) <= MOST_ENTRIES
        needed[place], plain[place], masked[place] = left if fits else NOT_PACKED, plains, masks


@kernel
def write_pack_head(
    conjunctions: Any, unit: int, access: Any, wanted: int, test: int, left: int, packs: Any, at: int
) -> None:
    """Write a candidate's head. Without a test it asks for what the list has found, some label of its attribute."""
    records, first = conjunctions.records, WIDTH * conjunctions.offsets[unit]
    if test >= 0:
        low, high = hull(records, conjunctions.intervals, first + WIDTH * test)
        _write_plain(np.int64(records[first + WIDTH * test] >> FLAG_BITS), low, high, left, packs, at)
    else:
        attribute = np.int64(records[first + WIDTH * access[wanted * unit]] >> FLAG_BITS)
        packs[at], packs[at + 1] = attribute, np.int32(np.uint32(LAST_RANK | np.int64(left) << 16))


@kernel
def write_candidate(
    conjunctions: Any, unit: int, order: Any, rank: int, access: Any, wanted: int, test: int, owner: int,
    packs: Any, plain: int, masked: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Write a unit's entries, the most selective constraints with one plain entry first; returns how many those are."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    first, single = offsets[unit], 0
    for several in range(2):
        for place in range(rank, rank + offsets[unit + 1] - first):
            at = WIDTH * (first + order[place])
            if not _is_left(records, access, wanted * unit, wanted, first, test, order[place]):
                continue
            plains, masks = _count_entries(records, intervals, at)
            if (plains != 1 or masks != 0) == (several == 1):
                plain, masked = write_entries(records, intervals, at, owner, packs, plain, masked)
                single += several == 0
    return single, plain, masked


@kernel
def write_mark(
    unit: int, mark: Any, plain: Any, plains: int, masked: Any, masks: int, left: int, single: int, packs: Any, at: Any
) -> None:
    """Write the mark of a candidate to `at`, of which `mark` is where it is in the end."""
    packs[at] = unit
    packs[at + 1] = np.int32(np.uint32((plain - mark) | (plains | (left - single) << COUNT_BITS) << PLAIN_FAR))
    packs[at + 2] = np.int32(np.uint32((masked - mark) | (masks | single << COUNT_BITS) << MASK_FAR))


@kernel
def write_packs(
    conjunctions: Any, units: Any, ranking: Any, access: Any, wanted: int, tests: Any, needed: Any, plain: Any,
    masked: Any, places: Any, counts: Any, packs: Any,
) -> None:  # fmt: skip
    """Write the packs of all lists one behind the other; `places` has counts[l] units of each list l."""
    posting, at = 0, 0
    for found in range(len(counts)):
        left = counts[found]
        while left > 0:
            count, plains, masks = min(left, PACKED), 0, 0
            for place in places[posting : posting + count]:
                plains, masks = plains + plain[place], masks + masked[place]
            packs[at], packs[at + 1], packs[at + 2] = count, plains, masks
            head = at + PACK_START
            mark = head + HEAD_WIDTH * count
            plain_end = mark + MARK_WIDTH * count
            mask_end = plain_end + PLAIN_WIDTH * plains
            at = mask_end + MASK_WIDTH * masks
            for owner in range(count):
                place, plain_at, mask_at = places[posting + owner], plain_end, mask_end
                unit, test = units[place], tests[place]
                single, plain_end, mask_end = write_candidate(
                    conjunctions, unit, ranking.order, ranking.starts[place], access, wanted, test, owner, packs,
                    plain_at, mask_at,
                )  # fmt: skip
                write_pack_head(conjunctions, unit, access, wanted, test, needed[place], packs, head)
                write_mark(
                    unit, mark, plain_at, plain[place], mask_at, masked[place], needed[place], single, packs, mark
                )
                head, mark = head + HEAD_WIDTH, mark + MARK_WIDTH
            posting, left = posting + count, left - count


@kernel
def _entries_are_safe(packs: Any, at: Any, count: Any, width: int, owners: Any, attributes: int) -> Any:
    for entry in range(at, at + width * count, width):
        if np.uint32(packs[entry]) & np.uint32(0xFFFF) >= np.uint32(attributes):
            return False
        if np.uint32(packs[entry + 1]) >> np.uint32(16) >= np.uint32(owners):
            return False
    return True


@kernel
def entries_of(packs: Any, mark: Any) -> Any:
    """Where the plain and the masked entries of a mark begin, how many there are, and how many decide alone."""
    plain, masked, low = np.uint32(packs[mark + 1]), np.uint32(packs[mark + 2]), (1 << COUNT_BITS) - 1
    plain_at = mark + np.int64(plain & np.uint32((1 << PLAIN_FAR) - 1))
    mask_at = mark + np.int64(masked & np.uint32((1 << MASK_FAR) - 1))
    plains, masks = np.int64(plain >> np.uint32(PLAIN_FAR)) & low, np.int64(masked >> np.uint32(MASK_FAR)) & low
    return plain_at, plains, mask_at, masks, np.int64(masked >> np.uint32(MASK_FAR + COUNT_BITS))


@kernel
def _mark_is_safe(packs: Any, mark: Any, first: Any, middle: Any, end: Any) -> Any:
    """Whether the entries of a mark are among the plain ones first : middle and the masked ones middle : end."""
    plain_at, plains, mask_at, masks, single = entries_of(packs, mark)
    sound = first <= plain_at and plain_at + PLAIN_WIDTH * plains <= middle and single <= plains
    return sound and middle <= mask_at and mask_at + MASK_WIDTH * masks <= end


@kernel
def check_packs(packs: Any, starts: Any, units: int, attributes: int) -> bool:
    """Whether packs fill the stretches of their lists, and none could lead a kernel out of its arrays."""
    for found in range(len(starts) - 1):
        at, end = starts[found], starts[found + 1]
        while at < end:
            if end - at < PACK_START:
                return False
            count, plains, masks = np.int64(packs[at]), np.int64(packs[at + 1]), np.int64(packs[at + 2])
            if not 0 < count <= PACKED or min(plains, masks) < 0 or max(plains, masks) > MOST_ENTRIES * PACKED:
                return False
            head = at + PACK_START
            mark = head + HEAD_WIDTH * count
            plain_at = mark + MARK_WIDTH * count
            mask_at = plain_at + PLAIN_WIDTH * plains
            at = mask_at + MASK_WIDTH * masks
            if at > end:
                return False
            if not _entries_are_safe(packs, plain_at, plains, PLAIN_WIDTH, count, attributes):
                return False
            if not _entries_are_safe(packs, mask_at, masks, MASK_WIDTH, count, attributes):
                return False
            for _ in range(count):
                if np.uint32(packs[head]) & np.uint32(0xFFFF) >= np.uint32(attributes):
                    return False
                if not 0 <= packs[mark] < units or not _mark_is_safe(packs, mark, plain_at, mask_at, at):
                    return False
                head, mark = head + HEAD_WIDTH, mark + MARK_WIDTH
    return True


@kernel
def packed_units(packs: Any, starts: Any, lists: Any, units: Any) -> int:
    """The list and the unit of every packed candidate; returns how many there are, and writes what has room."""
    written = 0
    for found in range(len(starts) - 1):
        at = starts[found]
        while at < starts[found + 1]:
            mark = at + PACK_START + HEAD_WIDTH * packs[at]
            for owner in range(packs[at]):
                if written < len(units):
                    lists[written], units[written] = found, packs[mark + MARK_WIDTH * owner]
                written += 1
            at = pack_end(packs, at)
    return written
