"""Kernels of `pstbloom` and `psthash` for many events: a list is walked once, with all events of a group under it.

An event alone pays for the cache misses and the wrong guesses of each list that it selects. In a group of some hundred
events the lists that matter are selected again and again, so the group is turned round:

- the lists of all events are found, and events that are alike brought together (`_known_list_kernels`);
- the ranks of up to TILE neighbours are laid out, and each list that several of them select is tried with all of those
  at once (`_lane_kernels`);
- what holds is kept as words, and the hits counted; once it is known where those of each event begin, they are written
  there, in the order of the events.

What else an event selects (lists of few events, candidates that are in no block, units without lists) is looked at as
for one event. Hits and work are the same.

VLDB 2018, ours, in the place of the verification of Algorithms 5 and 7; events are brought together as A-PCM does
(ICDE 2014).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.bits import bit_count, lowest_bit
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.lanes import LANES
from matchwood.core.prefetch import prefetch
from matchwood.engines.pst._block_kernels import BLOCK_TEST_WIDTH, MARK_WIDTH
from matchwood.engines.pst._known_list_kernels import KnownLists, SelectedLists, put_in_order, select_lists
from matchwood.engines.pst._lane_kernels import TILE, LaneWords, lay_out, try_blocks
from matchwood.engines.pst._match_kernels import (
    ListedUnits,
    ListScratch,
    ListSearch,
    examine_blocks,
    examine_tests,
    fetch_lists,
    verify_always,
)
from matchwood.engines.shared._residual_kernels import LINE
from matchwood.engines.shared._verification_kernels import clear, scatter

FEWEST = 3
"""Events of a tile under a list for which it is tried with all of them at once."""

SMALLEST_GROUP, FIRST_GROUP, LARGEST_GROUP = 8, 64, 4_096
"""Events of a group: at least, while nothing is known of their hits, and at most. Others have as many as should fill
the output, by the hits of the group before; if those are too few, events go alone, and the next call tries again."""

SELECTED = 2**18
"""Lists that the events of a group may select together."""

KEPT = 2**18
"""Candidates that hold of an event in a group's lists."""

PASSED = 2**14
"""Candidates of lists under the same events that pass their first test."""

SEGMENTS = 2**14
"""Stretches of kept candidates that were tried with the same events."""

SEGMENT_WIDTH = 4
_CANDIDATE = BLOCK_TEST_WIDTH + MARK_WIDTH
_AHEAD, _MOST_FETCHED = 2, 64
_ALL_LANES = np.uint64(2**LANES - 1)
_ONE = np.uint64(1)


class TileWords(NamedTuple):
    """The events of a tile under each list.

    `under`    by list: a bit for each event of the tile that selects it; 0 between two tiles
    `touched`  the lists of which there are some
    `left`     by event of the group: how many of its lists remain for itself
    """

    under: NDArray[np.uint64]
    touched: NDArray[np.int32]
    left: NDArray[np.int64]


class KeptSegments(NamedTuple):
    """Stretches of kept candidates.

    `segments`  four each: where its lanes begin in the order of events, which of them, the end of what is kept, and the
                end of `lane_hits`
    `lane_hits` how many hits each lane of each segment has
    `used`      how many segments, kept candidates, passed first tests and lane hits there are, and candidates looked at
    """

    segments: NDArray[np.int64]
    lane_hits: NDArray[np.int32]
    used: NDArray[np.int64]


class GroupCounts(NamedTuple):
    """What is known of each event of a group: hits so far, first tests passed, candidates, and where its hits go."""

    hits: NDArray[np.int64]
    passed: NDArray[np.int64]
    looked: NDArray[np.int64]
    cursors: NDArray[np.int64]


class GroupScratch(NamedTuple):
    """What groups of events write to, for one thread.

    `limits`  FEWEST, and the number of events that should fill an output: 0 if none is known, -1 if too few
    """

    known: KnownLists
    selected: SelectedLists
    tile: TileWords
    words: LaneWords
    kept: KeptSegments
    counts: GroupCounts
    limits: NDArray[np.int64]


@bare_kernel
def _gather(selected: SelectedLists, begin: int, stop: int, lists: Any, tile: TileWords) -> int:
    """Note which events of a tile are under each list with blocks; returns how many such lists there are."""
    under, touched, block_starts, seen = tile.under, tile.touched, lists.block_starts, 0
    for place in range(begin, stop):
        event, bit = selected.order[place], _ONE << np.uint64(place - begin)
        for at in range(selected.ends[event], selected.ends[event + 1]):
            listed = selected.lists[at]
            if block_starts[listed] < block_starts[listed + 1]:
                if under[listed] == 0:
                    touched[seen] = listed
                    seen += 1
                under[listed] |= bit
    return seen


