"""Comparisons with a plain constant, bound without a tree: most of what rules of one kind do not share.

The pattern is a short cut, as that of `language/simple.py`, whose words it has: it takes what the parser would read the
same way, for attributes without a declared type, and leaves everything else to it.
"""

from __future__ import annotations

import re
from typing import Any

from matchwood.encoding.spaces.domains import NUMBER, STRING, compare
from matchwood.language import CANONICAL, read_decimal
from matchwood.logic import CutSet

_NUMBER = r"([+-]?+[0-9]{1,18}+)(\.[0-9]{0,18}+)?"
_PLAIN = re.compile(rf"([=]=?|!=|<[=>]?|>=?)\s*+(?:{_NUMBER}|'([^']*+)')")
_BETWEEN = re.compile(rf"between\s++{_NUMBER}\s++and\s++{_NUMBER}", re.IGNORECASE)


def plain_cuts(test: str) -> tuple[str, CutSet] | None:
    """What a test asks of its attribute, `number` or `string`, and the values for which it is TRUE; None if it is not
    plain.

    >>> plain_cuts(">= 5"), plain_cuts("= 'a'"), plain_cuts("in (1, 2)")
    (('number', ((5, 0),)), ('string', (('a', 0), ('a\\x00', 0))), None)
    >>> plain_cuts("between 1 and 2")
    ('number', ((1, 0), (2, 2)))
    """
    found = _PLAIN.fullmatch(test)
    if found is None:
        return _between_cuts(test)
    symbol, whole, fraction, text = found.groups()
    if whole is None:
        return "string", compare(STRING, CANONICAL[symbol], text)
    return "number", compare(NUMBER, CANONICAL[symbol], _number(whole, fraction))


def _between_cuts(test: str) -> tuple[str, CutSet] | None:
    found = _BETWEEN.fullmatch(test)
    if found is None:
        return None
    low, low_fraction, high, high_fraction = found.groups()
    return "number", compare(NUMBER, "between", (_number(low, low_fraction), _number(high, high_fraction)))


def _number(whole: str, fraction: str | None) -> Any:
    return int(whole) if fraction is None else read_decimal(whole + fraction)
