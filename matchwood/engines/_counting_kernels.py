"""Kernels of `counting`: probe the lists of an event's labels, count down, confirm, reset."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import kernel
from matchwood.engines.shared._posting_kernels import MOST_COUNTED, probe
from matchwood.engines.shared._verification_kernels import clear, scatter, verify
from matchwood.engines.shared.constraints._word_kernels import ACCEPTS_NULL, code_at, stretch
from matchwood.engines.shared.unions._unite_kernels import note_missed, plan_union, rows_of, unite
from matchwood.engines.shared.unions.layout import UnionScratch

LIVE = 1
VERIFIED = 2
STALE = 4

_WALK_COST = 32
"""Resetting a counter by its posting costs as much as resetting this many in sequence (1.1 ns; 0.03 ns)."""

_POSTING = 1.0
"""Nanoseconds to count a posting and to set its counter back (0.7 where lists are long, 1.7 where they are short)."""

_EVERY_BYTE = 0x0101010101010101


class CountedUnits(NamedTuple):
    """What `counting` knows of each unit.

    `needs`   how many postings complete it, padded to whole words of eight
    `states`  LIVE, VERIFIED, STALE
    `always`  the units that are in no list, looked at for every event
    """

    needs: NDArray[np.uint8]
    states: NDArray[np.uint8]
    always: NDArray[np.int32]


class CountingScratch(NamedTuple):
    """What matching writes to.

    `labels`           by attribute: the event's label, NULL_LABEL between two events
    `counters`         by unit: the postings that are left until it is complete; equal to the needs between two events
    `starts`, `stops`  the stretches of the lists found: room for every level of every pair
    `union`            what matching by unions writes to
    """

    labels: NDArray[np.int32]
    counters: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    union: UnionScratch


@kernel
def describe_units(conjunctions: Any, units: Any, needs: Any, states: Any) -> None:
    """Set how many postings complete each unit, and whether it must be verified then."""
    places, words, sets, bits = conjunctions
    for unit in units:
        counted, others = 0, 0
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            if code_at(words, sets, bits, position) & ACCEPTS_NULL == 0 and counted < MOST_COUNTED:
                counted += 1
            else:
                others += 1
        needs[unit] = counted
        states[unit] = LIVE | VERIFIED if others > 0 else LIVE


@kernel
def _touch(pool: Any, starts: Any, stops: Any, found: int) -> Any:
    """Read the ends of the stretches. The loads are independent, so their cache misses overlap."""
    touched = np.int32(0)
    for part in range(found):
        if starts[part] < stops[part]:
            touched ^= pool[np.uint64(starts[part])] ^ pool[np.uint64(stops[part] - 1)]
    return touched


@kernel
def _count_down(pool: Any, start: Any, stop: Any, counters: Any, units: Any, used: Any) -> Any:
    """Count each posting of a stretch; a unit whose counter reaches 0 is complete and written behind `used`.

    A unit that was removed starts at 0, and cannot come back to it within the 255 postings it may have. Should
    damaged lists complete more units than there are, the last are left out.
    """
    end, room = np.uint64(used), np.uint64(len(units))
    for posting in range(np.uint64(start), np.uint64(stop)):
        unit = np.uint32(pool[posting])
        left = np.uint8(counters[unit] - np.uint8(1))
        counters[unit] = left
        if left == 0 and end < room:
            units[end] = unit
            end += np.uint64(1)
    return np.int64(end)


@kernel
def _count_down_many(pool: Any, start: Any, stop: Any, counters: Any, units: Any, used: Any) -> Any:
    """The same where many units become complete: each is written, and overwritten unless it is complete.

    Without a branch there is none to mispredict. Needs room for the whole stretch.
    """
    end = np.uint64(used)
    for posting in range(np.uint64(start), np.uint64(stop)):
        unit = np.uint32(pool[posting])
        left = np.uint8(counters[unit] - np.uint8(1))
        counters[unit] = left
        units[end] = unit
        end += np.uint64(left == 0)
    return np.int64(end)


@kernel
def _count(pool: Any, starts: Any, stops: Any, found: int, counters: Any, units: Any, used: Any) -> Any:
    """Count all stretches; returns the end of the complete units.

    Most units become complete in the lists of an event's last attributes, so whether the list before completed
    one in sixteen tells well which way of counting suits the next (12% and 25% faster than either way alone,
    with 1% and 0.01% of all units matching).
    """
    many = False
    for part in range(found):
        start, stop, before = starts[part], stops[part], used
        if many and stop - start <= len(units) - used:
            used = _count_down_many(pool, start, stop, counters, units, used)
        else:
            used = _count_down(pool, start, stop, counters, units, used)
        many = (used - before) * 16 >= stop - start
    return used


@kernel
def _reset_all(needs: Any, counters: Any) -> Any:
    """Make all counters equal to the needs, eight at a time; returns how many were not.

    Byte by byte, LLVM widens each comparison to 64 bits, which takes three times as long.
    """
    touched = np.uint64(0)
    for word in range(len(needs)):
        differ = needs[word] ^ counters[word]
        differ |= differ >> np.uint64(4)
        differ |= differ >> np.uint64(2)
        differ |= differ >> np.uint64(1)
        touched += ((differ & np.uint64(_EVERY_BYTE)) * np.uint64(_EVERY_BYTE)) >> np.uint64(56)
        counters[word] = needs[word]
    return np.int64(touched)


@kernel
def _reset_touched(pool: Any, starts: Any, stops: Any, found: int, needs: Any, counters: Any) -> int:
    """The same by walking the lists again."""
    touched = 0
    for part in range(found):
        for posting in range(np.uint64(starts[part]), np.uint64(stops[part])):
            unit = np.uint32(pool[posting])
            touched += counters[unit] != needs[unit]
            counters[unit] = needs[unit]
    return touched


@kernel
def _count_event(
    conjunctions: Any, pool: Any, counted: CountedUnits, verifying: bool, found: int, total: int,
    scratch: CountingScratch, output: Any, used: int,
) -> Any:  # fmt: skip
    """Write the hits of an event, whose stretches have been found, behind `used`; returns the new end, and something to
    be kept, so that no load is left out."""
    places, words, sets, bits = conjunctions
    needs, states, always = counted.needs, counted.states, counted.always
    labels, counters, starts, stops = scratch.labels, scratch.counters, scratch.starts, scratch.stops
    units, work = output.units, output.work
    touched = _touch(pool, starts, stops, found)
    complete = _count(pool, starts, stops, found, counters, units, used)
    for position in range(used if verifying else complete, complete):
        unit = units[position]
        if states[unit] & VERIFIED != 0:
            work[2] += 1
            if not verify(places, words, sets, bits, unit, labels):
                continue
        units[used] = unit
        used += 1
    if not verifying:
        used = complete
    for unit in always:
        if states[unit] & LIVE != 0 and used < len(units):
            work[1] += 1
            work[2] += 1
            if verify(places, words, sets, bits, unit, labels):
                units[used] = unit
                used += 1
    if total * _WALK_COST > len(needs):
        work[1] += _reset_all(needs.view(np.uint64), counters.view(np.uint64))
    else:
        work[1] += _reset_touched(pool, starts, stops, found, needs, counters)
    work[4] += total
    return used, touched


@kernel
def match_counting(
    conjunctions: Any, lists: Any, unions: Any, size: Any, counted: CountedUnits, live: int, verifying: bool,
    events: Any, first: int, scratch: CountingScratch, output: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, while a whole event's hits have room.

    `verifying` tells whether any posted unit has to be verified.
    """
    starts, stops, union = scratch.starts, scratch.stops, scratch.union
    used, touched, enough = 0, np.int32(0), False
    for event in range(first, len(events.offsets) - 1):
        if len(output.units) - used < live or enough:
            break
        scatter(events, event, scratch.labels)
        rows, taken, whole, holding = 0, 0, np.inf, 0
        if size.ready:
            rows, holding = rows_of(unions, scratch.labels, union)
            taken, _, whole = plan_union(unions, size, rows, union)
        # What holds is what would be counted, but for attributes without cells: finding the lists takes longer.
        cost = whole
        if size.ready and (size.always or whole < _POSTING * holding):
            used = unite(conjunctions, unions, size, rows, taken, scratch.labels, union, output, used)
        else:
            found, total = probe(lists, events, event, starts, stops)
            cost = _POSTING * total
            if size.ready and whole < cost:
                cost = whole
                used = unite(conjunctions, unions, size, rows, taken, scratch.labels, union, output, used)
            else:
                used, kept = _count_event(
                    conjunctions, lists.pool, counted, verifying, found, total, scratch, output, used
                )
                touched ^= kept
        enough = note_missed(size, unions, events.offsets[event + 1] - events.offsets[event], cost, union)
        clear(events, event, scratch.labels)
        output.offsets[event - first + 1] = used
        output.work[0] += 1
    output.work[3] = used
    if len(starts) > 0:
        starts[0] = touched
