"""Distinct predicates of the rules in a BE-Tree (6.1): numbering them, and the bitmap of their truth by value.

TODS 2013, 6.1: lazy evaluation, bitmaps, and their hybrid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.shared._verification_kernels import passes
from matchwood.engines.shared.constraints._record_kernels import FLAG_BITS, SEVERAL, record_at

EMPTY = -1
UNSEEN = -2
"""The bit of a predicate without one: it is better evaluated lazily; or the bitmap was made without it."""


@bare_kernel
def number_predicates(
    conjunctions: Any, units: Any, ids: Any, samples: Any, counts: Any, slots: Any, bits: Any, count: int
) -> Any:
    """Give each constraint of these units the number of its predicate, and count it; returns how many there are then,
    how many orphans were revived, and how many of these the bitmap was made without.

    A predicate's sample is the position of one constraint that says it. There must be room for all to be new.
    """
    leaves, revived, unseen, mask = conjunctions.leaves, 0, 0, np.uint64(len(slots) - 1)
    for unit in units:
        for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
            slot = mix64(np.uint64(leaves[position])) & mask
            while slots[slot] != EMPTY and leaves[samples[slots[slot]]] != leaves[position]:
                slot = (slot + np.uint64(1)) & mask
            if slots[slot] == EMPTY:
                slots[slot], samples[count], counts[count] = count, position, 0
                count += 1
            elif counts[slots[slot]] == 0:
                revived += 1
                unseen += bits[slots[slot]] == UNSEEN
            ids[position] = slots[slot]
            counts[slots[slot]] += 1
    return count, revived, unseen


@bare_kernel
def enter_predicates(conjunctions: Any, samples: Any, slots: Any) -> None:
    """Enter all predicates, which differ, into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for predicate in range(len(samples)):
        slot = mix64(np.uint64(conjunctions.leaves[samples[predicate]])) & mask
        while slots[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = predicate


@bare_kernel
def drop_predicates(conjunctions: Any, units: Any, ids: Any, counts: Any) -> Any:
    """Count the predicates of these units down; returns how many became orphans."""
    orphans = 0
    for unit in units:
        for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
            counts[ids[position]] -= 1
            orphans += counts[ids[position]] == 0
    return orphans


@bare_kernel
def count_edges(conjunctions: Any, samples: Any, order: Any) -> Any:
    """How many ends the intervals of these predicates have."""
    total = 0
    for predicate in order:
        at = record_at(conjunctions.leaves, samples[predicate])
        pieces = conjunctions.records[at + 2] - conjunctions.records[at + 1]
        total += 2 * pieces if conjunctions.records[at] & SEVERAL != 0 else 2
    return total


@bare_kernel
def collect_edges(conjunctions: Any, samples: Any, order: Any, edges: Any) -> None:
    """The ends of all intervals, each with its attribute in the upper half; damaged ones may be negative, and are
    not."""
    leaves, records, intervals, end = conjunctions.leaves, conjunctions.records, conjunctions.intervals, 0
    for predicate in order:
        at = record_at(leaves, samples[predicate])
        attribute = np.int64(records[at] >> FLAG_BITS) << 32
        low, high = records[at + 1], records[at + 2]
        if records[at] & SEVERAL == 0:
            edges[end], edges[end + 1] = attribute | max(0, low), attribute | max(0, high)
            end += 2
            continue
        for place in range(2 * low, 2 * high):
            edges[end] = attribute | max(0, intervals[place])
            end += 1


@bare_kernel
def fill_bitmap(conjunctions: Any, samples: Any, order: Any, bits: Any, bitmap: Any) -> None:
    """Evaluate every predicate of the bitmap for NULL, and for one value of each space of its attribute."""
    leaves, records, intervals = conjunctions.leaves, conjunctions.records, conjunctions.intervals
    for predicate in order:
        bit = bits[predicate]
        if bit < 0:
            continue
        at = record_at(leaves, samples[predicate])
        code, low, high = records[at], records[at + 1], records[at + 2]
        attribute = code >> FLAG_BITS
        first = bitmap.words[attribute]
        width, word, shift = bitmap.words[attribute + 1] - first, bit >> 6, np.uint64(bit & 63)
        if passes(code, low, high, np.int32(NULL_LABEL), intervals):
            bitmap.nulls[word] |= np.uint64(1) << shift
        row = bitmap.starts[attribute] + word - first
        for edge in range(bitmap.edge_offsets[attribute], bitmap.edge_offsets[attribute + 1]):
            if passes(code, low, high, bitmap.edges[edge], intervals):
                bitmap.rows[row] |= np.uint64(1) << shift
            row += width


@bare_kernel
def select_rows(events: Any, event: Any, bitmap: Any, result: Any) -> None:
    """Put the rows of an event's values into the result: the truth of every predicate of the bitmap (19)."""
    attributes = len(bitmap.starts)
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute, label = events.attributes[pair], events.labels[pair]
        if attribute >= attributes:
            continue
        first, last = bitmap.words[attribute], bitmap.words[attribute + 1]
        if first == last:
            continue
        low, high = bitmap.edge_offsets[attribute], bitmap.edge_offsets[attribute + 1]
        begin = low
        while high - low > 1:
            middle = (low + high) >> 1
            if bitmap.edges[middle] <= label:
                low = middle
            else:
                high = middle
        row = bitmap.starts[attribute] + (low - begin) * (last - first)
        for word in range(last - first):
            result[first + word] = bitmap.rows[row + word]


@bare_kernel
def restore_nulls(events: Any, event: Any, bitmap: Any, result: Any) -> None:
    """Undo `select_rows`: only what the event changed is reset."""
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute = events.attributes[pair]
        if attribute < len(bitmap.starts):
            for word in range(bitmap.words[attribute], bitmap.words[attribute + 1]):
                result[word] = bitmap.nulls[word]
