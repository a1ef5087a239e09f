"""Kernels that write packed candidates, as `_packed_kernels` describes them.

VLDB 2018, ours, as `_packed_kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.pst._candidate_kernels import NewCandidates
from matchwood.engines.pst._packed_kernels import (
    COUNT_BITS,
    MASK_WIDTH,
    PACKED_LINE,
    PACKED_START,
    PACKED_TEST_WIDTH,
    RANK_SHIFT,
    SINGLE_WIDTH,
    counts_of,
    long_word,
)
from matchwood.engines.shared._residual_kernels import MASK_STEPS, is_access, step_bits, step_shift, steps_between
from matchwood.engines.shared.constraints._record_kernels import ACCEPTS_NULL, FLAG_BITS, SEVERAL, hull, record_at

MOST_ATTRIBUTES = 2**16
MOST_ENTRIES = 127
"""Entries of one kind that a packed unit may have: lanes count no further (`_lane_kernels`)."""

MOST_PIECES = 8
"""Intervals that a packed unit's constraint may have; more are looked for, and not tried in turn."""

NOT_PACKED = -1

AHEAD = 8
"""How many units before its turn the memory of one is asked for."""

DRAFT_START = 3
"""Words of a draft before its packed residual: the first test."""

LAST_RANK = 2**16 - 1
_ROUND = 2**RANK_SHIFT - 1
_WORD = 2**16 - 1


class PackingPlan(NamedTuple):
    """What candidates take when they are packed.

    `needed`  constraints that lists and first tests leave of each, or NOT_PACKED
    `single`, `masked`  the entries of these
    """

    needed: NDArray[np.int32]
    single: NDArray[np.int32]
    masked: NDArray[np.int32]


class SortedPostings(NamedTuple):
    """Postings in the order of their lists.

    `counts`       how many of each list are packed
    `ends`         where those of each list end, in `places`
    `places`       the units of these
    `left_sizes`, `left_lists`  the postings of each unit that are not
    """

    counts: NDArray[np.int64]
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
def fits_packed(records: Any, intervals: Any, at: Any) -> Any:
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
def count_entries(records: Any, intervals: Any, at: int) -> Any:
    """How many single and masked entries the constraint of a record has, which can be packed."""
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
    """Whether the constraint of a record, which can be packed, has one entry only, and a single one."""
    return records[at] & SEVERAL == 0 or records[at + 1] + 1 == records[at + 2]


@bare_kernel
def _write_single(attribute: Any, low: Any, high: Any, words: Any, at: int) -> None:
    """Write a test of three words."""
    rank, more = _ranks(low, high)
    words[at], words[at + 1], words[at + 2] = attribute, rank, more


@bare_kernel
def _write_mask(attribute: Any, intervals: Any, first: int, stop: int, shift: int, words: Any, at: int) -> None:
    bits = step_bits(intervals, first, stop, shift)
    words[at], words[at + 1] = attribute, np.int64(intervals[2 * first]) >> RANK_SHIFT
    words[at + 2] = shift - RANK_SHIFT
    for word in range(4):
        words[at + 3 + word] = np.uint16((bits >> np.uint64(16 * word)) & np.uint64(_WORD))


@bare_kernel
def _write_entries(records: Any, intervals: Any, at: int, words: Any, single: int, masked: int) -> tuple[int, int]:
    """Write the entries of the constraint of a record; returns where the next single and masked ones go."""
    attribute, first, last = np.int64(records[at] >> FLAG_BITS), records[at + 1], records[at + 2]
    if records[at] & SEVERAL == 0:
        _write_single(attribute, first, last, words, single)
        return single + SINGLE_WIDTH, masked
    shift = step_shift(intervals, first, last)
    while first < last:
        stop = _piece_end(intervals, first, last, shift)
        if stop == first + 1:
            _write_single(attribute, intervals[2 * first], intervals[2 * first + 1], words, single)
            single += SINGLE_WIDTH
        else:
            _write_mask(attribute, intervals, first, stop, shift, words, masked)
            masked += MASK_WIDTH
        first = stop
    return single, masked


@bare_kernel
def is_left(records: Any, at: Any, access: Any, choice: int, wanted: int, test: int, position: int) -> bool:
    """Whether the constraint with the record at `at` is decided neither by the list nor by the first test.

    That decides one interval only.
    """
    decided = position == test and records[at] & SEVERAL == 0
    return not decided and not is_access(access, choice, wanted, position)


