"""Comparisons with a plain constant, bound without a tree: most of what rules of one kind do not share.

The pattern is a short cut, as that of `language/simple.py`, whose words it has: it takes what the parser would read the
same way, for attributes without a declared type, and leaves everything else to it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from matchwood.encoding.spaces.domains import NUMBER, STRING, compare
from matchwood.language import CANONICAL, read_decimal
from matchwood.logic import CutSet

_NUMBER = r"([+-]?+[0-9]{1,18}+)(\.[0-9]{0,18}+)?"
_PLAIN = re.compile(rf"([=]=?|!=|<[=>]?|>=?)\s*+(?:{_NUMBER}|'([^']*+)')")
_BETWEEN = re.compile(rf"between\s++{_NUMBER}\s++and\s++{_NUMBER}", re.IGNORECASE)


class PlainTest(NamedTuple):
    """The operator of a test, what it asks of its attribute, `number` or `string`, and of which values it is TRUE."""

    op: str
    kind: str
    cuts: CutSet


def plain_test(test: str) -> PlainTest | None:
    """A test by its text; None if it is not plain.

    >>> plain_test(">= 5"), plain_test("in (1, 2)")
    (PlainTest(op='>=', kind='number', cuts=((5, 0),)), None)
    >>> plain_test("between 1 and 2")
    PlainTest(op='between', kind='number', cuts=((1, 0), (2, 2)))
    """
    found = _PLAIN.fullmatch(test)
    if found is None:
        return _between(test)
    symbol, whole, fraction, text = found.groups()
    op = CANONICAL[symbol]
    if whole is None:
        return PlainTest(op, "string", compare(STRING, op, text))
    return PlainTest(op, "number", compare(NUMBER, op, _number(whole, fraction)))


def _between(test: str) -> PlainTest | None:
    found = _BETWEEN.fullmatch(test)
    if found is None:
        return None
    low, low_fraction, high, high_fraction = found.groups()
    ends = _number(low, low_fraction), _number(high, high_fraction)
    return PlainTest("between", "number", compare(NUMBER, "between", ends))


def _number(whole: str, fraction: str | None) -> Any:
    return int(whole) if fraction is None else read_decimal(whole + fraction)
