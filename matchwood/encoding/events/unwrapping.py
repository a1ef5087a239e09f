"""Values of events without what NumPy, Arrow and pandas wrap around them, and the words for those that do not fit."""

from __future__ import annotations

import datetime
import math
import operator
import reprlib
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.encoding.events.coercion import Coercion
from matchwood.encoding.schema.timezones import Zone
from matchwood.errors import kind_in_words

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 60
_SHORT.maxlevel, _SHORT.maxdict = 3, 6


class MisfitValue(Exception):
    """A value that its attribute cannot hold; `got` describes it."""

    def __init__(self, got: str) -> None:
        self.got = got
        super().__init__(got)


class ValueReading(NamedTuple):
    """How values of an attribute are read: the zone of naive moments, and whether NaN is NULL.

    `from_pandas`  whether integers may have become doubles, beside a missing one
    `how`          what values of other types are converted to
    """

    zone: Zone
    nan_is_null: bool = False
    from_pandas: bool = False
    how: Coercion | None = None


def describe(value: object, more: str = "") -> str:
    """A value as error messages show it.

    >>> describe("x"), describe(1.5), describe(7, " beyond 64 bits")
    ("'x', a str", '1.5, a float', '7, an int beyond 64 bits')
    """
    return f"{_shown(value)}, {kind_in_words(value)}{more}"


def _shown(value: object) -> str:
    """Of a long value its beginning and its end; a value may be anything, and so may be what its `repr` does."""
    try:
        return _SHORT.repr(value[:1_000] if isinstance(value, bytes) else value)
    except Exception:
        return "a value that cannot be shown"


def unwrapped(value: object, reading: ValueReading) -> object:
    """The value without NumPy, Arrow and pandas around it; None for everything that means NULL."""
    kind = type(value)
    if kind in _PLAIN:
        return None if reading.nan_is_null and is_nan(value) else value
    if isinstance(value, pa.Scalar):
        return None if not value.is_valid else unwrapped(_scalar(value), reading)
    if isinstance(value, np.generic):
        return _from_numpy(value, reading)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
        return unwrapped(value[()], reading)
    if kind.__name__ in ("NAType", "NaTType") and kind.__module__.partition(".")[0] == "pandas":
        return None
    return _without_subclass(value, reading)


_PLAIN = frozenset((bool, int, float, str, type(None), datetime.date, datetime.datetime, list, tuple, dict, Decimal))


def is_nan(value: object) -> bool:
    """Whether a plain value is NaN."""
    return math.isnan(value) if isinstance(value, float) else isinstance(value, Decimal) and value.is_nan()


def _scalar(value: pa.Scalar) -> object:
    """Moments stay exact: Python has no nanoseconds, and no years beyond 9999."""
    if pa.types.is_timestamp(value.type) and value.type.tz is None:
        return np.datetime64(value.value, value.type.unit)
    try:
        return value.as_py()
    except (ValueError, OverflowError, ImportError):
        raise MisfitValue(f"a value of Arrow type {value.type} that Python cannot hold") from None


def _from_numpy(value: np.generic, reading: ValueReading) -> object:
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else value
    if isinstance(value, np.longdouble):
        return _narrowed(value, reading)
    return value if isinstance(value, np.void) else unwrapped(value.item(), reading)


def _narrowed(value: np.longdouble, reading: ValueReading) -> object:
    """Extended precision that is not exactly a double stays what it is, and fits nothing."""
    narrow = float(value)
    return unwrapped(narrow, reading) if narrow == value or math.isnan(narrow) else value


def _without_subclass(value: object, reading: ValueReading) -> object:
    if isinstance(value, datetime.datetime):
        fields = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        return datetime.datetime(*fields, value.tzinfo, fold=value.fold)
    if isinstance(value, datetime.date):
        return datetime.date(value.year, value.month, value.day)
    if isinstance(value, int):
        return operator.index(value)
    if isinstance(value, float):
        return unwrapped(float(value), reading)
    return str.__str__(value) if isinstance(value, str) else value
