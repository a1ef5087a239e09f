"""Comparisons with a plain constant, and plain patterns, bound without a tree: most of what rules do not share.

The pattern is a short cut, as that of `language/simple.py`, whose words it has: it takes what the parser would read the
same way, for attributes without a declared type, and leaves everything else to it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from matchwood.encoding.derived import keys as derived_keys
from matchwood.encoding.rules.binding import pattern_test
from matchwood.encoding.spaces.domains import NUMBER, STRING, compare
from matchwood.errors import MatchwoodError
from matchwood.language import CANONICAL, read_decimal
from matchwood.logic import CutSet, complement

_NUMBER = r"([+-]?+[0-9]{1,18}+)(\.[0-9]{0,18}+)?"
_PLAIN = re.compile(rf"([=]=?|!=|<[=>]?|>=?)\s*+(?:{_NUMBER}|'([^']*+)')")
_LIKE = re.compile(r"(not\s++)?+(i?like)\s*+'([^']*+)'", re.IGNORECASE | re.ASCII)
_BETWEEN = re.compile(rf"between\s++{_NUMBER}\s++and\s++{_NUMBER}", re.IGNORECASE)


class PlainTest(NamedTuple):
    """A test of an attribute's values.

    `op`       its operator
    `kind`     what it asks of its attribute, `number` or `string`
    `cuts`     of which values it is TRUE; of a derived attribute, if there is a `pattern`
    `pattern`  what such an attribute tests: `like` or `ilike`, and the canonical pattern
    """

    op: str
    kind: str
    cuts: CutSet
    pattern: tuple[str, str] | None = None


def plain_test(test: str) -> PlainTest | None:
    """A test by its text; None if it is not plain.

    >>> plain_test(">= 5").cuts, plain_test("in (1, 2)")
    (((5, 0),), None)
    >>> plain_test("between 1 and 2").cuts
    ((1, 0), (2, 2))
    >>> plain_test("not ilike '%A%'")
    PlainTest(op='not ilike', kind='string', cuts=((), (1, 0)), pattern=('ilike', '%a%'))
    """
    found = _PLAIN.fullmatch(test)
    if found is None:
        return _between(test) or _like(test)
    symbol, whole, fraction, text = found.groups()
    op = CANONICAL[symbol]
    if whole is None:
        return PlainTest(op, "string", compare(STRING, op, text))
    return PlainTest(op, "number", compare(NUMBER, op, _number(whole, fraction)))


def _like(test: str) -> PlainTest | None:
    found = _LIKE.fullmatch(test)
    if found is None:
        return None
    negated, word, pattern = found.groups()
    op = word.lower()
    try:
        asked = pattern_test(op, pattern, None)
    except MatchwoodError:
        return None
    name = f"not {op}" if negated else op
    if isinstance(asked, str):
        return PlainTest(name, "string", derived_keys.FALSE if negated else derived_keys.TRUE, (op, asked))
    return PlainTest(name, "string", complement(asked) if negated else asked)


def _between(test: str) -> PlainTest | None:
    found = _BETWEEN.fullmatch(test)
    if found is None:
        return None
    low, low_fraction, high, high_fraction = found.groups()
    ends = _number(low, low_fraction), _number(high, high_fraction)
    return PlainTest("between", "number", compare(NUMBER, "between", ends))


def _number(whole: str, fraction: str | None) -> Any:
    return int(whole) if fraction is None else read_decimal(whole + fraction)
