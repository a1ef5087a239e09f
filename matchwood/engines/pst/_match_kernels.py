"""Kernels of `pstbloom` and `psthash`: from an event's labels to lists, from their candidates to hits.

Verification takes steps, in each of which cache misses overlap: the tests of all lists that an event selects are asked
for; the units that pass are collected, and it is asked for where they stand, then for what stands there; then they are
verified.

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
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH, decided_by
from matchwood.engines.pst._signature_kernels import keep_signed
from matchwood.engines.pst._space_list_kernels import attribute_bit, combined_key, filter_bit
from matchwood.engines.pst._unit_list_kernels import examine_units
from matchwood.engines.shared._posting_kernels import EMPTY, key_of, slot_of
from matchwood.engines.shared._verification_kernels import LIVE, clear, scatter, set_holds, verify, word_holds
from matchwood.engines.shared.constraints._word_kernels import LAST, SET, set_of

BATCH = 4096
"""Candidates that are verified together, after what they say has been asked for."""

LINE = 16
"""Numbers of 32 bits in a cache line."""

_ONE = np.uint64(1)


class ListSearch(NamedTuple):
    """How lists are searched.

    `depth`   spaces that a combination has at most
    `tested`  whether candidates lie in their lists with a test
    `stale`   whether the lists hold removed units
    `live`    units, all of which an event may match
    """

    depth: int
    tested: bool
    stale: bool
    live: int


class ListedUnits(NamedTuple):
    """What the engine knows of its units.

    `states`  LIVE or STALE, or 0, and how many constraints give access, as `_candidate_kernels` has it
    `always`  those without access predicates, looked at for every event
    """

    states: NDArray[np.uint8]
    always: NDArray[np.int32]


class ListScratch(NamedTuple):
    """What matching writes to, for one thread.

    `labels`   by attribute: the event's label, NULL_LABEL between two events
    `spaces`, `attributes`, `levels`  the lists of the spaces that an event is in, and the bits of their attributes and
               levels: room for every level of every pair
    `found`    the lists that an event selects: room for all
    `passing`, `rests`  candidates that passed their test, and how many constraints of each are decided; then where the
               others stand: room for BATCH
    """

    labels: NDArray[np.int32]
    spaces: NDArray[np.int32]
    attributes: NDArray[np.uint64]
    levels: NDArray[np.uint32]
    found: NDArray[np.int32]
    passing: NDArray[np.int32]
    rests: NDArray[np.int32]


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
    """Ask for every cache line of the lists' tests, so that their misses overlap."""
    tests, starts, counts = lists.tests, lists.starts, lists.counts
    for place in range(count):
        start = TEST_WIDTH * np.int64(starts[found[place]])
        for at in range(start, start + TEST_WIDTH * np.int64(counts[found[place]]), LINE):
            prefetch(tests, at)


@bare_kernel
def collect_passing(
    tests: Any, start: Any, stop: Any, bits: Any, labels: Any, passing: Any, decided: Any, count: Any
) -> Any:
    """Collect the units of the tests start : stop that hold, and what these decide, without a branch to mispredict."""
    end, width = np.uint64(count), np.uint64(TEST_WIDTH)
    for at in range(np.uint64(TEST_WIDTH * start), np.uint64(TEST_WIDTH * stop), width):
        passing[end], decided[end] = np.int32(tests[at + _ONE]), np.int32(decided_by(tests[at]))
        end += np.uint64(word_holds(tests[at], bits, labels))
    return np.int64(end)


@bare_kernel
def fetch_sets(words: Any, sets: Any, rests: Any, count: Any) -> None:
    """Ask for the first set of what is left to test of some units: sets stand first, and few units have several."""
    for place in range(np.uint64(count)):
        at = np.uint64(np.uint32(rests[place]))
        if words[at - _ONE] & np.uint32(LAST) == 0 and words[at] & np.uint32(SET) != 0:
            prefetch(sets, set_of(words[at]))


@bare_kernel
def _rest_holds(words: Any, sets: Any, bits: Any, rest: Any, labels: Any) -> Any:
    """Whether the constraints from there on, if there are any, hold.

    No branch depends on what a constraint answers: the processor would guess wrong once or twice at each candidate,
    where most of them match.
    """
    at, held, word = np.uint64(rest), True, words[np.uint64(rest) - _ONE]
    while word & np.uint32(LAST) == 0 and words[at] & np.uint32(SET) != 0:
        word = words[at]
        held &= set_holds(sets, set_of(word), labels)
        at += _ONE
    while word & np.uint32(LAST) == 0:
        word = words[at]
        held &= word_holds(word, bits, labels)
        at += _ONE
    return held


