"""Kernels of `Triangles`: from a constraint to its square, and points in, out, and into a finer grid.

`triangle.py` has the geometry. Labels are integers, and an interval of labels holds its lower and not its upper
end, so all is done in integers, with the domain [0, TOP_LABEL].

Sci. China 2016, 4.2.1: Formula 3, and U_m, which insertion and deletion keep.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import kernel
from matchwood.encoding.codes import TOP_LABEL
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    SEVERAL,
    code_at,
    constraint_at,
    hull,
    stretch,
)

MASKED = 64
"""Attributes that have a bit for every unit: those with lower numbers."""

ABSENT, INDEXED = -1, -2
"""States of a unit that is in no list, and of one that has points; others are places in the list of those without."""


class PointArrays(NamedTuple):
    """What changes as points come, go and move: arrays of `Grids` to write to, and those that only changes need.

    `capacities`  by square: the places of the pool that it has room for
    `owners`      by place of the pool: the constraint of its point
    `places`      by constraint: the place of its point, or -1
    """

    sums: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    capacities: NDArray[np.int32]
    pool: NDArray[np.int32]
    bounds: NDArray[np.int32]
    owners: NDArray[np.int32]
    places: NDArray[np.int32]
    bits: NDArray[np.uint64]


@kernel
def row_of(low: Any, high: Any, tau: Any) -> Any:
    """The row of an interval's square; whatever damaged labels say, it is one of the grid."""
    row = (np.int64(high) - np.int64(low)) * tau // np.int64(TOP_LABEL)
    return max(np.int64(0), min(row, np.int64(tau) - 1))


@kernel
def column_of(low: Any, high: Any, tau: Any, row: Any) -> Any:
    column = (np.int64(high) + np.int64(low)) * tau // np.int64(TOP_LABEL)
    return max(row, min(column, 2 * np.int64(tau) - 1 - row))


@kernel
def value_column(label: Any, tau: Any) -> Any:
    """The column that a label stands in."""
    column = np.int64(label) * 2 * tau // np.int64(TOP_LABEL)
    return max(np.int64(0), min(column, 2 * np.int64(tau) - 1))


@kernel
def square_number(row: Any, column: Any, tau: Any) -> Any:
    return row * (2 * np.int64(tau) + 1 - row) + column - row


@kernel
def count_constraints(conjunctions: Any, units: Any, totals: Any) -> Any:
    """Count the points that these units have in each triangle; returns how many there are, and how many units the
    triangles alone cannot decide: those with several intervals on an attribute, or a constraint that accepts NULL."""
    stored, words, sets, bits = conjunctions
    points, partial = 0, 0
    for unit in units:
        undecided = False
        begin, end = stretch(stored, words, unit)
        for position in range(begin, end):
            code = code_at(words, sets, bits, position)
            undecided |= code & (ACCEPTS_NULL | SEVERAL) != 0
            if code & ACCEPTS_NULL == 0:
                totals[code >> FLAG_BITS] += 1
                points += 1
        partial += undecided
    return points, partial


@kernel
def outgrown(conjunctions: Any, units: Any, totals: Any, taus: Any, load: int, most: int, found: Any) -> int:
    """The attributes of these units whose grids are too coarse; `found` has room for all attributes."""
    stored, words, sets, bits = conjunctions
    count = 0
    for unit in units:
        begin, end = stretch(stored, words, unit)
        for position in range(begin, end):
            code = code_at(words, sets, bits, position)
            attribute = code >> FLAG_BITS
            tau = np.int64(taus[attribute])
            if code & ACCEPTS_NULL == 0 and 0 <= tau < most and totals[attribute] > load * tau * (tau + 1):
                found[count] = attribute
                count += 1
                taus[attribute] = -1 - tau
    for place in range(count):
        taus[found[place]] = -1 - taus[found[place]]
    return count


@kernel
def count_points(conjunctions: Any, units: Any, taus: Any, firsts: Any, added: Any, touched: Any) -> int:
    """Count the points that go to each square; returns how many squares are touched, and which."""
    stored, words, sets, rank_bits = conjunctions
    count = 0
    for unit in units:
        begin, end = stretch(stored, words, unit)
        for position in range(begin, end):
            code, least, most = constraint_at(words, sets, rank_bits, position)
            if code & ACCEPTS_NULL != 0:
                continue
            attribute = code >> FLAG_BITS
            tau = taus[attribute]
            low, high = hull(sets, code, least, most)
            row = row_of(low, high, tau)
            square = firsts[attribute] + square_number(row, column_of(low, high, tau, row), tau)
            if added[square] == 0:
                touched[count] = square
                count += 1
            added[square] += 1
    return count


