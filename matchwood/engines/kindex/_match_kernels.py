"""Kernels of `kindex`: Algorithms 1 and 2 of VLDB 2009, one run and a batch of events at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.encoding.spaces.dyadic import ancestor
from matchwood.engines.kindex._list_kernels import Z_LIST, entry_at, skip_to
from matchwood.engines.kindex.layout import EMPTY, END, NO_CLAUSE, ListEntries, NumberedUnits, Slots
from matchwood.engines.shared._posting_kernels import key_of, slot_of
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    ALTERNATIVE,
    code_at,
    has,
    stretch,
)

LIVE = 1
SLOT_BITS = 32
SLOT_MASK = 0xFFFFFFFF
NUMBER_BITS = SLOT_BITS + 1
"""What stands below the number of a unit in `order`: IN or NOT IN, and the slot."""


@bare_kernel
def find_lists(run: Any, events: Any, event: int, cursors: Any) -> None:
    """The lists of an event's keys, chained by K-index."""
    table, keys, levels, key_offsets, list_sizes = run.table, run.keys, run.levels, run.key_offsets, run.list_sizes
    heads, tallies, nexts, lists, pairs = cursors.heads, cursors.tallies, cursors.nexts, cursors.lists, cursors.pairs
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
                            lists[found], pairs[found], nexts[found] = place, pair, heads[index]
                            heads[index] = found
                            tallies[index] += 1
                            found += 1
            left >>= np.uint32(1)
            level += 1


@bare_kernel
def insert_sorted(order: Any, place: int, count: int, value: Any) -> None:
    """Put a value in the place of order[place], and move it up to where it belongs among those behind."""
    last = count - 1
    while place < last and order[place + 1] < value:
        order[place] = order[place + 1]
        place += 1
    order[place] = value


@bare_kernel
def drop_sorted(order: Any, place: int, count: int) -> None:
    """Take order[place] out."""
    for position in range(place, count - 1):
        order[position] = order[position + 1]


@bare_kernel
def sort(order: Any, count: int) -> None:
    """Sort the first `count`: by insertion, over wide gaps first where they are many."""
    gap = 1
    while gap < count // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            value = order[place]
            while place >= gap and order[place - gap] > value:
                order[place] = order[place - gap]
                place -= gap
            order[place] = value
        gap //= 3


@bare_kernel
def entries_of(run: Any) -> Any:
    """What reading the lists of a run takes."""
    return ListEntries(run.entries, run.block_offsets, run.bases, run.places, run.data)


@bare_kernel
def slots_of(cursors: Any) -> Any:
    """What moving the lists of a K-index on takes."""
    return Slots(cursors.which, cursors.starts, cursors.positions, cursors.stops, cursors.entries)


@bare_kernel
def open_lists(run: Any, cursors: Any, head: Any, tally: int, zeros: int, whole: int, most: int) -> Any:
    """Put a cursor on the first entry of every list of a chain, and on the Z list if there are `zeros`.

    A list that holds `whole` entries holds all units of its K-index: it need not be read to know that they agree on it.
    Returns how many lists there are to read, how many, at most `most`, need not be, and whether some list has a NOT IN
    entry. The chain leads from the last pair to the first, so slots are given from the end.
    """
    starts, positions, stops, which = cursors.starts, cursors.positions, cursors.stops, cursors.which
    entries, pair_of, slot, full, weak = cursors.entries, cursors.pair_of, tally, 0, 0
    lists = entries_of(run)
    while head >= 0 and slot > 0:
        place, pair = cursors.lists[head], cursors.pairs[head]
        start, stop = run.list_offsets[place], run.list_offsets[place + 1]
        head = cursors.nexts[head]
        if stop - start == whole and full < most and run.list_sizes[place] & 1 == 0:
            full += 1
        elif start < stop:
            slot -= 1
            weak |= run.list_sizes[place] & 1
            starts[slot], positions[slot], stops[slot], which[slot], pair_of[slot] = start, start, stop, place, pair
            entries[slot] = entry_at(lists, place, start, start)
    count = tally - slot
    for place in range(count):
        starts[place], positions[place], stops[place] = starts[slot], positions[slot], stops[slot]
        which[place], pair_of[place], entries[place] = which[slot], pair_of[slot], entries[slot]
        slot += 1
    if zeros > 0:
        starts[count], positions[count], stops[count], which[count], entries[count] = 0, 0, zeros, Z_LIST, 1
        count += 1
    return count, full, weak


