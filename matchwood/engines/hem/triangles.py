"""The triangles of all attributes: points in ragged grids, which grow finer as there are more of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable, require, require_range, saved
from matchwood.engines.hem._triangle_kernels import (
    MASKED,
    append_points,
    count_constraints,
    count_points,
    join_sums,
    move_squares,
    outgrown,
    part_sums,
    regrid,
    remove_points,
    room_for,
)
from matchwood.engines.hem.triangle import squares
from matchwood.engines.shared.store import Conjunctions
from matchwood.errors import LimitExceeded

LOAD = 4
"""Points a square, on average, beyond which a grid gets twice as many rows, up to the size that was asked for."""

_MOST_POINTS = 2**31 - 1
_SPARE = 2**16


class Grids(NamedTuple):
    """The arrays that kernels read.

    `taus`        for each attribute, the rows of its grid; 0 while it has none
    `firsts`      its first square; squares are numbered as `triangle.py` says
    `totals`      its points
    `sum_firsts`  where its sums begin: for each of 2τ diagonals row + column the points on it and before it, then for
                  each diagonal column - row the points on it and behind it; so U_m of a value is a look-up
    `sums`        those sums, kept current
    `starts`, `counts`  square s has the places starts[s] : starts[s] + counts[s] of the pool
    `pool`        the unit of each point
    `bounds`      its lower and upper label in turn
    `bits`        rows of a bit for each unit: which have points at all, then for each of the first 64 attributes which
                  have one there
    """

    taus: NDArray[np.int32]
    firsts: NDArray[np.int64]
    totals: NDArray[np.int32]
    sum_firsts: NDArray[np.int64]
    sums: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    pool: NDArray[np.int32]
    bounds: NDArray[np.int32]
    bits: NDArray[np.uint64]


_TYPES: dict[str, Any] = {
    "taus": np.int32,
    "firsts": np.int64,
    "totals": np.int32,
    "sum_firsts": np.int64,
    "sums": np.int32,
    "starts": np.int64,
    "counts": np.int32,
    "pool": np.int32,
    "bounds": np.int32,
    "bits": np.uint64,
    "capacities": np.int32,
    "owners": np.int32,
    "places": np.int32,
}
_BY_ATTRIBUTE = ("taus", "firsts", "totals", "sum_firsts")
_BY_SQUARE = ("starts", "counts", "capacities")


class Triangles:
    """Points of constraints, in and out in constant time.

    A square is a stretch of the pool. A point that comes goes behind the others of its square, which moves to the end
    of the pool, with twice the room, when it is full; when a point goes, the last of its square takes its place.
    `owners` tells the constraint of each point, and `places` the point of each constraint.
    """

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self._columns = {name: Growable(kind) for name, kind in _TYPES.items()}
        self._added = Growable(np.int32)
        self._stride, self._points, self._squares, self.moved = 0, 0, 0, 0

    @property
    def points(self) -> int:
        return self._points

    @property
    def stride(self) -> int:
        """Words in a row of `bits`."""
        return self._stride

    def view(self) -> Grids:
        """The arrays for kernels."""
        return Grids(*(self._columns[name].view() for name in Grids._fields))

    @property
    def totals(self) -> NDArray[np.int32]:
        totals: NDArray[np.int32] = self._columns["totals"].view()
        return totals

    def column(self, name: str) -> NDArray[Any]:
        """One of the arrays, read-only."""
        return self._columns[name].view()

    @property
    def largest(self) -> int:
        """The squares of the finest grid."""
        taus = self._columns["taus"].view()
        return squares(int(taus.max())) if len(taus) else 0

    @property
    def wasteful(self) -> bool:
        """Whether most of the pool, or most squares, are what growing triangles and squares left behind."""
        pool, squares = len(self._columns["pool"]), len(self._columns["starts"])
        return pool > 4 * self._points + _SPARE or squares > 4 * self._squares + _SPARE

    # ------------------------------------------------------------------ changes

    def insert(self, conjunctions: Conjunctions, attributes: int, units: NDArray[np.int32]) -> int:
        """Put the points of new units in; returns how many units the triangles alone cannot decide."""
        self._fit(conjunctions, attributes)
        points, partial = count_constraints(conjunctions, units, self._columns["totals"].writable())
        self._points += points
        if len(self._columns["pool"]) + 3 * self._points > _MOST_POINTS:
            raise LimitExceeded("the predicates of one index have more than 2**31 points: split the rules over several")
        self._refine(conjunctions, units)
        self._make_room(conjunctions, units, points)
        self._append(conjunctions, units)
        return int(partial)

    def _fit(self, conjunctions: Conjunctions, attributes: int) -> None:
        """Room for all attributes, constraints and units that the store has."""
        for name in _BY_ATTRIBUTE:
            self._columns[name].resize(max(attributes, len(self._columns[name])))
        self._columns["places"].resize(int(conjunctions.offsets[-1]), -1)
        words = (len(conjunctions.offsets) + 62) // 64
        rows = 1 + min(MASKED, len(self._columns["taus"]))
        if words > self._stride or rows * self._stride > len(self._columns["bits"]):
            self._widen(max(words, min(2 * self._stride, words + words // 4 + 64)), rows)

    def _widen(self, stride: int, rows: int) -> None:
        old = self._columns["bits"].view().reshape(-1, self._stride) if self._stride else np.zeros((0, 0), np.uint64)
        wide = np.zeros((rows, stride), np.uint64)
        wide[: len(old), : self._stride] = old
        self._columns["bits"], self._stride = Growable(np.uint64, wide.ravel()), stride

    def _refine(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> None:
        """Finer grids for the attributes that have outgrown theirs."""
        found = np.empty(len(self._columns["taus"]), np.int64)
        taus, totals = self._columns["taus"].writable(), self.totals
        found = found[: outgrown(conjunctions, units, totals, taus, LOAD, self._most_rows, found)]
        if not len(found):
            return
        wanted, old = _rows_for(totals[found], self._most_rows), taus[found]
        self._first_grids(found[old == 0], wanted[old == 0])
        for attribute, tau in zip(found[old > 0].tolist(), wanted[old > 0].tolist(), strict=True):
            self._regrid(attribute, tau)

    def _first_grids(self, attributes: NDArray[np.int64], taus: NDArray[np.int64]) -> None:
        """Empty grids for attributes that have none."""
        firsts = len(self._columns["starts"]) + np.cumsum(taus * (taus + 1)) - taus * (taus + 1)
        sum_firsts = len(self._columns["sums"]) + 4 * (np.cumsum(taus) - taus)
        for name, values in (("taus", taus), ("firsts", firsts), ("sum_firsts", sum_firsts)):
            self._columns[name].writable()[attributes] = values
        self._add_squares(int((taus * (taus + 1)).sum()), 4 * int(taus.sum()))

    def _add_squares(self, count: int, sums: int) -> None:
        self._squares += count
        for column in (*(self._columns[name] for name in _BY_SQUARE), self._added):
            column.resize(len(column) + count)
        self._columns["sums"].resize(len(self._columns["sums"]) + sums)

    def _regrid(self, attribute: int, tau: int) -> None:
        columns = self._columns
        old_tau, old_first = (int(columns[name].view()[attribute]) for name in ("taus", "firsts"))
        first, sum_first, used = len(columns["starts"]), len(columns["sums"]), len(columns["pool"])
        old = int(columns["counts"].view()[old_first : old_first + squares(old_tau)].sum())
        self._add_squares(squares(tau), 4 * tau)
        self._squares -= squares(old_tau)
        self._resize_pool(used + old)
        self.moved += old
        starts, counts, capacities = self._squares_to_change()
        pool, bounds, owners, places = self._pool_to_change()
        sums = columns["sums"].writable()
        regrid(
            old_first, old_tau, tau, first, sum_first, sums, starts, counts, capacities, pool, bounds, owners, places,
            used,
        )  # fmt: skip
        for name, value in (("taus", tau), ("firsts", first), ("sum_firsts", sum_first)):
            columns[name].writable()[attribute] = value

    def _squares_to_change(self) -> list[NDArray[Any]]:
        return [self._columns[name].writable() for name in _BY_SQUARE]

    def _pool_to_change(self) -> list[NDArray[Any]]:
        return [self._columns[name].writable() for name in ("pool", "bounds", "owners", "places")]

    def _resize_pool(self, places: int) -> None:
        for name, size in (("pool", places), ("owners", places), ("bounds", 2 * places)):
            self._columns[name].resize(size)

    def _make_room(self, conjunctions: Conjunctions, units: NDArray[np.int32], points: int) -> None:
        columns, added = self._columns, self._added.writable()
        touched = np.empty(min(points, len(added)), np.int64)
        taus, firsts = columns["taus"].view(), columns["firsts"].view()
        touched = touched[: count_points(conjunctions, units, taus, firsts, added, touched)]
        touched.sort()
        room = room_for(touched, columns["counts"].view(), columns["capacities"].view(), added)
        used = len(columns["pool"])
        self._resize_pool(used + int(room))
        starts, counts, capacities = self._squares_to_change()
        pool, bounds, owners, places = self._pool_to_change()
        self.moved += int(move_squares(touched, starts, counts, capacities, added, pool, bounds, owners, places, used))

    def _append(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> None:
        columns, at_once = self._columns, self._part_sums(len(units))
        taus, sum_firsts = columns["taus"].view(), columns["sum_firsts"].view()
        pool, bounds, owners, places = self._pool_to_change()
        append_points(
            conjunctions, units, taus, columns["firsts"].view(), sum_firsts, columns["sums"].writable(), at_once,
            columns["starts"].view(), columns["counts"].writable(), pool, bounds, owners, places,
            columns["bits"].writable(), self._stride,
        )  # fmt: skip
        if at_once:
            join_sums(taus, sum_firsts, columns["sums"].writable())

    def _part_sums(self, units: int) -> bool:
        """Take sums apart before many units change them, if that is less work than changing 2τ of them a point."""
        at_once = 64 * units > len(self._columns["sums"])
        if at_once:
            columns = self._columns
            part_sums(columns["taus"].view(), columns["sum_firsts"].view(), columns["sums"].writable())
        return at_once

    def remove(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> int:
        """Take the points of units out; returns how many of them the triangles alone could not decide."""
        columns, at_once = self._columns, self._part_sums(len(units))
        pool, bounds, owners, places = self._pool_to_change()
        gone, partial = remove_points(
            conjunctions, units, columns["taus"].view(), columns["firsts"].view(), columns["totals"].writable(),
            columns["sum_firsts"].view(), columns["sums"].writable(), at_once, columns["starts"].view(),
            columns["counts"].writable(), pool, bounds, owners, places, columns["bits"].writable(), self._stride,
        )  # fmt: skip
        if at_once:
            join_sums(columns["taus"].view(), columns["sum_firsts"].view(), columns["sums"].writable())
        self._points -= int(gone)
        return int(partial)

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, by name."""
        return {name: column.view() for name, column in self._columns.items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], stride: int) -> None:
        """Take over a saved state, unchecked."""
        for name, kind in _TYPES.items():
            self._columns[name] = Growable(kind, saved(arrays, name, kind))
        self._added = Growable(np.int32, np.zeros(len(self._columns["starts"])))
        self._stride, self.moved = stride, 0

    def check(self, indexed: NDArray[np.bool_], constraints: int, attributes: int) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays; `indexed` tells the units with points."""
        view, units = self.view(), len(indexed)
        lengths = {len(self._columns[name]) for name in _BY_ATTRIBUTE}
        require(lengths == {attributes}, "the arrays of triangles do not fit the attributes")
        require(len({len(self._columns[name]) for name in _BY_SQUARE}) == 1, "the arrays of squares differ in length")
        require_range(view.taus, 0, self._most_rows + 1, "taus")
        sizes = view.taus.astype(np.int64)
        require_range(view.firsts, 0, len(view.starts) + 1, "firsts")
        require((view.firsts + sizes * (sizes + 1) <= len(view.starts)).all(), "a grid reaches out of the squares")
        require_range(view.sum_firsts, 0, len(view.sums) + 1, "sum_firsts")
        require((view.sum_firsts + 4 * sizes <= len(view.sums)).all(), "the sums of a grid reach out of the array")
        self._check_pool(view, units, constraints)
        self._check_bits(view.bits, indexed, len(view.taus))
        self._check_totals(view)

    def _check_pool(self, view: Grids, units: int, constraints: int) -> None:
        capacities, places = self.column("capacities"), self.column("places")
        size = len(view.pool)
        require(len(view.bounds) == 2 * size and len(self._columns["owners"]) == size, "the pool differs in length")
        require_range(view.starts, 0, size + 1, "starts")
        require_range(view.counts, 0, size + 1, "counts")
        require((view.counts <= capacities).all(), "a square has more points than room")
        require((view.starts + capacities <= size).all(), "a square reaches out of the pool")
        require(len(places) == constraints, "'places' does not fit the constraints")
        require_range(places, -1, size, "places")
        require_range(view.pool, 0, max(1, units), "pool")
        require_range(self.column("owners"), 0, max(1, len(places)), "owners")

    def _check_bits(self, bits: NDArray[np.uint64], indexed: NDArray[np.bool_], attributes: int) -> None:
        rows = min(1, len(indexed)) + min(MASKED, attributes)
        require(64 * self._stride >= len(indexed), "'bits' does not fit the units")
        require(rows * self._stride <= len(bits) and len(bits) % max(1, self._stride) == 0, "'bits' has odd rows")
        first = np.unpackbits(bits[: self._stride].view(np.uint8), bitorder="little")
        require(np.array_equal(np.flatnonzero(first), np.flatnonzero(indexed)), "'bits' tells other units")

    def _check_totals(self, view: Grids) -> None:
        """Totals decide whether an attribute leads to all units, so they are counted."""
        ends = np.concatenate(([0], np.cumsum(view.counts, dtype=np.int64)))
        sizes = view.taus.astype(np.int64)
        counted = ends[view.firsts + sizes * (sizes + 1)] - ends[view.firsts]
        require(np.array_equal(counted, view.totals), "the points of a triangle are miscounted")
        self._points, self._squares = int(counted.sum()), int((sizes * (sizes + 1)).sum())


def _rows_for(points: NDArray[np.int32], most: int) -> NDArray[np.int64]:
    """For so many points the rows of a grid: a power of two, so that it is seldom made anew, or the most allowed."""
    rows, tau = np.full(len(points), most, np.int64), 1
    while tau < most:
        rows[(rows == most) & (LOAD * squares(tau) >= points)] = tau
        tau *= 2
    return rows
