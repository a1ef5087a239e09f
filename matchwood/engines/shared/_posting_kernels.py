"""Kernels of `Postings`: from constraints to dyadic blocks, from blocks to lists, from lists to units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.encoding.spaces.dyadic import ancestor, fill_blocks, level_of
from matchwood.engines.shared._access_kernels import block_count
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    body,
    code_at,
    constraint_at,
    mixed,
    piece_at,
    pieces_of,
    stretch,
)

EMPTY = -1

MOST_COUNTED = 255
"""Constraints of a unit that are posted; a counter is one byte, and what is beyond is verified."""

UNPOSTED = -1

NEVER_POSTED = -1
"""In the place of a count: NULL passes the constraint, so that lists do not tell whom it holds of."""


class MetConstraints(NamedTuple):
    """Constraints that were met, each where a hash of its word says: the conjunctions of a rule have the same ones
    again and again, and so have rules. A later one takes the place of an earlier one.

    `words`    as the store has them; UNKNOWN where there is none yet
    `counts`   how many postings each has
    `numbers`  its number among `PostedConstraints`, or UNPOSTED
    """

    words: NDArray[np.uint32]
    counts: NDArray[np.int32]
    numbers: NDArray[np.int32]


class PostedConstraints(NamedTuple):
    """The constraints of some units, and the lists of each, once for all that have it; nearly: what lost its place
    among those met gets another number.

    `sizes`    how many constraints of each unit are posted, at most MOST_COUNTED
    `numbers`  those of all units, one after the other
    `ends`     constraint n has lists[ends[n] : ends[n + 1]]
    `uses`     how many units have it
    """

    sizes: NDArray[np.uint8]
    numbers: NDArray[np.int32]
    ends: NDArray[np.int64]
    lists: NDArray[np.int32]
    uses: NDArray[np.int32]


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


@bare_kernel
def _slot_of_constraint(word: Any, met: MetConstraints) -> Any:
    """Where a constraint stands if it was met."""
    return mixed(word) & np.uint64(len(met.counts) - 1)


@bare_kernel
def _meet(slot: Any, word: Any, count: Any, number: Any, met: MetConstraints) -> None:
    met.words[slot], met.counts[slot], met.numbers[slot] = word, count, number


@bare_kernel
def count_postings(conjunctions: Any, units: Any, met: MetConstraints, sizes: Any) -> None:
    """How many postings each unit has."""
    places, words, sets, bits = conjunctions
    for place in range(len(units)):
        first, last = stretch(places, words, units[place])
        left, total = MOST_COUNTED, 0
        for position in range(first, last):
            word = body(words[position])
            slot = _slot_of_constraint(word, met)
            if met.words[slot] != word:
                code, low, high = constraint_at(words, sets, bits, position)
                met_blocks = NEVER_POSTED if code & ACCEPTS_NULL != 0 else block_count(sets, code, low, high)
                _meet(slot, word, met_blocks, UNPOSTED, met)
            if met.counts[slot] == NEVER_POSTED or left == 0:
                continue
            left -= 1
            total += met.counts[slot]
        sizes[place] = total


@bare_kernel
def _fill_keys(sets: Any, code: Any, low: Any, high: Any, blocks: Any, keys: Any, used: int) -> int:
    """Write the keys under which a constraint is posted behind `used`, in both arrays; returns where they end."""
    end = used
    for number in range(pieces_of(code, high)):
        start, stop = piece_at(sets, code, low, high, number)
        end = fill_blocks(start, stop, blocks, end)
    for place in range(used, end):
        keys[place] = key_of(code >> FLAG_BITS, blocks[place])
    return end


@kernel
def write_keys(conjunctions: Any, units: Any, most: int, keys: Any, owners: Any) -> None:
    """All postings of these units as keys and the units that have them; no unit has more than `most`."""
    places, words, sets, bits = conjunctions
    blocks = np.empty(most, dtype=np.int64)
    used = 0
    for unit in units:
        left, count = MOST_COUNTED, 0
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            code, low, high = constraint_at(words, sets, bits, position)
            if code & ACCEPTS_NULL == 0 and left > 0:
                left -= 1
                count = _fill_keys(sets, code, low, high, blocks, keys[used:], count)
        owners[used : used + count] = unit
        used += count


@kernel
def assign_lists(
    conjunctions: Any, units: Any, sizes: Any, progress: Any, met: MetConstraints, posted: PostedConstraints,
    table: Any, keys: Any, levels_in_use: Any,
) -> None:  # fmt: skip
    """Find or make the lists of each constraint of the units.

    `progress` holds the next unit, how many constraints of units were posted and how many have numbers, and the number
    of lists. It stops before a unit for which the table, half full, or the arrays of lists could be too small.
    """
    places, words, sets, bits = conjunctions
    place, position, number, count = progress
    lists, end = posted.lists, posted.ends[number]
    most = 0
    for later in range(place, len(units)):
        most = max(most, sizes[later])
    blocks, wanted = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.uint64)
    room = min(len(table) // 2, len(keys))
    while place < len(units) and count + sizes[place] <= room:
        before = position
        first, last = stretch(places, words, units[place])
        for constraint in range(first, last):
            accepts_null = code_at(words, sets, bits, constraint) & ACCEPTS_NULL != 0
            if accepts_null or position - before == MOST_COUNTED:
                continue
            word = body(words[constraint])
            slot = _slot_of_constraint(word, met)
            if met.words[slot] != word or met.numbers[slot] == UNPOSTED:
                code, low, high = constraint_at(words, sets, bits, constraint)
                size = _fill_keys(sets, code, low, high, blocks, wanted, 0)
                for step in range(size):
                    key = wanted[step]
                    entry = slot_of(table, keys, key)
                    if table[entry] == EMPTY:
                        table[entry] = count
                        keys[count] = key
                        levels_in_use[key >> np.uint64(32)] |= np.uint32(1) << np.uint32(level_of(blocks[step]))
                        count += 1
                    lists[end] = table[entry]
                    end += 1
                _meet(slot, word, size, number, met)
                posted.uses[number] = 0
                number += 1
                posted.ends[number] = end
            found = met.numbers[slot]
            posted.uses[found] += 1
            posted.numbers[position] = found
            position += 1
        posted.sizes[place] = position - before
        place += 1
    progress[0], progress[1], progress[2], progress[3] = place, position, number, count


@bare_kernel
def count_gains(posted: PostedConstraints, added: Any) -> None:
    """How many units each list gains."""
    for number in range(len(posted.uses)):
        for found in posted.lists[posted.ends[number] : posted.ends[number + 1]]:
            added[found] += posted.uses[number]


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


@bare_kernel
def _make_room(lists: Any, starts: Any, counts: Any, capacities: Any, added: Any, pool: Any, used: int) -> int:
    """Move the lists that need room, and let `starts` tell where what they gain begins; returns the end of the pool.

    Each has its new count then, and its gain stands below zero.
    """
    for found in lists:
        if added[found] < 0:
            start, count = starts[found], counts[found]
            capacities[found] = room_for(count, -added[found])
            for offset in range(count):
                pool[used + offset] = pool[start + offset]
            starts[found], added[found] = used, -added[found]
            used += capacities[found]
    for found in lists:
        if added[found] > 0:
            starts[found] += counts[found]
            counts[found] += added[found]
            added[found] = -added[found]
    return used


@kernel
def append_units(
    units: Any, posted: PostedConstraints, starts: Any, counts: Any, capacities: Any, added: Any, pool: Any, used: int
) -> int:
    """Append each unit to its lists, moving those that need room; leaves `added` zero; returns the end of the pool."""
    lists, ends, position = posted.lists, posted.ends, 0
    used = _make_room(lists, starts, counts, capacities, added, pool, used)
    for place in range(len(units)):
        for _ in range(posted.sizes[place]):
            number = posted.numbers[position]
            position += 1
            for posting in range(ends[number], ends[number + 1]):
                found = lists[posting]
                pool[starts[found]] = units[place]
                starts[found] += 1
    for found in lists:
        if added[found] < 0:
            starts[found] -= counts[found]
            added[found] = 0
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
