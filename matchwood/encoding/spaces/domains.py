"""The ordered domain of each kind of attribute, and the values of a comparison as canonical cuts.

All domains but that of numbers are discrete here: after an element comes the next one. So each cut is written as
"before an element", and the sets of two comparisons that hold for the same values are equal: `x > 5` is `x >= 6` on
int. The cut before the least element is START; a cut after the greatest is none at all, written None here.

On the line of numbers (`decimals.py`) a cut stands before a place (side 0), behind it (side 2), or between the integer
or decimal at the place and the double above it (side 1). Integers and decimals compare with a constant by their values,
a double with a decimal constant as with the double nearest to it. Mostly that double stands at the constant's own
place, so that a comparison is one interval. Where it does not, as for a constant with twenty digits, that one
double is put on its side by cuts of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from matchwood.encoding.spaces.decimals import place_of
from matchwood.encoding.spaces.keys import BEHIND, DOUBLE
from matchwood.logic import EMPTY, START, Cut, CutSet, complement, difference, intersection, union, union_all

Edge: TypeAlias = Cut | None
"""A cut, or None for the end of the domain."""

INT_MIN, INT_END = -(2**63), 2**63
_BEFORE_NAN: Cut = (math.inf, BEHIND)


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
    if isinstance(domain, Numbers) and _has_decimal(value):
        return domain.compare(op, value)
    if op == "in":
        return _points(domain, value)
    return _COMPARISONS[op](domain, value)


def _has_decimal(value: Any) -> bool:
    return any(isinstance(each, Decimal) for each in value) if type(value) is tuple else isinstance(value, Decimal)


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


def _number_before(value: float) -> Edge:
    if value != value:
        return _BEFORE_NAN
    return START if value == -math.inf else (value, 0)


def _number_after(value: float) -> Edge:
    return None if value != value else (value, BEHIND)


class Numbers(Domain):
    """The line of numbers: constants are ints and doubles, each at a place, and Decimals."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_number_before, _number_after)
        self.point = lru_cache(POINTS_KEPT, typed=True)(self._point)

    def _point(self, value: float | Decimal) -> CutSet:
        if isinstance(value, Decimal):
            return union(*_places(value))
        return _span(_number_before(value), _number_after(value))

    def compare(self, op: str, value: Any) -> CutSet:
        """The numbers of a comparison, one of whose constants may be a Decimal."""
        if op in ("in", "not in"):
            found = union_all(map(self.point, value))
            return found if op == "in" else complement(found)
        if op in ("between", "not between"):
            found = intersection(self.compare(">=", value[0]), self.compare("<=", value[1]))
            return found if op == "between" else complement(found)
        if op in ("=", "!="):
            return self.point(value) if op == "=" else complement(self.point(value))
        if not isinstance(value, Decimal):
            return _COMPARISONS[op](self, value)
        above = self._above(value)
        if op == ">":
            return above
        return complement(above) if op == "<=" else _toggled(op, union(above, self.point(value)))

    def _above(self, value: Decimal) -> CutSet:
        """What is above a decimal: exact numbers by their values, doubles by the one nearest to it."""
        exact, double = _places(value)
        if exact < double:
            return difference((exact[1],), double)
        return (exact[1],)


def _toggled(op: str, at_least: CutSet) -> CutSet:
    return at_least if op == ">=" else complement(at_least)


def _places(value: Decimal) -> tuple[CutSet, CutSet]:
    """The number that equals a Decimal, and the double nearest to it."""
    exact, double = place_of(value), float(value)
    return ((exact, 0), (exact, BEHIND)), ((double, DOUBLE), (double, BEHIND))


def _integer_before(value: float | Decimal) -> Edge:
    """The cut before the least integer that is not below a number."""
    if value != value or value in (math.inf, -math.inf):
        return START if value == -math.inf else None
    element = math.ceil(value)
    if element <= INT_MIN:
        return START
    return (element, 0) if element < INT_END else None


def _integer_after(value: float | Decimal) -> Edge:
    is_finite = value == value and value not in (math.inf, -math.inf)
    return _integer_before(math.floor(value) + 1 if is_finite else value)


def _bool_before(value: int) -> Edge:
    return (START, (1, 0), None)[int(value)]


def _string_before(value: str) -> Edge:
    return (value, 0) if value else START


BOOL = Domain(_bool_before, lambda value: _bool_before(int(value) + 1))
INT = Domain(_integer_before, _integer_after)
NUMBER = Numbers()
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
