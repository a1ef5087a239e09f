"""Comparisons as canonical cuts: exact at every edge of every domain."""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_right
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.spaces.decimals import place_of
from matchwood.encoding.spaces.domains import BOOL, INT, NUMBER, STRING, Domain, compare, prefix
from matchwood.language.literals import literal
from matchwood.logic.cuts import FULL, CutSet, contains

OPERATORS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

edges = st.builds(
    lambda edge, shift, sign: sign * (edge + shift),
    st.sampled_from([0, 5, 2**53, 2**62, 2**63, 2**64, 10**30, 10**400]), st.integers(-3, 3), st.sampled_from([1, -1]),
)  # fmt: skip
int64s = edges.filter(lambda number: -(2**63) <= number < 2**63)
doubles = st.one_of(st.floats(), int64s.map(float), st.sampled_from([5e-324, -5e-324, 1.7976931348623157e308]))
near = st.builds(
    lambda text, shift, scale: Decimal(text) + Decimal(shift).scaleb(-scale),
    st.sampled_from(["0.1", "10.05", "1", "9007199254740992", "-0.1", "0", "9223372036854775807", "1e20"]),
    st.integers(-9, 9), st.sampled_from([1, 2, 17, 18, 20, 25]),
)  # fmt: skip
events = st.one_of(int64s, doubles, near)
constants = st.one_of(edges, doubles, near.map(literal))
texts = st.text(alphabet="ab\0\ud7ff\ue000\uffff\U00010000\U0010ffff", max_size=3)


def rank(value: Any) -> Any:
    """NaN above all, as the language has it."""
    return (value != value, 0 if value != value else value) if isinstance(value, int | float | Decimal) else value


def beside(value: Any, constant: Any) -> Any:
    """A constant as a value meets it: doubles meet a decimal as the nearest double, decimals meet a double's text."""
    if isinstance(value, float) and isinstance(constant, Decimal):
        return float(constant)
    if isinstance(value, Decimal) and isinstance(constant, float) and math.isfinite(constant):
        return Decimal(constant) if constant.is_integer() else Decimal(repr(constant))
    return constant


def holds(cuts: CutSet, value: Any) -> bool:
    """Whether a set on the line of numbers holds a value: doubles stand above what else is at their place."""
    if value != value:
        return len(cuts) % 2 == 1
    place = place_of(value) if isinstance(value, Decimal) else value
    return bisect_right(cuts, (place, int(isinstance(value, float)))) % 2 == 1


def check(domain: Domain, value: Any, op: str, constant: Any) -> None:
    """The set holds the value exactly when the comparison is true; and its cuts are canonical."""
    cuts = compare(domain, op, constant)
    test = holds if domain is NUMBER else contains
    assert test(cuts, value) == OPERATORS[op](rank(value), rank(beside(value, constant)))
    assert all(low < high for low, high in itertools.pairwise(cuts))
    assert domain is NUMBER or all(cut == () or cut[1] == 0 for cut in cuts)


@given(events, st.sampled_from(list(OPERATORS)), constants)
def test_numbers(value: Any, op: str, constant: Any) -> None:
    check(NUMBER, value, op, constant)


@given(int64s, st.sampled_from(list(OPERATORS)), constants)
def test_integers(value: int, op: str, constant: Any) -> None:
    check(INT, value, op, constant)


@given(texts, st.sampled_from(list(OPERATORS)), texts)
def test_strings(value: str, op: str, constant: str) -> None:
    check(STRING, value, op, constant)


@given(st.booleans(), st.sampled_from(["=", "!="]), st.booleans())
def test_bools(value: bool, op: str, constant: bool) -> None:
    check(BOOL, int(value), op, constant)


@given(events, st.lists(constants, min_size=1, max_size=4))
def test_sets(value: Any, wanted: list[Any]) -> None:
    expected = rank(value) in [rank(beside(value, each)) for each in wanted]
    assert holds(compare(NUMBER, "in", tuple(wanted)), value) == expected
    assert holds(compare(NUMBER, "not in", tuple(wanted)), value) != expected


@given(events, constants, constants)
def test_ranges(value: Any, low: Any, high: Any) -> None:
    expected = rank(beside(value, low)) <= rank(value) <= rank(beside(value, high))
    assert holds(compare(NUMBER, "between", (low, high)), value) == expected
    assert holds(compare(NUMBER, "not between", (low, high)), value) != expected


@given(texts, texts)
def test_prefixes(value: str, begin: str) -> None:
    assert contains(prefix(begin), value) == value.startswith(begin)


@pytest.mark.parametrize(
    ("domain", "left", "right"),
    [
        (INT, (">", 5), (">=", 6)),
        (INT, ("in", (1, 2, 3)), ("between", (1, 3))),
        (INT, ("<", 10**30), (">=", -(2**63))),
        (INT, ("<=", 2**63 - 1), ("!=", 2**70)),
        (INT, (">", 1.5), (">=", 2)),
        (INT, ("in", (1, 1.5, Decimal("2.25"))), ("=", 1)),
        (INT, ("<", math.nan), ("<=", math.inf)),
        (NUMBER, ("in", (0.5, Decimal("0.1234567890123456789"))), ("in", (Decimal("0.1234567890123456789"), 0.5))),
        (NUMBER, ("=", 2**70), ("=", 2.0**70)),
        (NUMBER, ("=", -0.0), ("=", 0)),
        (NUMBER, (">", math.inf), ("=", math.nan)),
        (STRING, (">", "a"), (">=", "a\0")),
        (STRING, ("<", "\0"), ("=", "")),
        (BOOL, ("!=", True), ("=", False)),
    ],
)
def test_equal_sets_have_equal_cuts(domain: Domain, left: tuple[str, Any], right: tuple[str, Any]) -> None:
    assert compare(domain, *left) == compare(domain, *right)


@pytest.mark.parametrize(
    ("domain", "op", "constant"),
    [
        (INT, "<", 2**63), (INT, ">", -(2**64)), (NUMBER, ">=", -math.inf), (NUMBER, "<=", math.nan),
        (INT, "!=", 1.5), (INT, ">", -math.inf), (STRING, ">=", ""), (BOOL, "in", (True, False)),
    ],
)  # fmt: skip
def test_what_holds_for_every_value_is_full(domain: Domain, op: str, constant: Any) -> None:
    assert compare(domain, op, constant) == FULL
