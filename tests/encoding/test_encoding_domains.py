"""Comparisons as canonical cuts: exact at every edge of every domain."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.spaces.domains import BOOL, INT, NUMBER, STRING, Domain, compare, prefix
from matchwood.logic.cuts import FULL, contains

OPERATORS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

edges = st.builds(
    lambda edge, shift, sign: sign * (edge + shift),
    st.sampled_from([0, 5, 2**53, 2**62, 2**63, 2**64, 10**30, 10**400]), st.integers(-3, 3), st.sampled_from([1, -1]),
)  # fmt: skip
int64s = edges.filter(lambda number: -(2**63) <= number < 2**63)
doubles = st.one_of(st.floats(), int64s.map(float), st.sampled_from([5e-324, -5e-324, 1.7976931348623157e308]))
events = st.one_of(int64s, doubles)
constants = st.one_of(edges, doubles)
texts = st.text(alphabet="ab\0\ud7ff\ue000\uffff\U00010000\U0010ffff", max_size=3)


def rank(value: Any) -> Any:
    """NaN above all, as the language has it."""
    return (value != value, 0 if value != value else value) if isinstance(value, int | float) else value


def check(domain: Domain, value: Any, op: str, constant: Any) -> None:
    """The set holds the value exactly when the comparison is true; and its cuts are canonical."""
    cuts = compare(domain, op, constant)
    assert contains(cuts, value) == OPERATORS[op](rank(value), rank(constant))
    assert all(low < high for low, high in itertools.pairwise(cuts))
    assert all(cut == () or cut[1] == 0 or cut == (math.inf, 1) for cut in cuts)


@given(events, st.sampled_from(list(OPERATORS)), constants)
def test_numbers(value: float, op: str, constant: float) -> None:
    check(NUMBER, value, op, constant)


@given(int64s, st.sampled_from(list(OPERATORS)), edges)
def test_integers(value: int, op: str, constant: int) -> None:
    check(INT, value, op, constant)


@given(texts, st.sampled_from(list(OPERATORS)), texts)
def test_strings(value: str, op: str, constant: str) -> None:
    check(STRING, value, op, constant)


@given(st.booleans(), st.sampled_from(["=", "!="]), st.booleans())
def test_bools(value: bool, op: str, constant: bool) -> None:
    check(BOOL, int(value), op, constant)


@given(events, st.lists(constants, min_size=1, max_size=4))
def test_sets(value: float, wanted: list[float]) -> None:
    expected = rank(value) in [rank(each) for each in wanted]
    assert contains(compare(NUMBER, "in", tuple(wanted)), value) == expected
    assert contains(compare(NUMBER, "not in", tuple(wanted)), value) != expected


@given(events, constants, constants)
def test_ranges(value: float, low: float, high: float) -> None:
    expected = rank(low) <= rank(value) <= rank(high)
    assert contains(compare(NUMBER, "between", (low, high)), value) == expected
    assert contains(compare(NUMBER, "not between", (low, high)), value) != expected


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
        (NUMBER, (">", 2**53), (">=", 2**53 + 1)),
        (NUMBER, (">", 0.5), (">=", math.nextafter(0.5, 1))),
        (NUMBER, ("<", 2**63), ("<=", 2**63 - 1)),
        (NUMBER, (">", 10**400), (">=", math.inf)),
        (NUMBER, ("<", -(10**400)), ("=", -math.inf)),
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
        (NUMBER, "!=", 2**63 + 1), (STRING, ">=", ""), (BOOL, "in", (True, False)),
    ],
)  # fmt: skip
def test_what_holds_for_every_value_is_full(domain: Domain, op: str, constant: Any) -> None:
    assert compare(domain, op, constant) == FULL