@bare_kernel
def _tally(group: GroupScratch, place: int, lanes: Any, first_kept: int) -> None:
    """Add what was found with some lanes to the events of these, and remember the hits of each."""
    order, used, words, counts = group.selected.order, group.kept.used, group.words, group.counts
    passed_words, lane_words, lane_hits = words.passed, words.lanes, group.kept.lane_hits
    while lanes != 0:
        bit = np.uint32(lowest_bit(lanes))
        passed, hits = np.uint32(0), np.uint32(0)
        for at in range(used[2]):
            passed += (passed_words[at] >> bit) & np.uint32(1)
        for at in range(first_kept, used[1]):
            hits += (lane_words[at] >> bit) & np.uint32(1)
        event = order[place + np.int64(bit)]
        counts.passed[event] += np.int64(passed)
        counts.hits[event] += np.int64(hits)
        counts.looked[event] += used[4]
        lane_hits[used[3]] = hits
        used[3] += 1
        lanes &= lanes - _ONE


@bare_kernel
def _close(group: GroupScratch, place: int, lanes: Any) -> None:
    """End the segment of some lanes, if it has candidates."""
    used, segments = group.kept.used, group.kept.segments
    if used[4] == 0:
        return
    first_kept = segments[SEGMENT_WIDTH * used[0] - 2] if used[0] > 0 else 0
    _tally(group, place, lanes, first_kept)
    at = SEGMENT_WIDTH * used[0]
    segments[at], segments[at + 1], segments[at + 2], segments[at + 3] = place, np.int64(lanes), used[1], used[3]
    used[0] += 1
    used[2], used[4] = 0, 0


@bare_kernel
def _has_room(group: GroupScratch, most: int) -> bool:
    """Whether a list of at most so many candidates can be tried, and be a segment of its own."""
    used, kept = group.kept.used, group.kept
    room = SEGMENT_WIDTH * (used[0] + 2) <= len(kept.segments) and used[1] + most <= len(group.words.units)
    return room and used[3] + 2 * LANES <= len(kept.lane_hits) and most <= len(group.words.passed)


@bare_kernel
def _fetch(lists: Any, touched: Any, number: int, seen: int, under: Any) -> None:
    """Ask for the blocks of a list that is going to be tried with several events."""
    if number < seen and bit_count(under[touched[number]]) > 2:
        start, stop = lists.block_starts[touched[number]], lists.block_starts[touched[number] + 1]
        for at in range(start, min(stop, start + _MOST_FETCHED * LINE), LINE):
            prefetch(lists.blocks, at)


@bare_kernel
def _try_lists(lists: Any, states: Any, stale: bool, place: int, seen: int, group: GroupScratch) -> None:
    """Try the lists of a tile with their events; those that were tried with an event stay under the list."""
    under, touched, used, block_starts = group.tile.under, group.tile.touched, group.kept.used, lists.block_starts
    open_lane, open_lanes = 0, np.uint64(0)
    for number in range(seen):
        listed = touched[number]
        _fetch(lists, touched, number + _AHEAD, seen, under)
        most = (block_starts[listed + 1] - block_starts[listed]) // _CANDIDATE
        left, tried = under[listed], np.uint64(0)
        while left != 0:
            lane = min(lowest_bit(left), TILE - LANES)
            lanes = (left >> np.uint64(lane)) & _ALL_LANES
            left &= ~(lanes << np.uint64(lane))
            if bit_count(lanes) < group.limits[0] or not _has_room(group, most):
                continue
            if lane != open_lane or lanes != open_lanes or used[2] + most > len(group.words.passed):
                _close(group, place + open_lane, open_lanes)
                open_lane, open_lanes = lane, lanes
            size, used[2], used[1] = try_blocks(
                lists, listed, states, stale, lane, lanes, group.words, used[2], used[1]
            )
            used[4] += size
            tried |= lanes << np.uint64(lane)
        under[listed] = tried
    _close(group, place + open_lane, open_lanes)


@bare_kernel
def _leave(selected: SelectedLists, begin: int, stop: int, counts: Any, tile: TileWords) -> None:
    """Keep the lists that an event must look at itself; of those that were tried with it, only other candidates are
    left, and they are complemented."""
    under, chosen = tile.under, selected.lists
    for place in range(begin, stop):
        event, lane = selected.order[place], np.uint64(place - begin)
        first = end = selected.ends[event]
        for at in range(first, selected.ends[event + 1]):
            listed = chosen[at]
            tried = (under[listed] >> lane) & _ONE != 0
            chosen[end] = ~listed if tried else listed
            end += not tried or counts[listed] > 0
        tile.left[event] = end - first


