"""Kernels of `flattening`: leaves to intervals, and these to the conjunctions that have them."""

from __future__ import annotations

from typing import Any

from matchwood.core._sorting_kernels import order_by
from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch

_MOST_INSERTED = 32

_AHEAD = 8
"""How many constraints before its turn the intervals of a leaf are asked for, and twice as many before, the rest: rules
have leaves that lie anywhere."""


@bare_kernel
def fill_pieces(
    sizes: Any, starts: Any, value_of: Any, labels: Any, bottom: int, top: int, pieces: Any, ends: Any
) -> None:
    """The intervals of each leaf, low and high label in turn; where those of leaf l begin is pieces[l]."""
    cut = value = piece = 0
    for leaf in range(len(sizes)):
        pieces[leaf] = piece
        at = 2 * piece
        for place in range(cut, cut + sizes[leaf]):
            if starts[place]:
                ends[at] = bottom
            else:
                ends[at] = labels[value_of[value]]
                value += 1
            at += 1
        if sizes[leaf] & 1:
            ends[at] = top
            at += 1
        cut += sizes[leaf]
        piece = at >> 1
    pieces[len(sizes)] = piece


@bare_kernel
def count_uses(leaf_of: Any, uses: Any) -> None:
    """How many conjunctions have each leaf."""
    for place in range(len(leaf_of)):
        uses[leaf_of[place]] += 1


@bare_kernel
def count_values(uses: Any, sizes: Any, starts: Any, value_of: Any, counts: Any) -> None:
    """How many leaves of all conjunctions have each value."""
    cut = value = 0
    for leaf in range(len(sizes)):
        for place in range(cut, cut + sizes[leaf]):
            if not starts[place]:
                counts[value_of[value]] += uses[leaf]
                value += 1
        cut += sizes[leaf]


@bare_kernel
def sort_leaves(offsets: Any, leaf_of: Any, attributes: Any, out: Any) -> None:
    """The leaves of each conjunction by the number of their attribute."""
    for row in range(len(offsets) - 1):
        start, stop = offsets[row], offsets[row + 1]
        if stop - start > _MOST_INSERTED:
            order_by(attributes, leaf_of, start, stop, out)
            for place in range(start, stop):
                out[place] = leaf_of[start + out[place]]
            continue
        for place in range(start, stop):
            leaf, back = leaf_of[place], place
            attribute = attributes[leaf]
            while back > start and attributes[out[back - 1]] > attribute:
                out[back] = out[back - 1]
                back -= 1
            out[back] = leaf


@bare_kernel
def fill_constraints(leaf_of: Any, leaves: Any, target: Any) -> None:
    """Write each leaf of all conjunctions as a constraint."""
    attributes, nulls, pieces, low, high = (
        leaves.attributes,
        leaves.accepts_null,
        leaves.pieces,
        leaves.low,
        leaves.high,
    )
    piece, last = 0, len(leaf_of) - 1
    for place in range(len(leaf_of)):
        leaf, later = leaf_of[place], leaf_of[min(place + 2 * _AHEAD, last)]
        prefetch(attributes, later)
        prefetch(nulls, later)
        prefetch(pieces, later)
        prefetch(low, pieces[leaf_of[min(place + _AHEAD, last)]])
        prefetch(high, pieces[leaf_of[min(place + _AHEAD, last)]])
        target.attributes[place], target.accepts_null[place] = attributes[leaf], nulls[leaf]
        for own in range(pieces[leaf], pieces[leaf + 1]):
            target.low[piece], target.high[piece] = low[own], high[own]
            piece += 1
        target.pieces[place + 1] = piece
