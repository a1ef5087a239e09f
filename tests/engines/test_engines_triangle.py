"""The geometry of HEM's triangle (4.2.1): the mapping, the ragged grid, Theorems 1 to 5, and the kernels' walk."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from engines_support import COMPILED, Constraint, stored

from matchwood.encoding.codes import NULL_LABEL, TOP_LABEL
from matchwood.engines.hem import _triangle_kernels as kernels
from matchwood.engines.hem._walk_kernels import list_inside, stretches
from matchwood.engines.hem.engine import HEM
from matchwood.engines.hem.triangle import (
    EDGE,
    EXCLUDED,
    KEPT,
    Interval,
    Square,
    all_squares,
    begins_after,
    column_of,
    ends_before,
    holds,
    number_of,
    point,
    square_of,
    squares,
    subarea,
    verdict,
)

SPAN = 12
KINDS = list(itertools.product((False, True), repeat=2))
INTERVALS = [Interval(low, high, *kinds) for low in range(SPAN + 1) for high in range(low, SPAN + 1) for kinds in KINDS]
VALUES = [Fraction(step, 2) for step in range(2 * SPAN + 1)]


def lies_in(interval: Interval, value: Fraction) -> bool:
    """What an interval is, word for word."""
    above = value >= interval.low if interval.low_inclusive else value > interval.low
    return above and (value <= interval.high if interval.high_inclusive else value < interval.high)


def test_points_lie_below_both_sides_of_the_triangle() -> None:
    for interval in INTERVALS:
        x, y = point(interval)
        assert (x - y, x + y) == (interval.low, interval.high)
        assert 0 <= y <= x
        assert y <= SPAN - x


def test_theorems_1_2_and_3_exclude_what_does_not_hold_the_value() -> None:
    for interval, value in itertools.product(INTERVALS, VALUES):
        excluded = ends_before(interval, value) or begins_after(interval, value)
        assert excluded != lies_in(interval, value)


def theorem_4(interval: Interval, value: Fraction) -> bool:
    """The paper's words: inside, or at an inclusive end."""
    inside = interval.low < value < interval.high
    at_low = interval.low == value and interval.low_inclusive
    return inside or at_low or (interval.high == value and interval.high_inclusive)


def test_theorems_4_and_5_accept_what_holds_the_value_and_no_empty_interval() -> None:
    for interval, value in itertools.product(INTERVALS, VALUES):
        assert holds(interval, value) == lies_in(interval, value)
        if interval.low < interval.high:
            assert theorem_4(interval, value) == lies_in(interval, value)
    # By its letter Theorem 4 takes [v, v) and (v, v], which hold nothing.
    assert theorem_4(Interval(3, 3, True, False), Fraction(3))
    assert not holds(Interval(3, 3, True, False), 3)
    assert not holds(Interval(3, 3, False, True), 3)
    assert holds(Interval(3, 3), 3)


def test_subareas_are_what_the_theorems_exclude() -> None:
    for interval, value in itertools.product(INTERVALS, VALUES):
        found = subarea(interval, value)
        if ends_before(interval, value):
            assert found == 1
        elif begins_after(interval, value):
            assert found == 2
        else:
            assert found == 3


def test_lines_meet_the_sides_at_half_the_value() -> None:
    """The paper has t1 and t2 on the y-axis; their heights are right, and those of no other point on the sides."""
    for value in VALUES:
        t1, t2 = (value / 2, value / 2), (value + (SPAN - value) / 2, (SPAN - value) / 2)
        assert t1[1] == t1[0] == value - t1[0]
        assert t2[1] == SPAN - t2[0] == t2[0] - value


def test_the_grid_is_ragged() -> None:
    assert squares(8) == len(list(all_squares(8))) == 72
    rows = [sum(square.row == row for square in all_squares(8)) for row in range(8)]
    assert rows == [16, 14, 12, 10, 8, 6, 4, 2]
    for tau in (1, 2, 3, 8, 80):
        assert [number_of(square, tau) for square in all_squares(tau)] == list(range(squares(tau)))


@pytest.mark.parametrize("tau", [1, 2, 3, 4, 8, 12])
def test_every_point_has_a_square(tau: int) -> None:
    """Also those on L2 at a corner of squares, which Formula 3 puts one column beside the row."""
    grid, side = set(all_squares(tau)), Fraction(SPAN, 2 * tau)
    for interval in INTERVALS:
        square = square_of(interval, SPAN, tau)
        assert square in grid
        x, y = point(interval)
        assert square.row * side <= y <= (square.row + 1) * side
        assert square.column * side <= x <= (square.column + 1) * side


