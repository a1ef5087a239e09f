"""Kernels of `ConjunctionStore`: conjunctions as stretches of words, each distinct one once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core._sorting_kernels import order_by
from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.shared.constraints._set_kernels import hash_set, is_wide, same_set, set_end
from matchwood.engines.shared.constraints._slot_kernels import (
    EMPTY,
    TOMBSTONE,
    bury,
    enter,
    first_slot,
    has_tag,
    next_slot,
    number_in,
    slot_for,
)
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    ALTERNATIVE,
    FLAG_BITS,
    LAST,
    NOWHERE,
    SET,
    UNKNOWN,
    attribute_of,
    body,
    constraint_at,
    has,
    hash_words,
    mixed,
    piece_at,
    pieces_of,
    same_words,
    set_of,
    stretch,
    write_constraint,
)

HASHED = 32
"""Conjunctions, or sets, that are hashed one after the other before they are looked up: a hash is a chain of products,
of which a processor follows several at a time, and slots are asked for before their turn."""

_MOST_INSERTED = 32


class IncomingRows(NamedTuple):
    """Conjunctions that are to be stored: the i-th has leaf_of[offsets[i] : offsets[i + 1]], numbers of their own.

    `found`   for each of these numbers its word
    `hashes`  of the next HASHED conjunctions
    """

    offsets: NDArray[np.int64]
    leaf_of: NDArray[np.int32]
    found: NDArray[np.uint32]
    hashes: NDArray[np.uint64]


class GrowingStore(NamedTuple):
    """What conjunctions are added to, with room for them: the arrays of `ConjunctionStore` by their names."""

    places: NDArray[np.int32]
    words: NDArray[np.uint32]
    slots: NDArray[np.uint32]


class GrowingSets(NamedTuple):
    """What sets are added to, likewise."""

    sets: NDArray[np.uint16]
    set_slots: NDArray[np.uint32]


@bare_kernel
def _set_like(sets: Any, slots: Any, bits: Any, hashed: Any, at: Any, size: Any) -> Any:
    """Where the set begins that says the same as the one at `at`, or -1 - the slot where it belongs."""
    place, wanted = first_slot(slots, hashed), slot_for(hashed, 0, bits)
    while slots[place] != np.uint32(EMPTY):
        if has_tag(slots[place], wanted, bits) and same_set(sets, number_in(slots[place], bits), at, size):
            return number_in(slots[place], bits)
        place = next_slot(slots, place)
    return -1 - np.int64(place)


@bare_kernel
def find_words(
    source: Any, leaf_of: Any, place: int, limits: Any, bits: int, growing: GrowingSets, used: Any, found: Any
) -> int:
    """The word of each constraint that leaf_of[place:] names, with sets for those that need one; returns the first
    place not done.

    Sets come in the order in which conjunctions name them, so that those that few share lie side by side. One is
    written behind the last, looked up there, and kept only if it is new. `limits` holds how many sets the table takes,
    before which it stops, and of how many bits their numbers are; `used` the end of the sets, how many there are, and
    how many of them are wide.
    `found` has UNKNOWN for each constraint that was not met yet.
    """
    sets, slots, most, number_bits = growing.sets, growing.set_slots, limits[0], limits[1]
    for position in range(place, len(leaf_of)):
        constraint = leaf_of[position]
        if found[constraint] != np.uint32(UNKNOWN):
            continue
        if used[1] >= most or used[0] >> number_bits != 0:
            return position
        word, end = write_constraint(
            source.attributes[constraint], source.accepts_null[constraint], source.low, source.high,
            source.pieces[constraint], source.pieces[constraint + 1], bits, sets, used[0],
        )  # fmt: skip
        if has(word, SET):
            at, size = used[0], end - used[0]
            hashed = hash_set(sets, at, end)
            known = _set_like(sets, slots, number_bits, hashed, at, size)
            if known < 0:
                slots[-1 - known] = slot_for(hashed, at, number_bits)
                used[0], used[1], used[2] = end, used[1] + 1, used[2] + is_wide(sets[at])
            else:
                word = np.uint32(SET) | np.uint32(known)
        if len(source.alternatives) > 0 and source.alternatives[constraint]:
            word |= np.uint32(ALTERNATIVE)
        found[constraint] = word
    return len(leaf_of)


@bare_kernel
def write_each(source: Any, bits: int, words: Any, sets: Any) -> Any:
    """Write each constraint of `source` as a conjunction of its own, with a set of its own if it needs one, equal or
    not; returns where the sets end."""
    used = np.int64(0)
    for constraint in range(len(words)):
        word, used = write_constraint(
            source.attributes[constraint], source.accepts_null[constraint], source.low, source.high,
            source.pieces[constraint], source.pieces[constraint + 1], bits, sets, used,
        )  # fmt: skip
        words[constraint] = word | np.uint32(LAST)
    return used


@bare_kernel
def enter_sets(sets: Any, end: Any, slots: Any, bits: Any) -> int:
    """Enter all sets, which differ, into an empty table; returns how many they are."""
    at, count = np.int64(0), 0
    while at < end:
        behind = set_end(sets, at)
        enter(slots, hash_set(sets, at, behind), at, bits)
        at, count = behind, count + 1
    return count


@bare_kernel
def look_up(slots: Any, bits: Any, hashed: Any, places: Any, words: Any, first: Any, ordered: bool) -> Any:
    """The slot of the unit that has the same constraints as the conjunction that begins at `first`, or the free slot
    where it belongs, as -1 - slot."""
    place, wanted, free = first_slot(slots, hashed), slot_for(hashed, 0, bits), np.int64(-1)
    while slots[place] != np.uint32(EMPTY):
        if has_tag(slots[place], wanted, bits):
            if same_words(words, first, np.int64(places[number_in(slots[place], bits)]), ordered):
                return np.int64(place)
        elif slots[place] == np.uint32(TOMBSTONE) and free < 0:
            free = np.int64(place)
        place = next_slot(slots, place)
    return -1 - (free if free >= 0 else np.int64(place))


@bare_kernel
def _hash_rows(source: IncomingRows, place: int, slots: Any) -> None:
    """Hash some conjunctions from `place` on, as `hash_words` does."""
    for conjunction in range(place, min(place + HASHED, len(source.offsets) - 1)):
        total = np.uint64(0)
        for constraint in range(source.offsets[conjunction], source.offsets[conjunction + 1]):
            total += mixed(source.found[source.leaf_of[constraint]])
        hashed = mix64(total)
        source.hashes[conjunction - place] = hashed
        prefetch(slots, np.int64(first_slot(slots, hashed)))


@bare_kernel
def write_row(source: IncomingRows, conjunction: Any, words: Any, at: Any) -> Any:
    """Write the words of a conjunction from `at` on; returns where they begin, if there are any, and their end."""
    end = np.int64(at)
    for constraint in range(source.offsets[conjunction], source.offsets[conjunction + 1]):
        words[end] = body(source.found[source.leaf_of[constraint]])
        end += 1
    if end == at:
        return np.int64(NOWHERE), end
    words[end - 1] |= np.uint32(LAST)
    return np.int64(at), end


@bare_kernel
def add_all(
    source: IncomingRows, begin: int, store: GrowingStore, held: Any, most: int, bits: int, ordered: bool, used: Any,
    units: Any, is_new: Any,
) -> int:  # fmt: skip
    """Find or append each conjunction of `source` from `begin` on, counting one use; returns the first not done.

    A conjunction is written behind the last one, looked up there, and kept only if it is new. `held` counts uses from
    one on, up to `most`: it stops before a unit that has so many. `used` holds the number of units and of words, and
    how many tombstones were taken over.
    """
    places, words, slots, hashed = store.places, store.words, store.slots, begin
    for conjunction in range(begin, len(source.offsets) - 1):
        if conjunction == hashed:
            _hash_rows(source, conjunction, slots)
            hashed += HASHED
        first, end = write_row(source, conjunction, words, used[1])
        hashed_to = source.hashes[conjunction + HASHED - hashed]
        slot = look_up(slots, bits, hashed_to, places, words, first, ordered)
        is_new[conjunction] = slot < 0
        if slot < 0:
            unit = used[0]
            used[2] += slots[-1 - slot] == np.uint32(TOMBSTONE)
            slots[-1 - slot] = slot_for(hashed_to, unit, bits)
            places[unit], held[unit] = first, 1
            used[0], used[1] = unit + 1, end
        else:
            unit = number_in(slots[slot], bits)
            if held[unit] == most:
                return conjunction
        held[unit] += 1
        units[conjunction] = unit
    return len(source.offsets) - 1


@bare_kernel
def write_rows(source: IncomingRows, places: Any, words: Any, begin: int) -> None:
    """Write all conjunctions of `source` one after the other from `begin` on, equal or not."""
    end = np.int64(begin)
    for conjunction in range(len(source.offsets) - 1):
        places[conjunction], end = write_row(source, conjunction, words, end)


@bare_kernel
def enter_units(slots: Any, bits: int, places: Any, words: Any, held: Any, hashes: Any) -> None:
    """Enter all live units, which differ, into an empty table; as many at a time as `hashes` has room for."""
    for first in range(0, len(held), len(hashes)):
        last = min(first + len(hashes), len(held))
        for unit in range(first, last):
            hashed = hash_words(words, np.int64(places[unit]))
            hashes[unit - first] = hashed
            prefetch(slots, np.int64(first_slot(slots, hashed)))
        for unit in range(first, last):
            if held[unit] != 0:
                enter(slots, hashes[unit - first], unit, bits)


@bare_kernel
def bury_units(slots: Any, bits: int, places: Any, words: Any, units: Any) -> None:
    """Put a tombstone in the slot of each unit; units that are not in the table are passed over."""
    for unit in units:
        bury(slots, hash_words(words, np.int64(places[unit])), unit, bits)


@bare_kernel
def find_units(slots: Any, bits: int, places: Any, words: Any, ordered: bool, units: Any, found: Any) -> None:
    """Which unit the table finds for the contents of each of `units`; -1 for none."""
    for place in range(len(units)):
        first = np.int64(places[units[place]])
        slot = look_up(slots, bits, hash_words(words, first), places, words, first, ordered)
        found[place] = number_in(slots[slot], bits) if slot >= 0 else -1


@bare_kernel
def count_lost_sets(sets: Any, slots: Any, bits: int) -> int:
    """How many sets the table does not find by what they say."""
    at, lost = np.int64(0), 0
    while at < len(sets):
        end = set_end(sets, at)
        lost += _set_like(sets, slots, bits, hash_set(sets, at, end), at, end - at) != at
        at = end
    return lost


@bare_kernel
def count_constraints(places: Any, words: Any, units: Any, counts: Any) -> None:
    """How many constraints each of these units has."""
    for place in range(len(units)):
        first, last = stretch(places, words, units[place])
        counts[place] = last - first


@bare_kernel
def count_pieces(places: Any, words: Any, sets: Any, bits: int, units: Any) -> int:
    """The number of intervals of all these units."""
    total = 0
    for unit in units:
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            code, _, high = constraint_at(words, sets, bits, position)
            total += pieces_of(code, high)
    return total


@bare_kernel
def _by_attribute(words: Any, sets: Any, bits: int, first: Any, count: Any, attributes: Any, order: Any) -> None:
    """The order of a conjunction's constraints by their attributes."""
    for place in range(count):
        attributes[place] = attribute_of(words, sets, bits, first + place)
    if count > _MOST_INSERTED:
        order_by(attributes, order[:0], 0, count, order)
        return
    for place in range(count):
        back = place
        while back > 0 and attributes[order[back - 1]] > attributes[place]:
            order[back] = order[back - 1]
            back -= 1
        order[back] = place


