"""The operators of predicates, and what shape of value each takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from matchwood.errors import InvalidArgument, kind_in_words
from matchwood.language.literals import literal, spell

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
SET_OPERATORS = ("in", "not in")
RANGE_OPERATORS = ("between", "not between")
PATTERN_OPERATORS = ("like", "not like", "ilike", "not ilike", "rlike", "not rlike")
NULL_OPERATORS = ("is null", "is not null")
LIST_OPERATORS = ("one of", "all of", "none of", "contains", "not contains")
OPERATORS = (
    *COMPARISONS,
    *SET_OPERATORS,
    *RANGE_OPERATORS,
    *PATTERN_OPERATORS,
    *NULL_OPERATORS,
    *LIST_OPERATORS,
)

ONE_CONSTANT = frozenset((*COMPARISONS, "contains", "not contains"))
SEVERAL_CONSTANTS = frozenset((*SET_OPERATORS, "one of", "all of", "none of"))
TWO_CONSTANTS = frozenset(RANGE_OPERATORS)
PATTERNS = frozenset(PATTERN_OPERATORS)
NO_CONSTANT = frozenset(NULL_OPERATORS)
WITH_ESCAPE = frozenset(("like", "not like", "ilike", "not ilike"))


def checked_value(op: str, value: object, escape: object) -> Any:
    """The value of a predicate built in Python, unwrapped; an InvalidArgument if it does not fit the operator."""
    if op not in OPERATORS:
        raise InvalidArgument(f"unknown operator {op!r} (the operators: {', '.join(OPERATORS)})")
    if escape is not None:
        _check_escape(op, escape)
    if op in ONE_CONSTANT:
        return literal(value)
    if op in SEVERAL_CONSTANTS:
        return _several(op, value)
    if op in TWO_CONSTANTS:
        return _two(op, value)
    if op in PATTERNS:
        return _pattern(op, value)
    if value is not None:
        raise InvalidArgument(f"{op!r} takes no value (got {value!r})")
    return None


def _check_escape(op: str, escape: object) -> None:
    if op not in WITH_ESCAPE:
        raise InvalidArgument(f"{op!r} takes no escape character; like and ilike do")
    if not isinstance(escape, str) or len(escape) != 1:
        raise InvalidArgument(f"an escape must be one character (got {escape!r})")
    literal(escape)


def _several(op: str, value: object) -> tuple[Any, ...]:
    constants = tuple(map(literal, _items(op, value)))
    if not constants:
        raise InvalidArgument(f"{op!r} needs at least one constant")
    # A set has no order of its own, and the text of a rule must be the same in every process.
    return tuple(sorted(constants, key=spell)) if isinstance(value, set | frozenset) else constants


def _items(op: str, value: object) -> Iterable[object]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidArgument(f"{op!r} takes a list of constants (got {value!r}, {kind_in_words(value)})")
    return value


def _two(op: str, value: object) -> tuple[Any, Any]:
    constants = tuple(map(literal, _items(op, value)))
    if len(constants) != 2:
        raise InvalidArgument(f"{op!r} takes two constants, low and high (got {len(constants)})")
    return constants


def _pattern(op: str, value: object) -> str:
    pattern = literal(value)
    if not isinstance(pattern, str):
        raise InvalidArgument(f"{op!r} takes a pattern in a str (got {value!r}, {kind_in_words(value)})")
    return pattern
