"""Moments as whole UTC microseconds since 1970, and days as days since 1970, for one index's time zone.

A moment that names no zone is read in the index's. Where clocks are put forward a local time does not exist,
and where they are put back it comes twice: both are read with the offset that held before the change,
as Java and Spark do. So 02:30 in a skipped hour is the moment that clocks show as 03:30, and of two equal
times the earlier is meant.
"""

from __future__ import annotations

import datetime
import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument

MICROSECONDS_A_DAY = 86_400_000_000

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)
_FIRST_DAY = datetime.date.min.toordinal() - _EPOCH_DAY
_LAST_DAY = datetime.date.max.toordinal() - _EPOCH_DAY
_FIXED = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?(\d\d))?", re.IGNORECASE)


class Zone:
    """A time zone by its name: of the IANA database, `UTC`, or a fixed offset such as `+02:00`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.info = _zone(name)
        self.is_utc = self.info is datetime.UTC
        self._offsets: dict[int, int | None] = {}

    def micros(self, moment: datetime.date) -> int:
        """A date or datetime as UTC microseconds; a date is its midnight here.

        >>> Zone("Europe/Paris").micros(datetime.date(1970, 1, 2)) // 3_600_000_000
        23
        """
        if not isinstance(moment, datetime.datetime):
            moment = datetime.datetime(moment.year, moment.month, moment.day, tzinfo=self.info)
        elif moment.tzinfo is None or moment.utcoffset() is None:
            moment = moment.replace(tzinfo=self.info, fold=0)
        return (moment - _EPOCH) // _MICROSECOND

    def midnight(self, day: int) -> int:
        """The UTC microseconds at which a day, counted from 1970, begins here."""
        return int(self.to_utc(np.array([day * MICROSECONDS_A_DAY], np.int64))[0])

    def first_day(self, micros: int) -> int:
        """The first day whose midnight is not before a moment."""
        day = micros // MICROSECONDS_A_DAY - 1
        while self.midnight(day) < micros:
            day += 1
        return day

    def to_utc(self, local: NDArray[np.int64]) -> NDArray[np.int64]:
        """A column of local microseconds as UTC ones.

        The offset is looked up once a day; only on days on which it changes is each value looked at.
        """
        if self.is_utc or not len(local):
            return local
        days, which = np.unique(local // MICROSECONDS_A_DAY, return_inverse=True)
        offsets = [self._day_offset(int(day)) for day in days]
        utc: NDArray[np.int64] = local - np.array([offset or 0 for offset in offsets], np.int64)[which]
        changing = np.array([offset is None for offset in offsets])[which]
        if changing.any():
            utc[changing] = [value - self._offset_at(value) for value in local[changing].tolist()]
        return utc

    def midnights(self, days: NDArray[np.int64]) -> NDArray[np.int64]:
        """A column of days as the UTC microseconds at which they begin here."""
        return self.to_utc(days * MICROSECONDS_A_DAY)

    def _day_offset(self, day: int) -> int | None:
        """The microseconds that local time is ahead of UTC all through a day, None if that changes."""
        if day not in self._offsets:
            if len(self._offsets) > 100_000:
                self._offsets.clear()
            start = self._offset_at(day * MICROSECONDS_A_DAY)
            end = self._offset_at((day + 1) * MICROSECONDS_A_DAY)
            self._offsets[day] = start if start == end else None
        return self._offsets[day]

    def _offset_at(self, local: int) -> int:
        """How far local time is ahead of UTC; beyond the years 1 to 9999 as at their edge."""
        day, within = divmod(local, MICROSECONDS_A_DAY)
        date = datetime.date.fromordinal(min(max(day, _FIRST_DAY), _LAST_DAY) + _EPOCH_DAY)
        moment = datetime.datetime(date.year, date.month, date.day, tzinfo=self.info) + within * _MICROSECOND
        offset = moment.utcoffset()
        return 0 if offset is None else offset // _MICROSECOND


def days_of(date: datetime.date) -> int:
    """A date as days since 1970."""
    return date.toordinal() - _EPOCH_DAY


def _zone(name: str) -> datetime.tzinfo:
    if not isinstance(name, str):
        raise InvalidArgument(f"timezone must be a name such as 'Europe/Paris' (got {name!r:.80})")
    if name.upper() in ("UTC", "GMT", "Z", "ETC/UTC", "ETC/GMT"):
        return datetime.UTC
    fixed = _FIXED.fullmatch(name)
    if fixed and int(fixed[2]) <= 18:
        hours, minutes, seconds = (int(part or 0) for part in fixed.groups()[1:])
        offset = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return datetime.timezone(offset if fixed[1] == "+" else -offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidArgument(
            f"timezone {name!r:.80} is not known here; give a name of the IANA database such as 'Europe/Paris', "
            "'UTC', or an offset such as '+02:00' (a machine without that database needs the package tzdata)"
        ) from None
