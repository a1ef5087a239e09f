"""Kernels of `pstbloom` and `psthash` for many events: a list is walked once, with all events of a group under it.

An event alone pays for the cache misses and the wrong guesses of each list that it selects. In a group of some thousand
events the lists that matter are selected again and again, so the group is turned round:

- the lists of all events are found (`_known_list_kernels`), and the events under each list (`_turning_kernels`);
- the ranks of up to TILE events under a list are laid out, and the list is tried with all of those at once
  (`_lane_kernels`);
- what holds is kept as words, and the hits counted; once it is known where those of each event begin, they are written
  there, in the order of the events.

What else an event selects (lists of few events or few candidates, units without lists) is looked at as for one event.
Hits and work are the same.

VLDB 2018, ours, in the place of the verification of Algorithms 5 and 7; events that are alike come together under their
lists, where A-PCM (ICDE 2014) sorts them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.bits import bit_count, lowest_bit, transpose
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH
from matchwood.engines.pst._known_list_kernels import KnownLists, SelectedLists, select_lists
from matchwood.engines.pst._lane_kernels import (
    TILE,
    EventCodes,
    LaneWords,
    lay_out,
    pack_codes,
    take_away,
    try_candidates,
)
from matchwood.engines.pst._match_kernels import (
    LINE,
    ListedUnits,
    ListScratch,
    ListSearch,
    collect_list,
    verify_always,
    verify_passing,
)
from matchwood.engines.pst._turning_kernels import TurnedLists, turn_round
from matchwood.engines.shared._verification_kernels import clear, scatter

SMALLEST_GROUP, FIRST_GROUP, LARGEST_GROUP = 8, 64, 8_192
"""Events of a group: at least, while nothing is known of their hits, and at most. Others have as many as should fill
the output, by the hits of the group before; if those are too few, events go alone, and the next call tries again."""

SEGMENT_WIDTH = 5
_AHEAD, _MOST_FETCHED = 4, 64
_FEW_BITS = 128
"""Words with so few bits, a square of them, are read bit by bit; others are turned round first, so that each lane has
its own."""

_ONE, _EVERY = np.uint64(1), np.uint64(2**64 - 1)


class KeptSegments(NamedTuple):
    """Stretches of kept candidates, one for each tile that some hold of.

    `segments`  five each: where its events begin among the members, how many they are, where its words begin and end,
                and whether these are by lane, 64 candidates at a time, or by candidate
    `used`      how many segments there are, and where the next words go; candidates that were tried, and tests that
                passed, of all events
    """

    segments: NDArray[np.int64]
    used: NDArray[np.int64]


class GroupCounts(NamedTuple):
    """What is known of each event of a group: hits so far, and where they go."""

    hits: NDArray[np.int64]
    cursors: NDArray[np.int64]


class GroupScratch(NamedTuple):
    """What groups of events write to, for one thread.

    `limits`  FEWEST, and the number of events that should fill an output: 0 if none is known, -1 if too few
    """

    known: KnownLists
    selected: SelectedLists
    turned: TurnedLists
    codes: EventCodes
    words: LaneWords
    kept: KeptSegments
    counts: GroupCounts
    limits: NDArray[np.int64]


@bare_kernel
def _fetch(lists: Any, turned: TurnedLists, number: int, count: int) -> None:
    """Ask for the tests of a list that is going to be tried."""
    if number < count:
        listed = turned.tried[number]
        start = TEST_WIDTH * lists.starts[listed]
        stop = start + TEST_WIDTH * np.int64(lists.counts[listed])
        for at in range(start, min(stop, start + _MOST_FETCHED * LINE), LINE):
            prefetch(lists.tests, at)


@bare_kernel
def _count_bits(words: Any, begin: Any, end: Any, members: Any, first: Any, lanes: int, counts: Any) -> None:
    """Add up for each lane how many of the words have its bit."""
    for at in range(np.uint64(begin), np.uint64(end)):
        left = words[at]
        while left != 0:
            counts[np.uint32(members[np.uint64(first) + np.uint64(lowest_bit(left))])] += 1
            left &= left - _ONE


@bare_kernel
def _count_turned(words: Any, begin: Any, end: Any, members: Any, first: Any, lanes: int, counts: Any) -> None:
    """The same of words that have many bits, which are turned round."""
    start, stop, member = np.uint64(begin), np.uint64(end), np.uint64(first)
    for at in range(stop, start + np.uint64((end - begin + TILE - 1) // TILE * TILE)):
        words[at] = 0
    for at in range(start, stop, np.uint64(TILE)):
        transpose(words, np.int64(at))
        for lane in range(np.uint64(lanes)):
            counts[np.uint32(members[member + lane])] += bit_count(words[at + lane])


@bare_kernel
def _try_list(
    conjunctions: Any, lists: Any, listed: Any, states: Any, stale: bool, count: int, first: Any, group: GroupScratch
) -> Any:
    """Try the candidates of a list with a tile of so many events, whose ranks are laid out.

    What holds is kept from word `first` on.

    Returns how many candidates they are, how many tests passed, the end of what is kept, and how many bits it has.
    """
    lanes = np.uint64(2**64 - 1) >> np.uint64(TILE - count)
    start = lists.starts[listed]
    stop = start + lists.counts[listed]
    passed, end, hits = try_candidates(conjunctions, lists.tests, start, stop, states, stale, lanes, group.words, first)
    return count * (stop - start), passed, end, hits


@bare_kernel
def _try_tile(
    conjunctions: Any, lists: Any, listed: Any, states: Any, stale: bool, begin: int, stop: int, group: GroupScratch
) -> None:
    """Try the candidates of a list with the events of one tile, and count their hits."""
    members, words, kept, hit_counts = group.turned.members, group.words.lanes, group.kept, group.counts.hits
    count, first = stop - begin, kept.used[1]
    looked, passed, end, hits = _try_list(conjunctions, lists, listed, states, stale, count, first, group)
    kept.used[2] += looked
    kept.used[3] += passed
    if end > first:
        squares = (end - first + TILE - 1) // TILE
        turned = hits > _FEW_BITS * squares
        if turned:
            _count_turned(words, first, end, members, begin, count, hit_counts)
        else:
            _count_bits(words, first, end, members, begin, count, hit_counts)
        row = SEGMENT_WIDTH * kept.used[0]
        kept.segments[row], kept.segments[row + 1] = begin, count
        kept.segments[row + 2], kept.segments[row + 3], kept.segments[row + 4] = first, end, turned
        kept.used[0], kept.used[1] = kept.used[0] + 1, first + (TILE * squares if turned else end - first)


@bare_kernel
def _try_lists(
    conjunctions: Any, lists: Any, listed: Any, stale: bool, events: Any, first: int, count: int, group: GroupScratch
) -> int:
    """Try the lists of a group with the events under them, tile by tile; returns how many lists they are."""
    turned, words = group.turned, group.words
    pack_codes(events, first, count, len(words.ranks) // TILE, group.codes)
    for event in range(count):
        group.counts.hits[event] = 0
    group.kept.used[:] = 0
    tried, begin = turn_round(lists, group.selected, count, group.limits[0], turned, len(group.words.units)), 0
    for number in range(tried):
        _fetch(lists, turned, number + _AHEAD, tried)
        while begin < turned.ends[number]:
            stop = min(begin + TILE, turned.ends[number])
            codes = lay_out(group.codes, turned.members, begin, stop, words)
            _try_tile(conjunctions, lists, turned.tried[number], listed.states, stale, begin, stop, group)
            take_away(group.codes, turned.members, begin, stop, words, codes)
            begin = stop
    return tried


@kernel
def _take_work_off(
    conjunctions: Any, lists: Any, listed: Any, stale: bool, tried: int, covered: int, group: GroupScratch
) -> None:
    """Take off what was counted for events that are not covered, which come again: rare, so their lists are tried once
    more for it, and what is kept is lost."""
    turned, words, used, begin = group.turned, group.words, group.kept.used, 0
    for number in range(tried):
        while begin < turned.ends[number]:
            stop = min(begin + TILE, turned.ends[number])
            while begin < stop and turned.members[begin] < covered:
                begin += 1
            if begin < stop:
                codes = lay_out(group.codes, turned.members, begin, stop, words)
                looked, passed, _, _ = _try_list(
                    conjunctions, lists, turned.tried[number], listed.states, stale, stop - begin, 0, group
                )
                take_away(group.codes, turned.members, begin, stop, words, codes)
                used[2], used[3] = used[2] - looked, used[3] - passed
            begin = stop


@bare_kernel
def _fetch_tests(lists: Any, group: GroupScratch, number: int, count: int) -> None:
    """Ask for the tests of the lists that are left to an event, and for those that are remembered."""
    if number >= count:
        return
    selected, known = group.selected, group.known.tests
    first = selected.ends[number]
    for at in range(first, first + group.turned.left[number]):
        listed = selected.lists[at]
        start = TEST_WIDTH * lists.starts[listed]
        for line in range(start, start + TEST_WIDTH * np.int64(lists.counts[listed]), LINE):
            prefetch(lists.tests, line)
    for at in range(selected.test_ends[number], selected.test_ends[number + 1], 2):
        start = TEST_WIDTH * np.int64(selected.tests[at])
        for line in range(start, start + TEST_WIDTH * np.int64(selected.tests[at + 1]), LINE):
            prefetch(known, line)


@bare_kernel
def _examine_rest(
    conjunctions: Any, lists: Any, signatures: Any, group: GroupScratch, number: int, states: Any, stale: bool,
    scratch: ListScratch, used: Any, output: Any,
) -> Any:  # fmt: skip
    """All hits in the lists that are left to an event, and among the tests that are remembered; returns their end."""
    selected, tests, known = group.selected, lists.tests, group.known.tests
    waiting, first = np.int64(0), selected.ends[number]
    for at in range(first, first + group.turned.left[number]):
        listed = selected.lists[at]
        start = lists.starts[listed]
        stop = start + lists.counts[listed]
        waiting, used = collect_list(
            conjunctions, signatures, tests, start, stop, states, stale, scratch, waiting, output, used
        )
    for at in range(selected.test_ends[number], selected.test_ends[number + 1], 2):
        start = np.int64(selected.tests[at])
        stop = start + selected.tests[at + 1]
        waiting, used = collect_list(
            conjunctions, signatures, known, start, stop, states, stale, scratch, waiting, output, used
        )
    return verify_passing(conjunctions, signatures, scratch, waiting, states, stale, output, used)


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
    labels, states, stale, counts = scratch.labels, listed.states, search.stale, group.counts
    units, offsets, work, covered = output.units, output.offsets, output.work, 0
    for number in range(count):
        if len(units) - used < max(search.live, counts.hits[number]):
            break
        event = first + number
        counts.cursors[number] = used
        used += counts.hits[number]
        _fetch_tests(lists, group, number + 1, count)
        scatter(events, event, labels)
        used = _examine_rest(conjunctions, lists, signatures, group, number, states, stale, scratch, used, output)
        used = verify_always(conjunctions, listed, labels, used, output)
        clear(events, event, labels)
        offsets[event - begin + 1] = used
        work[0] += 1
        covered += 1
    return covered, used


@bare_kernel
def _write_lanes(
    words: LaneWords, first: Any, end: Any, members: Any, begin: Any, count: Any, cursors: Any, units: Any
) -> None:
    """Write the hits of each lane, whose words tell its candidates, 64 at a time."""
    kept_units, kept_lanes, start, stop = words.units, words.lanes, np.uint64(first), np.uint64(end)
    for lane in range(np.uint64(count)):
        event = np.uint32(members[np.uint64(begin) + lane])
        target = np.uint64(cursors[event])
        for at in range(start, stop, np.uint64(TILE)):
            left = kept_lanes[at + lane]
            if left == _EVERY:
                for step in range(np.uint64(TILE)):
                    units[target + step] = kept_units[at + step]
                target += np.uint64(TILE)
                continue
            while left != 0:
                units[target] = kept_units[at + np.uint64(lowest_bit(left))]
                target += _ONE
                left &= left - _ONE
        cursors[event] = np.int64(target)


@bare_kernel
def _write_words(
    words: LaneWords, first: Any, end: Any, members: Any, begin: Any, count: Any, cursors: Any, units: Any
) -> None:
    """The same of few candidates, whose words tell their lanes."""
    lanes = np.uint64(2**64 - 1) >> np.uint64(TILE - count)
    for at in range(np.uint64(first), np.uint64(end)):
        left = words.lanes[at] & lanes
        while left != 0:
            event = np.uint32(members[np.uint64(begin) + np.uint64(lowest_bit(left))])
            units[np.uint64(cursors[event])] = words.units[at]
            cursors[event] += 1
            left &= left - _ONE


@bare_kernel
def _write(group: GroupScratch, covered: int, units: Any) -> None:
    """Write what was kept where the hits of each event go, of the events that are covered."""
    members, cursors, segments = group.turned.members, group.counts.cursors, group.kept.segments
    for row in range(0, SEGMENT_WIDTH * group.kept.used[0], SEGMENT_WIDTH):
        begin, count, first, end = segments[row], segments[row + 1], segments[row + 2], segments[row + 3]
        by_lane = segments[row + 4] != 0
        while count > 0 and members[begin + count - 1] >= covered:
            count -= 1
        if by_lane:
            _write_lanes(group.words, first, end, members, begin, count, cursors, units)
        elif count > 0:
            _write_words(group.words, first, end, members, begin, count, cursors, units)


@bare_kernel
def _fitting(room: int, events: int, hits: int) -> int:
    """How many events should fill the room, by the hits of some; a little less, since what does not fit is lost.

    Not much less: few events that are left over cost as much as a full group, since as many lists are walked for them.
    """
    return min(LARGEST_GROUP, room * events // hits * 31 // 32)


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
        tried = _try_lists(conjunctions, lists, listed, search.stale, events, event, count, group)
        before, place = used, (first, event, count, used)
        covered, used = _finish(conjunctions, lists, signatures, search, listed, events, place, scratch, group, output)
        _write(group, covered, units)
        if covered < count:
            _take_work_off(conjunctions, lists, listed, search.stale, tried, covered, group)
        output.work[1] += group.kept.used[2]
        output.work[2] += group.kept.used[3]
        event += covered
        found = max(1, used - before)
        if covered > 0:
            pace[0] = max(1, _fitting(len(units) - search.live, covered, found))
        most = _fitting(len(units) - used - search.live, covered, found)
        most = 0 if covered < count or most < min(FIRST_GROUP, pace[0]) else most
    output.work[3] = used
    return event
