"""Kernels of `pstbloom` and `psthash` for many events: a list is walked once, with all events of a group under it.

An event alone pays for the cache misses and the wrong guesses of each list that it selects. In a group of some hundred
events the lists that matter are selected again and again, so the group is turned round:

- the lists of all events are found, and the events under each list counted;
- for each list that several events select, the ranks of up to LANES of them are laid out by attribute, 16 bits each,
  and each candidate in its blocks is tested against all of them at once: the answer is a word with a bit an event;
- these words are kept, and the hits counted; once it is known where those of each event begin, they are written there.

What else an event selects (lists of few events, short lists, units without lists) is looked at as for one event. Hits
and work are the same. Rank 2**16 - 1 stands for NULL here; an event that has it as a rank is looked at alone.

VLDB 2018, ours, in the place of the verification of Algorithms 5 and 7; events are brought together as A-PCM does
(ICDE 2014).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.bits import lowest_bit
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.lanes import LANES, lanes_within
from matchwood.engines.pst._block_kernels import (
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
from matchwood.engines.pst._match_kernels import (
    ListedUnits,
    ListScratch,
    ListSearch,
    examine_blocks,
    examine_tests,
    fetch_lists,
    select_combinations,
    select_spaces,
    verify_always,
)
from matchwood.engines.shared._residual_kernels import LIVE
from matchwood.engines.shared._verification_kernels import clear, scatter

FEWEST, SMALLEST_LIST = 6, 48
"""Events under a list, and candidates in its blocks, for which it is worth while to lay events out: that takes as long
as some forty first tests of one event."""

SMALLEST_GROUP, FIRST_GROUP, LARGEST_GROUP = 8, 64, 4_096
"""Events of a group: at least, while nothing is known of their hits, and at most. Others have as many as should fill
the output, by the hits of the group before; if those are too few, events go alone, and the next call tries again."""

SELECTED = 2**17
"""Lists that the events of a group may select together."""

KEPT = 2**18
"""Candidates that hold of an event in a group's lists."""

NULL_RANK = 2**16 - 1
PLANES = 16
"""Bits of a count of a list's candidates; a list has fewer than 2**16, or is not turned round."""

_ONE = np.uint64(1)


class GroupScratch(NamedTuple):
    """What a group writes to, for one thread.

    `selected`, `ends`   the lists of each event, and where they end
    `alone`     by event: whether no list looks at it in a group
    `under`     by list: how many events select it, 0 between two groups, and for lists that are not turned round
    `touched`, `begins`  the lists that any event selects, and where the events under each end in `members`
    `members`   the events under the lists that are turned round
    `ranks`     LANES for each attribute, NULL_RANK between two lists
    `kept_units`, `kept_lanes`  candidates, and the lanes of which they hold
    `segments`  three numbers for the events of a list that are tested together: the first of `members`, how many, and
                the end in `kept_units`
    `hits`, `passed`, `looked`, `cursors`  by event: hits in such lists, candidates that passed their first test there,
                all candidates there, and where its next hit goes
    `planes`    counts of all lanes, a word for each bit
    `limits`    the fewest events under a list, its fewest candidates, and how many events the next call begins with: 0
                if nobody knows, -1 if the last call had none in groups
    """

    selected: NDArray[np.int32]
    ends: NDArray[np.int64]
    alone: NDArray[np.uint8]
    under: NDArray[np.int32]
    touched: NDArray[np.int32]
    begins: NDArray[np.int32]
    members: NDArray[np.int32]
    ranks: NDArray[np.uint16]
    kept_units: NDArray[np.int32]
    kept_lanes: NDArray[np.uint64]
    segments: NDArray[np.int64]
    hits: NDArray[np.int64]
    passed: NDArray[np.int64]
    looked: NDArray[np.int64]
    cursors: NDArray[np.int64]
    planes: NDArray[np.uint64]
    limits: NDArray[np.int64]


@kernel
def _select(lists: Any, search: ListSearch, events: Any, first: int, most: int, scratch: Any, group: Any) -> Any:
    """Find the lists of up to `most` events; returns how many events, and how many lists were touched."""
    selected, ends, under, touched, found = group.selected, group.ends, group.under, group.touched, scratch.found
    block_starts, used, seen, count = lists.block_starts, 0, 0, 0
    ends[0] = 0
    while count < most:
        event = first + count
        total = select_spaces(lists, events, event, scratch)
        if search.depth > 1:
            total = select_combinations(lists, scratch, total, search.depth)
        if used + total > len(selected):
            break
        alone = False
        for pair in range(events.offsets[event], events.offsets[event + 1]):
            alone |= events.labels[pair] >> RANK_SHIFT == NULL_RANK
        group.alone[count] = alone
        for place in range(total):
            listed = found[place]
            selected[used + place] = listed
            if not alone and block_starts[listed] < block_starts[listed + 1]:
                if under[listed] == 0:
                    touched[seen] = listed
                    seen += 1
                under[listed] += 1
        used += total
        count += 1
        ends[count] = used
        group.hits[count - 1], group.passed[count - 1], group.looked[count - 1] = 0, 0, 0
    return count, seen