@kernel
def _wanted(count: Any, added: Any) -> Any:
    """The room of a square that its points outgrow: just enough for the first, twice as much for later ones."""
    return added if count == 0 else 2 * (count + added)


@kernel
def room_for(touched: Any, counts: Any, capacities: Any, added: Any) -> int:
    """How many places the touched squares need beyond those that they have."""
    total = 0
    for square in touched:
        if counts[square] + added[square] > capacities[square]:
            total += _wanted(counts[square], added[square])
    return total


@kernel
def move_squares(touched: Any, added: Any, points: PointArrays, used: int) -> int:
    """Give squares that outgrow their room another behind `used`; returns how many points were moved for it."""
    starts, counts, capacities = points.starts, points.counts, points.capacities
    pool, bounds, owners, places = points.pool, points.bounds, points.owners, points.places
    moved = 0
    for square in touched:
        if counts[square] + added[square] > capacities[square]:
            source = starts[square]
            for step in range(counts[square]):
                pool[used + step], owners[used + step] = pool[source + step], owners[source + step]
                bounds[2 * (used + step)] = bounds[2 * (source + step)]
                bounds[2 * (used + step) + 1] = bounds[2 * (source + step) + 1]
                places[owners[used + step]] = used + step
            moved += counts[square]
            starts[square], capacities[square] = used, _wanted(counts[square], added[square])
            used += capacities[square]
        added[square] = 0
    return moved


@kernel
def add_sums(sums: Any, first: Any, tau: Any, row: Any, column: Any, sign: int) -> None:
    """Count a point in the sums of its triangle, which `Grids` describes."""
    for diagonal in range(first + row + column, first + 2 * tau):
        sums[diagonal] += sign
    for diagonal in range(first + 2 * tau, first + 2 * tau + column - row + 1):
        sums[diagonal] += sign


@kernel
def set_bit(bits: Any, row: Any, stride: Any, unit: Any) -> None:
    bits[row * stride + (unit >> 6)] |= np.uint64(1) << np.uint64(unit & 63)


@kernel
def clear_bit(bits: Any, row: Any, stride: Any, unit: Any) -> None:
    bits[row * stride + (unit >> 6)] &= ~(np.uint64(1) << np.uint64(unit & 63))


@kernel
def append_points(conjunctions: Any, units: Any, grids: Any, points: PointArrays, at_once: bool, stride: int) -> None:
    """Put the points of units into their squares, which have the room.

    With `at_once` a point is counted on its two diagonals alone, in sums that were taken apart (`part_sums`): a million
    points would otherwise change 160 sums each.
    """
    stored, words, sets, rank_bits = conjunctions
    taus, firsts, sum_firsts, sums = grids.taus, grids.firsts, grids.sum_firsts, points.sums
    starts, counts, pool, bounds = points.starts, points.counts, points.pool, points.bounds
    owners, places, bits = points.owners, points.places, points.bits
    for unit in units:
        begin, end = stretch(stored, words, unit)
        for position in range(begin, end):
            code, least, most = constraint_at(words, sets, rank_bits, position)
            places[position] = -1
            if code & ACCEPTS_NULL != 0:
                continue
            attribute = code >> FLAG_BITS
            tau, first = np.int64(taus[attribute]), sum_firsts[attribute]
            low, high = hull(sets, code, least, most)
            row = row_of(low, high, tau)
            column = column_of(low, high, tau, row)
            square = firsts[attribute] + square_number(row, column, tau)
            place = starts[square] + counts[square]
            counts[square] += 1
            pool[place], owners[place], places[position] = unit, position, place
            bounds[2 * place], bounds[2 * place + 1] = low, high
            if at_once:
                sums[first + row + column] += 1
                sums[first + 2 * tau + column - row] += 1
            else:
                add_sums(sums, first, tau, row, column, 1)
            set_bit(bits, 0, stride, unit)
            if attribute < MASKED:
                set_bit(bits, attribute + 1, stride, unit)


@kernel
def part_sums(taus: Any, sum_firsts: Any, sums: Any) -> None:
    """Turn the sums of all triangles into the counts of single diagonals."""
    for attribute in range(len(taus)):
        first, columns = sum_firsts[attribute], 2 * np.int64(taus[attribute])
        for step in range(columns - 1, 0, -1):
            sums[first + step] -= sums[first + step - 1]
        for step in range(columns - 1):
            sums[first + columns + step] -= sums[first + columns + step + 1]


@kernel
def join_sums(taus: Any, sum_firsts: Any, sums: Any) -> None:
    """Undo `part_sums`."""
    for attribute in range(len(taus)):
        first, columns = sum_firsts[attribute], 2 * np.int64(taus[attribute])
        for step in range(1, columns):
            sums[first + step] += sums[first + step - 1]
        for step in range(columns - 2, -1, -1):
            sums[first + columns + step] += sums[first + columns + step + 1]


