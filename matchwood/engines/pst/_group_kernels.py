"""Kernels of `pstbloom` and `psthash` for many events: a list is walked once, with all events of a group under it.

An event alone pays for the cache misses and the wrong guesses of each list that it selects. In a group of some thousand
events the lists that matter are selected again and again, so the group is turned round:

- the lists of all events are found (`_known_list_kernels`), and the events under each list (`_turning_kernels`);
- the ranks of up to TILE events under a list are laid out, and the list is tried with all of those at once
  (`_lane_kernels`);
- what holds is kept as words, and the hits counted; once it is known where those of each event begin, they are written
  there, in the order of the events.

What else an event selects (lists of few events, candidates that are in no block, units without lists) is looked at as
for one event. Hits and work are the same.

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
from matchwood.engines.pst._block_kernels import end_of_block
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH
from matchwood.engines.pst._known_list_kernels import KnownLists, SelectedLists, select_lists
from matchwood.engines.pst._lane_kernels import TILE, EventCodes, LaneWords, lay_out, pack_codes, try_block
from matchwood.engines.pst._match_kernels import (
    BATCH,
    ListedUnits,
    ListScratch,
    ListSearch,
    collect_passing,
    examine_blocks,
    examine_tests,
    fetch_lists,
    verify_always,
    verify_passing,
)
from matchwood.engines.pst._turning_kernels import TurnedLists, turn_round
from matchwood.engines.shared._residual_kernels import LINE
from matchwood.engines.shared._verification_kernels import clear, scatter

SMALLEST_GROUP, FIRST_GROUP, LARGEST_GROUP = 8, 64, 8_192
"""Events of a group: at least, while nothing is known of their hits, and at most. Others have as many as should fill
the output, by the hits of the group before; if those are too few, events go alone, and the next call tries again."""

SEGMENT_WIDTH = 4
_AHEAD, _MOST_FETCHED = 2, 64
_FEW_WORDS = 8
"""So few words are read bit by bit; more of them are turned round first, so that each lane has its own."""

_ONE = np.uint64(1)


class KeptSegments(NamedTuple):
    """Stretches of kept candidates, one for each tile that some hold of.

    `segments`  four each: where its events begin among the members, how many they are, and where its words begin and
                end: by candidate if they are few, otherwise by lane, 64 candidates at a time
    `used`      how many segments there are, and where the next words go
    """

    segments: NDArray[np.int64]
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
    turned: TurnedLists
    codes: EventCodes
    words: LaneWords
    kept: KeptSegments
    counts: GroupCounts
    limits: NDArray[np.int64]


@bare_kernel
def _fetch(lists: Any, turned: TurnedLists, number: int, count: int) -> None:
    """Ask for the blocks of a list that is going to be tried."""
    if number < count:
        start, stop = lists.block_starts[turned.tried[number]], lists.block_starts[turned.tried[number] + 1]
        for at in range(start, min(stop, start + _MOST_FETCHED * LINE), LINE):
            prefetch(lists.blocks, at)


@bare_kernel
def _count_bits(words: Any, begin: Any, end: Any, members: Any, first: Any, lanes: int, counts: Any) -> None:
    """Add up for each lane how many of the words have its bit; many of them are turned round for it."""
    start, stop, member = np.uint64(begin), np.uint64(end), np.uint64(first)
    if stop - start <= np.uint64(_FEW_WORDS):
        for at in range(start, stop):
            left = words[at]
            while left != 0:
                counts[np.uint32(members[member + np.uint64(lowest_bit(left))])] += 1
                left &= left - _ONE
        return
    for at in range(stop, start + np.uint64((end - begin + TILE - 1) // TILE * TILE)):
        words[at] = 0
    for at in range(start, stop, np.uint64(TILE)):
        transpose(words, np.int64(at))
        for lane in range(np.uint64(lanes)):
            counts[np.uint32(members[member + lane])] += bit_count(words[at + lane])


@bare_kernel
def _try_tile(lists: Any, listed: Any, states: Any, stale: bool, begin: int, stop: int, group: GroupScratch) -> None:
    """Try the blocks of a list with the events of one tile, whose ranks are laid out."""
    members, counts, words, kept = group.turned.members, group.counts, group.words, group.kept
    count = stop - begin
    lanes, first = np.uint64(2**64 - 1) >> np.uint64(TILE - count), kept.used[1]
    at, last, end, size = lists.block_starts[listed], lists.block_starts[listed + 1], first, np.int64(0)
    while at < last:
        tested, end = try_block(lists.blocks, at, states, stale, lanes, words, end)
        _count_bits(words.passed, 0, tested, members, begin, count, counts.passed)
        at, size = end_of_block(lists.blocks, at), size + lists.blocks[at]
    for place in range(begin, stop):
        counts.looked[members[place]] += size
    if end > first:
        _count_bits(words.lanes, first, end, members, begin, count, counts.hits)
        row = SEGMENT_WIDTH * kept.used[0]
        kept.segments[row], kept.segments[row + 1] = begin, count
        kept.segments[row + 2], kept.segments[row + 3] = first, end
        kept.used[0], kept.used[1] = kept.used[0] + 1, first + (end - first + TILE - 1) // TILE * TILE


@bare_kernel
def _try_lists(lists: Any, listed: Any, stale: bool, events: Any, first: int, count: int, group: GroupScratch) -> None:
    """Try the lists of a group with the events under them, tile by tile."""
    turned, ranks = group.turned, group.words.ranks
    pack_codes(events, first, count, len(ranks) // TILE, group.codes)
    for event in range(count):
        group.counts.hits[event], group.counts.passed[event], group.counts.looked[event] = 0, 0, 0
    group.kept.used[:] = 0
    tried, begin = turn_round(lists, group.selected, count, group.limits[0], turned, len(group.words.units)), 0
    for number in range(tried):
        _fetch(lists, turned, number + _AHEAD, tried)
        while begin < turned.ends[number]:
            stop = min(begin + TILE, turned.ends[number])
            lay_out(group.codes, turned.members, begin, stop, ranks, False)
            _try_tile(lists, turned.tried[number], listed.states, stale, begin, stop, group)
            lay_out(group.codes, turned.members, begin, stop, ranks, True)
            begin = stop


@bare_kernel
def _fetch_tests(selected: SelectedLists, known: KnownLists, number: int, count: int) -> None:
    """Ask for the remembered first tests of an event."""
    if number < count:
        for at in range(selected.test_ends[number], selected.test_ends[number + 1], 2):
            start = TEST_WIDTH * np.int64(selected.tests[at])
            for line in range(start, start + TEST_WIDTH * np.int64(selected.tests[at + 1]), LINE):
                prefetch(known.tests, line)


@bare_kernel
def _examine_known(
    lists: Any, intervals: Any, signatures: Any, group: GroupScratch, number: int, states: Any, stale: bool,
    scratch: ListScratch, used: Any, output: Any,
) -> Any:  # fmt: skip
    """All hits behind the remembered first tests of an event; returns their end."""
    selected, tests, labels, passing = group.selected, group.known.tests, scratch.labels, scratch.passing
    waiting = 0
    for at in range(selected.test_ends[number], selected.test_ends[number + 1], 2):
        start, count = np.int64(selected.tests[at]), np.int64(selected.tests[at + 1])
        if waiting + count > BATCH:
            used = verify_passing(
                lists.residuals, intervals, signatures, passing, waiting, states, stale, labels, output.units, used,
                output.work,
            )  # fmt: skip
            waiting = 0
        waiting = collect_passing(tests, start, start + count, labels, passing, waiting)
        output.work[1] += count
    return verify_passing(
        lists.residuals, intervals, signatures, passing, waiting, states, stale, labels, output.units, used,
        output.work,
    )  # fmt: skip


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
    selected, intervals = group.selected, conjunctions.intervals
    for number in range(count):
        if len(units) - used < max(search.live, counts.hits[number]):
            break
        event, start, left = first + number, selected.ends[number], group.turned.left[number]
        plain, plain_end = selected.plain_ends[number], selected.plain_ends[number + 1]
        counts.cursors[number] = used
        used += counts.hits[number]
        _fetch_tests(selected, group.known, number + 1, count)
        scatter(events, event, labels)
        if left > 0 or plain_end > plain:
            for place in range(left):
                found[place] = selected.blocked[start + place]
            fetch_lists(lists, found, left)
            used = examine_blocks(lists, found, left, states, stale, scratch, used, output)
            used = examine_tests(
                lists, intervals, signatures, selected.plain, plain, plain_end, states, stale, scratch, used, output
            )
        used = _examine_known(lists, intervals, signatures, group, number, states, stale, scratch, used, output)
        used = verify_always(conjunctions, listed, labels, used, output)
        clear(events, event, labels)
        offsets[event - begin + 1] = used
        work[0] += 1
        work[1] += counts.looked[number]
        work[2] += counts.passed[number]
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
        while count > 0 and members[begin + count - 1] >= covered:
            count -= 1
        if end - first > _FEW_WORDS:
            _write_lanes(group.words, first, end, members, begin, count, cursors, units)
        elif count > 0:
            _write_words(group.words, first, end, members, begin, count, cursors, units)


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
        _try_lists(lists, listed, search.stale, events, event, count, group)
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
