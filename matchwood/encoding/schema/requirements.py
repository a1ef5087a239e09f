"""What a predicate asks of its attribute's type, from its operator and constants alone."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any, NoReturn

from matchwood.errors import TypeConflict
from matchwood.language import LIST_OPERATORS, NULL_OPERATORS, PATTERN_OPERATORS, Predicate

_LITERAL_KINDS: dict[type, str] = {
    bool: "bool",
    int: "number",
    float: "number",
    Decimal: "number",
    str: "string",
    datetime.date: "timestamp",
    datetime.datetime: "timestamp",
}
_FIXED_KINDS = {**dict.fromkeys(NULL_OPERATORS, "any"), **dict.fromkeys(PATTERN_OPERATORS, "string")}
_LIST_OPERATORS = frozenset(LIST_OPERATORS)
_TESTS = {
    "bool": "a comparison with a bool",
    "number": "a comparison with a number",
    "string": "a comparison with a string",
    "timestamp": "a comparison with a date or timestamp",
    "list<int>": "a test of a list's integers",
    "list<string>": "a test of a list's strings",
}


def requirement(predicate: Predicate, where: str = "rule") -> str:
    """The kind of attribute that the predicate needs: bool, number, string, timestamp, a list, or any.

    >>> from matchwood.language import parse
    >>> [requirement(parse(text)) for text in ("age > 5", "tags one of ('a')", "seen < date '2026-01-01'", "x is null")]
    ['number', 'list<string>', 'timestamp', 'any']
    """
    fixed = _FIXED_KINDS.get(predicate.op)
    if fixed is not None:
        return fixed
    value = predicate.value
    kind = _kinds_of(predicate, value, where) if type(value) is tuple else literal_kind(value)
    if predicate.op in _LIST_OPERATORS:
        return _list_kind(predicate, kind, where)
    return kind


def literal_kind(value: Any) -> str:
    """The kind of attribute that a constant can be compared with."""
    kind = _LITERAL_KINDS.get(type(value))
    if kind is not None:
        return kind
    for python, kind in _LITERAL_KINDS.items():
        if isinstance(value, python):
            return kind
    raise TypeError(f"{value!r} is not a constant of the language")


def described(predicate: Predicate, kind: str) -> str:
    """The predicate for a message, by what it asks."""
    test = "a text pattern" if predicate.op in PATTERN_OPERATORS else _TESTS[kind]
    return f"{test}: {shown(predicate)}"


def literal_advice(predicate: Predicate, expected: str) -> str:
    """What to write where a date, a time or a number stands in quotes, as text.

    >>> from matchwood.language import parse
    >>> literal_advice(parse("ts > '2026-01-01'"), "timestamp, as declared")
    "; write timestamp '2026-01-01'"
    """
    text = predicate.value
    if not isinstance(text, str) or predicate.op in PATTERN_OPERATORS:
        return ""
    if expected.startswith("date") and _DATE.fullmatch(text):
        return f"; write date '{text}'"
    if expected.startswith(("date", "timestamp")) and _DATE.match(text):
        return f"; write timestamp '{text}'"
    is_number = expected.startswith(("int", "double", "number")) and _NUMBER.fullmatch(text)
    return f"; write {text} without quotes" if is_number else ""


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")


def shown(predicate: Predicate) -> str:
    """The predicate's text, cut to a readable length."""
    text = str(predicate)
    return text if len(text) <= 80 else text[:77] + "..."


def _kinds_of(predicate: Predicate, values: tuple[Any, ...], where: str) -> str:
    if len(set(map(type, values))) == 1:
        return literal_kind(values[0])
    kinds = sorted({literal_kind(value) for value in values})
    if len(kinds) > 1:
        got = f"both {kinds[0]} and {kinds[1]}: {shown(predicate)}"
        _refuse(predicate, where, got, "compared with constants of one type")
    return kinds[0]


def _list_kind(predicate: Predicate, kind: str, where: str) -> str:
    if kind == "string":
        return "list<string>"
    values = predicate.value if type(predicate.value) is tuple else (predicate.value,)
    if kind == "number" and not any(isinstance(value, float | Decimal) for value in values):
        return "list<int>"
    got = f"a test of a list for {'numbers with a fraction' if kind == 'number' else kind}: {shown(predicate)}"
    return _refuse(predicate, where, got, "tested for integers or strings, the elements that lists have")


def _refuse(predicate: Predicate, where: str, got: str, expected: str) -> NoReturn:
    raise TypeConflict(predicate.attr, where=where, got=got, expected=expected)