@bare_kernel
def unpack_all(
    places: Any, words: Any, sets: Any, bits: int, units: Any, ordered: bool, attributes: Any, order: Any, target: Any
) -> None:  # fmt: skip
    """Write the conjunctions of `units` into `target`, whose arrays have just the room: their constraints by attribute
    or, if they are `ordered`, as they stand. The two arrays before have room for the constraints of each."""
    constraint, piece = 0, 0
    for place in range(len(units)):
        first, last = stretch(places, words, units[place])
        if not ordered:
            _by_attribute(words, sets, bits, first, last - first, attributes, order)
        for step in range(last - first):
            position = first + (step if ordered else order[step])
            code, low, high = constraint_at(words, sets, bits, position)
            target.attributes[constraint] = code >> FLAG_BITS
            target.accepts_null[constraint] = code & ACCEPTS_NULL != 0
            if len(target.alternatives) > 0:
                target.alternatives[constraint] = has(words[position], ALTERNATIVE)
            for number in range(pieces_of(code, high)):
                target.low[piece], target.high[piece] = piece_at(sets, code, low, high, number)
                piece += 1
            constraint += 1
            target.pieces[constraint] = piece
        target.offsets[place + 1] = constraint


@bare_kernel
def reorder(places: Any, words: Any, units: Any, starts: Any, order: Any, moving: Any) -> None:
    """Put the constraints of each of these units in another order: those at the positions order[starts[i]:] of its own.

    `moving` has room for the constraints of each.
    """
    for place in range(len(units)):
        first, last = stretch(places, words, units[place])
        count, start = last - first, starts[place]
        for step in range(count):
            moving[step] = body(words[first + order[start + step]])
        for step in range(count):
            words[first + step] = moving[step]
        if count > 0:
            words[last - 1] |= np.uint32(LAST)


