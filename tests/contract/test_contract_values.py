"""Every kind of value against every type: the same verdict, or the same refusal, on every engine."""

from __future__ import annotations

import datetime
import enum
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import matchwood
from tests.contract.twin import Twin, hits

pytestmark = pytest.mark.few

DAY, NOON = datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 12)
EAST = datetime.timezone(datetime.timedelta(hours=2))


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        np.True_,
        0,
        1,
        3,
        -1,
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        2**63,
        -(2**63) - 1,
        10**30,
        Level.HIGH,
    ),
    *(0.0, -0.0, 1.0, 1.5, 3.0, math.nan, math.inf, -math.inf, 2.0**63, 5e-324, 1e308),
    *(np.int8(3), np.uint8(3), np.uint64(2**64 - 1), np.int64(3), np.float16(1.5), np.float32(0.1), np.float64(3)),
    *(np.longdouble(3), np.complex64(1), 1j, Fraction(1, 2)),
    *(
        Decimal(3),
        Decimal("3.0"),
        Decimal("1.5"),
        Decimal("0.1"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
    ),
    *(Decimal(2**63), Decimal(-(2**63)), Decimal(2**64), Decimal("1E+400"), Decimal("1E-400"), Decimal(2**53 + 1)),
    *("", "a", "red", "1", "true", "é", "😀", "\0", "a\0b", "\ud800", np.str_("a"), Colour.RED, "x" * 10_000, b"a"),
    *(DAY, NOON, NOON.replace(tzinfo=EAST), datetime.time(12), datetime.timedelta(1), datetime.date.min),
    *(
        datetime.date.max,
        datetime.datetime.min,
        datetime.datetime.max,
        pd.Timestamp(NOON),
        pd.Timestamp(NOON, tz="Asia/Tokyo"),
    ),
    *(
        np.datetime64("2026-01-01"),
        np.datetime64("2026-01"),
        np.datetime64("2026-01-01T12:00:00.000001999"),
        np.datetime64("NaT"),
    ),
    *(pd.NaT, pd.NA, pd.Timestamp("2026-01-01 12:00:00.000000999"), pd.Timedelta(1), np.timedelta64(1, "s")),
    *("2026-01-01", "2026-01-01T12:00:00", "2026-01-01 12:00", "2026-01-01T12:00:00Z", "20260101", "2026-W01-4"),
    *(
        "2026-01-01T12:00:00.123456789",
        "2026-01-01T12:00+02:00",
        "2026-13-01",
        "2026-01-01x12:00",
        " 2026-01-01",
        "2026-1-1",
    ),
    *(
        [],
        [None],
        [1],
        [1, None, 3],
        (1, 2),
        {1, 3},
        frozenset({"a"}),
        np.array([1, 3]),
        np.array(["a", "b"]),
        np.array([1.5]),
    ),
    *(
        ["a"],
        ["a", None],
        [""],
        [1, "a"],
        [1.0],
        [True],
        [2**63],
        [2**63 - 1],
        [Decimal(3)],
        [[1]],
        np.array([[1]]),
        [np.int8(3)],
    ),
    *([math.nan], [pd.NA, "a"], ["\ud800"], {}, {"a": 1}, object(), range(3), iter([1])),
    *(pa.scalar(3), pa.scalar("a"), pa.scalar(None, pa.int64()), pa.scalar([1, 3]), pa.scalar(DAY), pa.scalar(NOON)),
]
RULES: dict[str, list[str]] = {
    "bool": ["x", "x = false"],
    "number": [
        "x = 3",
        "x > 1.25",
        "x = cast('NaN' as double)",
        "x <= -9223372036854775808",
        "x in (0, 9007199254740993)",
        "x >= 0.1",
        "x > 0.10000000000000000001",
        "x in (0.99999999999999999999, 18446744073709551616)",
    ],
    "string": ["x = 'a'", "x > 'b'", "x like '%d'", "x = 'red'", "x rlike '^.$'", "x ilike 'É'"],
    "timestamp": [
        "x = timestamp '2026-01-01 12:00:00'",
        "x >= date '2026-01-01'",
        "x < timestamp '2026-01-01 12:00:00'",
    ],
    "list<int>": ["x one of (1, 2)", "x all of (1, 3)", "x none of (3)", "9223372036854775807 in x"],
    "list<string>": ["x one of ('a', 'b')", "x none of ('a')", "'' in x"],
}
WAYS: dict[str, tuple[str, dict[str, str] | None]] = {
    **{f"inferred {kind}": (kind, None) for kind in RULES},
    **{f"declared {kind}": ("number", {"x": kind}) for kind in ("int", "double")},
    **{f"declared {kind}": ("timestamp", {"x": kind}) for kind in ("date", "timestamp")},
    **{f"declared {kind}": (kind, {"x": kind}) for kind in ("bool", "string", "list<int>", "list<string>")},
    "null tests": ("any", None),
}


