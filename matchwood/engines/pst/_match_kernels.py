"""Kernels of `pstbloom` and `psthash`: from an event's labels to lists, from their candidates to hits.

VLDB 2018, Algorithms 5 (5.3) and 7 (6.3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.prefetch import prefetch
from matchwood.encoding.spaces.dyadic import ancestor
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH
from matchwood.engines.pst._packed_kernels import PACKED_LINE, PACKED_TEST_WIDTH, collect_packed, verify_packed
from matchwood.engines.pst._signature_kernels import keep_signed
from matchwood.engines.pst._space_list_kernels import attribute_bit, combined_key, filter_bit
from matchwood.engines.pst._unit_list_kernels import examine_units
from matchwood.engines.shared._posting_kernels import EMPTY, key_of, slot_of
from matchwood.engines.shared._residual_kernels import LINE, LIVE, fetch_residuals, verify_residuals
from matchwood.engines.shared._verification_kernels import clear, scatter, verify

BATCH = 4096
"""Candidates that are verified together, after their residuals have been asked for."""


class ListSearch(NamedTuple):
    """How lists are searched.

    `depth`         spaces that a combination has at most
    `side_by_side`  whether candidates lie in their lists with their tests
    `stale`         whether the lists hold removed units
    `live`          units, all of which an event may match
    """

    depth: int
    side_by_side: bool
    stale: bool
    live: int


class ListedUnits(NamedTuple):
    """What the engine knows of its units.

    `access`  `depth` positions each of the predicates that gave access: lists that do not hold the others side by side
              need them
    `states`  LIVE, STALE, or 0
    `always`  those without access predicates, looked at for every event
    """

    access: NDArray[np.uint16]
    states: NDArray[np.uint8]
    always: NDArray[np.int32]


class ListScratch(NamedTuple):
    """What matching writes to, for one thread.

    `labels`   by attribute: the event's label, NULL_LABEL between two events
    `spaces`, `attributes`, `levels`  the lists of the spaces that an event is in, and the bits of their attributes and
               levels: room for every level of every pair
    `found`    the lists that an event selects: room for all
    `passing`  candidates that passed their first test: room for BATCH
    """

    labels: NDArray[np.int32]
    spaces: NDArray[np.int32]
    attributes: NDArray[np.uint64]
    levels: NDArray[np.uint32]
    found: NDArray[np.int32]
    passing: NDArray[np.int32]


@bare_kernel
def probe_spaces(lists: Any, events: Any, event: int, spaces: Any, attributes: Any, levels: Any) -> int:
    """The lists of all spaces that hold an event's labels, and the bits of their attributes and levels."""
    table, keys, levels_in_use = lists.table, lists.keys, lists.levels
    found = 0
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute, label = events.attributes[pair], events.labels[pair]
        left = levels_in_use[attribute] if attribute < len(levels_in_use) else np.uint32(0)
        level = 0
        while left != 0:
            if left & np.uint32(1) != 0:
                place = table[slot_of(table, keys, key_of(attribute, ancestor(label, level)))]
                if place != EMPTY and found < len(spaces):
                    spaces[found] = place
                    attributes[found], levels[found] = attribute_bit(attribute), np.uint32(1) << np.uint32(level)
                    found += 1
            left >>= np.uint32(1)
            level += 1
    return found


@kernel
def select_combinations(lists: Any, scratch: ListScratch, count: int, depth: int) -> int:
    """The lists of all combinations of an event's spaces, behind those of its `count` spaces (Alg. 7).

    Each part knows the attributes and levels that follow it, and the filter which combinations exist: so nearly all
    that are looked up in the table are there.
    """
    table, filtered, keys = lists.combined_table, lists.combined_filter, lists.keys
    next_attributes, next_levels, found = lists.next_attributes, lists.next_levels, scratch.found
    spaces, attributes, levels = scratch.spaces, scratch.attributes, scratch.levels
    parts, places, used = np.empty(depth, dtype=np.int64), np.empty(depth, dtype=np.int64), count
    for first in range(count):
        parts[0], places[0], top = spaces[first], 0, 0
        while top >= 0:
            part = parts[top]
            wanted_attributes, wanted_levels = next_attributes[part], next_levels[part]
            place = np.uint64(places[top] if wanted_levels != 0 else count)
            combined = EMPTY
            while place < np.uint64(count) and combined == EMPTY:
                if wanted_attributes & attributes[place] != 0 and wanted_levels & levels[place] != 0:
                    key = combined_key(part, spaces[place])
                    word, bit = filter_bit(mix64(key) >> np.uint64(24), len(filtered))
                    if filtered[word] & bit != 0:
                        combined = table[slot_of(table, keys, key)]
                place += np.uint64(1)
            places[top] = place
            if combined == EMPTY:
                top -= 1
                continue
            if used < len(found):
                found[used] = combined
                used += 1
            if top + 2 < depth:
                top += 1
                parts[top], places[top] = combined, 0
    return used


@bare_kernel
def fetch_lists(lists: Any, found: Any, count: int) -> None:
    """Ask for every cache line of the lists' first tests, so that their misses overlap."""
    first_tests, starts, counts = lists.first_tests, lists.starts, lists.counts
    packed_tests, packed_starts, width = lists.packed_tests, lists.packed_starts, np.int64(PACKED_TEST_WIDTH)
    for place in range(count):
        start = TEST_WIDTH * np.int64(starts[found[place]])
        for at in range(start, start + TEST_WIDTH * np.int64(counts[found[place]]), LINE):
            prefetch(first_tests, at)
        start, stop = packed_starts[found[place]], packed_starts[found[place] + 1]
        for at in range(width * start, width * stop, PACKED_LINE):
            prefetch(packed_tests, at)


