"""Kernels that write blocks, as `_block_kernels` describes them.

VLDB 2018, ours, as `_block_kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.pst._block_kernels import (
    BLOCK_SIZE,
    BLOCK_START,
    BLOCK_TEST_WIDTH,
    COUNT_BITS,
    MARK_WIDTH,
    MASK_FAR,
    MASK_WIDTH,
    RANK_SHIFT,
    SINGLE_FAR,
    SINGLE_WIDTH,
    end_of_block,
)
from matchwood.engines.pst._candidate_kernels import NewCandidates
from matchwood.engines.shared._record_kernels import ACCEPTS_NULL, FLAG_BITS, SEVERAL, WIDTH, hull
from matchwood.engines.shared._residual_kernels import LINE, MASK_STEPS, is_access, step_bits, step_shift, steps_between

MOST_ATTRIBUTES = 2**16
MOST_ENTRIES = 2**COUNT_BITS - 1
"""Entries of one kind that a packed unit may have, as marks count them."""

MOST_PIECES = 8
"""Intervals that a packed unit's constraint may have; more are looked for, and not tried in turn."""

NOT_IN_BLOCKS = -1

AHEAD = 8
"""How many units before its turn the memory of one is asked for."""

DRAFT_START = MARK_WIDTH + BLOCK_TEST_WIDTH
"""Integers of a draft before its entries."""

LAST_RANK = 2**16 - 1
_ROUND = 2**RANK_SHIFT - 1


class BlockPlan(NamedTuple):
    """What candidates take in blocks.

    `needed`  constraints that lists and first tests leave of each, or NOT_IN_BLOCKS
    `single`, `masked`  the entries of these
    """

    needed: NDArray[np.int32]
    single: NDArray[np.int32]
    masked: NDArray[np.int32]


class SortedPostings(NamedTuple):
    """Postings in the order of their lists.

    `most_copies`  in more lists than this no unit is packed
    `counts`, `words`  how many of each list go into blocks, and what their entries take
    `ends`         where those of each list end, in `places`
    `places`       the units of these
    `left_sizes`, `left_lists`  the postings of each unit that go into none
    """

    most_copies: int
    counts: NDArray[np.int64]
    words: NDArray[np.int64]
    ends: NDArray[np.int64]
    places: NDArray[np.int32]
    left_sizes: NDArray[np.int64]
    left_lists: NDArray[np.int32]


@bare_kernel
def _is_round(low: Any, high: Any) -> Any:
    """Whether ranks tell if a label lies in an interval, which is not empty."""
    return low < high and (np.int64(low) | block_end(high)) & _ROUND == 0


@bare_kernel
def _ranks(low: Any, high: Any) -> Any:
    """The first rank of an interval, and how many more it has."""
    first = np.int64(low) >> RANK_SHIFT
    return first, (block_end(high) >> RANK_SHIFT) - first - 1


@bare_kernel
def fits_blocks(records: Any, intervals: Any, at: Any) -> Any:
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


@bare_kernel
def _piece_end(intervals: Any, first: int, last: int, shift: int) -> int:
    """The end of the intervals from `first` on that fit into one entry."""
    stop = first + 1
    while stop < last and steps_between(intervals, first, stop + 1, shift) <= MASK_STEPS:
        stop += 1
    return stop


@bare_kernel
def _count_entries(records: Any, intervals: Any, at: int) -> Any:
    """How many single and masked entries the constraint of a record has, which fits blocks."""
    if records[at] & SEVERAL == 0:
        return 1, 0
    first, last, single, masked = records[at + 1], records[at + 2], 0, 0
    shift = step_shift(intervals, first, last)
    while first < last:
        stop = _piece_end(intervals, first, last, shift)
        single, masked = single + (stop == first + 1), masked + (stop > first + 1)
        first = stop
    return single, masked


@bare_kernel
def _has_one_entry(records: Any, intervals: Any, at: int) -> Any:
    """Whether the constraint of a record, which fits blocks, has one entry only, and a single one."""
    return records[at] & SEVERAL == 0 or records[at + 1] + 1 == records[at + 2]


