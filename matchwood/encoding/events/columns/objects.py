"""Columns of Python values: lists of what stands in dicts, or in pandas object columns.

Where all values have the one expected type, the whole list is converted at once; the check is on exact types,
because NumPy and Arrow would turn True into 1 and 2**53 + 1 beside a float into another number. All
other lists are read value by value.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from matchwood.encoding.events.columns.decimals import parts_of_decimals
from matchwood.encoding.events.columns.parts import EMPTY, ColumnPart, Misfits, Rows, ValueColumn, placed
from matchwood.encoding.events.unwrapping import MisfitValue, ValueReading
from matchwood.encoding.events.values import read_element
from matchwood.encoding.schema.timezones import days_of

Converter: TypeAlias = Callable[[str, list[Any], set[type]], list[ColumnPart] | None]

_QUICK_TYPES: dict[str, frozenset[type]] = {
    "any": frozenset((bool, int, float, str, bytes, list, tuple, dict, datetime.date, datetime.datetime)),
    "bool": frozenset((bool,)),
    "int": frozenset((int,)),
    "number": frozenset((int, float)),
    "double": frozenset((int, float)),
    "string": frozenset((str,)),
    "date": frozenset((datetime.date,)),
    "timestamp": frozenset(),
    "list<int>": frozenset((list,)),
    "list<string>": frozenset((list,)),
}
_NUMBERS = (int, float, Decimal)
_ELEMENT_TYPES = {"list<int>": frozenset((int, type(None))), "list<string>": frozenset((str, type(None)))}


def read_objects(kind: str, values: list[Any], reading: ValueReading) -> ValueColumn:
    """The column that a list of Python values stands for; None is NULL."""
    types = set(map(type, values))
    if reading.nan_is_null and float in types:
        values = [None if type(value) is float and value != value else value for value in values]
        types = set(map(type, values))
    rows: Rows | None = None
    if type(None) in types:
        rows = np.array([row for row, value in enumerate(values) if value is not None], np.int64)
        values = [value for value in values if value is not None]
        types.discard(type(None))
    if not values:
        return EMPTY
    if types <= _QUICK_TYPES[kind]:
        parts = _convert(kind, values, types)
        if parts is not None:
            return placed(ValueColumn(parts, []), rows)
    return placed(_one_by_one(kind, values, reading), rows)


def _convert(kind: str, values: list[Any], types: set[type]) -> list[ColumnPart] | None:
    """Parts of values that have the types of _QUICK_TYPES; None if one of them does not fit all the same."""
    try:
        return _CONVERTERS[kind](kind, values, types)
    except (OverflowError, UnicodeEncodeError, pa.ArrowException):
        return None


def _integers(kind: str, values: list[int], types: set[type]) -> list[ColumnPart]:
    return [ColumnPart(np.array(values, np.int64))]


def _numbers(kind: str, values: list[Any], types: set[type]) -> list[ColumnPart]:
    """Integers stay integers: as doubles, those beyond 2**53 would be rounded."""
    if len(types) < 2 and Decimal not in types:
        return [ColumnPart(np.array(values, np.float64 if float in types else np.int64))]
    integers, doubles, decimals = (
        [row for row, value in enumerate(values) if type(value) is kind] for kind in _NUMBERS
    )
    parts = [
        ColumnPart(np.array([values[row] for row in integers], np.int64), np.array(integers, np.int64)),
        ColumnPart(np.array([values[row] for row in doubles], np.float64), np.array(doubles, np.int64)),
    ]
    if decimals:
        parts += parts_of_decimals([values[row] for row in decimals], np.array(decimals, np.int64))
    return [part for part in parts if len(part.elements)]


def _texts(kind: str, values: list[str], types: set[type]) -> list[ColumnPart]:
    encoded = pa.array(values, pa.large_string()).dictionary_encode()
    return [ColumnPart(encoded.dictionary, None, encoded.indices.to_numpy().astype(np.int64))]


def _days(kind: str, values: list[datetime.date], types: set[type]) -> list[ColumnPart]:
    return [ColumnPart(np.array([days_of(value) for value in values], np.int64))]


def _unread(kind: str, values: list[Any], types: set[type]) -> list[ColumnPart]:
    return [ColumnPart(np.zeros(len(values), np.int64))]


def _lists(kind: str, values: list[list[Any]], types: set[type]) -> list[ColumnPart] | None:
    elements = list(chain.from_iterable(values))
    if not set(map(type, elements)) <= _ELEMENT_TYPES[kind]:
        return None
    return [ColumnPart(_list_array(kind, values, elements))]


def _list_array(kind: str, values: list[list[Any]], elements: list[Any]) -> pa.Array:
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    flat = pa.array(elements, pa.int64() if kind == "list<int>" else pa.string())
    return pa.ListArray.from_arrays(pa.array(offsets), flat)


_CONVERTERS: dict[str, Converter] = {
    "any": _unread,
    "bool": _integers,
    "int": _integers,
    "number": _numbers,
    "double": _numbers,
    "string": _texts,
    "date": _days,
    "list<int>": _lists,
    "list<string>": _lists,
}


def _one_by_one(kind: str, values: list[Any], reading: ValueReading) -> ValueColumn:
    elements: list[Any] = []
    fitting: list[int] = []
    misfits: list[tuple[int, str]] = []
    for position, value in enumerate(values):
        try:
            element = read_element(kind, value, reading)
        except MisfitValue as misfit:
            misfits.append((position, misfit.got))
        else:
            if element is not None:
                elements.append(element)
                fitting.append(position)
    parts = placed(ValueColumn(_element_parts(kind, elements), []), np.array(fitting, np.int64)).parts
    return ValueColumn(parts, [_misfits(misfits)] if misfits else [])


def _element_parts(kind: str, elements: list[Any]) -> list[ColumnPart]:
    """Parts of elements that `read_element` made: they fit."""
    convert: Converter = _ELEMENT_CONVERTERS.get(kind, _integers)
    return (convert(kind, elements, set(map(type, elements))) or []) if elements else []


_ELEMENT_CONVERTERS = {kind: _CONVERTERS[kind] for kind in ("number", "double", "string", *_ELEMENT_TYPES)}
"""Elements of all other kinds are integers."""


def _misfits(misfits: list[tuple[int, str]]) -> Misfits:
    rows = np.array([position for position, _ in misfits], np.int64)
    return Misfits(rows, lambda position: misfits[position][1])
