"""The invariants of triangles, checked in NumPy against what the units say.

Sci. China 2016, the counts that 4.3.2 relies on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import TOP_LABEL, EncodedConjunctions
from matchwood.engines.hem._triangle_kernels import INDEXED, MASKED
from matchwood.engines.hem.triangles import Triangles
from matchwood.engines.shared.store import ConjunctionStore

Integers = NDArray[np.int64]


def audit_triangles(
    triangles: Triangles, store: ConjunctionStore, states: NDArray[np.int32], partial: int
) -> list[str]:
    """Every broken invariant in words; units in the state INDEXED must have their points, no others."""
    units = np.flatnonzero(states == INDEXED)
    encoded = store.as_stored(units.astype(np.int32))
    owners = np.repeat(units, np.diff(encoded.offsets))
    pointed = np.bincount(owners[~encoded.accepts_null], minlength=store.count)[units] > 0
    problems = [] if pointed.all() else [f"unit {units[~pointed][0]} is in triangles without a point"]
    undecided = encoded.accepts_null | (np.diff(encoded.pieces) != 1)
    if len(np.unique(owners[undecided])) != partial:
        problems.append(f"{partial} units are said to need more than triangles, others do")
    problems += _audit_points(triangles, store, units, owners, encoded)
    return problems + _audit_bits(triangles, owners[~encoded.accepts_null], encoded.attributes[~encoded.accepts_null])


def _audit_points(
    triangles: Triangles, store: ConjunctionStore, units: Integers, owners: Integers, encoded: EncodedConjunctions
) -> list[str]:
    view = triangles.view()
    selective = ~encoded.accepts_null
    low, high = hulls(encoded)
    low, high, attributes = low[selective], high[selective], encoded.attributes[selective]
    begins = store.view().places[units] - encoded.offsets[:-1]
    positions = np.arange(len(owners)) + np.repeat(begins, np.diff(encoded.offsets))
    places = triangles.column("places")[positions[selective]]
    row, column = grid_place(low, high, view.taus[attributes])
    square = view.firsts[attributes] + row * (2 * view.taus[attributes] + 1 - row) + column - row
    outside = (places < view.starts[square]) | (places >= view.starts[square] + view.counts[square])
    if outside.any():
        return [f"a point of unit {owners[selective][outside][0]} is not in its square ({outside.sum()} such)"]
    same = (view.pool[places] == owners[selective]) & (view.bounds[2 * places] == low)
    same &= (view.bounds[2 * places + 1] == high) & (triangles.column("owners")[places] == positions[selective])
    problems = [] if same.all() else [f"a point of unit {owners[selective][~same][0]} says something else"]
    if triangles.points != len(places) or int(view.counts.sum()) != len(np.unique(places)):
        problems.append(f"there are {int(view.counts.sum())} points for {len(places)} constraints")
    return problems + _audit_sums(triangles, attributes, row, column)


def _audit_sums(triangles: Triangles, attributes: NDArray[np.int32], row: Integers, column: Integers) -> list[str]:
    view = triangles.view()
    sums = np.zeros_like(view.sums)
    np.add.at(sums, view.sum_firsts[attributes] + row + column, 1)
    np.add.at(sums, view.sum_firsts[attributes] + 2 * view.taus[attributes].astype(np.int64) + column - row, 1)
    for attribute in np.flatnonzero(view.taus).tolist():
        first, columns = int(view.sum_firsts[attribute]), 2 * int(view.taus[attribute])
        below = np.cumsum(sums[first : first + columns])
        above = np.cumsum(sums[first + columns : first + 2 * columns][::-1])[::-1]
        if not np.array_equal(np.concatenate((below, above)), view.sums[first : first + 2 * columns]):
            return [f"the sums of attribute {attribute} are wrong"]
    counted = np.bincount(attributes, minlength=len(view.totals))
    return [] if np.array_equal(counted, view.totals) else ["the points of a triangle are miscounted"]


def _audit_bits(triangles: Triangles, owners: Integers, attributes: NDArray[np.int32]) -> list[str]:
    bits = triangles.column("bits")
    wanted = np.zeros((len(bits) // max(1, triangles.stride), triangles.stride * 64), np.bool_)
    masked = attributes < MASKED
    wanted[np.zeros_like(owners), owners] = True
    wanted[attributes[masked] + 1, owners[masked]] = True
    found = np.unpackbits(bits.view(np.uint8), bitorder="little").reshape(wanted.shape)
    return [] if np.array_equal(found, wanted) else ["the bits of units are not those of their points"]


def hulls(encoded: EncodedConjunctions) -> tuple[Integers, Integers]:
    """The interval that encloses all those of each constraint; [0, 0) where there is none."""
    first, last = encoded.pieces[:-1], encoded.pieces[1:] - 1
    some = first <= last
    low = np.where(some, np.append(encoded.low, 0)[first], 0).astype(np.int64)
    return low, np.where(some, np.append(encoded.high, 0)[last], 0).astype(np.int64)


def grid_place(low: Integers, high: Integers, taus: NDArray[np.int32]) -> tuple[Integers, Integers]:
    """The row and the column of intervals of labels."""
    tau = taus.astype(np.int64)
    row = np.clip((high - low) * tau // TOP_LABEL, 0, tau - 1)
    return row, np.clip((high + low) * tau // TOP_LABEL, row, 2 * tau - 1 - row)