@bare_kernel
def _move_set(sets: Any, at: Any, moved: Any, target: Any, end: Any) -> Any:
    """Copy a set behind the others if it was not yet; returns the new end."""
    if moved[at] >= 0:
        return end
    moved[at] = end
    for place in range(at, set_end(sets, at)):
        target[end] = sets[place]
        end += 1
    return end


@bare_kernel
def lay_out(
    store: Any, units: Any, given: Any, new_places: Any, new_words: Any, new_sets: Any, moved: Any
) -> None:  # fmt: skip
    """Write the words of `units` one after the other, and then those of all others, and sets in the order in which
    these name them, and then those that none does.

    `given` and `moved` have -1 for each unit and for each number of the sets.
    """
    places, words, sets = store.places, store.words, store.sets
    end, set_stop, listed = np.int64(0), np.int64(0), len(units)
    for turn in range(listed + len(places)):
        unit = np.int64(units[turn]) if turn < listed else np.int64(turn - listed)
        if given[unit] >= 0:
            continue
        given[unit] = 1
        first, last = stretch(places, words, unit)
        new_places[unit] = end if last > first else np.int64(NOWHERE)
        for position in range(first, last):
            word = words[position]
            if has(word, SET):
                at = set_of(word)
                set_stop = _move_set(sets, at, moved, new_sets, set_stop)
                word = word & np.uint32(LAST | ALTERNATIVE | SET) | np.uint32(moved[at])
            new_words[end] = word
            end += 1
    at = np.int64(0)
    while at < len(sets):
        behind = set_end(sets, at)
        set_stop = _move_set(sets, at, moved, new_sets, set_stop)
        at = behind