@bare_kernel
def clauses_hold(
    conjunctions: Any, unit: Any, clauses: Any, which: Any, positions: Any, order: Any, agreeing: int, counters: Any
) -> bool:
    """Whether every clause of a unit has a predicate that holds, by the entries of the lists that agree on the unit.

    A counter begins at minus the number of NOT IN predicates of its clause. Each NOT IN entry is a violated one and
    counts up; an IN entry satisfies the clause. Only 0 means that nothing in the clause holds.
    """
    places, words, sets, bits = conjunctions
    first, last = stretch(places, words, unit)
    count, failed = -1, 0
    for position in range(first, last):
        if position == first or not has(words[position], ALTERNATIVE):
            count += 1
            if count >= len(counters):
                return False
            counters[count] = 0
        if code_at(words, sets, bits, position) & ACCEPTS_NULL != 0:
            counters[count] -= 1
    for place in range(agreeing):
        slot = order[place] & SLOT_MASK
        clause = clauses[positions[slot]] if which[slot] != Z_LIST else NO_CLAUSE
        if 0 <= clause <= count:
            counters[clause] = 1 if (order[place] >> SLOT_BITS) & 1 == 1 else counters[clause] + 1
    for clause in range(count + 1):
        failed += counters[clause] == 0
    return failed == 0


@bare_kernel
def _take_all(lists: ListEntries, slots: Slots, numbered: NumberedUnits, count: int, used: int, output: Any) -> int:
    """All units of these lists, each of which is in one of them only."""
    which, starts, stops, names, alive = slots.which, slots.starts, slots.stops, numbered.names, numbered.alive
    units, work = output.units, output.work
    for slot in range(count):
        start, stop = starts[slot], stops[slot]
        for at in range(start, stop):
            unit = names[entry_at(lists, which[slot], start, at) >> 1]
            if alive[unit] == LIVE and used < len(units):
                units[used] = unit
                used += 1
        work[1] += stop - start
        work[4] += stop - start
    return used


@bare_kernel
def advance(lists: ListEntries, slots: Slots, slot: Any, least: Any) -> Any:
    """Move a list to its first entry that is at least `least`; returns how many entries were read."""
    which, starts, positions, stops, now = slots
    at, entry, read = skip_to(lists, which[slot], starts[slot], positions[slot], stops[slot], least)
    positions[slot] = at
    now[slot] = entry if at < stops[slot] else END
    return read


@bare_kernel
def _search(
    lists: ListEntries, slots: Slots, numbered: NumberedUnits, order: Any, counters: Any, of_clauses: bool, need: int,
    count: int, ceiling: Any, used: int, output: Any,
) -> int:  # fmt: skip
    """Algorithm 1, or 2 `of_clauses`: units that the first `need` lists agree on, unless a NOT IN speaks against it.

    Takes the lists in `order` and the units below `ceiling`. In the paper's pseudo-code a rejection moves on only the
    lists behind the first K, and so never ends; a satisfied CNF moves on only the first K, and may be found again by
    the rest. Here all lists that agree on a unit move on.
    """
    names, clauses, conjunctions, alive = numbered
    which, positions, now, units, work = slots.which, slots.positions, slots.now, output.units, output.work
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
                    holds = clauses_hold(conjunctions, unit, clauses, which, positions, order, moving, counters)
                if holds and used < len(units):
                    units[used] = unit
                    used += 1
        for place in range(moving - 1, -1, -1):
            if order[place] >> NUMBER_BITS < least:
                slot = order[place] & SLOT_MASK
                read += advance(lists, slots, slot, 2 * least)
                if now[slot] < 2 * ceiling:
                    insert_sorted(order, place, count, (now[slot] << SLOT_BITS) | slot)
                else:
                    drop_sorted(order, place, count)
                    count -= 1
    work[1] += candidates
    work[2] += verified
    work[4] += read
    return used


