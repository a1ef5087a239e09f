"""Tests that are spelled as most are: one space between words in lower case, and whole numbers of a few digits.

`read_predicate` reads them as well, token by token; here each of their bytes is looked at once. Of a million rules that
programs have written, nearly all tests are of this kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.core.words import word_at
from matchwood.language.columnar._token_kernels import STRING, digits_end, string_token

NOT_PLAIN = -1

_FARTHEST = 16
"""So many bytes behind a position are looked at before it is known that they belong to the rule."""


def _packed(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


_AND, _IN, _FIVE, _BETWEEN = _packed(b" and "), _packed(b" in ("), _packed(5 * b"\xff"), _packed(b" between")
_SPACE, _QUOTE, _CLOSE, _COMMA = 32, 39, 41, 44
_BANG, _LESS, _EQUAL, _GREATER = 33, 60, 61, 62


@bare_kernel
def follows_and(data: Any, position: int, end: int) -> Any:
    """Whether the next word is `and`, between two spaces."""
    return position + 8 <= len(data) and position + 5 <= end and word_at(data, position) & _FIVE == _AND


@bare_kernel
def _plain_list(data: Any, position: int, end: int) -> Any:
    """Where a list of digits ends whose first begins there."""
    while position + _FARTHEST <= len(data):
        position = digits_end(data, position, end)
        if position < 0 or position >= end:
            return NOT_PLAIN
        if data[position] == _CLOSE:
            return position + 1
        if data[position] != _COMMA:
            return NOT_PLAIN
        position += 2 if position + 1 < end and data[position + 1] == _SPACE else 1
    return NOT_PLAIN


@bare_kernel
def _plain_comparison(data: Any, position: int, end: int) -> Any:
    """Where a comparison with digits or a text ends, whose operator begins there."""
    first, second = data[position], data[position + 1]
    if second == _SPACE:
        if first != _LESS and first != _EQUAL and first != _GREATER:
            return NOT_PLAIN
        position += 2
    elif data[position + 2] == _SPACE and (second == _EQUAL or (first == _LESS and second == _GREATER)):
        if first != _LESS and first != _EQUAL and first != _GREATER and first != _BANG:
            return NOT_PLAIN
        position += 3
    else:
        return NOT_PLAIN
    if position >= end:
        return NOT_PLAIN
    if data[position] == _QUOTE:
        kind, _, stop = string_token(data, position, end)
        return stop if kind == STRING else NOT_PLAIN
    return digits_end(data, position, end)


@bare_kernel
def plain_test(data: Any, position: int, end: int) -> Any:
    """Where the test ends of an attribute whose name ends at `position`; NOT_PLAIN if it is for `read_predicate`."""
    if position + _FARTHEST > len(data) or position + 4 > end or data[position] != _SPACE:
        return NOT_PLAIN
    following = data[position + 1]
    if following <= _GREATER:
        return _plain_comparison(data, position + 1, end)
    eight = word_at(data, position)
    if eight & _FIVE == _IN and position + 5 < end:
        return _plain_list(data, position + 5, end)
    if eight != _BETWEEN or position + 9 >= end or data[position + 8] != _SPACE or position + 9 + 8 > len(data):
        return NOT_PLAIN
    position = digits_end(data, position + 9, end)
    if position < 0 or not follows_and(data, position, end) or position + 5 + 8 > len(data) or position + 5 >= end:
        return NOT_PLAIN
    return digits_end(data, position + 5, end)