@bare_kernel
def ask_ahead(conjunctions: Any, units: Any, place: int) -> None:
    """Ask for the constraints of a unit that comes a little later: units in the order of their shapes lie anywhere."""
    later = min(place + AHEAD, len(units) - 1)
    prefetch(conjunctions.leaves, np.int64(conjunctions.offsets[units[later]]))


@bare_kernel
def plan_packing(conjunctions: Any, new: NewCandidates, wanted: int, plan: PackingPlan) -> None:
    """How many constraints lists and first tests leave of each unit, and their entries; else NOT_PACKED.

    A unit without access predicates is in no list.
    """
    units, access, tests = new.units, new.access, new.tests
    needed, single, masked = plan.needed, plan.single, plan.masked
    offsets, leaves = conjunctions.offsets, conjunctions.leaves
    records, intervals = conjunctions.records, conjunctions.intervals
    for place in range(len(units)):
        ask_ahead(conjunctions, units, place)
        unit, test = units[place], tests[place]
        first, count, choice = offsets[unit], offsets[unit + 1] - offsets[unit], wanted * unit
        left, singles, masks = 0, 0, 0
        fits = access[choice] < count
        if fits:
            fits = records[record_at(leaves, first + access[choice])] >> FLAG_BITS < MOST_ATTRIBUTES
        for position in range(count if fits else 0):
            if is_access(access, choice, wanted, position):
                continue
            at = record_at(leaves, first + position)
            fits &= fits_packed(records, intervals, at)
            if not fits:
                break
            if records[at] & SEVERAL == 0:
                left, singles = left + (position != test), singles + (position != test)
            else:
                more, masks_more = count_entries(records, intervals, at)
                left, singles, masks = left + 1, singles + more, masks + masks_more
        fits &= max(left, singles, masks) <= MOST_ENTRIES
        needed[place], single[place], masked[place] = left if fits else NOT_PACKED, singles, masks


@bare_kernel
def write_packed_test(
    conjunctions: Any, unit: int, access: Any, wanted: int, test: int, words: Any, at: int
) -> None:  # fmt: skip
    """Write a candidate's first test. Without one it asks for some label of the attribute of the list."""
    records, leaves, first = conjunctions.records, conjunctions.leaves, conjunctions.offsets[unit]
    if test >= 0:
        tested = record_at(leaves, first + test)
        low, high = hull(records, conjunctions.intervals, tested)
        _write_single(np.int64(records[tested] >> FLAG_BITS), low, high, words, at)
    else:
        attribute = np.int64(records[record_at(leaves, first + access[wanted * unit])] >> FLAG_BITS)
        words[at], words[at + 1], words[at + 2] = attribute, 0, LAST_RANK


@bare_kernel
def write_packed_residual(
    conjunctions: Any, unit: int, order: Any, rank: int, access: Any, wanted: int, test: int, counts: Any, words: Any,
    at: int,
) -> None:  # fmt: skip
    """Write a unit's packed residual, the most selective constraints with one entry first.

    `counts` are the constraints that are left, and their single and their masked entries.
    """
    offsets, leaves = conjunctions.offsets, conjunctions.leaves
    records, intervals = conjunctions.records, conjunctions.intervals
    first, alone, later = offsets[unit], 0, False
    left, singles, masks = counts
    single = at + PACKED_START
    masked = single + SINGLE_WIDTH * singles
    for place in range(rank, rank + offsets[unit + 1] - first):
        record = record_at(leaves, first + order[place])
        if is_left(records, record, access, wanted * unit, wanted, test, order[place]):
            if _has_one_entry(records, intervals, record):
                single, _ = _write_entries(records, intervals, record, words, single, masked)
                alone += 1
            else:
                later = True
    for place in range(rank, rank + (offsets[unit + 1] - first if later else 0)):
        record = record_at(leaves, first + order[place])
        left_over = is_left(records, record, access, wanted * unit, wanted, test, order[place])
        if left_over and not _has_one_entry(records, intervals, record):
            single, masked = _write_entries(records, intervals, record, words, single, masked)
    words[at], words[at + 1] = np.int64(unit) & _WORD, np.int64(unit) >> 16
    words[at + 2], words[at + 3] = singles | alone << COUNT_BITS, masks | (left - alone) << COUNT_BITS


