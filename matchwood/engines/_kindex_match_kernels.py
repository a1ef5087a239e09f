"""Kernels of `kindex`: Algorithms 1 and 2 of VLDB 2009, one run and a batch of events at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.encoding.dyadic import ancestor
from matchwood.engines._kindex_layout import EMPTY, NO_CLAUSE
from matchwood.engines._kindex_list_kernels import Z_LIST, entry_at, skip_to
from matchwood.engines._posting_kernels import key_of, slot_of
from matchwood.engines._record_kernels import ACCEPTS_NULL, ALTERNATIVE, WIDTH

LIVE = 1
SLOT_BITS = 32
SLOT_MASK = 0xFFFFFFFF
NUMBER_BITS = SLOT_BITS + 1
"""What stands below the number of a unit in `order`: IN or NOT IN, and the slot."""


@kernel
def find_lists(run: Any, events: Any, event: int, cursors: Any) -> None:
    """The lists of an event's keys, chained by K-index."""
    table, keys, levels, key_offsets, list_sizes = run.table, run.keys, run.levels, run.key_offsets, run.list_sizes
    heads, tallies, nexts, lists = cursors.heads, cursors.tallies, cursors.nexts, cursors.lists
    found = 0
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute, label = events.attributes[pair], events.labels[pair]
        left = levels[attribute] if attribute < len(levels) else np.uint32(0)
        level = 0
        while left != 0:
            if left & np.uint32(1) != 0:
                key = table[slot_of(table, keys, key_of(attribute, ancestor(label, level)))]
                if key != EMPTY:
                    for place in range(key_offsets[key], key_offsets[key + 1]):
                        if found < len(lists):
                            index = list_sizes[place] >> 1
                            lists[found], nexts[found] = place, heads[index]
                            heads[index] = found
                            tallies[index] += 1
                            found += 1
            left >>= np.uint32(1)
            level += 1


@kernel
def insert_sorted(order: Any, place: int, count: int, value: Any) -> None:
    """Put a value in the place of order[place], and move it up to where it belongs among those behind."""
    last = count - 1
    while place < last and order[place + 1] < value:
        order[place] = order[place + 1]
        place += 1
    order[place] = value


@kernel
def drop_sorted(order: Any, place: int, count: int) -> None:
    """Take order[place] out."""
    for position in range(place, count - 1):
        order[position] = order[position + 1]


@kernel
def open_lists(run: Any, cursors: Any, head: Any, zeros: int) -> Any:
    """Put a cursor on the first entry of every list of a chain, and on the Z list if there are `zeros`, sorted by it.

    Returns how many there are, and whether some list has a NOT IN entry.
    """
    entries, block_offsets, bases, places, data = run.entries, run.block_offsets, run.bases, run.places, run.data
    starts, positions, stops, which = cursors.starts, cursors.positions, cursors.stops, cursors.which
    order, count, weak = cursors.order, 0, 0
    while head >= 0:
        place = cursors.lists[head]
        start, stop = run.list_offsets[place], run.list_offsets[place + 1]
        head = cursors.nexts[head]
        if start < stop:
            weak |= run.list_sizes[place] & 1
            starts[count], positions[count], stops[count], which[count] = start, start, stop, place
            entry = entry_at(entries, block_offsets, bases, places, data, place, start, start)
            order[count] = (entry << SLOT_BITS) | count
            count += 1
    if zeros > 0:
        starts[count], positions[count], stops[count], which[count] = 0, 0, zeros, Z_LIST
        order[count] = (np.int64(1) << SLOT_BITS) | count
        count += 1
    order[:count].sort()
    return count, weak


@kernel
def clauses_hold(records: Any, start: Any, stop: Any, clauses: Any, cursors: Any, agreeing: int) -> bool:
    """Whether every clause of a unit has a predicate that holds, by the entries of the lists that agree on the unit.

    A counter begins at minus the number of NOT IN predicates of its clause. Each NOT IN entry is a violated one and
    counts up; an IN entry satisfies the clause. Only 0 means that nothing in the clause holds.
    """
    counters, order, count, failed = cursors.counters, cursors.order, -1, 0
    for position in range(start, stop):
        code = records[WIDTH * position]
        if code & ALTERNATIVE == 0 or position == start:
            count += 1
            if count >= len(counters):
                return False
            counters[count] = 0
        if code & ACCEPTS_NULL != 0:
            counters[count] -= 1
    for place in range(agreeing):
        slot = order[place] & SLOT_MASK
        clause = clauses[cursors.positions[slot]] if cursors.which[slot] != Z_LIST else NO_CLAUSE
        if 0 <= clause <= count:
            counters[clause] = 1 if (order[place] >> SLOT_BITS) & 1 == 1 else counters[clause] + 1
    for clause in range(count + 1):
        failed += counters[clause] == 0
    return failed == 0


