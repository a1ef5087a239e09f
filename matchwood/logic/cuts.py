"""Sets of values as increasing cuts of an ordered domain, and their algebra.

A cut stands between values: `(v, 0)` just before v, `(v, 1)` (or a greater side) just after it, and `()` before the
whole domain. A set is a tuple of strictly increasing cuts: walking up the domain one starts outside the
set, and each cut changes sides. So `x < 5` is `((), (5, 0))`, `x = 5` is `((5, 0), (5, 1))`, and the
complement only toggles the first cut. Python compares tuples and integers with floats exactly, which
makes the numbers one exact order. NaN lies above infinity: the cut `(inf, 1)` is just before it.

The domain counts as dense and without ends: that no integer lies between 5 and 6, or no string
before '', is for the caller to say, by the cuts it chooses.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import chain
from math import inf
from typing import Any, TypeAlias

Cut: TypeAlias = tuple[Any, ...]
CutSet: TypeAlias = tuple[Cut, ...]

START: Cut = ()
EMPTY: CutSet = ()
FULL: CutSet = (START,)

_BEFORE_NAN: Cut = (inf, 1)
_ONLY_NAN: CutSet = (_BEFORE_NAN,)


def below(value: Any) -> CutSet:
    """The values of `x < value`."""
    return (START, (value, 0) if value == value else _BEFORE_NAN)


def at_most(value: Any) -> CutSet:
    """The values of `x <= value`."""
    return (START, (value, 1)) if value == value else FULL


def above(value: Any) -> CutSet:
    """The values of `x > value`."""
    return ((value, 1),) if value == value else EMPTY


def at_least(value: Any) -> CutSet:
    """The values of `x >= value`."""
    return ((value, 0),) if value == value else _ONLY_NAN


def exactly(value: Any) -> CutSet:
    """The values of `x = value`."""
    return ((value, 0), (value, 1)) if value == value else _ONLY_NAN


def between(low: Any, high: Any) -> CutSet:
    """The values of `x between low and high`; empty when reversed.

    >>> between(1, 3), between(3, 1)
    (((1, 0), (3, 1)), ())
    """
    if low <= high:
        return ((low, 0), (high, 1))
    return intersection(at_least(low), at_most(high))


def interval(low: Any, high: Any, *, low_open: bool = False, high_open: bool = False) -> CutSet:
    """The values from low to high, each end open or closed."""
    return intersection(above(low) if low_open else at_least(low), below(high) if high_open else at_most(high))


def one_of(values: Iterable[Any]) -> CutSet:
    """The values of `x in (…)`, in any order and with repetitions.

    >>> one_of([3, 1, 3])
    ((1, 0), (1, 1), (3, 0), (3, 1))
    """
    given = list(values)
    ordered = sorted({value for value in given if value == value})
    points = tuple(chain.from_iterable(((value, 0), (value, 1)) for value in ordered))
    if any(value != value for value in given):
        return union(points, _ONLY_NAN)
    return points


def contains(cuts: CutSet, value: Any) -> bool:
    """Whether the value, which is not NULL, lies in the set."""
    place = (value, 0) if value == value else _BEFORE_NAN
    return bisect_right(cuts, place) & 1 == 1


def complement(cuts: CutSet) -> CutSet:
    """All values outside the set."""
    return cuts[1:] if cuts and not cuts[0] else (START, *cuts)


def intersection(left: CutSet, right: CutSet) -> CutSet:
    """The values in both sets.

    >>> intersection(at_least(3), below(5)), intersection(above(5), below(5))
    (((3, 0), (5, 0)), ())
    """
    if len(left) > len(right):
        left, right = right, left
    if len(left) <= 2:
        return _within(right, left)
    if left == right:
        return left
    if len(left) == 3 and not left[0]:
        return _without(right, left[1], left[2])
    return complement(union_all((complement(left), complement(right))))


def union(left: CutSet, right: CutSet) -> CutSet:
    """The values in either set.

    >>> union(below(5), at_least(5)) == FULL, union(exactly(1), exactly(3))
    (True, ((1, 0), (1, 1), (3, 0), (3, 1)))
    """
    if not left or left == right:
        return right
    if not right:
        return left
    if not len(left) & 1 and left[-1] < right[0]:
        return left + right
    if not len(right) & 1 and right[-1] < left[0]:
        return right + left
    return complement(intersection(complement(left), complement(right)))


def difference(left: CutSet, right: CutSet) -> CutSet:
    """The values in the left set but not in the right one."""
    return intersection(left, complement(right))


def is_subset(inner: CutSet, outer: CutSet) -> bool:
    """Whether every value of the inner set lies in the outer one."""
    if inner == outer or not inner:
        return True
    if len(inner) > 2:
        return union(inner, outer) == outer
    following = bisect_right(outer, inner[0])
    if not following & 1:
        return False
    return following == len(outer) or (len(inner) == 2 and inner[1] <= outer[following])


def union_all(sets: Iterable[CutSet]) -> CutSet:
    """The values in any of many sets, by one sort of all their cuts.

    With all lower and all upper ends in order, a gap follows the i-th upper end exactly when the
    next lower end lies above it: everything begun so far has ended by then.
    """
    kept = list(sets)
    lows = sorted(chain.from_iterable(cuts[::2] for cuts in kept))
    highs = sorted(chain.from_iterable(cuts[1::2] for cuts in kept))
    if not lows:
        return EMPTY
    gaps = ((high, low) for high, low in zip(highs, lows[1:], strict=False) if high < low)
    last = highs[-1:] if len(highs) == len(lows) else []
    return (lows[0], *chain.from_iterable(gaps), *last)


def intersection_all(sets: Iterable[CutSet]) -> CutSet:
    """The values in all of many sets."""
    return complement(union_all(complement(cuts) for cuts in sets))


def _within(cuts: CutSet, window: CutSet) -> CutSet:
    """What lies inside a set of at most one interval: two searches and a slice, however many cuts there are."""
    if not window:
        return EMPTY
    low = window[0]
    start = bisect_right(cuts, low)
    head = (low, *cuts[start:]) if start & 1 else cuts[start:]
    if len(window) == 1:
        return head
    high = window[1]
    stop = bisect_left(head, high)
    return (*head[:stop], high) if stop & 1 else head[:stop]


def _without(cuts: CutSet, low: Cut, high: Cut) -> CutSet:
    """What lies outside one interval."""
    start, stop = bisect_left(cuts, low), bisect_right(cuts, high)
    edges = (low,) * (start & 1) + (high,) * (stop & 1)
    return cuts[:start] + edges + cuts[stop:]
