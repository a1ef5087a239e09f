"""Kernels that build unions: from constraints to the pieces of labels where they fail, from pieces to rows and entries.

OEM (Computer Networks 2024): the units that fail in a run of spaces, as a bitset.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import bit_count
from matchwood.core.jit import kernel
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    constraint_at,
    piece_at,
    pieces_of,
    stretch,
)

ENTRY = 3
"""Integers of an entry."""


@kernel
def cell_of(edges: Any, first: Any, last: Any, label: Any) -> Any:
    """How many of the edges first : last are at most `label`: the cell that it lies in."""
    one = np.uint64(1)
    start, left = np.uint64(first), np.uint64(last - first)
    while left > 0:
        # Without a branch: which way it goes is anybody's guess, and each wrong one costs as much as the other steps.
        half = (left + one) >> one
        start += half * np.uint64(edges[start + half - one] <= label)
        left -= half
    return np.int64(start) - first


@kernel
def _failing(sets: Any, code: Any, low: Any, high: Any, number: Any) -> Any:
    """Where the labels begin and end that lie before the `number`-th interval of a constraint, and behind the one
    before it: there it fails. Empty where an interval begins or ends the domain."""
    start, stop = np.int64(BOTTOM_LABEL), np.int64(TOP_LABEL)
    if number > 0:
        _, start = piece_at(sets, code, low, high, number - 1)
    if number < pieces_of(code, high):
        stop, _ = piece_at(sets, code, low, high, number)
    return start, stop


@kernel
def _failing_pieces(code: Any, high: Any) -> Any:
    """How many such pieces there are."""
    return pieces_of(code, high) + 1


@kernel
def count_boundaries(conjunctions: Any, units: Any, places: Any, counts: Any) -> None:
    """Count the ends of intervals of each attribute that has a place."""
    stored, words_of, sets, rank_bits = conjunctions
    for unit in units:
        begins, behind = stretch(stored, words_of, unit)
        for position in range(begins, behind):
            code, _, high = constraint_at(words_of, sets, rank_bits, position)
            place = places[code >> FLAG_BITS]
            if place >= 0:
                counts[place] += 2 * (_failing_pieces(code, high) - 1)


@kernel
def write_boundaries(conjunctions: Any, units: Any, places: Any, ends: Any, boundaries: Any) -> None:
    """Write those ends behind ends[place]."""
    stored, words_of, sets, rank_bits = conjunctions
    for unit in units:
        begins, behind = stretch(stored, words_of, unit)
        for position in range(begins, behind):
            code, low, high = constraint_at(words_of, sets, rank_bits, position)
            place = places[code >> FLAG_BITS]
            if place < 0:
                continue
            for number in range(1, _failing_pieces(code, high)):
                boundaries[ends[place]] = _failing(sets, code, low, high, number - 1)[1]
                boundaries[ends[place] + 1] = _failing(sets, code, low, high, number)[0]
                ends[place] += 2


@kernel
def _covered(edges: Any, first: Any, last: Any, start: Any, stop: Any) -> Any:
    """The cells that a piece covers wholly, from one to before another, and the two that it reaches into: -1 for none,
    and none twice."""
    begin, head = np.int64(0), np.int64(-1)
    if start > BOTTOM_LABEL:
        begin = cell_of(edges, first, last, start)
        if begin == 0 or edges[first + begin - 1] != start:
            head = begin
            begin += 1
    end, tail = last - first + 1, np.int64(-1)
    if stop < TOP_LABEL:
        end = cell_of(edges, first, last, stop)
        if end != head and (end == 0 or edges[first + end - 1] != stop):
            tail = end
    return begin, max(begin, end), head, tail


@kernel
def count_entries(conjunctions: Any, units: Any, places: Any, layout: Any, counts: Any) -> None:
    """Count the entries of every row."""
    stored, words_of, sets, rank_bits = conjunctions
    firsts, edge_firsts, edges = layout.firsts, layout.edge_firsts, layout.edges
    for unit in units:
        begins, behind = stretch(stored, words_of, unit)
        for position in range(begins, behind):
            code, low, high = constraint_at(words_of, sets, rank_bits, position)
            place = places[code >> FLAG_BITS]
            if place < 0:
                continue
            for number in range(_failing_pieces(code, high)):
                start, stop = _failing(sets, code, low, high, number)
                if start < stop:
                    _, _, head, tail = _covered(edges, edge_firsts[place], edge_firsts[place + 1], start, stop)
                    if head >= 0:
                        counts[firsts[place] + head] += 1
                    if tail >= 0:
                        counts[firsts[place] + tail] += 1


@kernel
def _toggle(bits: Any, row: Any, words: Any, unit: Any) -> None:
    bits[row * words + (unit >> 6)] ^= np.uint64(1) << np.uint64(unit & 63)


@kernel
def _enter(entries: Any, ends: Any, row: Any, unit: Any, start: Any, stop: Any) -> None:
    at = ENTRY * ends[row]
    entries[at], entries[at + 1], entries[at + 2] = unit, start, stop
    ends[row] += 1


@kernel
def write_units(
    conjunctions: Any, units: Any, places: Any, layout: Any, words: int, bits: Any, ends: Any, entries: Any, base: Any,
    loose: Any,
) -> int:  # fmt: skip
    """Write the entries of these units, and mark in each row whether they fail from there on, or no longer do; returns
    how many units constrain attributes without cells.

    Marks at both ends of a piece, in the place of a bit in every row between, make that independent of how long it is;
    `carry_rows` sets the bits between. Pieces of a constraint have a cell between them, so no two marks meet.
    """
    stored, words_of, sets, rank_bits = conjunctions
    firsts, edge_firsts, edges = layout.firsts, layout.edge_firsts, layout.edges
    without, loose_units = firsts[len(firsts) - 1] + len(firsts) - 1, 0
    for unit in units:
        _toggle(base, 0, words, unit)
        is_loose = False
        begins, behind = stretch(stored, words_of, unit)
        for position in range(begins, behind):
            code, low, high = constraint_at(words_of, sets, rank_bits, position)
            place = places[code >> FLAG_BITS]
            if place < 0:
                is_loose = True
                continue
            if code & ACCEPTS_NULL == 0:
                _toggle(bits, without + place, words, unit)
            first, cells = firsts[place], firsts[place + 1] - firsts[place]
            for number in range(_failing_pieces(code, high)):
                start, stop = _failing(sets, code, low, high, number)
                if start >= stop:
                    continue
                begin, end, head, tail = _covered(edges, edge_firsts[place], edge_firsts[place + 1], start, stop)
                if head >= 0:
                    _enter(entries, ends, first + head, unit, start, stop)
                if tail >= 0:
                    _enter(entries, ends, first + tail, unit, start, stop)
                if begin < end:
                    _toggle(bits, first + begin, words, unit)
                    if end < cells:
                        _toggle(bits, first + end, words, unit)
        if is_loose:
            _toggle(loose, 0, words, unit)
            loose_units += 1
    return loose_units


@kernel
def _combine(bits: Any, into: Any, other: Any, words: int) -> None:
    """Join the bits of a row with those of another."""
    target, source = bits[into * words : (into + 1) * words], bits[other * words : (other + 1) * words]
    for word in range(words):
        target[word] |= source[word]


@kernel
def _carry(bits: Any, row: Any, words: int) -> None:
    """Turn the marks of a row into bits, by those of the row before."""
    target, source = bits[row * words : (row + 1) * words], bits[(row - 1) * words : row * words]
    for word in range(words):
        target[word] ^= source[word]


@kernel
def carry_rows(is_first: Any, words: int, bits: Any, start: int, stop: int) -> None:
    """Set the bits between marks in the rows start : stop, which come in order; `is_first` of an attribute's first."""
    for row in range(start, stop):
        if not is_first[row]:
            _carry(bits, row, words)


@kernel
def join_nodes(tree: int, words: int, bits: Any, highest: int, lowest: int) -> None:
    """Join what is below the nodes of the tree from `highest` down to `lowest`."""
    for node in range(highest, lowest - 1, -1):
        _combine(bits, tree + node, tree + 2 * node, words)
        _combine(bits, tree + node, tree + 2 * node + 1, words)


@kernel
def count_fails(words: int, bits: Any, fails: Any, start: int, stop: int) -> None:
    """Count the bits of the rows start : stop."""
    for row in range(start, stop):
        found = 0
        for word in range(row * words, (row + 1) * words):
            found += bit_count(bits[word])
        fails[row] = found
