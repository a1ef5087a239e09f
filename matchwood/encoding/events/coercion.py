"""Values read as another type because the index asks for it: numbers and truth values in text, counts since 1970.

One Python value and a whole Arrow column come to the same. What cannot be converted stays what it is, so that it is
refused as it would be without.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from matchwood.encoding.events.columns.text_scalars import INTEGER, NUMBER, SPACES, number_of

UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}
"""Microseconds of a unit of time; a nanosecond is a thousandth of one."""

_INTEGER, _NUMBER = re.compile(INTEGER), re.compile(NUMBER, re.ASCII)
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


class Coercion(NamedTuple):
    """A type to convert to; for timestamps, the unit in which numbers count from 1970 on, in UTC."""

    kind: str
    unit: str = "s"

    @property
    def spelled(self) -> str:
        """As it is saved, and as the oracle knows it."""
        return f"timestamp[{self.unit}]" if self.kind == "timestamp" else self.kind


class UtcMicros(int):
    """Microseconds since 1970 in UTC, as a value that only a timestamp can be."""


def coerced(value: object, how: Coercion) -> object:
    """A plain Python value, converted if it can be.

    >>> coerced(" 18 ", Coercion("int")), coerced(18.0, Coercion("int")), coerced("x", Coercion("int"))
    (18, 18, 'x')
    >>> coerced(1.5, Coercion("timestamp")), coerced("1500000000", Coercion("timestamp", "ms"))
    (1500000, 1500000000000)
    """
    return _CONVERTERS[how.kind](value, how.unit)


def _int(value: Any, unit: str) -> object:
    if type(value) is str:
        bare = value.strip(SPACES)
        return number_of(bare) if _INTEGER.search(bare) else value
    return int(value) if type(value) is float and value.is_integer() else value


def _number(value: Any, unit: str) -> object:
    bare = value.strip(SPACES) if type(value) is str else ""
    return number_of(bare) if _NUMBER.search(bare) else value


def _bool(value: Any, unit: str) -> object:
    if type(value) is str:
        return _TRUTHS.get(value.strip(SPACES).lower(), value)
    return bool(value) if type(value) is int and value in (0, 1) else value


def _string(value: Any, unit: str) -> object:
    if type(value) is bool:
        return "true" if value else "false"
    return str(value) if type(value) is int else value


def _date(value: Any, unit: str) -> object:
    """The day of a moment that names no zone."""
    if type(value) is datetime.datetime and value.tzinfo is None:
        return value.date()
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[D]")
    return value


def _timestamp(value: Any, unit: str) -> object:
    if type(value) is str:
        number: Any = _number(value, unit)
        number = float(number) if isinstance(number, Decimal) else number
        # Four digits are a year, as in ISO 8601, and eight of them a day.
        return value if number is value or len(value.strip(SPACES)) <= 8 else _since_1970(value, number, unit)
    return _since_1970(value, value, unit)


def _since_1970(value: object, number: Any, unit: str) -> object:
    if type(number) not in (int, float) or number != number or abs(number) == math.inf:
        return value
    return UtcMicros(math.floor(number // 1_000 if unit == "ns" else number * UNITS[unit]))


def _list(value: Any, unit: str) -> object:
    """JSON arrays."""
    if type(value) is not str:
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, list) else value


_CONVERTERS: dict[str, Callable[[Any, str], object]] = {
    "bool": _bool,
    "int": _int,
    "number": _number,
    "double": _number,
    "string": _string,
    "date": _date,
    "timestamp": _timestamp,
    "list<int>": _list,
    "list<string>": _list,
}
