"""Comparisons with a plain constant, bound without a tree: most of what rules of one kind do not share.

The pattern is a short cut, as that of `language/simple.py`, whose words it has: it takes what the parser would read the
same way, for attributes without a declared type, and leaves everything else to it.
"""

from __future__ import annotations

import re

from matchwood.encoding.spaces.domains import NUMBER, STRING, compare
from matchwood.language import CANONICAL, read_decimal
from matchwood.logic import CutSet

_PLAIN = re.compile(r"([=]=?|!=|<[=>]?|>=?)\s*+(?:([+-]?+[0-9]{1,18}+)(\.[0-9]{0,18}+)?|'([^']*+)')")


def plain_cuts(test: str) -> tuple[str, CutSet] | None:
    """What a test asks of its attribute, `number` or `string`, and the values for which it is TRUE; None if it is not
    plain.

    >>> plain_cuts(">= 5"), plain_cuts("= 'a'"), plain_cuts("between 1 and 2")
    (('number', ((5, 0),)), ('string', (('a', 0), ('a\\x00', 0))), None)
    """
    found = _PLAIN.fullmatch(test)
    if found is None:
        return None
    symbol, whole, fraction, text = found.groups()
    if whole is None:
        return "string", compare(STRING, CANONICAL[symbol], text)
    value = int(whole) if fraction is None else read_decimal(whole + fraction)
    return "number", compare(NUMBER, CANONICAL[symbol], value)