def test_formula_3_as_printed_would_leave_half_of_the_rows_empty() -> None:
    tau = 8
    printed = {min(int(point(interval)[1] * tau // SPAN), tau - 1) for interval in INTERVALS}
    ours = {square_of(interval, SPAN, tau).row for interval in INTERVALS}
    assert max(printed) == tau // 2
    assert max(ours) == tau - 1


@pytest.mark.parametrize("tau", [1, 2, 3, 5, 8])
def test_only_squares_on_a_line_need_a_look(tau: int) -> None:
    seen = set()
    for interval in INTERVALS:
        square = square_of(interval, SPAN, tau)
        for value in VALUES:
            found = verdict(square, column_of(value, SPAN, tau))
            seen.add(found)
            if found == EXCLUDED:
                assert not lies_in(interval, value)
            # An exclusive lower end at the upper corner of its square is the one that a line touches beside it.
            elif found == KEPT and not (interval.low == value and not interval.low_inclusive):
                assert lies_in(interval, value)
    assert seen == ({EDGE} if tau == 1 else {EXCLUDED, EDGE, KEPT})


def test_a_line_cuts_two_diagonals_of_squares() -> None:
    tau, column = 8, 7
    edges = [square for square in all_squares(tau) if verdict(square, column) == EDGE]
    assert {square.row + square.column for square in edges if square.column <= column - square.row} == {6, 7}
    assert {square.column - square.row for square in edges if square.column >= column + square.row} == {7, 8}
    assert verdict(Square(7, 7), column) == KEPT


def labels_of(rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
    ends = np.sort(rng.integers(0, TOP_LABEL, (count, 2), endpoint=True), axis=1)
    small = np.sort(rng.integers(0, 50, (count, 2)), axis=1)
    extremes = [(0, TOP_LABEL), (0, 1), (TOP_LABEL - 1, TOP_LABEL), (0, 0), (TOP_LABEL // 2, TOP_LABEL)]
    return [tuple(map(int, pair)) for pair in (*ends, *small, *extremes)]


@pytest.mark.parametrize("tau", [1, 2, 7, 80, 1000])
def test_kernels_compute_the_same_in_integers(tau: int) -> None:
    for low, high in labels_of(np.random.default_rng(tau), 100):
        square = square_of(Interval(low, high, True, False), TOP_LABEL, tau)
        row = kernels.row_of(low, high, tau)
        column = kernels.column_of(low, high, tau, row)
        assert Square(row, column) == square
        assert kernels.square_number(row, column, tau) == number_of(square, tau)
        assert kernels.value_column(low, tau) == column_of(low, TOP_LABEL, tau)


def engine_of(intervals: list[tuple[int, int]], grid: int) -> HEM:
    store, _ = stored([(Constraint(0, (pair,)),) for pair in intervals])
    engine = HEM(store, {"grid": grid})
    engine.insert(store.live_units())
    return engine


@pytest.mark.parametrize("grid", [1, 2, 5, 80])
def test_the_walk_finds_subarea_3_or_the_other_two(grid: int) -> None:
    rng = np.random.default_rng(grid)
    intervals = [pair for pair in dict.fromkeys(labels_of(rng, 2_000 if COMPILED else 60)) if pair[0] < pair[1]]
    grids = engine_of(intervals, grid)._triangles.view()
    most = squares(grid)
    begins, stops, edges = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.bool_)
    low, high = np.array(intervals).T
    for label in [*rng.integers(0, TOP_LABEL, 30).tolist(), 0, 1, TOP_LABEL - 1, TOP_LABEL // 2]:
        holding = set(np.flatnonzero((low <= label) & (label < high)).tolist())
        walked = []
        for inside in (True, False):
            found = stretches(grids, 0, label, inside, begins, stops, edges)
            units = np.empty(len(intervals) + 1, np.int32)
            parts = [(grids.pool[begins[n] : stops[n]].tolist(), bool(edges[n])) for n in range(found)]
            walked.append({unit for part, _ in parts for unit in part})
            sure = {unit for part, edge in parts if not edge for unit in part}
            assert sure <= holding if inside else not sure & holding
            if inside:
                end, steps = list_inside(grids.pool, grids.bounds, label, begins, stops, edges, found, units, 0)
                assert sorted(units[:end].tolist()) == sorted(holding)
                assert steps == sum(len(part) for part, _ in parts)
        assert walked[0] | walked[1] == set(range(len(intervals)))
        edge_units = walked[0] & walked[1]
        assert (walked[0] - edge_units) <= holding
        if grid == 80 and COMPILED:
            assert len(edge_units) < len(intervals) / 2
    assert stretches(grids, 0, NULL_LABEL, True, begins, stops, edges) == 0
    whole = stretches(grids, 0, NULL_LABEL, False, begins, stops, edges)
    assert int((stops - begins)[:whole].sum()) == len(intervals)