@kernel
def _take_all(run: Any, alive: Any, count: int, cursors: Any, units: Any, used: int, work: Any) -> int:
    """All units of these lists, each of which is in one of them only."""
    entries, block_offsets, bases, places, data = run.entries, run.block_offsets, run.bases, run.places, run.data
    names, which = run.units, cursors.which
    for slot in range(count):
        start, stop = cursors.starts[slot], cursors.stops[slot]
        for at in range(start, stop):
            unit = names[entry_at(entries, block_offsets, bases, places, data, which[slot], start, at) >> 1]
            if alive[unit] == LIVE and used < len(units):
                units[used] = unit
                used += 1
        work[1] += stop - start
        work[4] += stop - start
    return used


@kernel
def _search(
    run: Any, conjunctions: Any, alive: Any, of_clauses: bool, need: int, count: int, cursors: Any,
    units: Any, used: int, work: Any,
) -> int:  # fmt: skip
    """Algorithm 1, or 2 `of_clauses`: units that the first `need` lists agree on, unless a NOT IN speaks against it.

    In the paper's pseudo-code a rejection moves on only the lists behind the first K, and so never ends; a satisfied
    CNF moves on only the first K, and may be found again by the rest. Here all lists that agree on a unit move on.
    """
    entries, block_offsets, bases, places, data = run.entries, run.block_offsets, run.bases, run.places, run.data
    names, clauses, offsets, records = run.units, run.clauses, conjunctions.offsets, conjunctions.records
    order, starts, positions = cursors.order, cursors.starts, cursors.positions
    stops, which = cursors.stops, cursors.which
    read, candidates, verified = 0, 0, 0
    while count >= need:
        number, pivot = order[0] >> NUMBER_BITS, order[need - 1] >> NUMBER_BITS
        moving, least = need - 1, pivot
        if number == pivot:
            moving, least = need, number + 1
            while moving < count and order[moving] >> NUMBER_BITS == number:
                moving += 1
            candidates += 1
            unit = names[number]
            if alive[unit] == LIVE:
                holds = (order[0] >> SLOT_BITS) & 1 == 1
                if of_clauses:
                    verified += 1
                    holds = clauses_hold(records, offsets[unit], offsets[unit + 1], clauses, cursors, moving)
                if holds and used < len(units):
                    units[used] = unit
                    used += 1
        for place in range(moving - 1, -1, -1):
            if order[place] >> NUMBER_BITS >= least:
                continue
            slot = order[place] & SLOT_MASK
            at, entry, more = skip_to(
                entries, block_offsets, bases, places, data, which[slot], starts[slot], positions[slot], stops[slot],
                2 * least,
            )  # fmt: skip
            positions[slot] = at
            read += more
            if at >= stops[slot]:
                drop_sorted(order, place, count)
                count -= 1
            else:
                insert_sorted(order, place, count, (entry << SLOT_BITS) | slot)
    work[1] += candidates
    work[2] += verified
    work[4] += read
    return used


@kernel
def match_run(
    run: Any, conjunctions: Any, alive: Any, of_clauses: bool, events: Any, first: int, last: int, cursors: Any,
    units: Any, offsets: Any, work: Any,
) -> None:  # fmt: skip
    """All hits in one run of the events first : last, while a whole event's hits have room.

    `work` counts events covered, candidates, verified, matched, and entries read.
    """
    used, sizes, size_offsets = 0, run.sizes, run.size_offsets
    heads, tallies = cursors.heads, cursors.tallies
    for event in range(first, last):
        if len(units) - used < len(run.units):
            break
        find_lists(run, events, event, cursors)
        for index in range(len(sizes) - 1, -1, -1):
            head, tally, need = heads[index], tallies[index], max(1, sizes[index])
            heads[index], tallies[index] = EMPTY, 0
            zeros = size_offsets[index + 1] - size_offsets[index] if sizes[index] == 0 else 0
            if tally < need and zeros == 0:
                continue
            count, weak = open_lists(run, cursors, head, zeros)
            if need == 1 and weak == 0 and not of_clauses:
                used = _take_all(run, alive, count, cursors, units, used, work)
            else:
                work[4] += count
                used = _search(run, conjunctions, alive, of_clauses, need, count, cursors, units, used, work)
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] += used


@kernel
def merge_hits(
    first_offsets: Any, first_units: Any, second_offsets: Any, second_units: Any, count: int, offsets: Any, units: Any
) -> None:
    """The hits of two runs, event by event."""
    used = 0
    for event in range(count):
        for place in range(first_offsets[event], first_offsets[event + 1]):
            units[used] = first_units[place]
            used += 1
        for place in range(second_offsets[event], second_offsets[event + 1]):
            units[used] = second_units[place]
            used += 1
        offsets[event + 1] = used