@bare_kernel
def _write_single(attribute: Any, low: Any, high: Any, above: Any, blocks: Any, at: int) -> None:
    """Write a test of two integers; `above` goes into the upper half of the second."""
    rank, more = _ranks(low, high)
    blocks[at] = np.int32(np.uint32(attribute | rank << 16))
    blocks[at + 1] = np.int32(np.uint32(more | np.int64(above) << 16))


@bare_kernel
def _write_mask(
    attribute: Any, intervals: Any, first: int, stop: int, shift: int, owner: int, blocks: Any, at: int
) -> None:
    bits = step_bits(intervals, first, stop, shift)
    blocks[at] = np.int32(np.uint32(attribute | np.int64(intervals[2 * first]) >> RANK_SHIFT << 16))
    blocks[at + 1] = np.int32(np.uint32((shift - RANK_SHIFT) | owner << 16))
    blocks[at + 2] = np.int32(np.uint32(bits & np.uint64(2**32 - 1)))
    blocks[at + 3] = np.int32(np.uint32(bits >> np.uint64(32)))


@bare_kernel
def write_entries(
    records: Any, intervals: Any, at: int, owner: int, blocks: Any, single: int, masked: int
) -> tuple[int, int]:
    """Write the entries of the constraint of a record; returns where the next single and masked ones go."""
    attribute, first, last = np.int64(records[at] >> FLAG_BITS), records[at + 1], records[at + 2]
    if records[at] & SEVERAL == 0:
        _write_single(attribute, first, last, owner, blocks, single)
        return single + SINGLE_WIDTH, masked
    shift = step_shift(intervals, first, last)
    while first < last:
        stop = _piece_end(intervals, first, last, shift)
        if stop == first + 1:
            _write_single(attribute, intervals[2 * first], intervals[2 * first + 1], owner, blocks, single)
            single += SINGLE_WIDTH
        else:
            _write_mask(attribute, intervals, first, stop, shift, owner, blocks, masked)
            masked += MASK_WIDTH
        first = stop
    return single, masked


@bare_kernel
def _is_left(records: Any, access: Any, choice: int, wanted: int, first: int, test: int, position: int) -> bool:
    """Whether a constraint is decided neither by the list nor by the first test, which decides one interval only."""
    decided = position == test and records[WIDTH * (first + position)] & SEVERAL == 0
    return not decided and not is_access(access, choice, wanted, position)


@bare_kernel
def ask_ahead(conjunctions: Any, units: Any, place: int) -> None:
    """Ask for the constraints of a unit that comes a little later: units in the order of their shapes lie anywhere."""
    later = min(place + AHEAD, len(units) - 1)
    at = WIDTH * conjunctions.offsets[units[later]]
    prefetch(conjunctions.records, at)
    prefetch(conjunctions.records, at + LINE)


@bare_kernel
def plan_blocks(conjunctions: Any, new: NewCandidates, wanted: int, plan: BlockPlan) -> None:
    """How many constraints lists and first tests leave of each unit, and their entries; else NOT_IN_BLOCKS.

    A unit without access predicates is in no list.
    """
    units, access, tests = new.units, new.access, new.tests
    needed, single, masked = plan.needed, plan.single, plan.masked
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    for place in range(len(units)):
        ask_ahead(conjunctions, units, place)
        unit, test = units[place], tests[place]
        first, count, choice = offsets[unit], offsets[unit + 1] - offsets[unit], wanted * unit
        left, singles, masks = 0, 0, 0
        fits = access[choice] < count
        if fits:
            fits = records[WIDTH * (first + access[choice])] >> FLAG_BITS < MOST_ATTRIBUTES
        for position in range(count if fits else 0):
            if is_access(access, choice, wanted, position):
                continue
            at = WIDTH * (first + position)
            fits &= fits_blocks(records, intervals, at)
            if not fits:
                break
            if records[at] & SEVERAL == 0:
                left, singles = left + (position != test), singles + (position != test)
            else:
                more, masks_more = _count_entries(records, intervals, at)
                left, singles, masks = left + 1, singles + more, masks + masks_more
        fits &= max(left, singles, masks) <= MOST_ENTRIES
        needed[place], single[place], masked[place] = left if fits else NOT_IN_BLOCKS, singles, masks


