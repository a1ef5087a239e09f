"""Kernels of `Postings`: from constraints to dyadic blocks, from blocks to lists, from lists to units."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.encoding.spaces.dyadic import ancestor, count_blocks, fill_blocks, level_of
from matchwood.engines.shared._record_kernels import ACCEPTS_NULL, FLAG_BITS, SEVERAL, WIDTH

EMPTY = -1

MOST_COUNTED = 255
"""Constraints of a unit that are posted; a counter is one byte, and what is beyond is verified."""


@kernel
def key_of(attribute: Any, block: Any) -> Any:
    """A dyadic block of an attribute, given by its code, as one number."""
    return (np.uint64(attribute) << np.uint64(32)) | np.uint64(block)


@kernel
def slot_of(table: Any, keys: Any, key: Any) -> Any:
    """The slot that holds the list of a key, or the empty one where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = mix64(key) & mask
    while table[slot] != EMPTY and keys[table[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def count_postings(conjunctions: Any, units: Any, sizes: Any) -> None:
    """How many postings each unit has."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    for place in range(len(units)):
        unit = units[place]
        left, total = MOST_COUNTED, 0
        for position in range(offsets[unit], offsets[unit + 1]):
            at = WIDTH * position
            code, low, high = records[at], records[at + 1], records[at + 2]
            if code & ACCEPTS_NULL != 0 or left == 0:
                continue
            left -= 1
            if code & SEVERAL == 0:
                total += count_blocks(low, high)
                continue
            for interval in range(low, high):
                total += count_blocks(intervals[2 * interval], intervals[2 * interval + 1])
        sizes[place] = total


@kernel
def _unit_keys(offsets: Any, records: Any, intervals: Any, unit: int, blocks: Any, keys: Any) -> int:
    """The keys under which a unit is posted; `blocks` and `keys` have room for them."""
    left, used = MOST_COUNTED, 0
    for position in range(offsets[unit], offsets[unit + 1]):
        at = WIDTH * position
        code, low, high = records[at], records[at + 1], records[at + 2]
        if code & ACCEPTS_NULL != 0 or left == 0:
            continue
        left -= 1
        start = used
        if code & SEVERAL == 0:
            used = fill_blocks(low, high, blocks, used)
        else:
            for interval in range(low, high):
                used = fill_blocks(intervals[2 * interval], intervals[2 * interval + 1], blocks, used)
        for place in range(start, used):
            keys[place] = key_of(code >> FLAG_BITS, blocks[place])
    return used


@kernel
def write_keys(conjunctions: Any, units: Any, most: int, keys: Any, owners: Any) -> None:
    """All postings of these units as keys and the units that have them; no unit has more than `most`."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    blocks = np.empty(most, dtype=np.int64)
    used = 0
    for unit in units:
        count = _unit_keys(offsets, records, intervals, unit, blocks, keys[used:])
        owners[used : used + count] = unit
        used += count


@kernel
def assign_lists(
    conjunctions: Any, units: Any, sizes: Any, place: int, posting: int,
    table: Any, keys: Any, count: int, added: Any, levels_in_use: Any, lists: Any,
) -> tuple[int, int, int]:  # fmt: skip
    """Find or make the list of every posting, writing it to `lists`, and count what each list gains.

    Starts with the unit at `place`, whose first posting is `posting`, and stops before a unit for which the table, half
    full, or the arrays of lists could be too small; returns where, and the number of lists.
    """
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    most = 0
    for position in range(place, len(units)):
        most = max(most, sizes[position])
    blocks, wanted = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.uint64)
    room = min(len(table) // 2, len(keys))
    while place < len(units) and count + sizes[place] <= room:
        size = _unit_keys(offsets, records, intervals, units[place], blocks, wanted)
        for position in range(size):
            key = wanted[position]
            slot = slot_of(table, keys, key)
            if table[slot] == EMPTY:
                table[slot] = count
                keys[count] = key
                levels_in_use[key >> np.uint64(32)] |= np.uint32(1) << np.uint32(level_of(blocks[position]))
                count += 1
            found = table[slot]
            added[found] += 1
            lists[posting] = found
            posting += 1
        place += 1
    return place, posting, count


@kernel
def enter_keys(table: Any, keys: Any) -> None:
    """Enter all keys, which differ, into an empty table."""
    for place in range(len(keys)):
        table[slot_of(table, keys, keys[place])] = place


@kernel
def room_for(count: int, gain: int) -> int:
    """Room for a list: just what a new one needs, the next power of two for one that grows."""
    if count == 0:
        return gain
    room = 1
    while room < count + gain:
        room *= 2
    return room


@bare_kernel
def plan_room(lists: Any, counts: Any, capacities: Any, added: Any) -> int:
    """How much room the lists need that must move to the end; marks them by a negative gain."""
    total = 0
    for found in lists:
        if added[found] > 0 and counts[found] + added[found] > capacities[found]:
            total += room_for(counts[found], added[found])
            added[found] = -added[found]
    return total


@kernel
def append_units(
    units: Any, sizes: Any, lists: Any, starts: Any, counts: Any, capacities: Any, added: Any, pool: Any, used: int
) -> int:
    """Append each unit to its lists, moving those that need room; leaves `added` zero; returns the end of the pool."""
    posting = 0
    for place in range(len(units)):
        for _ in range(sizes[place]):
            found = lists[posting]
            posting += 1
            start, count = starts[found], counts[found]
            if added[found] < 0:
                capacities[found] = room_for(count, -added[found])
                for offset in range(count):
                    pool[used + offset] = pool[start + offset]
                start = starts[found] = used
                used += capacities[found]
            added[found] = 0
            pool[start + count] = units[place]
            counts[found] = count + 1
    return used


@kernel
def probe(lists: Any, events: Any, event: int, starts: Any, stops: Any) -> tuple[int, int]:
    """The stretches of the pool that an event's labels select; returns how many, and their total length."""
    table, keys, levels = lists.table, lists.keys, lists.levels
    list_starts, list_counts = lists.starts, lists.counts
    found, total = 0, 0
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute, label = events.attributes[pair], events.labels[pair]
        left = levels[attribute] if attribute < len(levels) else np.uint32(0)
        level = 0
        while left != 0:
            if left & np.uint32(1) != 0:
                place = table[slot_of(table, keys, key_of(attribute, ancestor(label, level)))]
                if place != EMPTY and found < len(starts):
                    starts[found] = list_starts[place]
                    stops[found] = list_starts[place] + list_counts[place]
                    total += list_counts[place]
                    found += 1
            left >>= np.uint32(1)
            level += 1
    return found, total