@bare_kernel
def _find_rests(conjunctions: Any, passing: Any, count: Any, rests: Any) -> None:
    """From how many constraints of some units are decided to where the others stand, which is asked for, so that the
    misses overlap."""
    places, words = conjunctions.places, conjunctions.words
    for place in range(np.uint64(count)):
        rest = np.uint64(places[np.uint32(passing[place])]) + np.uint64(np.uint32(rests[place]))
        rests[place] = np.int32(rest)
        prefetch(words, np.int64(rest))
    fetch_sets(words, conjunctions.sets, rests, count)


@bare_kernel
def verify_passing(
    conjunctions: Any, signatures: Any, scratch: ListScratch, count: Any, states: Any, stale: bool, output: Any,
    used: Any,
) -> Any:  # fmt: skip
    """Verify the candidates that passed their tests, and write the units that hold behind `used`; returns their end.

    Units that are not LIVE are left out, and what is beyond the end of `units`, should damaged lists hold more than
    there are.
    """
    words, sets, bits = conjunctions.words, conjunctions.sets, conjunctions.bits
    passing, rests, labels, units = scratch.passing, scratch.rests, scratch.labels, output.units
    if len(signatures.words) > 0:
        count = keep_signed(conjunctions, signatures, states, passing, rests, count, labels)
    _find_rests(conjunctions, passing, count, rests)
    output.work[2] += count
    room, written = np.uint64(len(units)), np.uint64(used)
    for place in range(np.uint64(count)):
        if _rest_holds(words, sets, bits, np.uint64(np.uint32(rests[place])), labels) and written < room:
            unit = passing[place]
            units[written] = unit
            written += np.uint64(not stale or states[np.uint32(unit)] & np.uint8(LIVE) != 0)
    return np.int64(written)


@bare_kernel
def collect_list(
    conjunctions: Any, signatures: Any, tests: Any, start: Any, stop: Any, states: Any, stale: bool,
    scratch: ListScratch, waiting: Any, output: Any, used: Any,
) -> Any:  # fmt: skip
    """Collect the units of the tests start : stop that hold behind those `waiting`; when there is no room for more, all
    are verified. Returns how many wait then, and the end of the hits."""
    labels, passing, rests, bits = scratch.labels, scratch.passing, scratch.rests, conjunctions.bits
    output.work[1] += stop - start
    while start < stop:
        end = min(stop, start + BATCH - waiting)
        waiting = collect_passing(tests, start, end, bits, labels, passing, rests, waiting)
        start = end
        if waiting == BATCH:
            used = verify_passing(conjunctions, signatures, scratch, waiting, states, stale, output, used)
            waiting = 0
    return waiting, used


@bare_kernel
def _examine_lists(
    conjunctions: Any, lists: Any, signatures: Any, count: int, states: Any, stale: bool, scratch: ListScratch,
    used: Any, output: Any,
) -> Any:  # fmt: skip
    """All hits in the lists found; returns their end."""
    tests, starts, counts, found, waiting = lists.tests, lists.starts, lists.counts, scratch.found, np.int64(0)
    for place in range(count):
        start = starts[found[place]]
        stop = start + counts[found[place]]
        waiting, used = collect_list(
            conjunctions, signatures, tests, start, stop, states, stale, scratch, waiting, output, used
        )
    return verify_passing(conjunctions, signatures, scratch, waiting, states, stale, output, used)


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
    places, words, sets, bits = conjunctions
    states, units, work = listed.states, output.units, output.work
    for unit in listed.always:
        if states[unit] & np.uint8(LIVE) != 0 and used < len(units):
            work[1] += 1
            work[2] += 1
            if verify(places, words, sets, bits, unit, labels):
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
    states, labels, found = listed.states, scratch.labels, scratch.found
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
            used = _examine_lists(conjunctions, lists, signatures, total, states, search.stale, scratch, used, output)
        else:
            used = examine_units(conjunctions, lists, signatures, states, total, scratch, used, output)
        used = verify_always(conjunctions, listed, labels, used, output)
        clear(events, event, labels)
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] = used
