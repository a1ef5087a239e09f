"""The oracle's reading of values, row by row of the table of semantics."""

from __future__ import annotations

import datetime
import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from matchwood.errors import EventError, TypeConflict
from matchwood.language import parse
from matchwood.language.tree import Predicate
from matchwood.semantics.evaluation import Verdict, evaluate

DAY = datetime.date(2026, 1, 1)
NOON = datetime.datetime(2026, 1, 1, 12)


def verdict(op: str, value: Any, constant: Any, **options: Any) -> Verdict:
    return evaluate(Predicate("x", op, constant), {"x": value}, **options)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (2**53, 2**53 + 1),
        (2.0**53, 2**53 + 1),
        (2**53 - 1, 2.0**53),
        (2**63 - 1, 2.0**63),
        (-(2.0**63) * 2, -(2**63)),
        (1.7976931348623157e308, 10**400),
        (-math.inf, -(10**400)),
        (10**400, math.inf),
        (math.inf, math.nan),
        (2**63 - 1, math.nan),
        (0, 5e-324),
    ],
)
def test_numbers_are_one_exact_order(low: Any, high: Any) -> None:
    for smaller, larger, flip in ((low, high, False), (high, low, True)):
        if isinstance(smaller, int) and abs(smaller) > 2**63:
            continue
        assert verdict("<", smaller, larger) is not flip
        assert verdict(">=", smaller, larger) is flip
        assert verdict("=", smaller, larger) is False
        assert verdict("!=", smaller, larger) is True
        assert verdict("in", smaller, (larger,)) is False


def test_equal_numbers() -> None:
    for value, constant in ((1, 1.0), (0.0, -0.0), (-0.0, 0), (math.nan, math.nan), (2.0**53, 2**53)):
        assert verdict("=", value, constant) is True
        assert verdict("<=", value, constant) is True
        assert verdict("in", value, (5, constant)) is True
        assert verdict("between", value, (constant, constant)) is True
        assert verdict("<", value, constant) is False


def test_floats_of_32_bits_widen() -> None:
    assert verdict("=", np.float32(0.1), 0.1) is False
    assert verdict(">", np.float32(0.1), 0.1) is True


def test_between() -> None:
    assert verdict("between", 2, (1, 3)) is True
    assert verdict("between", 2, (3, 1)) is False
    assert verdict("not between", 2, (3, 1)) is True
    assert verdict("between", "b", ("a", "c")) is True
    assert verdict("not between", None, (3, 1)) is None


def test_strings_by_code_point() -> None:
    ordered = ["", "A", "B", "a", "é", "\ue000", "\uffff", "😀"]
    assert ordered == sorted(ordered, key=lambda text: text.encode())
    for smaller, larger in itertools.pairwise(ordered):
        assert verdict("<", smaller, larger) is True
        assert verdict(">", smaller, larger) is False
    assert verdict("=", "é", "e\u0301") is False


def test_booleans() -> None:
    assert verdict("=", True, True) is True
    assert verdict("<", False, True) is True
    assert verdict("in", np.True_, (False,)) is False
    for value, constant in ((True, 1), (1, True), (0, False)):
        with pytest.raises(EventError):
            verdict("=", value, constant)


def test_lists() -> None:
    def verdicts(value: Any) -> list[Verdict]:
        some = [verdict(op, value, ("a", "b")) for op in ("one of", "all of", "none of")]
        return [*some, verdict("contains", value, "a"), verdict("not contains", value, "a")]

    assert verdicts(["a", "b", "c"]) == [True, True, False, True, False]
    assert verdicts(["a", None]) == [True, False, False, True, False]
    assert verdicts([None, "c"]) == [False, False, True, False, True]
    assert verdicts([]) == verdicts([None]) == [False, False, True, False, True]
    assert verdicts(None) == [None] * 5
    assert verdicts(("b", "a", "a")) == verdicts(np.array(["a", "b"])) == [True, True, False, True, False]
    assert verdict("one of", np.array([1, 2]), (2, 3)) is True
    assert verdict("contains", [2**63 - 1], 2**63 - 1) is True
    assert verdict("contains", [2**53], 2**53 + 1) is False


