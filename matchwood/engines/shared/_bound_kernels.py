"""What the rules of one unit can score for an event: the bound that ranking prunes by."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared.constraints._record_kernels import SEVERAL, attribute_of, record_at


@bare_kernel
def unit_bound(conjunctions: Any, bounds: Any, unit: Any, labels: Any, weights: Any, names: Any, most: Any) -> Any:
    """What the rules of a unit that is true can score for the event, without their constant weights."""
    offsets, leaves, records, intervals = conjunctions
    pieces = bounds.pieces
    total, piece = bounds.elsewhere[unit] * most, bounds.offsets[unit]
    for position in range(offsets[unit], offsets[unit + 1]):
        at = record_at(leaves, position)
        code, low, high = records[at], records[at + 1], records[at + 2]
        attribute = attribute_of(code)
        label, weight = labels[attribute], weights[names[attribute]]
        if code & SEVERAL == 0:
            if low <= label < high:
                total += pieces[piece] * weight
            piece += 1
            continue
        for interval in range(low, high):
            if intervals[2 * interval] <= label < intervals[2 * interval + 1]:
                total += pieces[piece] * weight
            piece += 1
    return total
