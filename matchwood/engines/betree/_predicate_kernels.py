"""Distinct predicates of the rules in a BE-Tree (6.1): numbering them, and the bitmap of their truth by value.

TODS 2013, 6.1: lazy evaluation, bitmaps, and their hybrid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    attribute_of,
    body,
    constraint_at,
    mixed,
    piece_at,
    pieces_of,
    stretch,
)

EMPTY = -1
UNSEEN = -2
"""The bit of a predicate without one: it is better evaluated lazily; or the bitmap was made without it."""


@bare_kernel
def attributes_of(words: Any, sets: Any, bits: int, attributes: Any) -> None:
    """The attribute of each of these words."""
    for position in range(len(words)):
        attributes[position] = attribute_of(words, sets, bits, position)


@bare_kernel
def number_predicates(
    conjunctions: Any, units: Any, ids: Any, predicates: Any, counts: Any, slots: Any, bits: Any, count: int
) -> Any:
    """Give each constraint of these units the number of its predicate, and count it; returns how many there are then,
    how many orphans were revived, and how many of these the bitmap was made without.

    A predicate is what the word of a constraint says. There must be room for all to be new.
    """
    places, words, revived, unseen = conjunctions.places, conjunctions.words, 0, 0
    mask = np.uint64(len(slots) - 1)
    for unit in units:
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            wanted = body(words[position])
            slot = mixed(wanted) & mask
            while slots[slot] != EMPTY and predicates[slots[slot]] != wanted:
                slot = (slot + np.uint64(1)) & mask
            if slots[slot] == EMPTY:
                slots[slot], predicates[count], counts[count] = count, wanted, 0
                count += 1
            elif counts[slots[slot]] == 0:
                revived += 1
                unseen += bits[slots[slot]] == UNSEEN
            ids[position] = slots[slot]
            counts[slots[slot]] += 1
    return count, revived, unseen


@bare_kernel
def enter_predicates(predicates: Any, slots: Any) -> None:
    """Enter all predicates, which differ, into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for predicate in range(len(predicates)):
        slot = mixed(predicates[predicate]) & mask
        while slots[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = predicate


@bare_kernel
def drop_predicates(conjunctions: Any, units: Any, ids: Any, counts: Any) -> Any:
    """Count the predicates of these units down; returns how many became orphans."""
    places, words, orphans = conjunctions.places, conjunctions.words, 0
    for unit in units:
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            counts[ids[position]] -= 1
            orphans += counts[ids[position]] == 0
    return orphans


@bare_kernel
def count_edges(predicates: Any, sets: Any, bits: int, order: Any) -> Any:
    """How many ends the intervals of these predicates have."""
    total = np.int64(0)
    for predicate in order:
        code, _, high = constraint_at(predicates, sets, bits, predicate)
        total += 2 * pieces_of(code, high)
    return total


@bare_kernel
def collect_edges(predicates: Any, sets: Any, bits: int, order: Any, edges: Any) -> None:
    """The ends of all intervals, each with its attribute in the upper half."""
    end = 0
    for predicate in order:
        code, low, high = constraint_at(predicates, sets, bits, predicate)
        attribute = (code >> FLAG_BITS) << 32
        for number in range(pieces_of(code, high)):
            start, stop = piece_at(sets, code, low, high, number)
            edges[end], edges[end + 1] = attribute | start, attribute | stop
            end += 2


@bare_kernel
def fill_bitmap(predicates: Any, sets: Any, rank_bits: int, order: Any, bits: Any, bitmap: Any) -> None:
    """Write the truth of every predicate of the bitmap for NULL, and for each space of its attribute.

    Spaces begin where intervals begin and end, so each is inside of one or outside.
    """
    edges, rows = bitmap.edges, bitmap.rows
    for predicate in order:
        bit = bits[predicate]
        if bit < 0:
            continue
        code, low, high = constraint_at(predicates, sets, rank_bits, predicate)
        attribute = code >> FLAG_BITS
        first, edge, last = bitmap.parts[attribute], bitmap.edge_offsets[attribute], bitmap.edge_offsets[attribute + 1]
        width, part, wanted = bitmap.parts[attribute + 1] - first, bit >> 6, np.uint64(1) << np.uint64(bit & 63)
        if code & ACCEPTS_NULL != 0:
            bitmap.nulls[part] |= wanted
        row = bitmap.starts[attribute] + part - first
        for number in range(pieces_of(code, high)):
            start, stop = piece_at(sets, code, low, high, number)
            while edge < last and edges[edge] < start:
                edge, row = edge + 1, row + width
            while edge < last and edges[edge] < stop:
                rows[row] |= wanted
                edge, row = edge + 1, row + width


@bare_kernel
def select_rows(events: Any, event: Any, bitmap: Any, result: Any) -> None:
    """Put the rows of an event's values into the result: the truth of every predicate of the bitmap (19)."""
    attributes = len(bitmap.starts)
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute, label = events.attributes[pair], events.labels[pair]
        if attribute >= attributes:
            continue
        first, last = bitmap.parts[attribute], bitmap.parts[attribute + 1]
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
        for part in range(last - first):
            result[first + part] = bitmap.rows[row + part]


@bare_kernel
def restore_nulls(events: Any, event: Any, bitmap: Any, result: Any) -> None:
    """Undo `select_rows`: only what the event changed is reset."""
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute = events.attributes[pair]
        if attribute < len(bitmap.starts):
            for part in range(bitmap.parts[attribute], bitmap.parts[attribute + 1]):
                result[part] = bitmap.nulls[part]