def test_times() -> None:
    assert verdict("=", DAY, datetime.datetime(2026, 1, 1)) is True
    assert verdict("<", DAY, datetime.datetime(2026, 1, 1, 0, 0, 0, 1)) is True
    assert verdict("=", NOON, NOON.replace(tzinfo=datetime.UTC)) is True
    east = datetime.timezone(datetime.timedelta(hours=2))
    assert verdict("=", NOON, NOON.replace(hour=14, tzinfo=east)) is True
    for spelling in ("2026-01-01T12:00:00", "2026-01-01 12:00", "2026-01-01T14:00:00+02:00", "2026-01-01T12:00Z"):
        assert verdict("=", spelling, NOON) is True
    assert verdict("=", "2026-01-01", DAY) is True
    assert verdict("=", pd.Timestamp(NOON), NOON) is True
    assert verdict("=", np.datetime64("2026-01-01T12", "ns"), NOON) is True
    assert verdict("=", np.datetime64("2026-01-01"), DAY) is True
    assert verdict("=", np.datetime64("2026-01"), DAY, types={"x": "date"}) is True


def test_times_in_a_zone() -> None:
    """In New York, naive values and dates are five hours behind, four in summer."""
    zone = {"timezone": "America/New_York"}
    assert verdict("=", DAY, datetime.datetime(2026, 1, 1, 5, tzinfo=datetime.UTC), **zone) is True
    assert (
        verdict("=", datetime.datetime(2026, 7, 1), datetime.datetime(2026, 7, 1, 4, tzinfo=datetime.UTC), **zone)
        is True
    )
    assert verdict("=", "2026-01-01", DAY, **zone) is True
    assert verdict("=", "2026-01-01T00:00Z", DAY, **zone) is False
    for name in ("+05:45", "UTC+5:45", "+0545", "Asia/Kathmandu"):
        assert verdict("=", "2025-12-31T18:15Z", DAY, timezone=name) is True


def test_times_that_clocks_skip_or_repeat_use_the_offset_before_the_change() -> None:
    zone = {"timezone": "America/New_York"}
    skipped, repeated = datetime.datetime(2026, 3, 8, 2, 30), datetime.datetime(2026, 11, 1, 1, 30)
    assert verdict("=", skipped, skipped.replace(hour=7, tzinfo=datetime.UTC), **zone) is True
    assert verdict("=", repeated, repeated.replace(hour=5, tzinfo=datetime.UTC), **zone) is True
    assert verdict("=", repeated.replace(fold=1), repeated, **zone) is True


def test_scalars_unwrap_and_nulls_of_pandas() -> None:
    for value in (np.int8(3), np.uint64(3), np.float32(3), Decimal(3), Decimal("3.0")):
        assert verdict("=", value, 3) is True
    for value in (pa.scalar(3), np.longdouble(3), Decimal(-(2**63)), Decimal(2**64)):
        assert verdict("in", value, (3, -(2**63), 2**64)) is True
    assert verdict("=", Decimal("0.5"), 0.5) is True
    assert verdict(">", Decimal("1E+999999"), 1) is True
    assert verdict("=", np.str_("a"), "a") is True
    for null in (pd.NA, pd.NaT, np.datetime64("NaT")):
        assert verdict("is null", null, None) is True
    assert verdict("is null", math.nan, None) is False
    assert verdict("is null", [], None) is False


TENTH = Decimal("0.1000000000000000055")
"""Above the decimal 0.1; the nearest double is 0.1."""


@pytest.mark.parametrize(
    ("value", "constant", "sign"),
    [
        (Decimal("10.05"), 10.05, "="),
        (10.05, 10.05, "="),
        (10.05, Decimal("10.05"), "="),
        (Decimal("10.0500000000000000001"), 10.05, ">"),
        (Decimal("10.0499999999999999999"), 10.05, "<"),
        (Decimal.from_float(10.05), 10.05, ">"),
        (0.1, TENTH, "="),
        (Decimal("0.1"), TENTH, "<"),
        (TENTH, TENTH, "="),
        (TENTH, 0.1, ">"),
        (1, Decimal("0.99999999999999999999"), ">"),
        (1.0, Decimal("0.99999999999999999999"), "="),
        (2**53 + 1, Decimal("9007199254740993.0"), "="),
        (2.0**53, Decimal("9007199254740993.0"), "="),
        (2**53, Decimal("9007199254740993.0"), "<"),
        (2.0**53, 2**53 + 1, "<"),
        (2**62, 2.0**62, "="),
        (Decimal(2**62), 2.0**62, "="),
        (Decimal("4611686018427388000"), 2.0**62, ">"),
        (0.0, Decimal("1E-400"), "="),
        (Decimal("0.0"), Decimal("1E-400"), "<"),
        (Decimal("1E+400"), 1.7976931348623157e308, ">"),
        (Decimal("1E+400"), math.inf, "<"),
        (Decimal("NaN"), math.nan, "="),
    ],
)
def test_exact_numbers_compare_by_value_and_doubles_with_the_nearest(value: Any, constant: Any, sign: str) -> None:
    told = [each for each in ("<", "=", ">") if verdict(each, value, constant)]
    assert told == [sign]