@bare_kernel
def group_of(attributes: Any, first: Any, last: Any, attribute: Any) -> Any:
    """The first of the groups first : last whose attribute is not below the given one."""
    while first < last:
        middle = (first + last) >> 1
        if attributes[middle] < attribute:
            first = middle + 1
        else:
            last = middle
    return first


@bare_kernel
def enter_group(
    lists: ListEntries, slots: Slots, order: Any, pair_of: Any, used: int, pair: Any, own: Any, full: int, need: int,
    low: Any, high: Any,
) -> Any:  # fmt: skip
    """The lists that have entries for the numbers low : high, sorted into `order`; returns how many, and how many
    entries were read.

    Those of the group's own key, from slot `own` of the `used` ones on, come first: without an entry of them no unit of
    the group matches.
    """
    read, count, now = 0, 0, slots.now
    there = full > 0 and (own >= used or pair_of[own] != pair)
    slot = own
    while slot < used and pair_of[slot] == pair:
        if now[slot] < 2 * low:
            read += advance(lists, slots, slot, 2 * low)
        there |= now[slot] < 2 * high
        slot += 1
    if there:
        for slot in range(used):
            if now[slot] < 2 * low:
                read += advance(lists, slots, slot, 2 * low)
            if now[slot] < 2 * high:
                order[count] = (now[slot] << SLOT_BITS) | slot
                count += 1
        if count >= need:
            sort(order, count)
    return count, read


@bare_kernel
def match_run(
    run: Any, conjunctions: Any, alive: Any, of_clauses: bool, shortcuts: bool, events: Any, first: int, last: int,
    cursors: Any, output: Any,
) -> None:  # fmt: skip
    """All hits in one run of the events first : last, while a whole event's hits have room.

    A K-index that has groups is searched in those whose attribute the event has, one after the other. Without
    `shortcuts` every list is read.
    """
    used, sizes, size_offsets, lists, slots = 0, run.sizes, run.size_offsets, entries_of(run), slots_of(cursors)
    numbered = NumberedUnits(run.units, run.clauses, conjunctions, alive)
    group_offsets, group_attributes, group_starts = run.group_offsets, run.group_attributes, run.group_starts
    now, order, pair_of, counters = cursors.entries, cursors.order, cursors.pair_of, cursors.counters
    heads, tallies, units, offsets, work = cursors.heads, cursors.tallies, output.units, output.offsets, output.work
    event_offsets, event_attributes = events.offsets, events.attributes
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
            whole, most = size_offsets[index + 1] - size_offsets[index], need - 1 if shortcuts and not of_clauses else 0
            count, full, weak = open_lists(run, cursors, head, tally, zeros, whole, most)
            need -= full
            if shortcuts and need == 1 and weak == 0 and not of_clauses:
                used = _take_all(lists, slots, numbered, count, used, output)
                continue
            work[4] += count
            group, groups = group_offsets[index], group_offsets[index + 1]
            if group == groups:
                for slot in range(count):
                    order[slot] = (now[slot] << SLOT_BITS) | slot
                sort(order, count)
                ceiling = np.int64(size_offsets[index + 1])
                used = _search(lists, slots, numbered, order, counters, of_clauses, need, count, ceiling, used, output)
                continue
            own = 0
            for pair in range(event_offsets[event], event_offsets[event + 1]):
                while own < count and pair_of[own] < pair:
                    own += 1
                group = group_of(group_attributes, group, groups, event_attributes[pair])
                if group == groups:
                    break
                if group_attributes[group] != event_attributes[pair]:
                    continue
                low = np.int64(group_starts[group])
                high = np.int64(group_starts[group + 1] if group + 1 < groups else size_offsets[index + 1])
                agreeing, read = enter_group(lists, slots, order, pair_of, count, pair, own, full, need, low, high)
                work[4] += read
                used = _search(lists, slots, numbered, order, counters, False, need, agreeing, high, used, output)
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] += used


@bare_kernel
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
