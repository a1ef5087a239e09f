"""One Python value of an event as an element of its attribute's domain, or a `MisfitValue` that says what it is.

`spaces/base.py` says how elements are written. Nothing is guessed: bool is not int, text is not a number. What means
NULL gives None. Columns of Python values go through here too where their types are mixed, so that every kind of input
is held to the same rules.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.encoding.events.coercion import UtcMicros, coerced
from matchwood.encoding.events.unwrapping import MisfitValue, ValueReading, describe, is_nan, unwrapped
from matchwood.encoding.schema.timezones import MICROSECONDS_A_DAY, Zone, days_of
from matchwood.language import has_surrogate

MIN_INT, MAX_INT = -(2**63), 2**63 - 1

_SEQUENCES = (list, tuple, set, frozenset, np.ndarray, pa.Array)


def read_element(kind: str, value: object, reading: ValueReading) -> Any:
    """The element that a value stands for, None for NULL; a Misfit if the attribute cannot hold it.

    >>> utc = ValueReading(Zone("UTC"))
    >>> read_element("int", np.int8(5), utc), read_element("date", "1970-01-02", utc)
    (5, 1)
    """
    bare = unwrapped(value, reading)
    if reading.how is not None and bare is not None:
        bare = coerced(bare, reading.how)
        bare = None if reading.nan_is_null and is_nan(bare) else bare
    return None if bare is None else _READERS[kind](bare, reading)


def _bool(value: object, reading: ValueReading) -> int:
    if type(value) is bool:
        return int(value)
    raise MisfitValue(describe(value))


def _int(value: object, reading: ValueReading) -> int:
    if type(value) is int:
        return _in_range(value, value)
    if isinstance(value, Decimal) and _is_whole(value):
        return _in_range(int(value), value)
    raise MisfitValue(describe(value))


def _in_range(value: int, given: object) -> int:
    if MIN_INT <= value <= MAX_INT:
        return value
    raise MisfitValue(describe(given, " beyond 64 bits"))


def _number(value: object, reading: ValueReading) -> int | float | Decimal:
    if type(value) is float:
        return value
    if type(value) is int:
        return _in_range(value, value)
    if isinstance(value, Decimal):
        return _from_decimal(value)
    raise MisfitValue(describe(value))


def _is_whole(value: Decimal) -> bool:
    """Exponents are looked at first: expanding 1E+999999 would take a million digits."""
    return value.is_finite() and value.adjusted() < 40 and value == value.to_integral_value()


def _from_decimal(value: Decimal) -> int | float | Decimal:
    """The integer or the double without digits that a Decimal is; all others stay what they are."""
    if value.is_snan():
        raise MisfitValue(describe(value, ", which is not a number"))
    if not value.is_finite():
        return float(value)
    return int(value) if _is_whole(value) and MIN_INT <= value <= MAX_INT else Decimal(value)


def _string(value: object, reading: ValueReading) -> str:
    if type(value) is not str:
        raise MisfitValue(describe(value))
    if has_surrogate(value):
        raise MisfitValue(describe(value, " with half a surrogate pair"))
    return value


def _date(value: object, reading: ValueReading) -> int:
    """Days since 1970. A datetime is refused, even at midnight: its date depends on a zone."""
    if type(value) is datetime.date:
        return days_of(value)
    if type(value) is str:
        return _day_in_text(value)
    if isinstance(value, np.datetime64) and _counts_days(value):
        return int(value.astype("datetime64[D]").astype(np.int64))
    raise MisfitValue(describe(value))


def _day_in_text(text: str) -> int:
    try:
        return days_of(datetime.date.fromisoformat(text))
    except ValueError:
        raise MisfitValue(describe(text, " that is not an ISO 8601 date")) from None


def _timestamp(value: object, reading: ValueReading) -> int:
    """UTC microseconds; finer parts are dropped, a date is its midnight in the index's zone."""
    if isinstance(value, datetime.date):
        return reading.zone.micros(value)
    if type(value) is UtcMicros:
        return _in_range(int(value), int(value))
    if type(value) is str:
        return reading.zone.micros(_moment_in_text(value))
    if isinstance(value, np.datetime64):
        return _numpy_moment(value, reading.zone)
    raise MisfitValue(describe(value))


def _moment_in_text(text: str) -> datetime.datetime:
    """Python itself takes any character between date and time; here it is T or a space."""
    try:
        if len(text) <= 10 or "T" in text or " " in text:
            return datetime.datetime.fromisoformat(text)
    except ValueError:
        pass
    raise MisfitValue(describe(text, " that is not an ISO 8601 timestamp"))


def _counts_days(value: np.datetime64) -> bool:
    return np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")


def _numpy_moment(value: np.datetime64, zone: Zone) -> int:
    """A naive moment; those beyond 64 bits of microseconds, some 292,000 years away, are refused."""
    local = value.astype("datetime64[us]")
    micros, fine = int(local.astype(np.int64)), np.datetime_data(value.dtype)[0] in ("ns", "ps", "fs", "as")
    if abs(micros) > MAX_INT - MICROSECONDS_A_DAY or not (fine or local.astype(value.dtype) == value):
        raise MisfitValue(describe(value, " beyond 64 bits of microseconds"))
    return int(zone.to_utc(np.array([micros], np.int64))[0])


def _list_of(read: Callable[[Any, ValueReading], Any]) -> Callable[[Any, ValueReading], list[Any]]:
    def read_list(value: object, reading: ValueReading) -> list[Any]:
        if not isinstance(value, _SEQUENCES) or getattr(value, "ndim", 1) != 1:
            raise MisfitValue(describe(value))
        elements = []
        for element in value:
            bare = unwrapped(element, reading)
            if bare is not None:
                elements.append(_list_element(bare, read, reading))
        return elements

    return read_list


def _list_element(bare: object, read: Callable[[Any, ValueReading], Any], reading: ValueReading) -> Any:
    try:
        return read(bare, reading)
    except MisfitValue as misfit:
        raise MisfitValue(f"a list with {misfit.got}") from None


def _anything(value: object, reading: ValueReading) -> bool:
    return True


_READERS: dict[str, Callable[[Any, ValueReading], Any]] = {
    "any": _anything,
    "bool": _bool,
    "int": _int,
    "number": _number,
    "double": _number,
    "string": _string,
    "date": _date,
    "timestamp": _timestamp,
    "list<int>": _list_of(_int),
    "list<string>": _list_of(_string),
}
