"""The literals of the grammar: numbers, texts, booleans, dates, timestamps and the casts to double."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from matchwood.errors import LimitExceeded
from matchwood.language.lexer import Cursor, Token, place_of
from matchwood.language.limits import MAX_DIGITS
from matchwood.language.literals import read_date, read_double, read_timestamp
from matchwood.language.numbers import read_decimal
from matchwood.language.slips import ARITHMETIC, constant_hint

CONSTANT = "a constant"
_INFINITY = "cast('Infinity' as double)"


def starts_constant(cursor: Cursor) -> bool:
    """Whether the token begins a literal; a word such as date does only before a text."""
    kind, keyword = cursor.token.kind, cursor.token.keyword
    if kind in ("number", "string") or keyword in ("true", "false"):
        return True
    if keyword in ("date", "timestamp"):
        return cursor.after().kind == "string"
    return cursor.token.text in ("+", "-") or (keyword == "cast" and cursor.after().text == "(")


def read_constant(cursor: Cursor) -> Any:
    """The literal that stands here; an error that says why, if none does."""
    if not starts_constant(cursor):
        raise cursor.error(CONSTANT, constant_hint(cursor))
    token = cursor.advance()
    if token.kind == "string":
        return unquoted(token)
    if token.kind == "number":
        return _number(cursor, token, "")
    if token.kind == "symbol":
        return _signed(cursor, token)
    if token.keyword in ("date", "timestamp"):
        return _moment(cursor, token.keyword)
    return _cast(cursor) if token.keyword == "cast" else token.keyword == "true"


def unquoted(token: Token) -> str:
    return token.text[1:-1].replace("''", "'")


def _signed(cursor: Cursor, sign: Token) -> int | float | Decimal:
    if cursor.token.kind != "number":
        arithmetic = cursor.token.kind in ("word", "path") or cursor.token.text == "("
        raise cursor.error("a number", ARITHMETIC if arithmetic else constant_hint(cursor))
    return _number(cursor, cursor.advance(), sign.text)


def _number(cursor: Cursor, token: Token, sign: str) -> int | float | Decimal:
    if len(token.text) > MAX_DIGITS:
        raise LimitExceeded(f"{place_of(cursor.text, token.start)}: a number has more than {MAX_DIGITS:,} digits")
    if token.text.isdigit():
        return int(sign + token.text)
    value = read_decimal(sign + token.text)
    if math.isinf(value):
        hint = f"write cast('{'-' if sign == '-' else ''}Infinity' as double) if that is meant"
        raise cursor.error("a number that a double can hold", hint, token)
    return value


def _moment(cursor: Cursor, kind: str) -> Any:
    token = cursor.advance()
    try:
        return (read_date if kind == "date" else read_timestamp)(unquoted(token))
    except ValueError as error:
        raise cursor.error(f"a {kind}", str(error), token) from None


def _cast(cursor: Cursor) -> float:
    """`cast('NaN' as double)`; the word cast has been read."""
    cursor.advance()
    token = cursor.advance()
    value = read_double(unquoted(token)) if token.kind == "string" else None
    if value is None:
        hint = "a cast only writes doubles that have no digits: write any other constant itself"
        raise cursor.error("'NaN', 'Infinity' or '-Infinity'", hint, token)
    for word in ("as", "double"):
        if cursor.token.keyword != word:
            raise cursor.error(f"{word}", f"the form is {_INFINITY}")
        cursor.advance()
    if cursor.token.text != ")":
        raise cursor.error(")", f"the form is {_INFINITY}")
    cursor.advance()
    return value