@pytest.mark.parametrize(
    ("value", "constant"),
    [
        ("1", 1),
        (1, "1"),
        (b"a", "a"),
        ({"a": 1}, 1),
        ([1], 1),
        (2**63, 1),
        (5, DAY),
        ("soon", DAY),
        (datetime.time(1), NOON),
        (1 + 0j, 1),
        ("\ud800", "a"),
        (Decimal("sNaN"), 1),
        ("2026-01-01x12:00:00", NOON),
    ],
)
def test_values_that_do_not_fit(value: Any, constant: Any) -> None:
    with pytest.raises(EventError, match="'x' must be"):
        verdict("=", value, constant)


@pytest.mark.parametrize(("value", "constant"), [(1, 1), (["a"], 1), ([1.0], 1), ([True], 1), ([1], "a"), ("ab", "a")])
def test_lists_that_do_not_fit(value: Any, constant: Any) -> None:
    with pytest.raises(EventError, match="'x' must be"):
        verdict("contains", value, constant)


def test_declared_types() -> None:
    assert verdict("=", 3, 3, types={"x": "int"}) is True
    assert verdict("=", Decimal("3.0"), 3.0, types={"x": "int"}) is True
    assert verdict(">", DAY, datetime.date(2025, 1, 1), types={"x": "date"}) is True
    misfits = (("int", 1.5), ("int", 1.0), ("int", "1"), ("string", 1), ("date", NOON), ("date", NOON.isoformat()))
    for types, value in (({"x": kind}, value) for kind, value in misfits):
        with pytest.raises(EventError):
            verdict("is null", value, None, types=types)
    for types, constant in (({"x": "string"}, 1), ({"x": "int"}, "a"), ({"x": "bool"}, 1), ({"x": "list<int>"}, 1)):
        with pytest.raises(TypeConflict):
            verdict("=", None, constant, types=types)
    assert verdict("is null", object(), None, types={"x": "any"}) is False


@pytest.mark.parametrize(
    ("op", "constant"),
    [("in", (1, "a")), ("between", ("a", 1)), ("one of", (1.5,)), ("contains", True), ("one of", ("a", 1))],
)
def test_constants_of_different_kinds(op: str, constant: Any) -> None:
    with pytest.raises(TypeConflict, match="'x'"):
        verdict(op, None, constant)


def test_no_short_cut_hides_a_wrong_value() -> None:
    with pytest.raises(EventError, match="'y'"):
        evaluate(parse("x = 1 or y = 1"), {"x": 1, "y": "1"})
    with pytest.raises(EventError, match="'y'"):
        evaluate(parse("false and y = 1"), {"y": "1"})


def test_names() -> None:
    def found(text: str, event: dict[str, Any]) -> bool:
        return evaluate(parse(text), event) is True

    assert found("a.b = 1", {"a": {"b": 1}})
    assert found("a.b = 1", {"a.b": 1})
    assert found("a.b.c = 1", {"a": {"b": {"c": 1}}})
    assert found("a.b.c = 1", {"a.b.c": 1})
    assert not found("`a.b` = 1", {"a": {"b": 1}})
    assert found("`a.b` = 1", {"a": {"b": 2}, "a.b": 1})
    assert found("a.b.c = 1", {"a.b": {"c": 1}})
    assert found("a.b.c = 1", {"a": {"b.c": 1}})
    assert found("a.`b.c` = 1", {"a": {"b.c": 1}})
    assert not found("a.`b.c` = 1", {"a.b.c": 1})
    assert found("a.b is null", {"a": 5})
    assert found("a.b is null", {"a": None})
    assert found("a is not null", {"a": {"b": 1}})
    assert not found("A = 1", {"a": 1})
    for both in ({"a": {"b": 1}, "a.b": 1}, {"a": {"b": None}, "a.b": 1}):
        with pytest.raises(EventError, match=r"'a\.b'"):
            found("a.b = 1", both)
