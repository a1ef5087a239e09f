"""What each kind of attribute takes, and what is said about the rest."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from events_support import PlainEncoder, batch_rows, batches_of, column_codes, plain_source, rows_of

import matchwood as mw
from matchwood.encoding.events.entry import encode_event
from matchwood.encoding.events.unwrapping import MisfitValue, ValueReading, describe
from matchwood.encoding.events.values import read_element
from matchwood.encoding.schema.timezones import Zone
from matchwood.errors import EventError

UTC = ValueReading(Zone("UTC"))
DAY = datetime.date(1970, 1, 3)
NOON = datetime.datetime(1970, 1, 3, 12)
NOON_MICROS = (2 * 24 + 12) * 3_600_000_000


class Level(IntEnum):
    HIGH = 3


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("kind", "value", "element"),
    [
        ("bool", True, 1),
        ("bool", np.False_, 0),
        ("int", -(2**63), -(2**63)),
        ("int", np.uint64(7), 7),
        ("int", Decimal("3.00"), 3),
        ("int", Level.HIGH, 3),
        ("int", pa.scalar(5, pa.int8()), 5),
        ("number", 2**63 - 1, 2**63 - 1),
        ("number", 0.1, 0.1),
        ("number", np.float32(0.1), float(np.float32(0.1))),
        ("number", np.array(5), 5),
        ("timestamp", np.array("1970-01-01T00:00:01", "datetime64[s]"), 1_000_000),
        ("number", np.longdouble(0.5), 0.5),
        ("number", Decimal("0.5"), Decimal("0.5")),
        ("number", Decimal("10.05"), Decimal("10.05")),
        ("number", Decimal("3.0"), 3),
        ("number", Decimal(2**70), Decimal(2**70)),
        ("number", Decimal("1E+999999"), Decimal("1E+999999")),
        ("number", Decimal("-Infinity"), -math.inf),
        ("double", 2**53 + 1, 2**53 + 1),
        ("double", np.float16(0.5), 0.5),
        ("string", "é", "é"),
        ("string", np.str_("a"), "a"),
        ("string", Colour.RED, "red"),
        ("date", DAY, 2),
        ("date", "1970-01-03", 2),
        ("date", "19700103", 2),
        ("date", np.datetime64("1970-01-03"), 2),
        ("timestamp", NOON, NOON_MICROS),
        ("timestamp", NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2))), NOON_MICROS - 7_200_000_000),
        ("timestamp", DAY, 2 * 86_400_000_000),
        ("timestamp", "1970-01-03T12:00:00Z", NOON_MICROS),
        ("timestamp", "1970-01-03 14:00:00.000001+02:00", NOON_MICROS + 1),
        ("timestamp", "1970-01-03", 2 * 86_400_000_000),
        ("timestamp", "1970-01-03T12:00:00.123456789", NOON_MICROS + 123_456),
        ("timestamp", np.datetime64("1970-01-03T12"), NOON_MICROS),
        ("timestamp", np.datetime64(NOON_MICROS * 1_000 + 999, "ns"), NOON_MICROS),
        ("timestamp", np.datetime64(-1, "ns"), -1),
        ("timestamp", pd.Timestamp(NOON), NOON_MICROS),
        ("timestamp", pd.Timestamp(NOON, tz="UTC"), NOON_MICROS),
        ("timestamp", pa.scalar(NOON, pa.timestamp("ns")), NOON_MICROS),
        ("timestamp", pa.scalar(NOON, pa.timestamp("us", "Asia/Tokyo")), NOON_MICROS),
        ("timestamp", datetime.datetime.max, 253_402_300_799_999_999),
        ("list<int>", [1, None, np.int8(2)], [1, 2]),
        ("list<int>", (), []),
        ("list<int>", np.array([3, 4]), [3, 4]),
        ("list<string>", ("b", "a", None), ["b", "a"]),
        ("list<string>", {"x"}, ["x"]),
        ("list<string>", pa.array(["x", None]), ["x"]),
        ("any", object(), True),
        ("any", [], True),
    ],
)
def test_what_fits(kind: str, value: Any, element: Any) -> None:
    read = read_element(kind, value, UTC)
    assert read == element
    assert type(read) is type(element)


@pytest.mark.parametrize("null", [None, pd.NA, pd.NaT, np.datetime64("NaT"), pa.scalar(None, pa.int64())])
@pytest.mark.parametrize("kind", ["bool", "int", "number", "string", "date", "timestamp", "list<int>", "any"])
def test_what_means_null(kind: str, null: Any) -> None:
    assert read_element(kind, null, UTC) is None


def test_nan_is_a_value_outside_pandas() -> None:
    assert math.isnan(read_element("number", math.nan, UTC))
    assert math.isnan(read_element("number", Decimal("NaN"), UTC))
    pandas = UTC._replace(nan_is_null=True)
    for nan in (math.nan, np.float32("nan"), Decimal("NaN"), np.longdouble("nan")):
        assert read_element("number", nan, pandas) is None
        assert read_element("list<string>", ["a", nan], pandas) == ["a"]


MISFITS: list[tuple[str, Any, str]] = [
    ("int", "x", "'x', a str"),
    ("int", 1.0, "1.0, a float"),
    ("int", math.nan, "nan, a float"),
    ("int", True, "True, a bool"),
    ("int", 2**63, "9223372036854775808, an int beyond 64 bits"),
    ("int", -(2**63) - 1, "-9223372036854775809, an int beyond 64 bits"),
    ("int", np.uint64(2**64 - 1), "18446744073709551615, an int beyond 64 bits"),
    ("int", Decimal("0.5"), "Decimal('0.5'), a Decimal"),
    ("int", Decimal("1E+25"), "Decimal('1E+25'), a Decimal beyond 64 bits"),
    ("number", Decimal("sNaN"), "Decimal('sNaN'), a Decimal, which is not a number"),
    ("number", np.longdouble(1) / 3, "np.longdouble('0.33333333333333333334'), a longdouble"),
    ("number", False, "False, a bool"),
    ("number", 1 + 0j, "(1+0j), a complex"),
    ("double", 2**70, "1180591620717411303424, an int beyond 64 bits"),
    ("bool", 1, "1, an int"),
    ("string", 5, "5, an int"),
    ("string", b"a", "b'a', a bytes"),
    ("string", "\ud800", "'\\ud800', a str with half a surrogate pair"),
    ("string", "x" * 100 + "\ud800", f"'{'x' * 27}...{'x' * 22}\\ud800', a str with half a surrogate pair"),
    ("string", {"a": 1}, "{'a': 1}, a dict"),
    ("date", NOON, "datetime.datetime(1970, 1, 3, 12, 0), a datetime"),
    ("date", "1970-01-03T00:00:00", "'1970-01-03T00:00:00', a str that is not an ISO 8601 date"),
    ("date", "1970-02-30", "'1970-02-30', a str that is not an ISO 8601 date"),
    ("date", 5, "5, an int"),
    ("timestamp", "soon", "'soon', a str that is not an ISO 8601 timestamp"),
    ("timestamp", "1970-01-03x12:00", "'1970-01-03x12:00', a str that is not an ISO 8601 timestamp"),
    ("timestamp", 5, "5, an int"),
    ("timestamp", datetime.time(5), "datetime.time(5, 0), a time"),
    ("list<int>", 5, "5, an int"),
    ("list<int>", [1, "a"], "a list with 'a', a str"),
    ("list<int>", [1, 2.0], "a list with 2.0, a float"),
    ("list<int>", [2**63], "a list with 9223372036854775808, an int beyond 64 bits"),
    ("list<int>", np.zeros((2, 2)), "array([[0., 0.],\n       [0., 0.]]), a ndarray"),
    ("list<string>", "ab", "'ab', a str"),
    ("list<string>", ["a", ["b"]], "a list with ['b'], a list"),
    ("list<string>", {"a": 1}, "{'a': 1}, a dict"),
]


@pytest.mark.parametrize(("kind", "value", "got"), MISFITS)
def test_what_does_not_fit(kind: str, value: Any, got: str) -> None:
    with pytest.raises(MisfitValue) as caught:
        read_element(kind, value, UTC)
    assert caught.value.got == got


@pytest.mark.parametrize(("kind", "value", "got"), MISFITS)
def test_errors_name_row_attribute_value_and_type(kind: str, value: Any, got: str) -> None:
    encoder = PlainEncoder([plain_source("x", kind, 0)])
    message = f"event 17: 'x' must be {kind} (got {got})"
    with pytest.raises(EventError) as caught:
        batch_rows(encoder, [{}] * 17 + [{"x": value}, {"x": value}])
    hint = caught.value.hint
    assert str(caught.value) == message + (f": {hint}" if hint else "")
    error = caught.value
    assert (error.what, error.where, error.got, error.expected) == ("x", "event 17", got, kind)
    with pytest.raises(EventError) as caught:
        encode_event(encoder, {"x": value})
    assert str(caught.value).removesuffix(f": {hint}") == message.replace("event 17", "event 0")


def test_values_that_cannot_be_shown() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert re.fullmatch(r"<Silent instance at 0x[0-9a-f]+>, a Silent", describe(Silent()))
    assert describe(10**5_000) == "a value that cannot be shown, an int"
    assert describe(list(range(1_000))) == "[0, 1, 2, 3, 4, 5, ...], a list"
    assert len(describe("x" * 10_000)) < 80
    assert len(describe(b"x" * 10_000)) < 80


def test_the_first_row_is_told_and_of_its_attributes_the_first() -> None:
    encoder = PlainEncoder([plain_source("b", "int", 0), plain_source("a", "int", 1)])
    events = [{"a": 1}, {"a": "y", "b": "z"}, {"b": "w"}]
    with pytest.raises(EventError, match="event 1: 'b' must be int"):
        batch_rows(encoder, events)
    with pytest.raises(EventError, match="event 0: 'b' must be int"):
        encode_event(encoder, events[1])
    for given in ([{}, {"a": "y"}, {"b": "w"}], pa.table({"b": [None, None, "w"], "a": [None, "y", None]})):
        with pytest.raises(EventError, match="event 1: 'a' must be int"):
            batch_rows(encoder, given)


@pytest.mark.parametrize(
    ("kind", "boundary", "value"),
    [("int", 5, 2**63), ("number", 5, -(2**63) - 1), ("string", "a", "\ud800"), ("int", 5, True), ("number", 5, False)],
)
def test_the_short_way_refuses_what_columns_refuse(kind: str, boundary: Any, value: Any) -> None:
    encoder = PlainEncoder([plain_source("x", kind, 0, boundary)])
    for encode in (lambda: encode_event(encoder, {"x": value}), lambda: batch_rows(encoder, [{"x": value}])):
        with pytest.raises(EventError, match=f"event 0: 'x' must be {kind}"):
            encode()


def test_misfits_may_count_as_missing_and_be_reported() -> None:
    encoder = PlainEncoder([plain_source("x", "int", 0, 5), plain_source("y", "string", 1)])
    events: list[Any] = [{"x": 7, "y": 1}, {"x": "bad", "y": 2}, {"x": 3, "y": "fine"}]
    (quiet,) = batches_of(encoder, events, on_error="null")
    (told,) = batches_of(encoder, events, on_error="report")
    assert rows_of(quiet.events) == rows_of(told.events) == [[(0, 10)], [], [(0, 0), (1, 0)]]
    assert quiet.misfits == told.misfits == 3
    assert quiet.errors == []
    assert [(row, message.split(": write")[0]) for row, message in told.errors] == [
        (0, "event 0: 'y' must be string (got 1, an int)"),
        (1, "event 1: 'x' must be int (got 'bad', a str)"),
        (1, "event 1: 'y' must be string (got 2, an int)"),
    ]


def test_reports_count_rows_from_the_start_of_the_input() -> None:
    encoder = PlainEncoder([plain_source("x", "int", 0, 5)])
    table = pa.table({"x": pa.array([0] * 16_390 + [2**63], pa.uint64())})
    first, second = batches_of(encoder, table, on_error="report")
    assert first.errors == []
    assert second.errors == [(16_390, "event 16390: 'x' must be int (got 9223372036854775808, an int beyond 64 bits)")]


def test_mixed_numbers_stay_exact() -> None:
    """As doubles, 2**53 + 1 would be 2**53; beside a float in one list it must not become one."""
    boundaries = (2**53, 2**53 + 1, 2**63 - 1)
    values = [2**53 + 1, 0.5, 2.0**53, 2**53, None, 2**63 - 1, 2.0**63, math.nan, -math.inf, 2**63 - 2]
    encoder = PlainEncoder([plain_source("x", "number", 0, *boundaries)])
    rows = batch_rows(encoder, [{"x": value} for value in values])
    assert [row[0][1] if row else None for row in rows] == [20, 0, 10, 10, None, 30, 30, 30, 0, 20]


def test_an_attribute_of_any_kind_takes_everything() -> None:
    encoder = PlainEncoder([plain_source("x", "any", 3)])
    events = [{"x": value} for value in (1, "a", None, [], {}, object(), math.nan, True, pd.NA, b"")]
    present = [[(3, 0)] if value["x"] is not None and value["x"] is not pd.NA else [] for value in events]
    assert batch_rows(encoder, events) == present
    for column in ([1, None], [b"a", None], [[1.5], None], [{"a": 1}, None], [datetime.time(1), None]):
        assert batch_rows(encoder, pa.table({"x": column})) == [[(3, 0)], []]


def test_unhashable_values_are_misfits_like_others() -> None:
    encoder = PlainEncoder([plain_source("x", "string", 0, "a")])
    for value in ([], {}, set()):
        with pytest.raises(EventError, match="'x' must be string"):
            encode_event(encoder, {"x": value})


def test_columns_of_the_wrong_type_tell_their_first_value() -> None:
    with pytest.raises(EventError) as caught:
        column_codes("int", (5,), pa.array([None, "x", "y"]))
    assert str(caught.value) == "event 1: 'x' must be int (got 'x', a str)"


@pytest.mark.parametrize(
    ("kind", "text", "advice"),
    [
        ("int", "18", True),
        ("int", "18.0", False),
        ("double", "18.0", True),
        ("timestamp", "1700000000", True),
        ("timestamp", "31.01.2026", False),
    ],
)
def test_advice_is_given_where_it_helps(kind: str, text: str, advice: bool) -> None:
    index = mw.Index(schema={"x": kind})
    index["set"] = "x > timestamp '2026-01-01 00:00:00'" if kind == "timestamp" else "x > 1"
    with pytest.raises(mw.EventError) as caught:
        index.match({"x": text})
    assert ("coerce=" in str(caught.value)) == advice
