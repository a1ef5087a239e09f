"""The tokens of rules in UTF-8 bytes: what `lexer.py` reads in a text, as far as it is plain.

All that is not taken (quoted names, letters outside ASCII but in constants, symbols that the grammar only explains, and
whatever is misspelt) is OTHER: such a rule is left to the parser.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core.bits import lowest_bit
from matchwood.core.jit import bare_kernel
from matchwood.core.words import word_at

OTHER, END, NAME, NUMBER, STRING, COMPARE, OPEN, CLOSE, COMMA, SIGN = range(10)
AND, OR, XOR, XNOR, NOT, IN, BETWEEN, LIKE, IS, NULL, TRUE, FALSE = range(20, 32)
UNKNOWN, ONE, ALL, NONE, OF, MOMENT, CAST, ESCAPE = range(32, 40)
"""Words. From UNKNOWN on they are words in their place only, and name an attribute elsewhere."""


def _packed(word: str) -> np.uint64:
    """The first eight letters of a word as one number."""
    return np.uint64(int.from_bytes(word.encode()[:8], "little"))


_WORDS = {
    "and": AND, "or": OR, "xor": XOR, "xnor": XNOR, "not": NOT, "in": IN, "between": BETWEEN, "is": IS, "null": NULL,
    "like": LIKE, "ilike": LIKE, "rlike": LIKE, "true": TRUE, "false": FALSE, "unknown": UNKNOWN, "one": ONE,
    "all": ALL, "none": NONE, "of": OF, "date": MOMENT, "cast": CAST, "escape": ESCAPE,
}  # fmt: skip
_TIMESTAMP, _LONGEST = _packed("timestamp"), len("timestamp")
"""The only word of more than eight letters."""

_FACTOR, _SHIFT = np.uint64(0x5E78442CBABC4FDD), np.uint64(59)
"""A product with this factor, of which five bits remain, tells all words apart."""


def _slot(packed: np.uint64) -> int:
    return (int(packed) * int(_FACTOR) & 2**64 - 1) >> int(_SHIFT)


def _words_by_slot() -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    words, kinds = np.zeros(32, np.uint64), np.full(32, NAME)
    for word, kind in _WORDS.items():
        words[_slot(_packed(word))], kinds[_slot(_packed(word))] = _packed(word), kind
    return words, kinds


_WORD_AT, _KIND_AT = _words_by_slot()
_LOWER_CASE = _packed(8 * " ")

_LETTER, _DIGIT, _SPACE, _BEYOND = 1, 2, 4, 8
"""BEYOND are dots, and bytes outside ASCII: a word or a number that they follow is not plain."""


def _kinds_of_bytes() -> NDArray[np.uint8]:
    kinds = np.zeros(256, np.uint8)
    kinds[np.r_[97:123, 65:91, 95]] = _LETTER
    kinds[48:58] = _DIGIT
    kinds[np.r_[32, 9:14]] = _SPACE
    kinds[np.r_[46, 128:256]] = _BEYOND
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
def _each(byte: int) -> Any:
    """A byte eight times."""
    return np.uint64(byte) * np.uint64(0x0101010101010101)


@bare_kernel
def _between(seven: Any, low: int, high: int) -> Any:
    """The highest bit of each of eight bytes that lies in a range; none of them has that bit itself."""
    return (seven + _each(128 - low)) & ~(seven + _each(127 - high))


@bare_kernel
def _digits_in(eight: Any) -> Any:
    """How many of eight bytes are digits before another follows."""
    digits = _between(eight & _each(127), 48, 57) & ~eight & _each(128)
    return lowest_bit(digits ^ _each(128)) >> 3


@bare_kernel
def _word_bytes_in(eight: Any) -> Any:
    """How many of eight bytes are letters, digits or underscores before another follows."""
    seven = eight & _each(127)
    letters, digits = _between(seven | _LOWER_CASE, 97, 122), _between(seven, 48, 57)
    return lowest_bit((letters | digits | _between(seven, 95, 95)) & ~eight & _each(128) ^ _each(128)) >> 3


@bare_kernel
def _quotes_in(eight: Any) -> Any:
    """How many of eight bytes come before a single quote."""
    differing = eight ^ _each(39)
    return lowest_bit((differing - _each(1)) & ~differing & _each(128)) >> 3


@bare_kernel
def _first_letters(data: Any, start: int, length: int) -> Any:
    """Up to eight letters of a word as one number, in lower case."""
    packed = np.uint64(0)
    for place in range(min(length, 8)):
        packed |= np.uint64(data[start + place] | 32) << np.uint64(8 * place)
    return packed


@bare_kernel
def _short_keyword(packed: Any) -> Any:
    """Which word the letters are, in lower case; NAME if none of the language's up to eight letters."""
    slot = (packed * _FACTOR) >> _SHIFT
    return _KIND_AT[slot] if _WORD_AT[slot] == packed else NAME


@bare_kernel
def _keyword(data: Any, start: int, stop: int) -> Any:
    """Which word stands there, in any case; NAME if it is none of the language's."""
    length = stop - start
    if length > _LONGEST:
        return NAME
    packed = _first_letters(data, start, length)
    if length == _LONGEST:
        return MOMENT if packed == _TIMESTAMP and data[stop - 1] | 32 == 112 else NAME
    return _short_keyword(packed)


@bare_kernel
def _word(data: Any, start: int, end: int) -> Any:
    """A name, of several keys perhaps, or a keyword."""
    if start + 8 <= len(data):
        eight = word_at(data, start)
        length = min(_word_bytes_in(eight), end - start)
        if length < 8 and (start + length == end or _KINDS[data[start + length]] != _BEYOND):
            letters = (eight | _LOWER_CASE) & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))
            return _short_keyword(letters), start, start + length
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
def digits_end(data: Any, start: int, end: int) -> Any:
    """Where one to seven digits end that are a number by themselves; -1 if there are none. Eight bytes are read."""
    length = min(_digits_in(word_at(data, start)), end - start)
    plain = start + length == end or _KINDS[data[start + length]] & (_LETTER | _BEYOND) == 0
    return start + length if 0 < length < 8 and plain else -1


@bare_kernel
def _number(data: Any, start: int, end: int) -> Any:
    if start + 8 <= len(data):
        stop = digits_end(data, start, end)
        if stop >= 0:
            return NUMBER, start, stop
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
def string_token(data: Any, start: int, end: int) -> Any:
    """A text in single quotes, in which a quote is doubled."""
    position = start + 1
    while position < end:
        if position + 8 <= end:
            before = _quotes_in(word_at(data, position))
            position += before
            if before == 8:
                continue
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
        return string_token(data, position, end)
    if byte == 40:
        return OPEN, position, position + 1
    if byte == 41:
        return CLOSE, position, position + 1
    if byte == 44:
        return COMMA, position, position + 1
    return _symbol(data, position, end)
