"""Moments and days in an index's time zone: offsets, skipped and repeated hours, skipped days."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.schema.timezones import MICROSECONDS_A_DAY, Zone, days_of
from matchwood.errors import InvalidArgument

HOUR = 3_600_000_000


def test_a_naive_time_is_read_in_the_zone_and_an_aware_one_is_not() -> None:
    paris = Zone("Europe/Paris")
    assert paris.micros(datetime.datetime(1970, 1, 1, 1)) == 0
    assert paris.micros(datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.UTC)) == HOUR
    assert paris.micros(datetime.date(1970, 1, 1)) == -HOUR
    assert Zone("UTC").micros(datetime.datetime(1970, 1, 1, 0, 0, 0, 1)) == 1


def test_skipped_and_repeated_hours_take_the_offset_before_the_change() -> None:
    berlin = Zone("Europe/Berlin")
    skipped = berlin.micros(datetime.datetime(2024, 3, 31, 2, 30))
    assert skipped == berlin.micros(datetime.datetime(2024, 3, 31, 3, 30))
    repeated = berlin.micros(datetime.datetime(2024, 10, 27, 2, 30))
    assert repeated == berlin.micros(datetime.datetime(2024, 10, 27, 0, 30, tzinfo=datetime.UTC))
    assert repeated == berlin.micros(datetime.datetime(2024, 10, 27, 2, 30, fold=1))


@pytest.mark.parametrize(
    "name", ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe", "+05:45"]
)
def test_columns_are_read_like_single_values(name: str) -> None:
    zone = Zone(name)
    rng = np.random.default_rng(5)
    changes = [datetime.datetime(2024, 3, 31), datetime.datetime(2011, 12, 30), datetime.datetime(2024, 4, 7)]
    around = [
        days_of(day.date()) * MICROSECONDS_A_DAY + np.arange(0, 2 * MICROSECONDS_A_DAY, HOUR // 4) for day in changes
    ]
    local = np.concatenate([rng.integers(-(10**16), 4 * 10**15, 500), *around])
    epoch = datetime.datetime(1970, 1, 1)
    expected = [zone.micros(epoch + datetime.timedelta(microseconds=each)) for each in local.tolist()]
    assert zone.to_utc(local).tolist() == expected


def test_columns_reach_beyond_the_calendar() -> None:
    local = np.array([-(2**62), 2**62], np.int64)
    assert Zone("Europe/Berlin").to_utc(local).tolist() == [-(2**62) - 3208 * 10**6, 2**62 - HOUR]


@given(st.integers(-800_000, 2_900_000), st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Apia", "America/New_York"]))
def test_first_day_is_the_first_that_begins_no_earlier(day: int, name: str) -> None:
    zone = Zone(name)
    for shift in (-1, 0, 1):
        found = zone.first_day(zone.midnight(day) + shift)
        assert zone.midnight(found) >= zone.midnight(day) + shift > zone.midnight(found - 1)


def test_midnights() -> None:
    days = np.arange(19_000, 20_000)
    zone = Zone("America/New_York")
    assert zone.midnights(days).tolist() == [zone.midnight(day) for day in days.tolist()]


@pytest.mark.parametrize("name", ["UTC", "utc", "Z", "GMT", "Etc/UTC"])
def test_names_of_utc_need_no_database(name: str) -> None:
    assert Zone(name).is_utc


@pytest.mark.parametrize(("name", "hours"), [("+02:00", 2), ("-0530", -5.5), ("UTC+3", 3), ("GMT-11:00", -11)])
def test_fixed_offsets(name: str, hours: float) -> None:
    assert Zone(name).micros(datetime.datetime(1970, 1, 1)) == -hours * HOUR


@pytest.mark.parametrize("name", ["Mars/Olympus", "+25:00", "../../etc/passwd", "", 5])
def test_unknown_zones(name: object) -> None:
    with pytest.raises(InvalidArgument, match="timezone"):
        Zone(name)  # type: ignore[arg-type]
