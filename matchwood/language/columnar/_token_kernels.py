"""The tokens of rules in UTF-8 bytes: what `lexer.py` reads in a text, as far as it is plain.

All that is not taken (quoted names, letters outside ASCII but in constants, symbols that the grammar only explains, and
whatever is misspelt) is OTHER: such a rule is left to the parser.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.core.words import word_at

OTHER, END, NAME, NUMBER, STRING, COMPARE, OPEN, CLOSE, COMMA, SIGN = range(10)
AND, OR, XOR, XNOR, NOT, IN, BETWEEN, LIKE, IS, NULL, TRUE, FALSE = range(20, 32)
UNKNOWN, ONE, ALL, NONE, OF, MOMENT, CAST, ESCAPE = range(32, 40)
"""Words. From UNKNOWN on they are words in their place only, and name an attribute elsewhere."""


def _packed(word: str) -> np.uint64:
    """The first eight letters of a word as one number."""
    return np.uint64(int.from_bytes(word.encode()[:8], "little"))


_AND, _OR, _XOR, _XNOR, _NOT = _packed("and"), _packed("or"), _packed("xor"), _packed("xnor"), _packed("not")
_IN, _BETWEEN, _LIKE, _ILIKE, _RLIKE = map(_packed, ("in", "between", "like", "ilike", "rlike"))
_IS, _NULL, _TRUE, _FALSE, _UNKNOWN = map(_packed, ("is", "null", "true", "false", "unknown"))
_ONE, _ALL, _NONE, _OF, _DATE = map(_packed, ("one", "all", "none", "of", "date"))
_TIMESTAMP, _CAST, _ESCAPE = map(_packed, ("timestamp", "cast", "escape"))
_LONGEST = len("timestamp")
_LOWER_CASE = _packed(8 * " ")

_LETTER, _DIGIT, _SPACE = 1, 2, 4


def _kinds_of_bytes() -> NDArray[np.uint8]:
    kinds = np.zeros(256, np.uint8)
    kinds[np.r_[97:123, 65:91, 95]] = _LETTER
    kinds[48:58] = _DIGIT
    kinds[np.r_[32, 9:14]] = _SPACE
    return kinds


_KINDS = _kinds_of_bytes()
"""What each byte is; a table, because texts have no pattern by which a processor could foresee comparisons."""


@bare_kernel
def _is_word_byte(byte: Any) -> Any:
    return _KINDS[byte] & (_LETTER | _DIGIT) != 0


@bare_kernel
def _is_digit(byte: Any) -> Any:
    return 48 <= byte <= 57


@bare_kernel
def _first_letters(data: Any, start: int, length: int) -> Any:
    """Up to eight letters of a word as one number, in lower case."""
    packed = np.uint64(0)
    if start + 8 <= len(data):
        packed = word_at(data, start) | _LOWER_CASE
        return packed if length >= 8 else packed & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))
    for place in range(min(length, 8)):
        packed |= np.uint64(data[start + place] | 32) << np.uint64(8 * place)
    return packed


@bare_kernel
def _keyword(data: Any, start: int, stop: int) -> Any:
    """Which word stands there, in any case; NAME if it is none of the language's."""
    length = stop - start
    if length < 2 or length > _LONGEST:
        return NAME
    packed = _first_letters(data, start, length)
    if length <= 4:
        if packed == _AND:
            return AND
        if packed == _OR:
            return OR
        if packed == _IN:
            return IN
        if packed == _NOT:
            return NOT
        if packed == _IS:
            return IS
        if packed == _LIKE:
            return LIKE
        if packed == _XOR:
            return XOR
        if packed == _XNOR:
            return XNOR
        if packed == _NULL:
            return NULL
        if packed == _TRUE:
            return TRUE
        if packed == _ONE:
            return ONE
        if packed == _ALL:
            return ALL
        if packed == _NONE:
            return NONE
        if packed == _OF:
            return OF
        if packed == _DATE:
            return MOMENT
        return CAST if packed == _CAST else NAME
    if packed == _BETWEEN:
        return BETWEEN
    if packed in (_ILIKE, _RLIKE):
        return LIKE
    if packed == _FALSE:
        return FALSE
    if packed == _UNKNOWN:
        return UNKNOWN
    if packed == _TIMESTAMP and length == _LONGEST:
        return MOMENT if data[stop - 1] | 32 == 112 else NAME
    return ESCAPE if packed == _ESCAPE else NAME