COLUMNS: dict[str, pa.Array] = {
    **{str(kind): pa.array([3, None, 1], kind) for kind in (pa.int8(), pa.uint16(), pa.int32(), pa.uint64())},
    "uint64 beyond": pa.array([1, 2**64 - 1], pa.uint64()),
    "float16": pa.array(np.array([1.5, 3, np.nan], np.float16)),
    "float32": pa.array([0.1, 3.0, math.inf, None], pa.float32()),
    "float64": pa.array([3.0, -0.0, math.nan, 5e-324], pa.float64()),
    "exact decimal": pa.array([Decimal("3.00"), Decimal("1.50"), None], pa.decimal128(10, 2)),
    "whole decimal": pa.array([Decimal(2**53 + 1), Decimal(-(2**63))], pa.decimal128(38, 0)),
    "inexact decimal": pa.array([Decimal("0.10")], pa.decimal128(10, 2)),
    "long decimal": pa.array(["0.10000000000000000001", None, "1", "-0.5"]).cast(pa.decimal128(38, 20)),
    "wide decimal": pa.array([Decimal(2**64), Decimal(3), Decimal(-(2**70))], pa.decimal256(60, 0)),
    "hundreds": pa.array([Decimal(300), Decimal(-100)], pa.decimal128(5, 0)).cast(pa.decimal128(7, -2)),
    "bool": pa.array([True, None, False]),
    "null": pa.nulls(2),
    "string": pa.array(["a", None, "", "2026-01-01", "red"]),
    "large string": pa.array(["a", None, "red"], pa.large_string()),
    "string view": pa.array(["a", None, "red" * 9], pa.string_view()),
    "dictionary": pa.array(["a", None, "red", "a"]).dictionary_encode(),
    "dictionary of ints": pa.array([3, None, 1, 3]).dictionary_encode(),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([3, 1])),
    "ISO dates": pa.array(["2026-01-01", None]),
    "ISO moments": pa.array(["2026-01-01T12:00:00+02:00", "2026-01-01 12:00"]),
    "binary": pa.array([b"a"]),
    "date32": pa.array([DAY, None, datetime.date(1, 1, 1)]),
    "date64": pa.array([DAY, None], pa.date64()),
    **{f"timestamp {unit}": pa.array([NOON, None], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "timestamp in a zone": pa.array([NOON, None], pa.timestamp("ms", "Asia/Tokyo")),
    "time": pa.array([datetime.time(12)]),
    "duration": pa.array([datetime.timedelta(1)]),
    "ints": pa.array([[1, None, 3], None, [], [2]]),
    "int8s": pa.array([[1], [3, 3]], pa.large_list(pa.int8())),
    "uint64s beyond": pa.array([[2**63]], pa.list_(pa.uint64())),
    "two ints": pa.array([[1, 3], None], pa.list_(pa.int64(), 2)),
    "strings": pa.array([["a", None], None, [], [""]]),
    "strings of a dictionary": pa.ListArray.from_arrays([0, 2, 2], pa.array(["a", "c"]).dictionary_encode()),
    "doubles": pa.array([[1.5]]),
    "nulls": pa.array([[None], []], pa.list_(pa.null())),
    "lists": pa.array([[[1]]]),
    "struct": pa.array([{"y": 1}]),
    "map": pa.array([[("y", 1)]], pa.map_(pa.string(), pa.int64())),
}


def outcome(ask: Any) -> Any:
    """The answer, or that there is none because the value does not fit."""
    try:
        return ask()
    except matchwood.EventError:
        return "EventError"


def loaded(engine: str, way: str) -> Twin:
    kind, types = WAYS[way]
    twin = Twin(engine, types)
    for rule in [*RULES.get(kind, []), "x is null", "x is not null"]:
        if types != {"x": "int"} or not ("1.25" in rule or "NaN" in rule):
            twin.put(rule, rule)
    return twin


@pytest.mark.parametrize("way", WAYS)
def test_every_value_against_every_type(engine: str, way: str) -> None:
    twin = loaded(engine, way)
    wrong, answers = [], 0
    for value in VALUES:
        expected = outcome(lambda event={"x": value}: twin.model.match(event))
        one = outcome(lambda event={"x": value}: twin.index.match(event))
        many = outcome(lambda event={"x": value}: hits(twin.index.match_many([{}, event]), 2)[1])
        answers += expected != "EventError"
        if not one == expected == many:
            wrong.append((value, type(value), expected, one, many))
    assert wrong == []
    assert 5 < answers < len(VALUES) or (way == "null tests" and answers == len(VALUES))


@pytest.mark.parametrize("way", WAYS)
def test_every_column_against_every_type(engine: str, way: str) -> None:
    """A column answers as its values do one by one; one that does not fit refuses them all."""
    twin = loaded(engine, way)
    wrong, answers = [], 0
    for name, column in COLUMNS.items():
        events = [{"x": value} for value in column.to_pylist()]
        expected = outcome(lambda events=events: [twin.model.match(event) for event in events])
        found = outcome(lambda column=column: hits(twin.index.match_many(pa.table({"x": column})), len(column)))
        answers += expected != "EventError"
        if found != expected:
            wrong.append((name, expected, found))
    assert wrong == []
    assert 1 < answers < len(COLUMNS) or (way == "null tests" and answers == len(COLUMNS))