@bare_kernel
def write_block_test(
    conjunctions: Any, unit: int, access: Any, wanted: int, test: int, left: int, blocks: Any, at: int
) -> None:
    """Write a candidate's first test. Without one it asks for some label of the attribute of the list."""
    records, first = conjunctions.records, WIDTH * conjunctions.offsets[unit]
    if test >= 0:
        low, high = hull(records, conjunctions.intervals, first + WIDTH * test)
        _write_single(np.int64(records[first + WIDTH * test] >> FLAG_BITS), low, high, left, blocks, at)
    else:
        attribute = np.int64(records[first + WIDTH * access[wanted * unit]] >> FLAG_BITS)
        blocks[at], blocks[at + 1] = attribute, np.int32(np.uint32(LAST_RANK | np.int64(left) << 16))


@bare_kernel
def write_candidate(
    conjunctions: Any, unit: int, order: Any, rank: int, access: Any, wanted: int, test: int, owner: int,
    blocks: Any, single: int, masked: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Write a unit's entries, the most selective constraints with one entry first; returns how many those are."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    first, alone, later = offsets[unit], 0, False
    for place in range(rank, rank + offsets[unit + 1] - first):
        at = WIDTH * (first + order[place])
        if _is_left(records, access, wanted * unit, wanted, first, test, order[place]):
            if _has_one_entry(records, intervals, at):
                single, _ = write_entries(records, intervals, at, owner, blocks, single, masked)
                alone += 1
            else:
                later = True
    for place in range(rank, rank + (offsets[unit + 1] - first if later else 0)):
        at = WIDTH * (first + order[place])
        left = _is_left(records, access, wanted * unit, wanted, first, test, order[place])
        if left and not _has_one_entry(records, intervals, at):
            single, masked = write_entries(records, intervals, at, owner, blocks, single, masked)
    return alone, single, masked


@bare_kernel
def write_mark(
    unit: int,
    mark: Any,
    single: Any,
    singles: int,
    masked: Any,
    masks: int,
    left: int,
    alone: int,
    blocks: Any,
    at: Any,
) -> None:
    """Write the mark of a candidate to `at`, of which `mark` is where it is in the end."""
    blocks[at] = unit
    blocks[at + 1] = np.int32(np.uint32((single - mark) | (singles | (left - alone) << COUNT_BITS) << SINGLE_FAR))
    blocks[at + 2] = np.int32(np.uint32((masked - mark) | (masks | alone << COUNT_BITS) << MASK_FAR))


@bare_kernel
def sort_postings(sizes: Any, lists: Any, plan: BlockPlan, least: int, sorted_postings: SortedPostings) -> int:
    """Put the postings that go into blocks in the order of their lists, which are long enough for that.

    Unit i is in sizes[i] lists, one after the other in `lists`. Returns how many are left over.
    """
    most, single, masked = sorted_postings.most_copies, plan.single, plan.masked
    counts, words, ends = sorted_postings.counts, sorted_postings.words, sorted_postings.ends
    posting = 0
    for place in range(len(sizes)):
        if plan.needed[place] != NOT_IN_BLOCKS and sizes[place] <= most:
            for found in lists[posting : posting + sizes[place]]:
                counts[found] += 1
        posting += sizes[place]
    end = 0
    for found in range(len(counts)):
        counts[found] = counts[found] if counts[found] >= least else 0
        ends[found] = end
        end += counts[found]
    posting, left = 0, 0
    for place in range(len(sizes)):
        fits, kept = plan.needed[place] != NOT_IN_BLOCKS and sizes[place] <= most, left
        for found in lists[posting : posting + sizes[place]]:
            if fits and counts[found] > 0:
                sorted_postings.places[ends[found]] = place
                ends[found] += 1
                words[found] += SINGLE_WIDTH * single[place] + MASK_WIDTH * masked[place]
            else:
                sorted_postings.left_lists[left] = found
                left += 1
        posting += sizes[place]
        sorted_postings.left_sizes[place] = left - kept
    return left


@bare_kernel
def write_drafts(conjunctions: Any, new: NewCandidates, wanted: int, plan: BlockPlan, starts: Any, drafts: Any) -> None:
    """Write what each unit has in every one of its blocks, if there is room for it between starts[i] and the next.

    That is its mark without distances, its first test, and its entries, with zero for its number in the block.
    """
    units, access, tests, ranks, order = new.units, new.access, new.tests, new.selectivity.starts, new.selectivity.order
    for place in range(len(units)):
        at = starts[place]
        if starts[place + 1] == at:
            continue
        ask_ahead(conjunctions, units, place)
        unit, test, left, singles, masks = (
            units[place],
            tests[place],
            plan.needed[place],
            plan.single[place],
            plan.masked[place],
        )
        first = at + DRAFT_START
        alone, _, _ = write_candidate(
            conjunctions, unit, order, ranks[place], access, wanted, test, 0, drafts, first,
            first + SINGLE_WIDTH * singles,
        )  # fmt: skip
        write_mark(unit, 0, 0, singles, 0, masks, left, alone, drafts, at)
        write_block_test(conjunctions, unit, access, wanted, test, left, drafts, at + MARK_WIDTH)


@bare_kernel
def _copy_entries(drafts: Any, at: int, end: int, width: int, owner: int, blocks: Any, to: int) -> int:
    """Copy entries, each with the number of its candidate; returns where the next ones go."""
    above = np.int32(owner << 16)
    while at < end:
        blocks[to], blocks[to + 1] = drafts[at], drafts[at + 1] | above
        if width == MASK_WIDTH:
            blocks[to + 2], blocks[to + 3] = drafts[at + 2], drafts[at + 3]
        at, to = at + width, to + width
    return to


@bare_kernel
def write_blocks(starts: Any, drafts: Any, plan: BlockPlan, places: Any, counts: Any, blocks: Any) -> None:
    """Write the blocks of all lists one behind the other; `places` has counts[l] units of each list l.

    Units of a list lie anywhere, so each is asked for when its block is begun, and is one stretch of memory.
    """
    single, masked, posting, at = plan.single, plan.masked, 0, 0
    for found in range(len(counts)):
        left = counts[found]
        while left > 0:
            count, singles, masks = min(left, BLOCK_SIZE), 0, 0
            for place in places[posting : posting + count]:
                prefetch(drafts, starts[place])
                prefetch(drafts, starts[place] + LINE)
                singles, masks = singles + single[place], masks + masked[place]
            blocks[at], blocks[at + 1], blocks[at + 2] = count, singles, masks
            first_test = at + BLOCK_START
            mark = first_test + BLOCK_TEST_WIDTH * count
            single_at = mark + MARK_WIDTH * count
            mask_at = single_at + SINGLE_WIDTH * singles
            at = mask_at + MASK_WIDTH * masks
            for owner in range(count):
                draft, end = starts[places[posting + owner]], starts[places[posting + owner] + 1]
                middle = draft + DRAFT_START + SINGLE_WIDTH * single[places[posting + owner]]
                blocks[mark] = drafts[draft]
                blocks[mark + 1] = drafts[draft + 1] | np.int32(single_at - mark)
                blocks[mark + 2] = drafts[draft + 2] | np.int32(mask_at - mark)
                blocks[first_test], blocks[first_test + 1] = drafts[draft + 3], drafts[draft + 4]
                single_at = _copy_entries(drafts, draft + DRAFT_START, middle, SINGLE_WIDTH, owner, blocks, single_at)
                mask_at = _copy_entries(drafts, middle, end, MASK_WIDTH, owner, blocks, mask_at)
                first_test, mark = first_test + BLOCK_TEST_WIDTH, mark + MARK_WIDTH
            posting, left = posting + count, left - count


@bare_kernel
def _entries_are_safe(blocks: Any, at: Any, count: Any, width: int, owners: Any, attributes: int) -> Any:
    for entry in range(at, at + width * count, width):
        if np.uint32(blocks[entry]) & np.uint32(0xFFFF) >= np.uint32(attributes):
            return False
        if np.uint32(blocks[entry + 1]) >> np.uint32(16) >= np.uint32(owners):
            return False
    return True


@bare_kernel
def entries_of(blocks: Any, mark: Any) -> Any:
    """Where the single and the masked entries of a mark begin, how many there are, and how many decide alone."""
    single, masked, low = np.uint32(blocks[mark + 1]), np.uint32(blocks[mark + 2]), (1 << COUNT_BITS) - 1
    single_at = mark + np.int64(single & np.uint32((1 << SINGLE_FAR) - 1))
    mask_at = mark + np.int64(masked & np.uint32((1 << MASK_FAR) - 1))
    singles, masks = np.int64(single >> np.uint32(SINGLE_FAR)) & low, np.int64(masked >> np.uint32(MASK_FAR)) & low
    return single_at, singles, mask_at, masks, np.int64(masked >> np.uint32(MASK_FAR + COUNT_BITS))


@bare_kernel
def _mark_is_safe(blocks: Any, mark: Any, first: Any, middle: Any, end: Any) -> Any:
    """Whether the entries of a mark are among the single ones first : middle and the masked ones middle : end."""
    single_at, singles, mask_at, masks, alone = entries_of(blocks, mark)
    sound = first <= single_at and single_at + SINGLE_WIDTH * singles <= middle and alone <= singles
    return sound and middle <= mask_at and mask_at + MASK_WIDTH * masks <= end


@bare_kernel
def check_blocks(blocks: Any, starts: Any, units: int, attributes: int) -> bool:
    """Whether blocks fill the stretches of their lists, and none could lead a kernel out of its arrays."""
    for found in range(len(starts) - 1):
        at, end = starts[found], starts[found + 1]
        while at < end:
            if end - at < BLOCK_START:
                return False
            count, singles, masks = np.int64(blocks[at]), np.int64(blocks[at + 1]), np.int64(blocks[at + 2])
            if (
                not 0 < count <= BLOCK_SIZE
                or min(singles, masks) < 0
                or max(singles, masks) > MOST_ENTRIES * BLOCK_SIZE
            ):
                return False
            first_test = at + BLOCK_START
            mark = first_test + BLOCK_TEST_WIDTH * count
            single_at = mark + MARK_WIDTH * count
            mask_at = single_at + SINGLE_WIDTH * singles
            at = mask_at + MASK_WIDTH * masks
            if at > end:
                return False
            if not _entries_are_safe(blocks, single_at, singles, SINGLE_WIDTH, count, attributes):
                return False
            if not _entries_are_safe(blocks, mask_at, masks, MASK_WIDTH, count, attributes):
                return False
            for _ in range(count):
                if np.uint32(blocks[first_test]) & np.uint32(0xFFFF) >= np.uint32(attributes):
                    return False
                if not 0 <= blocks[mark] < units or not _mark_is_safe(blocks, mark, single_at, mask_at, at):
                    return False
                first_test, mark = first_test + BLOCK_TEST_WIDTH, mark + MARK_WIDTH
    return True


@bare_kernel
def list_block_units(blocks: Any, starts: Any, lists: Any, units: Any) -> int:
    """The list and the unit of every packed candidate; returns how many there are, and writes what has room."""
    written = 0
    for found in range(len(starts) - 1):
        at = starts[found]
        while at < starts[found + 1]:
            mark = at + BLOCK_START + BLOCK_TEST_WIDTH * blocks[at]
            for owner in range(blocks[at]):
                if written < len(units):
                    lists[written], units[written] = found, blocks[mark + MARK_WIDTH * owner]
                written += 1
            at = end_of_block(blocks, at)
    return written