@bare_kernel
def _word(data: Any, start: int, end: int) -> Any:
    """A name, of several keys perhaps, or a keyword."""
    position = start + 1
    while position < end and _is_word_byte(data[position]):
        position += 1
    if position == end or (data[position] != 46 and data[position] < 128):
        return _keyword(data, start, position), start, position
    while position + 1 < end and data[position] == 46 and _is_word_byte(data[position + 1]):
        position += 2
        while position < end and _is_word_byte(data[position]):
            position += 1
    if position < end and (data[position] == 46 or data[position] >= 128):
        return OTHER, start, position
    return NAME, start, position


@bare_kernel
def _number(data: Any, start: int, end: int) -> Any:
    position = start
    while position < end and _is_digit(data[position]):
        position += 1
    digits = position - start
    if position < end and data[position] == 46:
        position += 1
        first = position
        while position < end and _is_digit(data[position]):
            position += 1
        digits += position - first
    if position < end and data[position] | 32 == 101:
        position += 1
        if position < end and (data[position] == 43 or data[position] == 45):
            position += 1
        first = position
        while position < end and _is_digit(data[position]):
            position += 1
        digits = min(digits, position - first)
    followed = position < end and (_is_word_byte(data[position]) or data[position] == 46 or data[position] >= 128)
    return (OTHER if followed or digits == 0 else NUMBER), start, position


@bare_kernel
def _string(data: Any, start: int, end: int) -> Any:
    """A text in single quotes, in which a quote is doubled."""
    position = start + 1
    while position < end:
        if data[position] != 39:
            position += 1
        elif position + 1 < end and data[position + 1] == 39:
            position += 2
        else:
            return STRING, start, position + 1
    return OTHER, start, end


@bare_kernel
def _symbol(data: Any, start: int, end: int) -> Any:
    byte = data[start]
    following = data[start + 1] if start + 1 < end else 0
    third = data[start + 2] if start + 2 < end else 0
    if byte == 61:  # = and ==; not === => =< =~
        if following == 61:
            return (OTHER if third == 61 else COMPARE), start, start + 2
        return (OTHER if following == 62 or following == 60 or following == 126 else COMPARE), start, start + 1
    if byte == 33:  # != alone; not !==
        return (COMPARE if following == 61 and third != 61 else OTHER), start, start + 2
    if byte == 60:  # < <= <>; not <=>
        if following == 61:
            return (OTHER if third == 62 else COMPARE), start, start + 2
        return COMPARE, start, start + (2 if following == 62 else 1)
    if byte == 62:
        return COMPARE, start, start + (2 if following == 61 else 1)
    if byte == 45:  # not -- ->
        return (OTHER if following == 45 or following == 62 else SIGN), start, start + 1
    if byte == 43:
        return SIGN, start, start + 1
    return OTHER, start, start + 1


@bare_kernel
def read_token(data: Any, position: int, end: int) -> Any:
    """The kind of the token at or after a position, where it begins, and where it ends."""
    while position < end and _KINDS[data[position]] == _SPACE:
        position += 1
    if position >= end:
        return END, position, position
    byte = data[position]
    if _KINDS[byte] == _LETTER:
        return _word(data, position, end)
    if _KINDS[byte] == _DIGIT or byte == 46:
        return _number(data, position, end)
    if byte == 39:
        return _string(data, position, end)
    if byte == 40:
        return OPEN, position, position + 1
    if byte == 41:
        return CLOSE, position, position + 1
    if byte == 44:
        return COMMA, position, position + 1
    return _symbol(data, position, end)
