"""The common predicates in one step: a pattern that takes a whole `name operator constant` and what surrounds it.

Before the predicate it takes a connective and a few `not` and `(`. The pattern is a short cut, not a second
grammar: it takes only what `predicates.py` would read the same way, and leaves everything else (quoted names,
doubled quotes, exponents, dates, constants on the left) to it. It makes a rule of eight predicates four times
faster to read. Every repetition is possessive and the prefix is short, so failed attempts cost time linear in the text.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from matchwood.language.names import known_names, unquoted_name
from matchwood.language.numbers import read_decimal
from matchwood.language.predicates import CANONICAL
from matchwood.language.tree import Predicate, make_predicate

_INTEGER = r"[+-]?+[0-9]{1,18}+"
_NUMBER = rf"{_INTEGER}(?:\.[0-9]{{0,18}}+)?+"
_TEXT = r"'[^']*+'"

SIMPLE = re.compile(
    rf"""\s*+
    (?: ((?ai:and|or|xor|xnor)) \b \s*+ )?
    ( (?: \(\s*+ | (?ai:not)(?![\w.])\s*+ ){{0,4}}+ )
    ([^\W\d]\w*+ (?:\.\w++)*+) \s*+
    (?: ([=]=?|!=|<[=>]?|>=?) \s*+
        (?: ({_INTEGER}) (\.[0-9]{{0,18}}+)? (?![\w.]) | '([^']*+)' (?!') )
      | ((?ai:(?:not\s++)?in|(?:one|all|none)\s++of)) \s*+ \( \s*+
        (?: ({_INTEGER} (?:\s*+,\s*+{_INTEGER})*+) | ({_TEXT} (?:\s*+,\s*+{_TEXT})*+) ) \s*+ \)
      | ((?ai:(?:not\s++)?between)) \s++ ({_NUMBER}) \s++ (?ai:and) \s++ ({_NUMBER}) (?![\w.])
      | ((?ai:(?:not\s++)?(?:like|ilike|rlike))) \s*+ '([^']*+)' (?!') (?!\s*+(?ai:escape)\b)
      | ((?ai:is\s++(?:not\s++)?null)) (?![\w.])
      | () (?= \) | \Z | (?ai:and|or|xor|xnor)(?![\w.]) )
    )""",
    re.VERBOSE,
)
CONNECTIVE, PREFIX, NAME = 1, 2, 3
_SYMBOL, _WHOLE, _FRACTION, _STRING = 4, 5, 6, 7
_IN, _INTEGERS, _STRINGS, _BETWEEN, _LOW, _HIGH, _LIKE, _PATTERN, _NULL, _BARE = range(8, 18)

_STRING_ITEM = re.compile(r"'([^']*+)'")
_PHRASES = {
    phrase: phrase
    for phrase in (
        *("in", "not in", "one of", "all of", "none of", "between", "not between", "is null", "is not null"),
        *("like", "not like", "ilike", "not ilike", "rlike", "not rlike"),
    )
}


def read_simple(found: re.Match[str]) -> Predicate | None:
    """The predicate in a match of SIMPLE; None if its name is a keyword."""
    name = found[NAME]
    attr = known_names.get(name) or unquoted_name(name)
    if attr is None:
        return None
    op, value = read_test(found)
    return make_predicate(attr, op, value, None, found.start(NAME))


def read_test(found: re.Match[str]) -> tuple[str, Any]:
    """The operator and value in a match of SIMPLE."""
    shape = found.lastindex
    if shape == _WHOLE:
        return CANONICAL[found[_SYMBOL]], int(found[_WHOLE])
    if shape == _STRING:
        return CANONICAL[found[_SYMBOL]], found[_STRING]
    if shape == _FRACTION:
        return CANONICAL[found[_SYMBOL]], read_decimal(found[_WHOLE] + found[_FRACTION])
    return _worded(found, shape)


def _worded(found: re.Match[str], shape: int | None) -> tuple[str, Any]:
    """The operator and value of the shapes whose operator is a word."""
    if shape == _INTEGERS:
        return _phrase(found[_IN]), tuple(map(int, map(str.strip, found[_INTEGERS].split(","))))
    if shape == _STRINGS:
        return _phrase(found[_IN]), tuple(_STRING_ITEM.findall(found[_STRINGS]))
    if shape == _HIGH:
        return _phrase(found[_BETWEEN]), (_number(found[_LOW]), _number(found[_HIGH]))
    if shape == _PATTERN:
        return _phrase(found[_LIKE]), found[_PATTERN]
    if shape == _BARE:
        return "=", True
    return _phrase(found[_NULL]), None


def _phrase(words: str) -> str:
    """An operator's words in lower case and with single spaces."""
    return _PHRASES.get(words) or _PHRASES[" ".join(words.lower().split())]


def _number(text: str) -> int | float | Decimal:
    return read_decimal(text) if "." in text else int(text)