@bare_kernel
def _gather(count: int, seen: int, group: Any) -> None:
    """Put the events under each list side by side, and pass over the lists of few."""
    selected, ends, alone, under = group.selected, group.ends, group.alone, group.under
    begins, members, used = group.begins, group.members, 0
    for place in range(seen):
        listed = group.touched[place]
        if under[listed] < group.limits[0]:
            under[listed] = 0
        begins[listed] = used
        used += under[listed]
    for event in range(count):
        if alone[event] != 0:
            continue
        for place in range(ends[event], ends[event + 1]):
            listed = selected[place]
            if under[listed] > 0:
                members[begins[listed]] = event
                begins[listed] += 1


@bare_kernel
def _lay_out(events: Any, first: int, members: Any, start: int, lanes: int, ranks: Any, taken: bool) -> None:
    """Put the ranks of some events side by side by attribute, or take them away again."""
    attributes = len(ranks) // LANES
    for lane in range(lanes):
        event = first + members[start + lane]
        for pair in range(events.offsets[event], events.offsets[event + 1]):
            if events.attributes[pair] < attributes:
                rank = NULL_RANK if taken else events.labels[pair] >> RANK_SHIFT
                ranks[LANES * np.int64(events.attributes[pair]) + lane] = rank


@bare_kernel
def _held(blocks: Any, entry: Any, ranks: Any) -> Any:
    """The lanes of which a single entry, or a first test, holds: of NULL, the last rank, none does."""
    at = np.uint64(entry)
    test, width = np.uint32(blocks[at]), np.uint64(np.uint32(blocks[at + _ONE]) & np.uint32(0xFFFF))
    low = np.uint64(test >> np.uint32(16))
    count = width if low + width == np.uint64(NULL_RANK) else width + _ONE
    return lanes_within(ranks, np.int64(LANES) * np.int64(test & np.uint32(0xFFFF)), low, count)


@bare_kernel
def _mask_held(blocks: Any, entry: Any, ranks: Any, lanes: Any) -> Any:
    """Those of the lanes of which a masked entry holds, one by one."""
    test, shift = np.uint32(blocks[entry]), np.uint32(blocks[entry + 1]) & np.uint32(31)
    start, low = np.int64(LANES) * np.int64(test & np.uint32(0xFFFF)), np.int64(test >> np.uint32(16))
    held = np.uint64(0)
    while lanes != 0:
        lane = lowest_bit(lanes)
        rank = np.int64(ranks[start + lane])
        step = np.int64(64) if rank < low or rank == NULL_RANK else (rank - low) >> np.int64(shift)
        if step < 64:
            bits = np.uint32(blocks[entry + 2 + (step >> 5)])
            held |= np.uint64((bits >> np.uint32(step & 31)) & np.uint32(1)) << np.uint64(lane)
        lanes &= lanes - _ONE
    return held


@bare_kernel
def _add(planes: Any, first: int, lanes: Any) -> None:
    """Count one more for each of the lanes."""
    plane = first
    while lanes != 0:
        carried = planes[plane] & lanes
        planes[plane] ^= lanes
        lanes = carried
        plane += 1


@bare_kernel
def _counted(planes: Any, first: int, size: int, lane: int) -> Any:
    """What was counted for a lane, which is at most `size`."""
    total, plane = np.int64(0), 0
    while size >> plane != 0:
        total |= np.int64((planes[first + plane] >> np.uint64(lane)) & _ONE) << np.int64(plane)
        plane += 1
    return total