@bare_kernel
def _try_tiles(lists: Any, listed: Any, stale: bool, events: Any, first: int, count: int, group: GroupScratch) -> None:
    """Try the lists of all events that stand in order, tile by tile."""
    selected, tile, words, ordered = group.selected, group.tile, group.words, put_in_order(group.selected, count)
    for event in range(count):
        group.counts.hits[event], group.counts.passed[event], group.counts.looked[event] = 0, 0, 0
        tile.left[event] = selected.ends[event + 1] - selected.ends[event]
    group.kept.used[:] = 0
    for begin in range(0, ordered, TILE):
        stop = min(ordered, begin + TILE)
        seen = _gather(selected, begin, stop, lists, tile)
        lay_out(events, first, selected.order, begin, stop, words.ranks, False)
        _try_lists(lists, listed.states, stale, begin, seen, group)
        lay_out(events, first, selected.order, begin, stop, words.ranks, True)
        _leave(selected, begin, stop, lists.counts, tile)
        for number in range(seen):
            tile.under[tile.touched[number]] = np.uint64(0)


@bare_kernel
def _own_lists(lists: Any, group: GroupScratch, number: int, found: Any) -> Any:
    """The lists whose blocks an event tries itself, and the end of those whose other candidates it looks at."""
    chosen, start, total = group.selected.lists, group.selected.ends[number], 0
    end = start
    for at in range(start, start + group.tile.left[number]):
        listed = chosen[at]
        if listed < 0:
            listed = ~listed
        else:
            found[total] = listed
            total += 1
        chosen[end] = listed
        end += lists.counts[listed] > 0
    return total, end


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
    labels, found, states, stale, counts = scratch.labels, scratch.found, listed.states, search.stale, group.counts
    units, offsets, work, covered = output.units, output.offsets, output.work, 0
    for number in range(count):
        if len(units) - used < max(search.live, counts.hits[number]):
            break
        event, start = first + number, group.selected.ends[number]
        counts.cursors[number] = used
        used += counts.hits[number]
        total, end = _own_lists(lists, group, number, found)
        if total > 0 or end > start or len(listed.always) > 0:
            scatter(events, event, labels)
            fetch_lists(lists, found, total)
            used = examine_blocks(lists, found, total, states, stale, scratch, used, output)
            used = examine_tests(
                lists, conjunctions.intervals, signatures, group.selected.lists, start, end, states, stale, scratch,
                used, output,
            )  # fmt: skip
            used = verify_always(conjunctions, listed, labels, used, output)
            clear(events, event, labels)
        offsets[event - begin + 1] = used
        work[0] += 1
        work[1] += counts.looked[number]
        work[2] += counts.passed[number]
        covered += 1
    return covered, used


@bare_kernel
def _write_lane(words: LaneWords, bit: Any, kept: Any, at: Any, end: Any, units: Any) -> None:
    """Write the kept candidates of a lane to `at` up to `end`: what is no hit is overwritten by the next."""
    kept_units, kept_lanes = words.units, words.lanes
    source, target, stop = np.uint64(kept), np.uint64(at), np.uint64(end)
    while target < stop:
        units[target] = kept_units[source]
        target += np.uint64((kept_lanes[source] >> bit) & np.uint32(1))
        source += _ONE


@bare_kernel
def _write(group: GroupScratch, covered: int, units: Any) -> None:
    """Write what was kept where the hits of each event go, of the events that are covered."""
    order, cursors, segments = group.selected.order, group.counts.cursors, group.kept.segments
    lane_hits, kept, member = group.kept.lane_hits, 0, 0
    for segment in range(group.kept.used[0]):
        at = SEGMENT_WIDTH * segment
        lanes = np.uint64(segments[at + 1])
        while lanes != 0:
            bit = lowest_bit(lanes)
            event, hits = order[segments[at] + bit], lane_hits[member]
            if event < covered:
                _write_lane(group.words, np.uint32(bit), kept, cursors[event], cursors[event] + hits, units)
                cursors[event] += hits
            member += 1
            lanes &= lanes - _ONE
        kept = segments[at + 2]


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
    units, pace, last = output.units, group.limits[1:], len(events.offsets) - 1
    event, used, most = first, 0, pace[0] if pace[0] > 0 else FIRST_GROUP if pace[0] == 0 else SMALLEST_GROUP
    if most < SMALLEST_GROUP:
        pace[0] = -1
        return first
    while event < last and most > 0:
        count = select_lists(
            lists, search, events, event, min(most, last - event), scratch, group.known, group.selected
        )
        _try_tiles(lists, listed, search.stale, events, event, count, group)
        before, place = used, (first, event, count, used)
        covered, used = _finish(conjunctions, lists, signatures, search, listed, events, place, scratch, group, output)
        _write(group, covered, units)
        event += covered
        found = max(1, used - before)
        if covered > 0:
            pace[0] = max(1, _fitting(len(units) - search.live, covered, found))
        most = _fitting(len(units) - used - search.live, covered, found)
        most = 0 if covered < count or most < min(FIRST_GROUP, pace[0]) else most
    output.work[3] = used
    return event
