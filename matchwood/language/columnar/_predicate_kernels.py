"""One predicate in UTF-8 bytes: which attribute it names, and the bytes of its test.

The grammar is that of `predicates.py`. What constants mean is not looked at here: a test is known by its bytes, and the
parser reads each distinct one. `escape` and casts are left to the parser altogether.
"""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.language.columnar._token_kernels import (
    ALL,
    AND,
    BETWEEN,
    CLOSE,
    COMMA,
    COMPARE,
    END,
    ESCAPE,
    FALSE,
    IN,
    IS,
    LIKE,
    MOMENT,
    NAME,
    NONE,
    NOT,
    NULL,
    NUMBER,
    OF,
    ONE,
    OPEN,
    OR,
    OTHER,
    SIGN,
    STRING,
    TRUE,
    UNKNOWN,
    XNOR,
    XOR,
    read_token,
)  # fmt: skip

REFUSED, CONSTANT = -1, -2
"""In the place of where a predicate ends: it is left to the parser; it is `true` or `false` by itself."""


@bare_kernel
def _names(kind: int) -> Any:
    """Whether a word may name an attribute."""
    return kind == NAME or kind >= UNKNOWN


@bare_kernel
def _constant(data: Any, kind: int, stop: int, end: int) -> Any:
    """Where the constant ends that begins with a token; REFUSED if none does."""
    if kind in (NUMBER, STRING, TRUE, FALSE):
        return stop
    if kind == SIGN:
        kind, _, stop = read_token(data, stop, end)
        return stop if kind == NUMBER else REFUSED
    if kind == MOMENT:
        kind, _, stop = read_token(data, stop, end)
        return stop if kind == STRING else REFUSED
    return REFUSED


@bare_kernel
def _next_constant(data: Any, position: int, end: int) -> Any:
    kind, _, stop = read_token(data, position, end)
    return _constant(data, kind, stop, end)


@bare_kernel
def _constants(data: Any, position: int, end: int) -> Any:
    """Where a list of constants in parentheses ends."""
    kind, _, position = read_token(data, position, end)
    if kind != OPEN:
        return REFUSED
    while True:
        position = _next_constant(data, position, end)
        if position == REFUSED:
            return REFUSED
        kind, _, position = read_token(data, position, end)
        if kind == CLOSE:
            return position
        if kind != COMMA:
            return REFUSED


@bare_kernel
def _negatable(data: Any, kind: int, position: int, end: int) -> Any:
    """Where the constants of in, between or a pattern end."""
    if kind == IN:
        return _constants(data, position, end)
    if kind == BETWEEN:
        position = _next_constant(data, position, end)
        if position == REFUSED:
            return REFUSED
        kind, _, position = read_token(data, position, end)
        return _next_constant(data, position, end) if kind == AND else REFUSED
    if kind != LIKE:
        return REFUSED
    kind, _, position = read_token(data, position, end)
    if kind != STRING:
        return REFUSED
    kind, _, _ = read_token(data, position, end)
    return REFUSED if kind == ESCAPE else position


@bare_kernel
def _null_test(data: Any, position: int, end: int, bare: int) -> Any:
    """Behind `is`: where `[not] null` ends; `bare` before another test, which is one of a bare boolean."""
    kind, _, position = read_token(data, position, end)
    if kind == NOT:
        kind, _, position = read_token(data, position, end)
    if kind == NULL:
        return position
    return bare if kind in (TRUE, FALSE, UNKNOWN) else REFUSED


@bare_kernel
def _attribute_first(data: Any, stop: int, kind: int, position: int, end: int) -> Any:
    """Where the test ends of an attribute whose name ends at `stop`, by the token behind it."""
    if kind == COMPARE:
        return _next_constant(data, position, end)
    if kind in (IN, BETWEEN, LIKE):
        return _negatable(data, kind, position, end)
    if kind == NOT:
        kind, _, position = read_token(data, position, end)
        return _negatable(data, kind, position, end)
    if kind == IS:
        return _null_test(data, position, end, stop)
    if kind in (ONE, ALL, NONE):
        kind, _, position = read_token(data, position, end)
        return _constants(data, position, end) if kind == OF else REFUSED
    return stop if kind in (END, CLOSE, AND, OR, XOR, XNOR) else REFUSED


@bare_kernel
def _constant_first(data: Any, kind: int, start: int, stop: int, end: int) -> Any:
    """The same as `read_predicate`, for what begins with a constant."""
    alone = CONSTANT if kind in (TRUE, FALSE) else REFUSED
    stop = _constant(data, kind, stop, end)
    if stop == REFUSED:
        return REFUSED, 0, 0, 0, 0, True
    following, _, position = read_token(data, stop, end)
    if following == NOT:
        following, _, position = read_token(data, position, end)
        if following != IN:
            return REFUSED, 0, 0, 0, 0, True
    if following != COMPARE and following != IN:
        return alone, 0, 0, 0, 0, True
    kind, name, name_stop = read_token(data, position, end)
    following, _, _ = read_token(data, name_stop, end)
    fits = _names(kind) and following != OPEN and following != STRING
    return (name_stop if fits else REFUSED), name, name_stop, start, position, True


@bare_kernel
def read_predicate(data: Any, kind: int, start: int, stop: int, end: int) -> Any:
    """Where the predicate ends whose first token is given, or REFUSED; where its name and its test begin and end; and
    whether the constant stands before the attribute.

    CONSTANT is `true` or `false` by itself, which ends where the token does.
    """
    if kind in (NUMBER, STRING, SIGN, TRUE, FALSE):
        return _constant_first(data, kind, start, stop, end)
    if not _names(kind):
        return REFUSED, 0, 0, 0, 0, False
    following, begin, position = read_token(data, stop, end)
    if following == STRING and kind == MOMENT:
        return _constant_first(data, kind, start, stop, end)
    if following in (OPEN, OTHER, STRING):
        return REFUSED, 0, 0, 0, 0, False
    position = _attribute_first(data, stop, following, position, end)
    return position, start, stop, (stop if position == stop else begin), position, False
