"""Columns of Arrow arrays: each attribute's values read at once, never row by row where Arrow can say it.

Which reader serves a column follows from the attribute's kind and the family of the Arrow type. Text that
stands for moments is read as Python values, once for each distinct one. A column
whose family has no reader for the kind fits nowhere: all its values are misfits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.encoding.events.columns.coerced import coerced_column
from matchwood.encoding.events.columns.decimals import decimal_parts
from matchwood.encoding.events.columns.objects import read_objects
from matchwood.encoding.events.columns.parts import EMPTY, ColumnPart, Misfits, Rows, ValueColumn, repeated
from matchwood.encoding.events.columns.times import read_dates, read_midnights, read_moments
from matchwood.encoding.events.columns.types import (
    check_room,
    decoded,
    family,
    raw_values,
    run_lengths,
    valid_rows,
    without_nan,
)
from matchwood.encoding.events.columns.validity import without_text
from matchwood.encoding.events.unwrapping import MisfitValue, ValueReading, describe
from matchwood.encoding.events.values import MAX_INT, read_element
from matchwood.encoding.schema.types import KINDS

Reader = Callable[[str, pa.Array, ValueReading], ValueColumn]


def read_array(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """The column that an Arrow array stands for."""
    if array.null_count == len(array):
        return EMPTY
    if pa.types.is_dictionary(array.type) and kind != "any":
        return _read_dictionary(kind, array, reading)
    if pa.types.is_run_end_encoded(array.type):
        codes = np.repeat(np.arange(len(array.values)), run_lengths(array))
        return repeated(read_array(kind, array.values, reading), codes)
    values = without_nan(decoded(array)) if reading.nan_is_null else decoded(array)
    if values.null_count == len(values):
        return EMPTY
    if reading.how is not None:
        given = coerced_column(reading.how, values)
        reading = reading if given is None else reading._replace(how=None)
        if isinstance(given, list):
            return read_objects(kind, given, reading)
        values = values if given is None else given
    other = _unread if kind == "any" else _misfitting if reading.how is None else _converted_one_by_one
    return _READERS.get((kind, family(values.type)), other)(kind, values, reading)


def _unread(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """Only which values are NULL matters."""
    return ValueColumn([ColumnPart(np.zeros(len(array), np.int64), valid=valid_rows(array))], [])


def _misfitting(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """No value fits; they are described when someone asks."""
    rows = np.flatnonzero(array.is_valid())
    return ValueColumn([], [Misfits(rows, lambda position: _got(kind, array[int(rows[position])], reading))])


def _got(kind: str, scalar: pa.Scalar, reading: ValueReading) -> str:
    """What a scalar is, in the words used for the Python value that it stands for."""
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError, ImportError, pa.ArrowException):
        return f"{getattr(scalar, 'value', 'a value')}, of Arrow type {scalar.type}"
    try:
        read_element(kind, value, reading)
    except MisfitValue as misfit:
        return misfit.got
    return describe(value, f" from Arrow type {scalar.type}")


def _converted_one_by_one(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """Columns that fit no reader, some of whose values may be converted."""
    one_by_one = family(array.type) in ("bool", "int", "float", "decimal", "string")
    return (_through_python if one_by_one else _misfitting)(kind, array, reading)


def _through_python(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """Each distinct value is read as a Python one."""
    encoded = array.dictionary_encode()
    return repeated(read_objects(kind, encoded.dictionary.to_pylist(), reading), _index_codes(encoded.indices))


def _every_value(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """Types that Arrow cannot look for distinct values in, such as unions."""
    return read_objects(kind, array.to_pylist(), reading)


def _read_dictionary(kind: str, array: pa.DictionaryArray, reading: ValueReading) -> ValueColumn:
    """The distinct values that occur are read, then repeated; a dictionary may hold many that do not occur."""
    codes, values = _index_codes(array.indices), array.dictionary
    if len(values) > len(codes):
        used, codes = np.unique(codes, return_inverse=True)
        first = int(used[:1].sum() < 0)
        values, codes = values.take(pa.array(used[first:])), codes - first
    return repeated(read_array(kind, values, reading), codes)


def _index_codes(indices: pa.Array) -> NDArray[np.int64]:
    """The indices of a dictionary array, -1 for NULL."""
    codes = raw_values(indices).astype(np.int64)
    valid = valid_rows(indices)
    return codes if valid is None else np.where(valid, codes, -1)


def _bits(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    return ValueColumn([ColumnPart(raw_values(array.cast(pa.uint8())).astype(np.int64), valid=valid_rows(array))], [])


def _integers(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    values, valid = raw_values(array), valid_rows(array)
    column = ValueColumn([ColumnPart(values.astype(np.int64, copy=False), valid=valid)], [])
    if values.dtype != np.uint64:
        return column
    return _refusing(kind, column, array, values > np.uint64(MAX_INT), reading)


def _refusing(
    kind: str, column: ValueColumn, array: pa.Array, refused: NDArray[np.bool_], reading: ValueReading
) -> ValueColumn:
    """The one-part column with some of its values taken out as misfits."""
    part = column.parts[0]
    if part.valid is not None:
        refused = refused & part.valid
    if not refused.any():
        return column
    rows: Rows = np.flatnonzero(refused)
    kept = ~refused if part.valid is None else part.valid & ~refused
    misfits = Misfits(rows, lambda position: _got(kind, array[int(rows[position])], reading))
    return ValueColumn([part._replace(valid=kept)], [misfits])


def _floats(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    return ValueColumn([ColumnPart(raw_values(array).astype(np.float64, copy=False), valid=valid_rows(array))], [])


def _whole_floats(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """In pandas a column of integers with a missing one has become doubles; elsewhere doubles are not integers."""
    if not reading.from_pandas and reading.how is None:
        return _misfitting(kind, array, reading)
    (part,), _ = _floats(kind, array, reading)
    values: NDArray[Any] = np.asarray(part.elements)
    whole = (np.trunc(values) == values) & (values >= -(2.0**63)) & (values < 2.0**63)
    integers = np.where(whole, values, 0.0).astype(np.int64)
    return _refusing(
        kind, ValueColumn([part._replace(elements=integers)], []), array, ~whole, reading._replace(how=None)
    )


def _decimals(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    return ValueColumn(decimal_parts(array)[0], [])


def _whole_decimals(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """Decimals without a fraction are integers."""
    parts, others = decimal_parts(array)
    misfits = Misfits(others, lambda position: _got(kind, array[int(others[position])], reading))
    return ValueColumn(parts[:-1], [misfits]) if len(others) else ValueColumn(parts, [])


def _strings(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    encoded = array.dictionary_encode()
    codes = _index_codes(encoded.indices)
    try:
        encoded.dictionary.validate(full=True)
    except pa.ArrowInvalid:
        return repeated(_texts_among_bytes(encoded.dictionary.cast(pa.binary())), codes)
    return ValueColumn([ColumnPart(encoded.dictionary, codes=codes)], [])


def _texts_among_bytes(values: pa.Array) -> ValueColumn:
    """Arrow does not look whether strings are UTF-8; those that are not are misfits."""
    texts = [_decoded_text(value) for value in values.to_pylist()]
    wrong = np.array([row for row, text in enumerate(texts) if text is None], np.int64)
    right = np.array([row for row, text in enumerate(texts) if text is not None], np.int64)
    part = ColumnPart(pa.array([text for text in texts if text is not None], pa.large_string()), right)
    return ValueColumn([part], [Misfits(wrong, lambda position: "bytes that are not UTF-8")])


def _decoded_text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _lists(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """Lists whose elements have another type are read as Python values. Those of NULL lists are not in `flatten`."""
    check_room(array, np.ones(len(array)), array.get_total_buffer_size())
    elements = decoded(array.flatten())
    if not _are_texts(elements):
        return _lists_among_bytes(kind, array, reading)
    if family(elements.type) == "null":
        elements = elements.cast(pa.int64())
    elif not _are_elements(kind, elements):
        return _every_value(kind, array, reading)
    lengths = pc.list_value_length(array).drop_null()
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(raw_values(lengths), out=offsets[1:])
    cast = elements.cast(pa.int64() if kind == "list<int>" else pa.string())
    rows = None if array.null_count == 0 else np.flatnonzero(array.is_valid())
    return ValueColumn([ColumnPart(pa.ListArray.from_arrays(pa.array(offsets), cast), rows)], [])


def _lists_among_bytes(kind: str, array: pa.Array, reading: ValueReading) -> ValueColumn:
    """Elements that are not UTF-8 stay bytes, which fit no list: their rows are misfits, the others are read."""
    rows = array.view(without_text(array.type)).to_pylist()
    texts = [row if row is None else [_text_or_bytes(element) for element in row] for row in rows]
    return read_objects(kind, texts, reading)


def _text_or_bytes(element: bytes | None) -> str | bytes | None:
    text = None if element is None else _decoded_text(element)
    return element if text is None else text


def _are_texts(elements: pa.Array) -> bool:
    """Whether strings are UTF-8, which Arrow does not look at; true of everything else."""
    try:
        elements.validate(full=family(elements.type) == "string")
    except pa.ArrowInvalid:
        return False
    return True


def _are_elements(kind: str, elements: pa.Array) -> bool:
    if kind == "list<string>":
        return family(elements.type) == "string"
    if elements.type == pa.uint64() and (pc.max(elements).as_py() or 0) > MAX_INT:
        return False
    return family(elements.type) == "int"


_READERS: dict[tuple[str, str], Reader] = {
    ("bool", "bool"): _bits,
    ("int", "int"): _integers,
    ("int", "float"): _whole_floats,
    ("int", "decimal"): _whole_decimals,
    **{(kind, "int"): _integers for kind in ("number", "double")},
    **{(kind, "float"): _floats for kind in ("number", "double")},
    **{(kind, "decimal"): _decimals for kind in ("number", "double")},
    ("string", "string"): _strings,
    ("date", "date"): read_dates,
    ("date", "string"): _through_python,
    ("timestamp", "timestamp"): read_moments,
    ("timestamp", "date"): read_midnights,
    ("timestamp", "string"): _through_python,
    ("list<int>", "list"): _lists,
    ("list<string>", "list"): _lists,
    **{(kind, "union"): _every_value for kind in KINDS},
}


def reads(kind: str, found: str) -> bool:
    """Whether there is a reader for columns of a family of Arrow types."""
    return (kind, found) in _READERS
