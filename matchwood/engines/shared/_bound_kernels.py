"""What the rules of one unit can score for an event: the bound that ranking prunes by."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared.constraints._word_kernels import (
    FLAG_BITS,
    constraint_at,
    piece_at,
    pieces_of,
    stretch,
)


@bare_kernel
def unit_bound(conjunctions: Any, bounds: Any, unit: Any, labels: Any, weights: Any, names: Any, most: Any) -> Any:
    """What the rules of a unit that is true can score for the event, without their constant weights."""
    places, words, sets, bits = conjunctions
    pieces = bounds.pieces
    total, piece = bounds.elsewhere[unit] * most, bounds.offsets[unit]
    first, last = stretch(places, words, unit)
    for position in range(first, last):
        code, low, high = constraint_at(words, sets, bits, position)
        attribute = code >> FLAG_BITS
        label, weight = labels[attribute], weights[names[attribute]]
        for number in range(pieces_of(code, high)):
            start, stop = piece_at(sets, code, low, high, number)
            if start <= label and label < stop:
                total += pieces[piece] * weight
            piece += 1
    return total