@kernel
def regrid(old_first: int, old_tau: int, tau: int, first: int, sum_first: int, points: PointArrays, used: int) -> None:
    """Move all points of a triangle to the squares from `first` on of a grid of another size, behind `used`."""
    sums, starts, counts, capacities = points.sums, points.starts, points.counts, points.capacities
    pool, bounds, owners, places = points.pool, points.bounds, points.owners, points.places
    old_last = old_first + old_tau * (old_tau + 1)
    for step in range(2):
        for old in range(old_first, old_last):
            for source in range(starts[old], starts[old] + counts[old]):
                low, high = bounds[2 * source], bounds[2 * source + 1]
                row = row_of(low, high, tau)
                column = column_of(low, high, tau, row)
                square = first + square_number(row, column, tau)
                if step == 0:
                    capacities[square] += 1
                    sums[sum_first + row + column] += 1
                    sums[sum_first + 2 * tau + column - row] += 1
                    continue
                place = starts[square] + counts[square]
                counts[square] += 1
                pool[place], owners[place] = pool[source], owners[source]
                bounds[2 * place], bounds[2 * place + 1] = low, high
                places[owners[place]] = place
        if step == 0:
            for square in range(first, first + tau * (tau + 1)):
                starts[square] = used
                used += capacities[square]
    for old in range(old_first, old_last):
        counts[old], capacities[old] = 0, 0
    for step in range(1, 2 * tau):
        sums[sum_first + step] += sums[sum_first + step - 1]
    for step in range(2 * tau - 2, -1, -1):
        sums[sum_first + 2 * tau + step] += sums[sum_first + 2 * tau + step + 1]


@kernel
def remove_points(
    conjunctions: Any, units: Any, grids: Any, totals: Any, points: PointArrays, at_once: bool, stride: int
) -> Any:
    """Take the points of units out: the last of a square takes the place of one that goes. Returns how many points
    went, and how many of the units the triangles alone could not decide. `at_once` as in `append_points`."""
    taus, firsts, sum_firsts, sums = grids.taus, grids.firsts, grids.sum_firsts, points.sums
    starts, counts, pool, bounds = points.starts, points.counts, points.pool, points.bounds
    owners, places, bits = points.owners, points.places, points.bits
    stored, words, sets, rank_bits = conjunctions
    gone, partial = 0, 0
    for unit in units:
        undecided = False
        clear_bit(bits, 0, stride, unit)
        begin, end = stretch(stored, words, unit)
        for position in range(begin, end):
            code, least, most = constraint_at(words, sets, rank_bits, position)
            undecided |= code & (ACCEPTS_NULL | SEVERAL) != 0
            place = places[position]
            attribute = code >> FLAG_BITS
            tau = np.int64(taus[attribute])
            if code & ACCEPTS_NULL != 0 or place < 0 or tau == 0:
                continue
            low, high = hull(sets, code, least, most)
            row = row_of(low, high, tau)
            column = column_of(low, high, tau, row)
            square = firsts[attribute] + square_number(row, column, tau)
            if counts[square] == 0:
                continue
            counts[square] -= 1
            last = starts[square] + counts[square]
            pool[place], owners[place] = pool[last], owners[last]
            bounds[2 * place], bounds[2 * place + 1] = bounds[2 * last], bounds[2 * last + 1]
            places[owners[place]] = place
            places[position] = -1
            totals[attribute] -= 1
            gone += 1
            first = sum_firsts[attribute]
            if at_once:
                sums[first + row + column] -= 1
                sums[first + 2 * tau + column - row] -= 1
            else:
                add_sums(sums, first, tau, row, column, -1)
            if attribute < MASKED:
                clear_bit(bits, attribute + 1, stride, unit)
        partial += undecided
    return gone, partial


@kernel
def split_units(conjunctions: Any, units: Any, pointed: Any) -> None:
    """Tell which units have a point: those with a constraint that NULL fails."""
    stored, words, sets, bits = conjunctions
    for place in range(len(units)):
        pointed[place] = False
        begin, end = stretch(stored, words, units[place])
        for position in range(begin, end):
            pointed[place] |= code_at(words, sets, bits, position) & ACCEPTS_NULL == 0


@kernel
def drop_listed(units: Any, always: Any, states: Any) -> int:
    """Take units out of the list of those without points, the last in place of each; returns how many are left."""
    count = len(always)
    for unit in units:
        place = states[unit]
        count -= 1
        always[place] = always[count]
        states[always[place]] = place
        states[unit] = ABSENT
    return count