@bare_kernel
def _several_held(blocks: Any, mark: Any, entry: Any, ranks: Any, lanes: Any, planes: Any) -> Any:
    """Those of the lanes of which the constraints with several entries hold: of each constraint at most one entry does,
    so it is enough to count."""
    single, masked = np.uint32(blocks[mark + 1]), np.uint32(blocks[mark + 2])
    low, wanted = np.uint32((1 << COUNT_BITS) - 1), np.int64(single >> np.uint32(SINGLE_FAR + COUNT_BITS))
    for plane in range(2 * PLANES, 3 * PLANES):
        planes[plane] = np.uint64(0)
    begin = mark + np.int64(single & np.uint32((1 << SINGLE_FAR) - 1))
    for at in range(entry, begin + SINGLE_WIDTH * np.int64((single >> np.uint32(SINGLE_FAR)) & low), SINGLE_WIDTH):
        _add(planes, 2 * PLANES, lanes & _held(blocks, at, ranks))
    begin = mark + np.int64(masked & np.uint32((1 << MASK_FAR) - 1))
    for at in range(begin, begin + MASK_WIDTH * np.int64((masked >> np.uint32(MASK_FAR)) & low), MASK_WIDTH):
        _add(planes, 2 * PLANES, _mask_held(blocks, at, ranks, lanes))
    for plane in range(PLANES):
        counted = planes[2 * PLANES + plane]
        lanes &= counted if (wanted >> plane) & 1 != 0 else ~counted
    return lanes


@bare_kernel
def _examine_list(
    blocks: Any, start: Any, stop: Any, lanes: Any, states: Any, stale: bool, group: GroupScratch, kept: Any
) -> Any:
    """Keep the candidates in a list's blocks that hold of some lanes; returns the end of what is kept."""
    ranks, planes, kept_units, kept_lanes = group.ranks, group.planes, group.kept_units, group.kept_lanes
    while start < stop:
        count, test = np.int64(blocks[start]), start + BLOCK_START
        mark = test + BLOCK_TEST_WIDTH * count
        for _ in range(count):
            held = lanes & _held(blocks, test, ranks)
            _add(planes, 0, held)
            if held != 0:
                single, masked = np.uint32(blocks[mark + 1]), np.uint32(blocks[mark + 2])
                entry = mark + np.int64(single & np.uint32((1 << SINGLE_FAR) - 1))
                alone = entry + SINGLE_WIDTH * np.int64(masked >> np.uint32(MASK_FAR + COUNT_BITS))
                while entry < alone and held != 0:
                    held &= _held(blocks, entry, ranks)
                    entry += SINGLE_WIDTH
                if held != 0 and single >> np.uint32(SINGLE_FAR + COUNT_BITS) != 0:
                    held = _several_held(blocks, mark, entry, ranks, held, planes)
                unit = blocks[mark]
                if held != 0 and (not stale or states[unit] == LIVE):
                    _add(planes, PLANES, held)
                    kept_units[kept], kept_lanes[kept] = unit, held
                    kept += 1
            test += BLOCK_TEST_WIDTH
            mark += MARK_WIDTH
        start = end_of_block(blocks, start)
    return kept


@bare_kernel
def _tally(group: GroupScratch, start: int, lanes: int, size: int) -> None:
    """Add what was counted in a list to the events of its lanes."""
    planes, members = group.planes, group.members
    for lane in range(lanes):
        event = members[start + lane]
        group.passed[event] += _counted(planes, 0, size, lane)
        group.hits[event] += _counted(planes, PLANES, size, lane)
        group.looked[event] += size
    for plane in range(2 * PLANES):
        planes[plane] = np.uint64(0)


@bare_kernel
def _examine_group(lists: Any, listed: Any, stale: bool, events: Any, first: int, seen: int, group: Any) -> int:
    """Walk the lists of several events; returns how many segments there are. Lists without room go to single events."""
    blocks, block_starts, under, segments = lists.blocks, lists.block_starts, group.under, group.segments
    kept, used = 0, 0
    for place in range(seen):
        found = group.touched[place]
        size, at, stop = 0, block_starts[found], block_starts[found + 1]
        while at < stop:
            size += blocks[at]
            at = end_of_block(blocks, at)
        turns = (under[found] + LANES - 1) // LANES
        room = kept + turns * size <= len(group.kept_units) and 3 * (used + turns) <= len(segments)
        if not room or size < group.limits[1] or size >= 2**PLANES:
            under[found] = 0
        start = group.begins[found] - under[found]
        for turn in range(turns if under[found] > 0 else 0):
            begin = start + LANES * turn
            lanes = min(LANES, group.begins[found] - begin)
            _lay_out(events, first, group.members, begin, lanes, group.ranks, False)
            word = (_ONE << np.uint64(lanes)) - _ONE
            kept = _examine_list(blocks, block_starts[found], stop, word, listed.states, stale, group, kept)
            _lay_out(events, first, group.members, begin, lanes, group.ranks, True)
            _tally(group, begin, lanes, size)
            segments[3 * used], segments[3 * used + 1], segments[3 * used + 2] = begin, lanes, kept
            used += 1
    return used


