"""The triangle of HEM (Sci. China 2016, 4.2.1) in plain numbers: where an interval lies, and what a value excludes.

An interval of the domain [0, R] is the point (x, y): its middle, and half its length. All points lie in the triangle
below L1 (y = x) and L2 (y = R - x). A value v draws l1 (y = v - x) and l2 (y = x - v) from its place on the x-axis:
left of l1, in *Subarea 1*, are the intervals that end before v; right of l2, in *Subarea 2*, those that begin after it;
between the two, in *Subarea 3*, those that hold it. On the lines the kinds of the ends decide.

A grid of squares with the side R / 2τ covers the triangle: row i, from the bottom, has the columns i to 2τ - 1 - i, so
that there are τ(τ + 1) squares, 72 for τ = 8. Formula 3 of the paper divides y by R / τ, which would leave the upper
half of the rows empty, as y is at most R / 2; and by it a point on L2 at a corner of squares falls beside its row.

The kernels compute the same in integers, for intervals of labels; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

Number = int | Fraction


class Interval(NamedTuple):
    """A constraint of the paper: two ends, each of which belongs to it (INCLUSIVE) or does not (EXCLUSIVE)."""

    low: Number
    high: Number
    low_inclusive: bool = True
    high_inclusive: bool = True


class Square(NamedTuple):
    """A square of the grid: rows count from the bottom, columns from the left."""

    row: int
    column: int


EXCLUDED, EDGE, KEPT = -1, 0, 1
"""What a value makes of a square: all its intervals fail, each must be looked at, or all hold the value."""


def point(interval: Interval) -> tuple[Fraction, Fraction]:
    """The middle of an interval, and half its length.

    >>> point(Interval(2, 8))
    (Fraction(5, 1), Fraction(3, 1))
    """
    half = Fraction(interval.high - interval.low) / 2
    return half + interval.low, half


def ends_before(interval: Interval, value: Number) -> bool:
    """Theorem 1: the interval does not reach up to the value."""
    return interval.high < value or (interval.high == value and not interval.high_inclusive)


def begins_after(interval: Interval, value: Number) -> bool:
    """Theorem 2: the interval does not reach down to the value."""
    return interval.low > value or (interval.low == value and not interval.low_inclusive)


def holds(interval: Interval, value: Number) -> bool:
    """Theorems 3 and 5: the value lies in the interval unless one of the four conditions says otherwise.

    Theorem 4, taken by the letter, accepts v for [v, v) as well, in which no value lies.
    """
    return not ends_before(interval, value) and not begins_after(interval, value)


def subarea(interval: Interval, value: Number) -> int:
    """In which of the three subareas an interval's point lies, by geometry; the ends decide on the lines alone."""
    x, y = point(interval)
    if y < value - x or (y == value - x and not interval.high_inclusive):
        return 1
    if y < x - value or (y == x - value and not interval.low_inclusive):
        return 2
    return 3


def squares(tau: int) -> int:
    """How many squares a grid has.

    >>> squares(8)
    72
    """
    return tau * (tau + 1)


def column_of(value: Number, span: Number, tau: int) -> int:
    """The column that a value of the x-axis stands in."""
    return min(int(Fraction(value) * 2 * tau // span), 2 * tau - 1)


def square_of(interval: Interval, span: Number, tau: int) -> Square:
    """The square of an interval's point; one on the upper sides of the triangle belongs to the last of its row."""
    x, y = point(interval)
    row = min(int(y * 2 * tau // span), tau - 1)
    return Square(row, max(row, min(int(x * 2 * tau // span), 2 * tau - 1 - row)))


def number_of(square: Square, tau: int) -> int:
    """Squares numbered row by row.

    >>> [number_of(Square(row, row), 3) for row in range(3)]
    [0, 6, 10]
    """
    return square.row * (2 * tau + 1 - square.row) + square.column - square.row


def all_squares(tau: int) -> Iterator[Square]:
    """The squares in the order of their numbers."""
    for row in range(tau):
        for column in range(row, 2 * tau - row):
            yield Square(row, column)


def verdict(square: Square, column: int) -> int:
    """What a value in some column of the x-axis makes of a square.

    The upper ends of a square's intervals lie within two columns from row + column on, the lower ones around
    column - row: so l1 cuts two diagonals of squares, and l2 two of the other direction.
    """
    if square.row + square.column <= column - 2 or square.column - square.row >= column + 2:
        return EXCLUDED
    if square.row + square.column <= column or square.column - square.row >= column:
        return EDGE
    return KEPT