@bare_kernel
def words_are_safe(words: Any, bits: int, begins: Any, attributes: Any, clauses: bool) -> bool:
    """Whether every word names an attribute or a set that there is, and the last one ends a conjunction."""
    mask = (np.int64(1) << bits) - 1
    for position in range(len(words)):
        word = words[position]
        if has(word, ALTERNATIVE) and not clauses:
            return False
        if has(word, SET):
            if set_of(word) >= len(begins) or not begins[set_of(word)]:
                return False
            continue
        payload = np.int64(body(word))
        payload = payload & ~np.int64(ALTERNATIVE)
        if payload >> (2 * bits) >= attributes or (payload & mask) + ((payload >> bits) & mask) > mask:
            return False
    return len(words) == 0 or has(words[len(words) - 1], LAST)


@bare_kernel
def places_are_safe(places: Any, words: Any, taken: Any) -> bool:
    """Whether each place, which is one of a word, is where a conjunction begins, and no two are the same; `taken` has
    False for each word."""
    for unit in range(len(places)):
        first = np.int64(places[unit])
        if first >= 0:
            if taken[first] or (first > 0 and not has(words[first - 1], LAST)):
                return False
            taken[first] = True
    return True


@bare_kernel
def highest_attribute(words: Any, sets: Any, bits: int) -> Any:
    """The largest attribute of any word; -1 if there is none."""
    highest = np.int64(-1)
    for position in range(len(words)):
        highest = max(highest, np.int64(attribute_of(words, sets, bits, position)))
    return highest
