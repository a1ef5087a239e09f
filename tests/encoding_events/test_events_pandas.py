"""pandas: NaN, NaT and NA are NULL, and everything else is what it is elsewhere."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from events_support import EVERY_KIND, PlainEncoder, batch_rows, plain_source, single_rows
from hypothesis import given
from hypothesis import strategies as st

import matchwood as mw
from matchwood.errors import EventError

ENCODER = PlainEncoder(EVERY_KIND)


def codes(kind: str, boundaries: tuple[Any, ...], values: Any) -> list[int | None]:
    encoder = PlainEncoder([plain_source("x", kind, 0, *boundaries)])
    rows = batch_rows(encoder, pd.DataFrame({"x": values}))
    return [row[0][1] if row else None for row in rows]


def test_nan_nat_and_na_are_null() -> None:
    assert codes("number", (1,), [0.5, math.nan, 2.0]) == [0, None, 10]
    assert codes("double", (1,), pd.array([0.5, None, 2.0], "Float64")) == [0, None, 10]
    assert codes("double", (1,), np.array([0.5, math.nan], np.float32)) == [0, None]
    assert codes("double", (1,), np.array([0.5, math.nan], np.float16)) == [0, None]
    assert codes("any", (), [0.5, math.nan]) == [0, None]
    arrow = pd.Series(pa.chunked_array([[0.5, math.nan, None]]), dtype=pd.ArrowDtype(pa.float64()))
    assert codes("number", (0,), arrow) == [10, None, None]
    assert codes("any", (), arrow) == [0, None, None]
    assert codes("timestamp", (0,), pd.to_datetime(["1970-01-02", None])) == [10, None]
    objects = pd.Series(["a", math.nan, None, pd.NA, pd.NaT, Decimal("NaN"), np.float32("nan")], dtype=object)
    assert codes("string", ("a",), objects) == [10] + [None] * 6


def test_nan_is_a_value_everywhere_else() -> None:
    encoder = PlainEncoder([plain_source("x", "number", 0, math.nan)])
    for events in ([{"x": math.nan}], pa.table({"x": [math.nan]})):
        assert batch_rows(encoder, events) == [[(0, 10)]]


def test_types_of_pandas() -> None:
    assert codes("int", (5,), pd.array([4, None, 5], "Int64")) == [0, None, 10]
    assert codes("int", (5,), pd.array([4, None, 5], "UInt8")) == [0, None, 10]
    assert codes("int", (5,), np.array([4, 5], np.int16)) == [0, 10]
    assert codes("bool", (1,), pd.array([True, None, False], "boolean")) == [10, None, 0]
    assert codes("bool", (1,), [True, False]) == [10, 0]
    for kind in ("string", "string[pyarrow]", "object"):
        assert codes("string", ("b",), pd.Series(["a", None, "b"], dtype=kind)) == [0, None, 10]
    assert codes("string", ("b",), pd.Categorical(["a", None, "b"], ["b", "a", "unused"])) == [0, None, 10]
    assert codes("int", (2,), pd.Categorical([1, None, 2])) == [0, None, 10]
    assert codes("double", (2,), pd.arrays.SparseArray([1.0, math.nan, 2.0])) == [0, None, 10]
    assert codes("date", (1,), [datetime.date(1970, 1, 2), None]) == [10, None]
    assert codes("number", (0.5,), [Decimal("0.5"), None]) == [10, None]
    lists = pd.Series([["a"], np.array(["b"]), None, [], ["a", math.nan]])
    events = [{"tags": ["a"]}, {"tags": ["b"]}, {}, {"tags": []}, {"tags": ["a"]}]
    assert batch_rows(ENCODER, pd.DataFrame({"tags": lists})) == single_rows(ENCODER, events)


def test_moments() -> None:
    hour = 3_600_000_000
    naive = pd.to_datetime(pd.Series(["1970-01-01 02:00", None]))
    assert codes("timestamp", (2 * hour,), naive) == [10, None]
    assert codes("timestamp", (hour, 2 * hour), naive.dt.tz_localize("Europe/Paris")) == [10, None]
    assert codes("timestamp", (2 * hour,), naive.astype("datetime64[s]")) == [10, None]
    with pytest.raises(EventError, match=r"event 0: 'x' must be date \(got .*a (datetime|Timestamp)\)"):
        codes("date", (0,), naive)


def test_integers_that_became_doubles() -> None:
    """One missing value makes a column of integers a column of doubles; a declared int still takes them."""
    assert codes("int", (2,), [1, None, 2]) == [0, None, 10]
    assert codes("int", (-(2**63) + 1,), [-(2.0**63), math.nan]) == [0, None]
    for value, shown in ((1.5, "1.5"), (2.0**63, "9.223372036854775808e+18"), (math.inf, "inf")):
        with pytest.raises(EventError, match=r"event 1: 'x' must be int") as caught:
            codes("int", (2,), [1.0, value, math.nan])
        assert caught.value.got in (f"{shown}, a float", f"{value!r}, a float")
    with pytest.raises(EventError, match="must be int"):
        batch_rows(PlainEncoder([plain_source("x", "int", 0)]), pa.table({"x": [1.0]}))


def test_columns_of_mixed_objects() -> None:
    mixed = pd.Series([1, 2.5, 2**53 + 1, None, np.int8(3), Decimal("0.5")], dtype=object)
    assert codes("number", (2, 2**53 + 1), mixed) == [0, 10, 20, None, 10, 0]
    with pytest.raises(EventError) as caught:
        codes("number", (2,), pd.Series([1, "x"], dtype=object))
    assert str(caught.value) == "event 1: 'x' must be number (got 'x', a str)"


def test_nested_dicts_in_columns() -> None:
    encoder = PlainEncoder([plain_source("a.b", "number", 0, 5), plain_source("a.c.d", "string", 1, "x")])
    values = [{"b": 7, "c": {"d": "y"}}, None, {"b": math.nan}, {"c": math.nan}, math.nan, {}]
    expected = [[(0, 10), (1, 10)], [], [], [], [], []]
    assert batch_rows(encoder, pd.DataFrame({"a": values})) == expected


def test_the_index_and_odd_column_names_do_not_matter() -> None:
    frame = pd.DataFrame({"count": [1, 2], 5: [1, 2], ("count", "x"): [3, 4]}, index=[9, 9])
    assert batch_rows(ENCODER, frame) == single_rows(ENCODER, [{"count": 1}, {"count": 2}])
    twice = pd.DataFrame([[1, 2]], columns=["count", "count"])
    with pytest.raises(EventError, match=r"'count' must be given only once \(got count twice\)"):
        batch_rows(ENCODER, twice)
    assert batch_rows(ENCODER, pd.DataFrame(index=range(3))) == [[], [], []]
    assert batch_rows(ENCODER, pd.DataFrame({"count": []})) == []


def test_columns_that_no_rule_names_are_never_converted() -> None:
    class Untouchable:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise AssertionError

    frame = pd.DataFrame({"count": [1, 2], "other": [Untouchable(), Untouchable()]})
    assert batch_rows(ENCODER, frame) == single_rows(ENCODER, [{"count": 1}, {"count": 2}])


CELLS = {
    "flag": st.none() | st.booleans(),
    "count": st.none() | st.integers(-(2**63), 2**63 - 1),
    "amount": st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(),
    "word": st.none() | st.text(max_size=4),
    "seen": st.none() | st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)),
    "tags": st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3),
}


@given(st.lists(st.fixed_dictionaries(CELLS), max_size=6))
def test_frames_of_objects_give_the_codes_of_dicts(rows: list[dict[str, Any]]) -> None:
    frame = pd.DataFrame(rows, columns=list(CELLS), dtype=object)
    without_nan = [{key: None if value != value else value for key, value in row.items()} for row in rows]
    assert batch_rows(ENCODER, frame) == single_rows(ENCODER, without_nan)


@pytest.mark.parametrize("as_arrow", [False, True])
def test_periods_are_no_numbers(as_arrow: bool) -> None:
    """They are stored as counts since 1970, which would be read as numbers."""
    index = mw.Index()
    index["any"], index["large"] = "day is not null", "day > 5"
    frame = pd.DataFrame({"day": pd.period_range("2026-01-31", periods=1, freq="D")})
    events = pa.Table.from_pandas(frame) if as_arrow else frame
    with pytest.raises(mw.EventError, match=r"'day' must be number .*pandas\.period"):
        index.match_many(events)
    assert index.match_many(events, on_error="null")["rule"].to_pylist() == []
    assert index.stats()["misfits"] == {"day": 1}
