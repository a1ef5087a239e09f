"""Binding: a predicate becomes a set of values of one attribute, and its verdict for NULL."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.encoding.derived import keys as derived_keys
from matchwood.encoding.derived.keys import DerivedTest, list_test
from matchwood.encoding.derived.likes import ANY_RUN, Parts, read_like, write_like
from matchwood.encoding.schema.inferred import Schema
from matchwood.encoding.schema.requirements import requirement
from matchwood.encoding.schema.timezones import Zone, days_of
from matchwood.encoding.spaces.domains import BOOL, INT, NUMBER, STRING, Domain, compare, prefix
from matchwood.errors import LimitExceeded, ParseError
from matchwood.language import (
    COMPARISONS,
    LIST_OPERATORS,
    NULL_OPERATORS,
    PATTERN_OPERATORS,
    RANGE_OPERATORS,
    SET_OPERATORS,
    Predicate,
    in_predicate,
)
from matchwood.logic import EMPTY, FULL, Bound, CutSet, complement

LONGEST_REGEX = 10_000
"""RE2 takes some 30 kilobytes to read a single `\\pL`: 300,000 characters of it need three gigabytes."""


class Binder:
    """Binds predicates under one schema and time zone; `kinds` remembers each attribute's last domain.

    >>> from matchwood.language import parse
    >>> Binder(Schema(), Zone("UTC")).bind(parse("city like 'Ro%'"))
    Bound(attribute='city', cuts=(('Ro', 0), ('Rp', 0)), on_null=None)
    """

    def __init__(self, schema: Schema, zone: Zone) -> None:
        self.schema, self.zone = schema, zone
        self.kinds: dict[str, str] = {}
        self._domains: dict[str, Domain] = {
            "bool": BOOL,
            "int": INT,
            "number": NUMBER,
            "double": NUMBER,
            "string": STRING,
            "timestamp": Domain(lambda literal: self._micros(literal, 0), lambda literal: self._micros(literal, 1)),
            "date": Domain(lambda literal: self._day(literal, 0), lambda literal: self._day(literal, 1)),
        }
        self._binders: dict[str, Callable[[Predicate, str], Bound]] = {
            **dict.fromkeys((*COMPARISONS, *SET_OPERATORS, *RANGE_OPERATORS), self._comparison),
            **dict.fromkeys(NULL_OPERATORS, _null_test),
            **dict.fromkeys(PATTERN_OPERATORS, self._pattern),
            **dict.fromkeys(LIST_OPERATORS, _list_test),
        }

    def bind(self, predicate: Predicate) -> Bound:
        """The predicate as values; TypeConflict where it contradicts itself or a declaration."""
        required = requirement(predicate)
        self.schema.check_declared(predicate, required)
        return self._binders[predicate.op](predicate, required)

    def _comparison(self, predicate: Predicate, required: str) -> Bound:
        attribute = predicate.attr
        declared = self.schema.declared.type_of(attribute)
        kind = required if declared is None or declared == "any" else declared
        self.kinds[attribute] = kind
        return Bound(attribute, compare(self._domains[kind], predicate.op, predicate.value), None)

    def _micros(self, literal: datetime.date, after: int) -> Any:
        return INT.before(self.zone.micros(literal) + after)

    def _day(self, literal: datetime.date, after: int) -> Any:
        """Days begin at midnight, so a moment is translated to the first day that begins no earlier."""
        if isinstance(literal, datetime.datetime):
            return INT.before(self.zone.first_day(self.zone.micros(literal) + after))
        return INT.before(days_of(literal) + after)

    def _pattern(self, predicate: Predicate, required: str) -> Bound:
        attribute, negated = predicate.attr, predicate.op.startswith("not ")
        self.kinds[attribute] = required
        try:
            found = pattern_test(predicate.op.removeprefix("not "), predicate.value, predicate.escape)
        except ParseError as error:
            raise in_predicate(error, predicate) from None
        if isinstance(found, str):
            return _derived(DerivedTest(attribute, predicate.op.removeprefix("not "), found), negated)
        return Bound(attribute, complement(found) if negated else found, None)


def _null_test(predicate: Predicate, required: str) -> Bound:
    if predicate.op == "is null":
        return Bound(predicate.attr, EMPTY, True)
    return Bound(predicate.attr, FULL, False)


def pattern_test(op: str, pattern: str, escape: str | None) -> CutSet | str:
    """What `like`, `ilike` or `rlike` asks: the values, where nothing has to be matched, or the canonical pattern."""
    if op == "rlike":
        check_regex(pattern)
        return pattern
    parts = read_like(pattern, escape)
    values = _compared_values(op, parts)
    if values is not None:
        return values
    canonical = write_like(parts)
    return lowered(canonical) if op == "ilike" else canonical


def _compared_values(op: str, parts: Parts) -> CutSet | None:
    """The values of a pattern that needs no matching: no wildcard, one at its end, or nothing else."""
    if parts == (ANY_RUN,):
        return FULL
    if not parts:
        return compare(STRING, "=", "")
    if op == "ilike":
        return None
    if len(parts) == 1 and isinstance(parts[0], str):
        return compare(STRING, "=", parts[0])
    if len(parts) == 2 and isinstance(parts[0], str) and parts[1] == ANY_RUN:
        return prefix(parts[0])
    return None


def _list_test(predicate: Predicate, required: str) -> Bound:
    op, value = predicate.op, predicate.value
    elements = (value,) if op.endswith("contains") else value
    test = list_test(predicate.attr, "all of" if op == "all of" else "one of", elements)
    return _derived(test, op in ("none of", "not contains"))


def _derived(test: DerivedTest, negated: bool) -> Bound:
    return Bound(test.key, derived_keys.FALSE if negated else derived_keys.TRUE, None)


def lowered(text: str) -> str:
    """Each code point in lower case, as `ilike` compares."""
    return text.lower() if text.isascii() else pc.utf8_lower(text).as_py()


def check_regex(pattern: str) -> None:
    """ParseError for what is not a regular expression of RE2 (which matches in linear time)."""
    if len(pattern) > LONGEST_REGEX:
        raise LimitExceeded(f"a pattern of rlike may have at most {LONGEST_REGEX:,} characters (got {len(pattern):,})")
    _check_syntax(pattern)


@lru_cache(maxsize=8_192)
def _check_syntax(pattern: str) -> None:
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise ParseError(
            pattern, offset=0, found=pattern[:40], expected=f"a regular expression of RE2 ({reason:.200})"
        ) from None