@bare_kernel
def _write(group: GroupScratch, count: int, covered: int, units: Any) -> None:
    """Write what was kept where the hits of each event go, of the events that are covered."""
    members, cursors, segments = group.members, group.cursors, group.segments
    kept_units, kept_lanes, kept = group.kept_units, group.kept_lanes, 0
    for segment in range(count):
        begin, lanes = segments[3 * segment], segments[3 * segment + 1]
        wanted = np.uint64(0)
        for lane in range(lanes):
            wanted |= np.uint64(members[begin + lane] < covered) << np.uint64(lane)
        while kept < segments[3 * segment + 2]:
            unit, held = kept_units[kept], kept_lanes[kept] & wanted
            while held != 0:
                event = np.uint64(members[begin + lowest_bit(held)])
                at = cursors[event]
                units[np.uint64(at)] = unit
                cursors[event] = at + 1
                held &= held - _ONE
            kept += 1


@kernel
def _finish(
    conjunctions: Any, lists: Any, signatures: Any, search: ListSearch, listed: ListedUnits, events: Any, place: Any,
    scratch: ListScratch, group: GroupScratch, output: Any,
) -> Any:  # fmt: skip
    """What else the events of a group select, one after the other, each behind the room for its hits so far.

    `place` holds the first event of the call, the first and the number of those of the group, and the end of the hits.
    Returns how many were covered, and the new end.
    """
    begin, first, count, used = place
    labels, found, states, stale = scratch.labels, scratch.found, listed.states, search.stale
    units, offsets, work, covered = output.units, output.offsets, output.work, 0
    for number in range(count):
        if len(units) - used < max(search.live, group.hits[number]):
            break
        event, start, stop, total = first + number, group.ends[number], group.ends[number + 1], 0
        group.cursors[number] = used
        used += group.hits[number]
        for at in range(start, stop):
            if group.alone[number] != 0 or group.under[group.selected[at]] == 0:
                found[total] = group.selected[at]
                total += 1
        scatter(events, event, labels)
        fetch_lists(lists, found, total)
        used = examine_blocks(lists, found, total, states, stale, scratch, used, output)
        used = examine_tests(
            lists, conjunctions.intervals, signatures, group.selected, start, stop, states, stale, scratch, used, output
        )
        used = verify_always(conjunctions, listed, labels, used, output)
        clear(events, event, labels)
        offsets[event - begin + 1] = used
        work[0] += 1
        work[1] += group.looked[number]
        work[2] += group.passed[number]
        covered += 1
    return covered, used


@bare_kernel
def _fitting(room: int, events: int, hits: int) -> int:
    """How many events should fill the room, by the hits of some; a little less, since what does not fit is lost."""
    return min(LARGEST_GROUP, room * events // hits * 7 // 8)


@kernel
def match_groups(
    conjunctions: Any, lists: Any, signatures: Any, search: ListSearch, listed: ListedUnits, events: Any, first: int,
    scratch: ListScratch, group: GroupScratch, output: Any,
) -> int:  # fmt: skip
    """All hits of the events from `first` on, group by group, while a whole event's hits have room.

    Returns the next event, which nothing covers yet; that is `first` where groups are not worth while.
    """
    units, pace, last = output.units, group.limits[2:], len(events.offsets) - 1
    event, used, most = first, 0, pace[0] if pace[0] > 0 else FIRST_GROUP if pace[0] == 0 else SMALLEST_GROUP
    if most < SMALLEST_GROUP:
        pace[0] = -1
        return first
    while event < last and most > 0:
        count, seen = _select(lists, search, events, event, min(most, last - event), scratch, group)
        _gather(count, seen, group)
        segments = _examine_group(lists, listed, search.stale, events, event, seen, group)
        before, place = used, (first, event, count, used)
        covered, used = _finish(conjunctions, lists, signatures, search, listed, events, place, scratch, group, output)
        _write(group, segments, covered, units)
        for place_touched in range(seen):
            group.under[group.touched[place_touched]] = 0
        event += covered
        found = max(1, used - before)
        if covered > 0:
            pace[0] = max(1, _fitting(len(units) - search.live, covered, found))
        most = _fitting(len(units) - used - search.live, covered, found)
        most = 0 if covered < count or most < min(FIRST_GROUP, pace[0]) else most
    output.work[3] = used
    return event