@bare_kernel
def sort_postings(sizes: Any, lists: Any, plan: PackingPlan, least: int, sorted_postings: SortedPostings) -> int:
    """Put the postings that are packed in the order of their lists, which are long enough for that.

    Unit i is in sizes[i] lists, one after the other in `lists`. Returns how many are left over.
    """
    counts, ends, posting = sorted_postings.counts, sorted_postings.ends, 0
    for place in range(len(sizes)):
        if plan.needed[place] != NOT_PACKED:
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
        fits, kept = plan.needed[place] != NOT_PACKED, left
        for found in lists[posting : posting + sizes[place]]:
            if fits and counts[found] > 0:
                sorted_postings.places[ends[found]] = place
                ends[found] += 1
            else:
                sorted_postings.left_lists[left] = found
                left += 1
        posting += sizes[place]
        sorted_postings.left_sizes[place] = left - kept
    return left


@bare_kernel
def write_drafts(
    conjunctions: Any, new: NewCandidates, wanted: int, plan: PackingPlan, starts: Any, drafts: Any
) -> None:  # fmt: skip
    """Write the first test and the packed residual of each unit, if there is room for it between starts[i] and the
    next: units lie in the order of the store, so their constraints are read in sequence."""
    units, access, tests, ranks, order = new.units, new.access, new.tests, new.selectivity.starts, new.selectivity.order
    for place in range(len(units)):
        at = starts[place]
        if starts[place + 1] == at:
            continue
        ask_ahead(conjunctions, units, place)
        unit, test = units[place], tests[place]
        write_packed_test(conjunctions, unit, access, wanted, test, drafts, at)
        counts = plan.needed[place], plan.single[place], plan.masked[place]
        write_packed_residual(
            conjunctions, unit, order, ranks[place], access, wanted, test, counts, drafts, at + DRAFT_START
        )


@bare_kernel
def pack_drafts(starts: Any, drafts: Any, places: Any, found: Any, tests: Any, residuals: Any) -> int:
    """Write the packed tests of all postings, which name places[i] in the order of their lists, and the packed residual
    of each unit where the first of them needs it; returns the end of these.

    `found` has -1 for every unit. Units of a list lie anywhere, so each is asked for before its turn.
    """
    end = 0
    for posting in range(len(places)):
        later = starts[places[min(posting + AHEAD, len(places) - 1)]]
        prefetch(drafts, later)
        prefetch(drafts, later + PACKED_LINE)
        place = places[posting]
        draft, at = starts[place], PACKED_TEST_WIDTH * posting
        if found[place] < 0:
            found[place] = end
            for word in range(draft + DRAFT_START, starts[place + 1]):
                residuals[end] = drafts[word]
                end += 1
        for word in range(DRAFT_START):
            tests[at + word] = drafts[draft + word]
        tests[at + 3], tests[at + 4] = found[place] & _WORD, found[place] >> 16
    return end


@bare_kernel
def _residual_is_safe(residuals: Any, residual: Any, units: int, attributes: int) -> bool:
    """Whether a packed residual and its entries lie within the array, and name what there is."""
    if residual + PACKED_START > len(residuals) or long_word(residuals, np.uint64(residual)) >= units:
        return False
    singles, alone, masks, _ = counts_of(residuals, np.uint64(residual))
    middle = residual + PACKED_START + SINGLE_WIDTH * np.int64(singles)
    end = middle + MASK_WIDTH * np.int64(masks)
    if max(singles, masks) > MOST_ENTRIES or alone > singles or end > len(residuals):
        return False
    entry = residual + PACKED_START
    while entry < end:
        if residuals[entry] >= attributes:
            return False
        entry += SINGLE_WIDTH if entry < middle else MASK_WIDTH
    return True


@bare_kernel
def check_packed(tests: Any, residuals: Any, units: int, attributes: int) -> bool:
    """Whether no packed candidate could lead a kernel out of its arrays."""
    for at in range(0, len(tests), PACKED_TEST_WIDTH):
        if tests[at] >= attributes:
            return False
        if not _residual_is_safe(residuals, np.int64(long_word(tests, np.uint64(at + 3))), units, attributes):
            return False
    return True
