"""The triangles of all attributes: points in ragged grids, which grow finer as there are more of them.

Sci. China 2016, 4.2.1: the ragged grid; that it grows finer is ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, Number, State, require
from matchwood.engines.hem._triangle_kernels import (
    INDEXED,
    MASKED,
    PointArrays,
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


_BY_ATTRIBUTE = ("taus", "firsts", "totals", "sum_firsts")
_BY_SQUARE = ("starts", "counts", "capacities")


class Triangles(State):
    """Points of constraints, in and out in constant time.

    A square is a stretch of the pool. A point that comes goes behind the others of its square, which moves to the end
    of the pool, with twice the room, when it is full; when a point goes, the last of its square takes its place.
    `owners` tells the constraint of each point, and `places` the point of each constraint.
    """

    taus = Column(np.int32, length="attributes", most="_most_rows")
    firsts = Column(np.int64, length="attributes", most="starts")
    _totals = Column(np.int32, length="attributes")
    sum_firsts = Column(np.int64, length="attributes", most="sums")
    sums = Column(np.int32)
    starts = Column(np.int64, most="pool")
    counts = Column(np.int32, length="starts", most="pool")
    pool = Column(np.int32, below="states")
    bounds = Column(np.int32, length="_labels")
    bits = Column(np.uint64)
    capacities = Column(np.int32, length="starts")
    owners = Column(np.int32, length="pool", below="places")
    places = Column(np.int32, length="constraints", low=-1, below="pool")
    _added = Column(np.int32, length="starts", saved=False)
    _stride = Number(0)

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self.start()

    def start(self) -> None:
        super().start()
        self._stride, self._points, self._squares, self.moved = 0, 0, 0, 0

    @property
    def _labels(self) -> int:
        return 2 * len(self.pool)

    @property
    def points(self) -> int:
        return self._points

    @property
    def stride(self) -> int:
        """Words in a row of `bits`."""
        return self._stride

    def view(self) -> Grids:
        """The arrays for kernels."""
        return self.view_as(Grids)

    @property
    def totals(self) -> NDArray[np.int32]:
        totals: NDArray[np.int32] = self._totals.view()
        return totals

    def column(self, name: str) -> NDArray[Any]:
        """One of the arrays, read-only."""
        return self.columns[name].view()

    @property
    def largest(self) -> int:
        """The squares of the finest grid."""
        taus = self.taus.view()
        return squares(int(taus.max())) if len(taus) else 0

    @property
    def wasteful(self) -> bool:
        """Whether most of the pool, or most squares, are what growing triangles and squares left behind."""
        pool, squares = len(self.pool), len(self.starts)
        return pool > 4 * self._points + _SPARE or squares > 4 * self._squares + _SPARE

    # ------------------------------------------------------------------ changes

    def insert(self, conjunctions: Conjunctions, attributes: int, units: NDArray[np.int32]) -> int:
        """Put the points of new units in; returns how many units the triangles alone cannot decide."""
        self._fit(conjunctions, attributes)
        points, partial = count_constraints(conjunctions, units, self._totals.writable())
        self._points += points
        if len(self.pool) + 3 * self._points > _MOST_POINTS:
            raise LimitExceeded("the predicates of one index have more than 2**31 points: split the rules over several")
        self._refine(conjunctions, units)
        self._make_room(conjunctions, units, points)
        self._append(conjunctions, units)
        return int(partial)

    def _fit(self, conjunctions: Conjunctions, attributes: int) -> None:
        """Room for all attributes, constraints and units that the store has."""
        for name in _BY_ATTRIBUTE:
            self.columns[name].resize(max(attributes, len(self.columns[name])))
        self.places.resize(len(conjunctions.words), -1)
        words = (len(conjunctions.places) + 63) // 64
        rows = 1 + min(MASKED, len(self.taus))
        if words > self._stride or rows * self._stride > len(self.bits):
            self._widen(max(words, min(2 * self._stride, words + words // 4 + 64)), rows)

    def _widen(self, stride: int, rows: int) -> None:
        old = self.bits.view().reshape(-1, self._stride) if self._stride else np.zeros((0, 0), np.uint64)
        wide = np.zeros((rows, stride), np.uint64)
        wide[: len(old), : self._stride] = old
        self.bits, self._stride = Growable(np.uint64, wide.ravel()), stride

    def _refine(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> None:
        """Finer grids for the attributes that have outgrown theirs."""
        found = np.empty(len(self.taus), np.int64)
        taus, totals = self.taus.writable(), self.totals
        found = found[: outgrown(conjunctions, units, totals, taus, LOAD, self._most_rows, found)]
        if not len(found):
            return
        wanted, old = _rows_for(totals[found], self._most_rows), taus[found]
        self._first_grids(found[old == 0], wanted[old == 0])
        for attribute, tau in zip(found[old > 0].tolist(), wanted[old > 0].tolist(), strict=True):
            self._regrid(attribute, tau)

    def _first_grids(self, attributes: NDArray[np.int64], taus: NDArray[np.int64]) -> None:
        """Empty grids for attributes that have none."""
        firsts = len(self.starts) + np.cumsum(taus * (taus + 1)) - taus * (taus + 1)
        sum_firsts = len(self.sums) + 4 * (np.cumsum(taus) - taus)
        for name, values in (("taus", taus), ("firsts", firsts), ("sum_firsts", sum_firsts)):
            self.columns[name].writable()[attributes] = values
        self._add_squares(int((taus * (taus + 1)).sum()), 4 * int(taus.sum()))

    def _add_squares(self, count: int, sums: int) -> None:
        self._squares += count
        for column in (*(self.columns[name] for name in _BY_SQUARE), self._added):
            column.resize(len(column) + count)
        self.sums.resize(len(self.sums) + sums)

    def _regrid(self, attribute: int, tau: int) -> None:
        columns = self.columns
        old_tau, old_first = (int(columns[name].view()[attribute]) for name in ("taus", "firsts"))
        first, sum_first, used = len(columns["starts"]), len(columns["sums"]), len(columns["pool"])
        old = int(columns["counts"].view()[old_first : old_first + squares(old_tau)].sum())
        self._add_squares(squares(tau), 4 * tau)
        self._squares -= squares(old_tau)
        self._resize_pool(used + old)
        self.moved += old
        regrid(old_first, old_tau, tau, first, sum_first, self._points_to_change(), used)
        for name, value in (("taus", tau), ("firsts", first), ("sum_firsts", sum_first)):
            columns[name].writable()[attribute] = value

    def _points_to_change(self) -> PointArrays:
        return PointArrays._make(self.columns[name].writable() for name in PointArrays._fields)

    def _resize_pool(self, places: int) -> None:
        for name, size in (("pool", places), ("owners", places), ("bounds", 2 * places)):
            self.columns[name].resize(size)

    def _make_room(self, conjunctions: Conjunctions, units: NDArray[np.int32], points: int) -> None:
        columns, added = self.columns, self._added.writable()
        touched = np.empty(min(points, len(added)), np.int64)
        taus, firsts = columns["taus"].view(), columns["firsts"].view()
        touched = touched[: count_points(conjunctions, units, taus, firsts, added, touched)]
        touched.sort()
        room = room_for(touched, columns["counts"].view(), columns["capacities"].view(), added)
        used = len(columns["pool"])
        self._resize_pool(used + int(room))
        self.moved += int(move_squares(touched, added, self._points_to_change(), used))

    def _append(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> None:
        at_once, points = self._part_sums(len(units)), self._points_to_change()
        grids = self.view()
        append_points(conjunctions, units, grids, points, at_once, self._stride)
        if at_once:
            join_sums(grids.taus, grids.sum_firsts, points.sums)

    def _part_sums(self, units: int) -> bool:
        """Take sums apart before many units change them, if that is less work than changing 2τ of them a point."""
        at_once = 64 * units > len(self.sums)
        if at_once:
            columns = self.columns
            part_sums(columns["taus"].view(), columns["sum_firsts"].view(), columns["sums"].writable())
        return at_once

    def remove(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> int:
        """Take the points of units out; returns how many of them the triangles alone could not decide."""
        at_once, points, totals = self._part_sums(len(units)), self._points_to_change(), self._totals.writable()
        grids = self.view()
        gone, partial = remove_points(conjunctions, units, grids, totals, points, at_once, self._stride)
        if at_once:
            join_sums(grids.taus, grids.sum_firsts, points.sums)
        self._points -= int(gone)
        return int(partial)

    # ------------------------------------------------------------------ trust

    def invariants(self) -> None:
        view, sizes = self.view(), self.taus.view().astype(np.int64)
        require((view.firsts + sizes * (sizes + 1) <= len(view.starts)).all(), "a grid reaches out of the squares")
        require((view.sum_firsts + 4 * sizes <= len(view.sums)).all(), "the sums of a grid reach out of the array")
        capacities = self.capacities.view()
        require((view.counts <= capacities).all(), "a square has more points than room")
        require((view.starts + capacities <= len(view.pool)).all(), "a square reaches out of the pool")
        self._check_bits(view.bits, self.given["states"].view() == INDEXED, len(view.taus))
        self._check_totals(view)

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
