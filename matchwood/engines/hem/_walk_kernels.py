"""Kernels that walk a triangle for a value: from squares to stretches of points, from stretches to bits or a list.

Row by row, Subarea 1, Subarea 3 and Subarea 2 are runs of neighbouring squares, with up to two squares that l1 cuts
between the first two, and two that l2 cuts between the last two. Squares that lie side by side in the pool make one
*stretch*. Either Subareas 1 and 2 are walked, to exclude what is there, or Subarea 3, to keep it: the points
on the way are fewer the one way or the other. The points of squares that a line cuts are looked at one by one.

Sci. China 2016, 4.2.1, Algorithm 1: Subareas 1 and 2, and the squares on their edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.hem._triangle_kernels import square_number, value_column


@kernel
def _run(
    starts: Any, counts: Any, first: Any, last: Any, edge: bool, begins: Any, stops: Any, edges: Any, found: int
) -> int:
    """Write the stretches of the squares first : last behind `found`; returns how many there are then."""
    for square in range(first, last):
        count = counts[square]
        if count == 0:
            continue
        start = starts[square]
        if found > 0 and stops[found - 1] == start and edges[found - 1] == edge:
            stops[found - 1] = start + count
        else:
            begins[found], stops[found], edges[found] = start, start + count, edge
            found += 1
    return found


@kernel
def stretches(grids: Any, attribute: int, label: Any, inside: bool, begins: Any, stops: Any, edges: Any) -> int:
    """The stretches of Subarea 3, or of Subareas 1 and 2, for a label; all of the triangle for NULL_LABEL.

    `edges` tells whose points are yet to be looked at. Returns how many stretches there are.
    """
    starts, counts = grids.starts, grids.counts
    tau, origin, found = np.int64(grids.taus[attribute]), grids.firsts[attribute], 0
    if label == NULL_LABEL:
        return 0 if inside else _run(starts, counts, origin, origin + tau * (tau + 1), False, begins, stops, edges, 0)
    column = value_column(label, tau)
    for row in range(tau):
        # Bounds of columns: each part of the row ends where the next begins.
        end = 2 * tau - row
        base = origin + square_number(row, np.int64(0), tau)
        left = min(max(column - 1 - row, row), end)
        middle = min(max(column + 1 - row, row), end)
        right = min(max(column + row, middle), end)
        outer = min(max(column + row + 2, right), end)
        if not inside:
            found = _run(starts, counts, base + row, base + left, False, begins, stops, edges, found)
        found = _run(starts, counts, base + left, base + middle, True, begins, stops, edges, found)
        if inside:
            found = _run(starts, counts, base + middle, base + right, False, begins, stops, edges, found)
        found = _run(starts, counts, base + right, base + outer, True, begins, stops, edges, found)
        if not inside:
            found = _run(starts, counts, base + outer, base + end, False, begins, stops, edges, found)
    return found


@kernel
def clear_outside(
    pool: Any, bounds: Any, label: Any, begins: Any, stops: Any, edges: Any, found: int, mask: Any
) -> Any:
    """Clear the bits of the points in Subareas 1 and 2; returns how many points were walked over."""
    one, two, six, low_bits = np.uint64(1), np.uint64(2), np.uint64(6), np.uint64(63)
    walked = np.int64(0)
    for stretch in range(found):
        walked += stops[stretch] - begins[stretch]
        if edges[stretch]:
            for place in range(np.uint64(begins[stretch]), np.uint64(stops[stretch])):
                low, high = bounds[two * place], bounds[two * place + one]
                fails = np.uint64(np.uint32(label - low) >= np.uint32(high - low))
                unit = np.uint64(np.uint32(pool[place]))
                mask[unit >> six] &= ~(fails << (unit & low_bits))
        else:
            for place in range(np.uint64(begins[stretch]), np.uint64(stops[stretch])):
                unit = np.uint64(np.uint32(pool[place]))
                mask[unit >> six] &= ~(one << (unit & low_bits))
    return walked


@kernel
def set_inside(pool: Any, bounds: Any, label: Any, begins: Any, stops: Any, edges: Any, found: int, mask: Any) -> Any:
    """Set the bits of the points in Subarea 3; returns how many points were walked over."""
    one, two, six, low_bits = np.uint64(1), np.uint64(2), np.uint64(6), np.uint64(63)
    walked = np.int64(0)
    for stretch in range(found):
        walked += stops[stretch] - begins[stretch]
        if edges[stretch]:
            for place in range(np.uint64(begins[stretch]), np.uint64(stops[stretch])):
                low, high = bounds[two * place], bounds[two * place + one]
                passes = np.uint64(np.uint32(label - low) < np.uint32(high - low))
                unit = np.uint64(np.uint32(pool[place]))
                mask[unit >> six] |= passes << (unit & low_bits)
        else:
            for place in range(np.uint64(begins[stretch]), np.uint64(stops[stretch])):
                unit = np.uint64(np.uint32(pool[place]))
                mask[unit >> six] |= one << (unit & low_bits)
    return walked


@kernel
def list_inside(
    pool: Any, bounds: Any, label: Any, begins: Any, stops: Any, edges: Any, found: int, units: Any, used: Any
) -> Any:
    """Write the units of the points in Subarea 3 behind `used`; returns the new end, and how many were walked over.

    `units` has room for all points of the triangle and one more, as each is written and overwritten unless it holds.
    """
    one, two = np.uint64(1), np.uint64(2)
    walked, end = np.int64(0), np.uint64(used)
    for stretch in range(found):
        walked += stops[stretch] - begins[stretch]
        if edges[stretch]:
            for place in range(np.uint64(begins[stretch]), np.uint64(stops[stretch])):
                low, high = bounds[two * place], bounds[two * place + one]
                units[end] = pool[place]
                end += np.uint64(np.uint32(label - low) < np.uint32(high - low))
        else:
            for place in range(np.uint64(begins[stretch]), np.uint64(stops[stretch])):
                units[end] = pool[place]
                end += one
    return np.int64(end), walked


@kernel
def list_new(
    pool: Any, bounds: Any, label: Any, begins: Any, stops: Any, edges: Any, found: int, seen: Any, units: Any,
    used: Any,
) -> Any:  # fmt: skip
    """The same for units whose bit in `seen` is not set; it is then."""
    one, two, six, low_bits = np.uint64(1), np.uint64(2), np.uint64(6), np.uint64(63)
    walked, end = np.int64(0), np.uint64(used)
    for stretch in range(found):
        walked += stops[stretch] - begins[stretch]
        for place in range(np.uint64(begins[stretch]), np.uint64(stops[stretch])):
            low, high = bounds[two * place], bounds[two * place + one]
            if np.uint32(label - low) >= np.uint32(high - low):
                continue
            unit = np.uint64(np.uint32(pool[place]))
            word, bit = seen[unit >> six], one << (unit & low_bits)
            if word & bit == 0:
                seen[unit >> six] = word | bit
                units[end] = np.int32(unit)
                end += one
    return np.int64(end), walked


@kernel
def unsee(seen: Any, units: Any, start: int, stop: int) -> None:
    """Undo what `list_new` did to `seen`."""
    for place in range(start, stop):
        seen[np.uint64(np.uint32(units[place])) >> np.uint64(6)] = 0
