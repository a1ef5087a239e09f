"""The ordered domain of each kind of attribute, and the values of a comparison as canonical cuts.

Every domain here is discrete: after an element comes the next one. So each cut is written as "before an
element", and the sets of two comparisons that hold for the same values are equal: `x > 5` is `x >= 6` on
int. The one exception is the cut before NaN, `(inf, 1)`, since Python's NaN has no place in an order.
The cut before the least element is START; a cut after the greatest is none at all, written None here.

Numbers are the 64-bit integers and the doubles in one exact order: the element after 2**53 is 2**53 + 1,
which no double holds, and the one after 0.5 is the next double.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

from matchwood.logic import EMPTY, START, Cut, CutSet, complement

Edge: TypeAlias = Cut | None
"""A cut, or None for the end of the domain."""

INT_MIN, INT_END = -(2**63), 2**63
_EXACT = 2**53
_BEFORE_NAN: Cut = (math.inf, 1)


POINTS_KEPT = 16_384
"""Constants whose sets are remembered: rules compare with the same few numbers over and over."""


class Domain:
    """Where the cuts before and after a constant stand, whether or not the constant is an element.

    `point`  the set of values that equal a constant
    """

    __slots__ = ("after", "before", "point")

    def __init__(
        self, before: Callable[[Any], Edge], after: Callable[[Any], Edge], points_kept: int = POINTS_KEPT
    ) -> None:
        self.before, self.after = before, after
        self.point = lru_cache(points_kept, typed=True)(lambda value: _span(before(value), after(value)))


def compare(domain: Domain, op: str, value: Any) -> CutSet:
    """The elements for which a comparison is TRUE; `value` as in a Predicate.

    >>> compare(INT, ">", 5), compare(INT, "between", (3, 1)), compare(INT, "not in", (1, 2, 4))
    (((6, 0),), (), ((), (1, 0), (3, 0), (4, 0), (5, 0)))
    """
    if op == "=":
        return domain.point(value)
    if op == "in":
        return _points(domain, value)
    return _COMPARISONS[op](domain, value)


def _span(low: Edge, high: Edge) -> CutSet:
    if low is None:
        return EMPTY
    if high is None:
        return (low,)
    return (low, high) if low < high else EMPTY


def _points(domain: Domain, values: Iterable[Any]) -> CutSet:
    """Single elements; neighbours run together."""
    spans = sorted({span for span in map(domain.point, values) if span})
    cuts: list[Cut] = []
    for span in spans:
        if cuts and cuts[-1] == span[0]:
            cuts[-1:] = span[1:]
        else:
            cuts.extend(span)
    return tuple(cuts)


_COMPARISONS: dict[str, Callable[[Domain, Any], CutSet]] = {
    "!=": lambda domain, value: complement(domain.point(value)),
    "<": lambda domain, value: _span(START, domain.before(value)),
    "<=": lambda domain, value: _span(START, domain.after(value)),
    ">": lambda domain, value: _span(domain.after(value), None),
    ">=": lambda domain, value: _span(domain.before(value), None),
    "not in": lambda domain, values: complement(_points(domain, values)),
    "between": lambda domain, ends: _span(domain.before(ends[0]), domain.after(ends[1])),
    "not between": lambda domain, ends: complement(_span(domain.before(ends[0]), domain.after(ends[1]))),
}


def successor(number: float) -> Edge:
    """The cut after a number that is an element: before the next one in int64 and the doubles together."""
    if number != number:
        return None
    if number == math.inf:
        return _BEFORE_NAN
    if -_EXACT < number < _EXACT or not INT_MIN <= number < INT_END:
        return (math.nextafter(number, math.inf), 0)
    following = int(number) + 1
    return (following, 0) if following < INT_END else (float(following), 0)


def _number_before(value: float) -> Edge:
    if isinstance(value, int):
        return (value if INT_MIN <= value < INT_END else _ceiling(value), 0)
    if value != value:
        return _BEFORE_NAN
    return START if value == -math.inf else (value, 0)


def _number_after(value: float) -> Edge:
    if isinstance(value, int) and not INT_MIN <= value < INT_END:
        element = _ceiling(value)
        return successor(element) if element == value else (element, 0)
    return successor(value)


def _ceiling(value: int) -> float:
    """The least double that is not below an integer."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return math.nextafter(nearest, math.inf) if nearest < value else nearest


def _integer_before(value: float) -> Edge:
    element = int(value)
    if element <= INT_MIN:
        return START
    return (element, 0) if element < INT_END else None


def _bool_before(value: int) -> Edge:
    return (START, (1, 0), None)[int(value)]


def _string_before(value: str) -> Edge:
    return (value, 0) if value else START


BOOL = Domain(_bool_before, lambda value: _bool_before(int(value) + 1))
INT = Domain(_integer_before, lambda value: _integer_before(int(value) + 1))
NUMBER = Domain(_number_before, _number_after)
STRING = Domain(_string_before, lambda value: (value + "\0", 0), points_kept=0)


def prefix(text: str) -> CutSet:
    """The strings that begin with a text.

    >>> prefix("ab"), prefix("a\\U0010ffff"), prefix("\\U0010ffff")
    ((('ab', 0), ('ac', 0)), (('a\\U0010ffff', 0), ('b', 0)), (('\\U0010ffff', 0),))
    """
    trimmed = text.rstrip("\U0010ffff")
    if not trimmed:
        return _span(_string_before(text), None)
    following = ord(trimmed[-1]) + 1
    # No string holds a surrogate, so that the next code point after U+D7FF is U+E000.
    last = chr(0xE000 if following == 0xD800 else following)
    return _span(_string_before(text), (trimmed[:-1] + last, 0))
