"""Dates and moments: units, zones, extremes, and columns against one value at a time."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from events_support import PlainEncoder, batch_rows, column_codes, plain_source
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.events.columns.arrow import read_array
from matchwood.encoding.events.columns.parts import ValueColumn
from matchwood.encoding.events.unwrapping import ValueReading
from matchwood.encoding.events.values import read_element
from matchwood.encoding.schema.timezones import Zone
from matchwood.errors import EventError

ZONES = ["UTC", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "+05:30"]
MOMENTS = st.datetimes(datetime.datetime(1880, 1, 1), datetime.datetime(2260, 1, 1))


def elements(column: ValueColumn) -> list[Any]:
    """The elements of a column that is one part without misfits."""
    assert column.misfits == []
    (part,) = column.parts
    values: list[Any] = np.asarray(part.elements).tolist()
    if part.codes is not None:
        values = [values[code] for code in part.codes.tolist()]
    valid = [True] * len(values) if part.valid is None else part.valid.tolist()
    return [value if held else None for value, held in zip(values, valid, strict=True)]


@given(st.lists(st.none() | MOMENTS, min_size=1, max_size=8).filter(any), st.sampled_from(ZONES))
def test_columns_read_moments_like_single_values(moments: list[Any], zone: str) -> None:
    reading = ValueReading(Zone(zone))
    expected = [read_element("timestamp", moment, reading) for moment in moments]
    assert elements(read_array("timestamp", pa.array(moments, pa.timestamp("us")), reading)) == expected
    assert elements(read_array("timestamp", pa.array(moments, pa.timestamp("ns")), reading)) == expected
    aware = [moment and moment.replace(tzinfo=reading.zone.info, fold=0) for moment in moments]
    stored = pa.array([moment and read_element("timestamp", moment, reading) for moment in aware], pa.int64())
    assert elements(read_array("timestamp", stored.cast(pa.timestamp("us", "Asia/Tokyo")), reading)) == expected
    texts = pa.array([moment and moment.isoformat() for moment in moments])
    assert elements(read_array("timestamp", texts, reading)) == [micros for micros in expected if micros is not None]


@given(st.lists(st.none() | st.dates(), min_size=1, max_size=8).filter(any), st.sampled_from(ZONES))
def test_columns_read_dates_like_single_values(days: list[Any], zone: str) -> None:
    reading = ValueReading(Zone(zone))
    for kind in ("date", "timestamp"):
        expected = [read_element(kind, day, reading) for day in days]
        assert elements(read_array(kind, pa.array(days, pa.date32()), reading)) == expected
        assert elements(read_array(kind, pa.array(days, pa.date64()), reading)) == expected


@pytest.mark.parametrize(("unit", "scale"), [("s", 1), ("ms", 1_000), ("us", 10**6), ("ns", 10**9)])
def test_units(unit: str, scale: int) -> None:
    column = pa.array([scale, 2 * scale, None, -scale], pa.timestamp(unit))
    assert column_codes("timestamp", (0, 1_000_000, 2_000_000), column) == [20, 30, None, 0]


def test_what_is_finer_than_a_microsecond_is_dropped_towards_the_past() -> None:
    column = pa.array([999, 1_000, -1, -1_000, -1_001], pa.timestamp("ns"))
    assert column_codes("timestamp", (-2, -1, 0, 1), column) == [30, 40, 20, 20, 10]


def test_moments_beyond_64_bits_are_misfits() -> None:
    encoder = PlainEncoder([plain_source("x", "timestamp", 0, 0)])
    for unit, limit in (("s", 2**63 // 10**6), ("ms", 2**63 // 10**3)):
        for zone in (None, "UTC"):
            column = pa.array([5, limit + 1, -limit - 2, None], pa.timestamp(unit, zone))
            rows = batch_rows(encoder, pa.table({"x": column}), on_error="null")
            assert rows == [[(0, 10)], [], [], []]
    with pytest.raises(EventError, match=r"'x' must be timestamp \(got 9223372036854775807, a timestamp\[s\] beyond"):
        batch_rows(encoder, pa.table({"x": pa.array([2**63 - 1], pa.timestamp("s"))}))
    ends = pa.array([2**63 - 1, -(2**63)], pa.timestamp("us", "UTC"))
    assert batch_rows(encoder, pa.table({"x": ends})) == [[(0, 10)], [(0, 0)]]
    with pytest.raises(EventError, match="beyond 64 bits of microseconds"):
        batch_rows(encoder, [{"x": np.datetime64(2**62, "s")}])


def test_dates_beyond_64_bits_of_microseconds_are_misfits_of_timestamps_alone() -> None:
    days = pa.array([2**31 - 1, 5], pa.int32()).cast(pa.date32())
    assert column_codes("date", (5, 6), days) == [20, 10]
    encoder = PlainEncoder([plain_source("x", "timestamp", 0, 0)])
    (batch,) = (batch_rows(encoder, pa.table({"x": days}), on_error="null"),)
    assert batch == [[], [(0, 10)]]


def test_what_stands_under_null_means_nothing() -> None:
    values = np.array([2**63 - 1, 7, -(2**63)], np.int64)
    column = pa.Array.from_buffers(pa.timestamp("s"), 3, [pa.py_buffer(b"\x02"), pa.py_buffer(values)])
    assert column_codes("timestamp", (0,), column, "America/New_York") == [None, 10, None]


def test_a_date_is_midnight_in_the_zone_of_the_index() -> None:
    hour = 3_600_000_000
    day = pa.array([datetime.date(1970, 1, 2)])
    assert column_codes("timestamp", (23 * hour, 24 * hour), day) == [20]
    assert column_codes("timestamp", (23 * hour, 24 * hour), day, "Europe/Paris") == [10]
    assert column_codes("timestamp", (24 * hour, 29 * hour), day, "America/New_York") == [20]
    assert column_codes("timestamp", (24 * hour, 29 * hour), pa.array(["1970-01-02"]), "America/New_York") == [20]


def test_times_that_clocks_skip_and_repeat() -> None:
    skipped, repeated = datetime.datetime(2026, 3, 8, 2, 30), datetime.datetime(2026, 11, 1, 1, 30)
    reading = ValueReading(Zone("America/New_York"))
    expected = [
        read_element("timestamp", moment.replace(tzinfo=datetime.UTC), reading)
        for moment in (skipped.replace(hour=7), repeated.replace(hour=5))
    ]
    assert elements(read_array("timestamp", pa.array([skipped, repeated]), reading)) == expected
    assert [read_element("timestamp", moment, reading) for moment in (skipped, repeated)] == expected
    assert read_element("timestamp", repeated.replace(fold=1), reading) == expected[1]
