"""Columns of Arrow dates and timestamps as days and UTC microseconds.

A timestamp with a zone is a moment already; one without is read in the index's. Parts finer than a
microsecond are dropped, towards the past. What lies beyond 64 bits of microseconds is a misfit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.events.columns.parts import ColumnPart, Misfits, ValueColumn
from matchwood.encoding.events.columns.types import raw_values, valid_rows
from matchwood.encoding.events.unwrapping import ValueReading
from matchwood.encoding.events.values import MAX_INT
from matchwood.encoding.schema.timezones import MICROSECONDS_A_DAY

Convert = Callable[[NDArray[np.bool_]], NDArray[np.int64]]

_MILLISECONDS_A_DAY = 86_400_000
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_LARGEST_LOCAL = MAX_INT - MICROSECONDS_A_DAY
"""Local times up to here can be moved to UTC without leaving 64 bits."""


def read_dates(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    return ValueColumn([ColumnPart(_days(array), valid=valid_rows(array))], [])


def _days(array: pa.Array) -> NDArray[np.int64]:
    values = raw_values(array)
    if pa.types.is_date64(array.type):
        values = values // _MILLISECONDS_A_DAY
    return values.astype(np.int64)


def read_midnights(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """Each date as the moment at which it begins in the index's zone."""
    days = _days(array)
    fits = np.abs(days) <= _LARGEST_LOCAL // MICROSECONDS_A_DAY
    return _fitting(array, fits, lambda held: reading.zone.midnights(np.where(held, days, 0)))


def read_moments(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    values = raw_values(array)
    micros, fits = _scaled(values, array.type.unit)
    if array.type.tz is not None:
        return _fitting(array, fits, lambda held: micros)
    fits &= (micros <= _LARGEST_LOCAL) & (micros >= -_LARGEST_LOCAL)
    return _fitting(array, fits, lambda held: reading.zone.to_utc(np.where(held, micros, 0)))


def _scaled(values: NDArray[np.int64], unit: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds, and whether they are right: a product beyond 64 bits wraps, and does not divide back."""
    if unit == "ns":
        return values // 1_000, np.ones(len(values), np.bool_)
    micros = values * _MICROSECONDS[unit]
    return micros, micros // _MICROSECONDS[unit] == values


def _fitting(array: pa.Array, fits: NDArray[np.bool_], convert: Convert) -> ValueColumn:
    """What fits, converted (`convert` is told which rows count), and the rest as misfits."""
    valid = valid_rows(array)
    held = fits if valid is None else fits & valid
    part = ColumnPart(convert(held), valid=None if held.all() else held)
    rows = np.flatnonzero(~fits if valid is None else ~fits & valid)
    if not len(rows):
        return ValueColumn([part], [])
    return ValueColumn([part], [Misfits(rows, lambda position: _beyond(array[int(rows[position])]))])


def _beyond(scalar: pa.Scalar) -> str:
    """Such moments have no calendar form in Python, so the count is shown."""
    return f"{scalar.value}, a {scalar.type} beyond 64 bits of microseconds"