@bare_kernel
def collect_passing(first_tests: Any, start: Any, stop: Any, labels: Any, passing: Any, count: Any) -> Any:
    """Collect the residuals of the first tests start : stop whose test holds, without a branch to mispredict."""
    end = np.uint64(count)
    for at in range(np.uint64(TEST_WIDTH * start), np.uint64(TEST_WIDTH * stop), np.uint64(TEST_WIDTH)):
        label = labels[np.uint32(first_tests[at])]
        passing[end] = first_tests[at + np.uint64(3)]
        end += np.uint64(np.uint32(label - first_tests[at + np.uint64(1)]) < np.uint32(first_tests[at + np.uint64(2)]))
    return np.int64(end)


@bare_kernel
def verify_passing(
    residuals: Any, intervals: Any, signatures: Any, passing: Any, count: int, states: Any, stale: bool, labels: Any,
    units: Any, used: Any, work: Any,
) -> Any:  # fmt: skip
    """Verify the candidates that passed their first tests; returns the end of the hits."""
    fetch_residuals(residuals, passing, count)
    if len(signatures.words) > 0:
        count = keep_signed(signatures, residuals, passing, count, labels)
    used = verify_residuals(residuals, intervals, passing, count, labels, states, stale, units, used)
    work[2] += count
    return used


@bare_kernel
def examine_packed(
    lists: Any, found: Any, count: int, states: Any, stale: bool, scratch: ListScratch, used: Any, output: Any
) -> Any:
    """All hits among the packed candidates of the lists found; returns their end."""
    labels, passing, units, work = scratch.labels, scratch.passing, output.units, output.work
    tests, starts, residuals, waiting = lists.packed_tests, lists.packed_starts, lists.packed_residuals, 0
    for place in range(count):
        start, stop = starts[found[place]], starts[found[place] + 1]
        work[1] += stop - start
        while start < stop:
            end = min(stop, start + BATCH - waiting)
            waiting = collect_packed(tests, start, end, labels, passing, waiting)
            start = end
            if waiting == BATCH:
                used = verify_packed(residuals, passing, waiting, labels, states, stale, units, used)
                work[2] += waiting
                waiting = 0
    work[2] += waiting
    return verify_packed(residuals, passing, waiting, labels, states, stale, units, used)


@bare_kernel
def examine_tests(
    lists: Any, intervals: Any, signatures: Any, found: Any, first: int, last: int, states: Any, stale: bool,
    scratch: ListScratch, used: Any, output: Any,
) -> Any:  # fmt: skip
    """All hits behind the first tests of the lists found[first:last]; returns their end."""
    labels, passing, units, work = scratch.labels, scratch.passing, output.units, output.work
    first_tests, residuals, starts, counts = lists.first_tests, lists.residuals, lists.starts, lists.counts
    waiting = 0
    for place in range(first, last):
        start = starts[found[place]]
        stop = start + counts[found[place]]
        work[1] += stop - start
        while start < stop:
            end = min(stop, start + BATCH - waiting)
            waiting = collect_passing(first_tests, start, end, labels, passing, waiting)
            start = end
            if waiting == BATCH:
                used = verify_passing(
                    residuals, intervals, signatures, passing, waiting, states, stale, labels, units, used, work
                )
                waiting = 0
    return verify_passing(residuals, intervals, signatures, passing, waiting, states, stale, labels, units, used, work)


@bare_kernel
def select_spaces(lists: Any, events: Any, event: int, scratch: ListScratch) -> int:
    """The lists of the spaces that an event is in: so many in `spaces`, and in `found`."""
    spaces, found = scratch.spaces, scratch.found
    count = min(probe_spaces(lists, events, event, spaces, scratch.attributes, scratch.levels), len(found))
    for place in range(count):
        found[place] = spaces[place]
    return count


@bare_kernel
def verify_always(conjunctions: Any, listed: ListedUnits, labels: Any, used: Any, output: Any) -> Any:
    """The hits among the units that no list leads to; returns their end."""
    offsets, leaves = conjunctions.offsets, conjunctions.leaves
    records, intervals = conjunctions.records, conjunctions.intervals
    states, units, work = listed.states, output.units, output.work
    for unit in listed.always:
        if states[unit] == LIVE and used < len(units):
            work[1] += 1
            work[2] += 1
            if verify(offsets, leaves, records, intervals, unit, labels):
                units[used] = unit
                used += 1
    return used


@kernel
def match_lists(
    conjunctions: Any, lists: Any, signatures: Any, search: ListSearch, listed: ListedUnits, events: Any, first: int,
    scratch: ListScratch, output: Any, combined: Any, alone: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, while a whole event's hits have room.

    `combined` is None where no list has more than one space, and `alone` where candidates lie with their tests: Numba
    then leaves out what the others need, and a first match compiles less.
    """
    intervals, states, labels, found = conjunctions.intervals, listed.states, scratch.labels, scratch.found
    units, offsets, work, used = output.units, output.offsets, output.work, 0
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < search.live:
            break
        scatter(events, event, labels)
        total = select_spaces(lists, events, event, scratch)
        if combined is not None:
            total = select_combinations(lists, scratch, total, search.depth)
        if alone is None:
            fetch_lists(lists, found, total)
            used = examine_packed(lists, found, total, states, search.stale, scratch, used, output)
            used = examine_tests(
                lists, intervals, signatures, found, 0, total, states, search.stale, scratch, used, output
            )
        else:
            used = examine_units(
                conjunctions, lists, signatures, listed.access, search.depth, states, total, scratch, used, output
            )  # fmt: skip
        used = verify_always(conjunctions, listed, labels, used, output)
        clear(events, event, labels)
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] = used
