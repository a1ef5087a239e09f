"""Random values of every Arrow type, and of Python's, for attributes of every type: one verdict on all ways in."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa

import matchwood as mw

RULES: dict[str, list[str]] = {
    "any": ["x is null", "x is not null"],
    "bool": ["x", "not x", "x is null"],
    "int": ["x > 0", "x = 7", "x is null"],
    "double": ["x > 0.5", "x = 7", "x is null"],
    "number": ["x > 0.5", "x < 7", "x is null"],
    "string": ["x >= '7'", "x like '%a%'", "x is null"],
    "date": ["x > date '2001-01-01'", "x is null"],
    "timestamp": ["x > timestamp '2001-01-01 00:00:00'", "x is null"],
    "list<int>": ["x one of (7, 1)", "x none of (0)", "x is null"],
    "list<string>": ["x one of ('7', 'a')", "x is null"],
}
"""What rules ask of an attribute of each type."""

COERCED = {
    "bool": ["bool"],
    "int": ["int"],
    "double": ["double"],
    "string": ["string"],
    "date": ["date"],
    "timestamp": ["timestamp", "timestamp[ms]", "timestamp[us]", "timestamp[ns]"],
    "list<int>": ["list<int>"],
}

_TEXTS = ["7", " 7 ", "-1.5", "+3", "1e3", "nan", "true", "FALSE", "0", "1", "a", "", "2026-01-31", "1700000000"]
_TEXTS += ["0.5000000000000000001", "6.9999999999999999999", "7.00", "1e400", "-1e-400", "1e23", "0.50"]
_TEXTS += ["2026-01-31T12:00:00", "2026-01-31 12:00:00+02:00", "[7, 1]", '["a"]', "[", "99999999999999999999", "é"]
_FLOATS = [0.0, -0.0, 7.0, 0.5, -1.5, 1e300, math.inf, -math.inf, math.nan, 2.0**53, 1.7e9]
_DAY = datetime.date(2026, 1, 31)
_MOMENT = datetime.datetime(2026, 1, 31, 12, 30, 5, 250_000)


def _ints(low: int, high: int) -> Callable[[random.Random], Any]:
    return lambda rng: rng.choice([0, 1, 7, low, high, rng.randint(low, high)])


def _moment(rng: random.Random) -> datetime.datetime:
    return _MOMENT + datetime.timedelta(seconds=rng.randint(-(10**9), 10**9))


def _zoned(rng: random.Random) -> datetime.datetime:
    return _moment(rng).replace(tzinfo=datetime.UTC)


TYPES: dict[pa.DataType, Callable[[random.Random], Any]] = {
    pa.null(): lambda rng: None,
    pa.bool_(): lambda rng: rng.random() < 0.5,
    pa.int8(): _ints(-128, 127),
    pa.uint16(): _ints(0, 2**16 - 1),
    pa.int32(): _ints(-(2**31), 2**31 - 1),
    pa.int64(): _ints(-(2**63), 2**63 - 1),
    pa.uint64(): _ints(0, 2**64 - 1),
    pa.float32(): lambda rng: rng.choice([0.5, 7.0, math.nan, -math.inf, float(rng.randint(-100, 100))]),
    pa.float64(): lambda rng: rng.choice([*_FLOATS, rng.uniform(-10, 10)]),
    pa.decimal128(10, 2): lambda rng: Decimal(rng.randint(-(10**5), 10**5)).scaleb(-2),
    pa.decimal256(40, 0): lambda rng: Decimal(rng.choice([0, 7, 2**63, 10**39, rng.randint(-9, 9)])),
    pa.string(): lambda rng: rng.choice(_TEXTS),
    pa.large_string(): lambda rng: rng.choice(_TEXTS),
    pa.string_view(): lambda rng: rng.choice(_TEXTS),
    pa.binary(): lambda rng: rng.choice([b"", b"7", b"\xff"]),
    pa.date32(): lambda rng: _DAY + datetime.timedelta(days=rng.randint(-20_000, 20_000)),
    pa.date64(): lambda rng: _DAY + datetime.timedelta(days=rng.randint(-20_000, 20_000)),
    pa.timestamp("s"): lambda rng: _moment(rng).replace(microsecond=0),
    pa.timestamp("us"): _moment,
    pa.timestamp("ns"): _moment,
    pa.timestamp("ms", "UTC"): lambda rng: _zoned(rng).replace(microsecond=1_000),
    pa.timestamp("us", "Europe/Rome"): _zoned,
    pa.time64("us"): lambda rng: datetime.time(rng.randint(0, 23), 5),
    pa.duration("us"): lambda rng: datetime.timedelta(seconds=rng.randint(-9, 9)),
    pa.list_(pa.int16()): lambda rng: rng.choice([[], [7], [0, None], [1, 2]]),
    pa.list_(pa.string()): lambda rng: rng.choice([[], ["7"], ["a", None], ["é"]]),
    pa.list_(pa.float64()): lambda rng: rng.choice([[], [7.0], [None], [0.5]]),
    pa.list_(pa.struct({"a": pa.int64()})): lambda rng: rng.choice([[], [{"a": 7}], [None]]),
    pa.struct({"a": pa.int64()}): lambda rng: {"a": rng.randint(0, 9)},
    pa.map_(pa.string(), pa.int64()): lambda rng: [("a", 7)],
    pa.dictionary(pa.int8(), pa.string()): lambda rng: rng.choice(_TEXTS),
}
"""Arrow types, each with what makes a value of it."""

Outcome = tuple[tuple[int, ...], bool]
"""The rules that are true, and whether the value did not fit."""


def column(kind: pa.DataType, rng: random.Random, count: int) -> pa.Array:
    """Random values of a type, some of them NULL."""
    make = TYPES[kind]
    return pa.array([None if rng.random() < 0.1 else make(rng) for _ in range(count)], kind)


def indexes(kind: str, nan: str | None, coerce: str | None) -> list[mw.Index]:
    """A compiled index with the rules of a type, and the oracle."""
    schema = None if kind in ("any", "number") else {"x": kind}
    made = []
    for engine in ("scan", "oracle"):
        index = mw.Index(engine, schema=schema, nan=nan, coerce=None if coerce is None else {"x": coerce})
        index.insert_many(enumerate(RULES[kind]), on_error="raise")
        made.append(index)
    return made


def outcomes(index: mw.Index, events: Any, count: int) -> list[Outcome]:
    """What is said of each event of a table or list."""
    rows: list[tuple[list[int], bool]] = [([], False) for _ in range(count)]
    for row in index.match_many(events, on_error="report").to_pylist():
        hits, _ = rows[row["event"]]
        if row["rule"] is not None:
            hits.append(row["rule"])
        rows[row["event"]] = (hits, row["match_error"] is not None)
    return [(tuple(hits), wrong) for hits, wrong in rows]


def alone(index: mw.Index, event: dict[str, Any]) -> Outcome:
    """What is said of one event by itself: an error where it does not fit, unless it is to count as NULL."""
    found = tuple(index.match(event, on_error="null"))
    try:
        assert tuple(index.match(event)) == found
    except mw.EventError:
        return found, True
    return found, False


def disagreements(kind: str, arrow: pa.DataType, rng: random.Random, count: int) -> list[Any]:
    """Values of which two ways in say different things, with what they say."""
    nan, coerce = rng.choice([None, "value", "null"]), rng.choice([None, *COERCED.get(kind, [])])
    compiled, oracle = indexes(kind, nan, coerce)
    values = column(arrow, rng, count)
    events = [{"x": value} for value in values.to_pylist(maps_as_pydicts="lossy")]
    table = pa.table({"x": values})
    said = {
        "arrow": outcomes(compiled, table, count),
        "chunks": outcomes(compiled, pa.concat_tables([table.slice(0, 2), table.slice(2)]), count),
        "dicts": outcomes(compiled, events, count),
        "one": [alone(compiled, event) for event in events],
        "oracle": outcomes(oracle, events, count),
        "oracle, arrow": outcomes(oracle, table, count),
    }
    if nan is not None:  # otherwise it is NULL in pandas alone
        objects = pd.Series([event["x"] for event in events], dtype=object)
        said["pandas"] = outcomes(compiled, pd.DataFrame({"x": objects}), count)
        if kind != "int" or not pa.types.is_floating(arrow):  # pandas makes doubles of integers beside a missing one
            said["pandas of Arrow"] = outcomes(compiled, table.to_pandas(types_mapper=pd.ArrowDtype), count)
    wrong = []
    for row, event in enumerate(events):
        each = {way: found[row] for way, found in said.items()}
        if len(set(each.values())) > 1:
            wrong.append((event, nan, coerce, each))
    return wrong
