"""Kernels that match by unions: the rows of an event, which of them to take, what they leave.

OEM (Computer Networks 2024): the units that fail are the `or` of a few bitsets, whatever their number. Which bitsets
are worth it, and verifying the rest, are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import bit_count, lowest_bit
from matchwood.core.jit import kernel
from matchwood.core.prefetch import prefetch
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.shared._verification_kernels import verify
from matchwood.engines.shared.unions._build_kernels import ENTRY, cell_of

WORD, ENTRY_COST, VERIFY, HIT = 0.25, 1.0, 25.0, 1.5
"""Nanoseconds for a word of a row, for an entry, for verifying a unit, and for listing one."""

ROWS_OF_A_PAIR = 6
"""Rows of missing attributes that lie before each pair of an event, where there are many attributes: the logarithm of
how many, roughly."""

_SURELY = 1.3
"""What is missed without unions counts if the other way should take so many times as long: estimates err."""

FETCHED = 256
"""Candidates whose constraints are fetched before they are verified."""


@kernel
def _add_row(unions: Any, row: Any, label: Any, scratch: Any, count: int) -> int:
    """Insert a row by how many units fail there, the most first; one without any is left out."""
    fails = unions.fails[row]
    if fails == 0 and unions.entry_starts[row] == unions.entry_starts[row + 1]:
        return count
    rows, labels, place = scratch.rows, scratch.labels, count
    while place > 0 and unions.fails[rows[place - 1]] < fails:
        rows[place], labels[place] = rows[place - 1], labels[place - 1]
        place -= 1
    rows[place], labels[place] = row, label
    return count + 1


@kernel
def _add_missing(unions: Any, start: int, stop: int, scratch: Any, count: int) -> int:
    """The nodes of the tree that together tell the attributes start : stop, none of which the event has."""
    attributes = len(unions.attributes)
    tree = unions.firsts[attributes]
    low, high = start + attributes, stop + attributes
    while low < high:
        if low & 1:
            count = _add_row(unions, tree + low, NULL_LABEL, scratch, count)
            low += 1
        if high & 1:
            high -= 1
            count = _add_row(unions, tree + high, NULL_LABEL, scratch, count)
        low >>= 1
        high >>= 1
    return count


@kernel
def rows_of(unions: Any, labels: Any, scratch: Any) -> Any:
    """The rows whose units fail for an event, and those of its cells; returns how many there are, and about how many
    constraints that NULL fails hold."""
    attributes, count, missing, holding = unions.attributes, 0, 0, 0
    leaves = unions.firsts[len(attributes)] + len(attributes)
    for place in range(len(attributes)):
        label = labels[attributes[place]]
        if label != NULL_LABEL:
            if missing < place:
                count = _add_missing(unions, missing, place, scratch, count)
            missing = place + 1
            cell = cell_of(unions.edges, unions.edge_firsts[place], unions.edge_firsts[place + 1], label)
            row = unions.firsts[place] + cell
            holding += max(0, unions.fails[leaves + place] - unions.fails[row])
            count = _add_row(unions, row, label, scratch, count)
    return _add_missing(unions, missing, len(attributes), scratch, count), holding


@kernel
def _row_cost(unions: Any, size: Any, row: Any) -> Any:
    return WORD * size.words + ENTRY_COST * (unions.entry_starts[row + 1] - unions.entry_starts[row])


@kernel
def plan_union(unions: Any, size: Any, count: int, scratch: Any) -> Any:
    """How many of an event's rows to take before what they leave is verified, what that should cost, and what it costs
    to take them all. As if attributes excluded units independently of each other; `unite` corrects that."""
    total, left, fresh = 0.0, float(size.units), VERIFY * len(unions.fresh)
    best, least = 0, VERIFY * left
    for place in range(count):
        row = scratch.rows[place]
        total += _row_cost(unions, size, row)
        left *= 1.0 - unions.fails[row] / max(1, size.units)
        if total + VERIFY * left < least:
            best, least = place + 1, total + VERIFY * left
    whole = total + VERIFY * left * size.loose / max(1, size.units)
    if whole <= least:
        best, least = count, whole
    return best, least + fresh, whole + fresh


@kernel
def prospect(size: Any, pairs: Any) -> Any:
    """What taking all rows should cost for an event of so many pairs, if there were unions."""
    words = WORD * size.words * min(size.attributes, ROWS_OF_A_PAIR * (pairs + 1))
    return words + ENTRY_COST * size.entries * min(size.attributes, pairs)


@kernel
def note_missed(size: Any, unions: Any, pairs: Any, taken: Any, scratch: Any) -> Any:
    """Note what an event that took so many nanoseconds could have saved by unions, or by newer ones; whether that is
    worth building them by now."""
    if size.ready and len(unions.fresh) == 0:
        return False
    spared = taken - prospect(size, pairs)
    if size.attributes > 0 and taken > _SURELY * (taken - spared):
        scratch.missed[0] += spared
    return scratch.missed[0] > size.limit


@kernel
def _exclude(left: Any, row: Any) -> None:
    for word in range(len(row)):
        left[word] &= ~row[word]


@kernel
def _exclude_two(left: Any, one: Any, other: Any) -> None:
    for word in range(len(one)):
        left[word] &= ~(one[word] | other[word])


@kernel
def _exclude_entries(entries: Any, start: Any, stop: Any, label: Any, left: Any) -> None:
    """Clear the bits of the units whose entries say that they fail for a label."""
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    for at in range(np.uint64(ENTRY * start), np.uint64(ENTRY * stop), np.uint64(ENTRY)):
        low, high = entries[at + one], entries[at + np.uint64(2)]
        fails = np.uint64(np.uint32(label - low) < np.uint32(high - low))
        unit = np.uint64(np.uint32(entries[at]))
        left[unit >> six] &= ~(fails << (unit & low_bits))


@kernel
def _take(unions: Any, words: int, start: int, stop: int, scratch: Any) -> None:
    """Exclude what the rows start : stop of an event exclude, two at a time."""
    bits, rows, left = unions.bits, scratch.rows, scratch.left
    place = start
    while place < stop:
        one = rows[place] * words
        if place + 1 < stop:
            other = rows[place + 1] * words
            _exclude_two(left, bits[one : one + words], bits[other : other + words])
        else:
            _exclude(left, bits[one : one + words])
        place += 2
    for place in range(start, stop):
        row = rows[place]
        _exclude_entries(
            unions.entries, unions.entry_starts[row], unions.entry_starts[row + 1], scratch.labels[place], left
        )


@kernel
def _left(left: Any, words: int) -> Any:
    count = np.int64(0)
    for word in range(words):
        count += bit_count(left[word])
    return count


@kernel
def list_bits(mask: Any, words: int, units: Any, used: Any) -> Any:
    """Write the units whose bits are set behind `used`; returns the new end. Nothing is written beyond the room."""
    end, room, one = np.uint64(used), np.uint64(len(units)), np.uint64(1)
    for word in range(np.uint64(words)):
        left = mask[word]
        base = word << np.uint64(6)
        while left != 0 and end < room:
            units[end] = np.int32(base + np.uint64(lowest_bit(left)))
            end += one
            left &= left - one
    return np.int64(end)


@kernel
def fetch_words(places: Any, words: Any, units: Any, start: int, stop: int) -> None:
    """Ask for the constraints of candidates, so that their cache misses overlap."""
    for place in range(start, stop):
        prefetch(places, np.int64(np.uint32(units[place])))
    for place in range(start, stop):
        prefetch(words, np.int64(places[np.uint32(units[place])]))


@kernel
def _verified(conjunctions: Any, units: Any, used: int, stop: int, labels: Any) -> int:
    """Keep those of the units used : stop that hold, from `used` on; returns the new end."""
    places, words, sets, bits = conjunctions
    for start in range(used, stop, FETCHED):
        end = min(start + FETCHED, stop)
        fetch_words(places, words, units, start, end)
        for place in range(start, end):
            unit = units[place]
            units[used] = unit
            used += verify(places, words, sets, bits, np.uint64(np.uint32(unit)), labels)
    return used


@kernel
def _verify_loose(conjunctions: Any, loose: Any, units: Any, used: int, stop: int, labels: Any, work: Any) -> int:
    """The same where only the units whose bit in `loose` is set have more to hold."""
    places, words_of, sets, rank_bits = conjunctions
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    for place in range(used, stop):
        unit = np.uint64(np.uint32(units[place]))
        if (loose[unit >> six] >> (unit & low_bits)) & one != 0:
            work[2] += 1
            if not verify(places, words_of, sets, rank_bits, unit, labels):
                continue
        units[used] = np.int32(unit)
        used += 1
    return used


@kernel
def unite(
    conjunctions: Any, unions: Any, size: Any, count: int, taken: int, labels: Any, scratch: Any, output: Any, used: int
) -> Any:
    """Write the hits of an event behind `used`, of whose `count` rows `taken` should be enough; returns the new end.

    If they leave so many that taking the others costs less than verifying, the others are taken as well.
    """
    units, work, words, left = output.units, output.work, size.words, scratch.left
    for word in range(words):
        left[word] = unions.base[word]
    _take(unions, words, 0, taken, scratch)
    if taken < count:
        others = 0.0
        for place in range(taken, count):
            others += _row_cost(unions, size, scratch.rows[place])
        if VERIFY * _left(left, words) > others:
            _take(unions, words, taken, count, scratch)
            taken = count
    end = list_bits(left, words, units, used)
    work[1] += end - used
    if taken < count:
        work[2] += end - used
        end = _verified(conjunctions, units, used, end, labels)
    elif size.loose > 0:
        end = _verify_loose(conjunctions, unions.loose, units, used, end, labels, work)
    places, words_of, sets, rank_bits = conjunctions
    for unit in unions.fresh:
        work[1] += 1
        work[2] += 1
        if end < len(units) and verify(places, words_of, sets, rank_bits, unit, labels):
            units[end] = unit
            end += 1
    return end
