"""Arrow types, gathered into the families that matter here, and the raw values of an array.

Variants of one thing (large, view, dictionary, run-end, extension) are brought to its plain form first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from numpy.typing import NDArray

from matchwood.errors import LimitExceeded

_FAMILIES = (
    (pat.is_null, "null"),
    (pat.is_boolean, "bool"),
    (pat.is_integer, "int"),
    (pat.is_floating, "float"),
    (pat.is_decimal128, "decimal"),
    (pat.is_decimal256, "decimal"),
    (pat.is_string, "string"),
    (pat.is_large_string, "string"),
    (pat.is_date, "date"),
    (pat.is_timestamp, "timestamp"),
    (pat.is_struct, "struct"),
    (pat.is_map, "map"),
    (pat.is_list, "list"),
    (pat.is_large_list, "list"),
    (pat.is_fixed_size_list, "list"),
    (pat.is_list_view, "list"),
    (pat.is_large_list_view, "list"),
    (pat.is_union, "union"),
)


@lru_cache(maxsize=1_024)
def family(kind: pa.DataType) -> str:
    """What an Arrow type is, whatever its width, unit or zone.

    >>> family(pa.uint8()), family(pa.timestamp("ms")), family(pa.binary())
    ('int', 'timestamp', 'other')
    """
    return next((name for holds, name in _FAMILIES if holds(kind)), "other")


def is_wrapper(kind: pa.DataType) -> bool:
    """Whether a type stands for what it is stored as. A period of pandas does not: its storage is a bare count."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "pandas.period"


def decoded(array: pa.Array) -> pa.Array:
    """The same values without extension type, run-end encoding, dictionary, views or narrow decimals."""
    while family(kind := array.type) == "other":
        if is_wrapper(kind):
            array = array.storage
        elif pat.is_run_end_encoded(kind):
            check_room(array.values, run_lengths(array))
            array = pc.run_end_decode(array)
        elif pat.is_dictionary(kind):
            check_room(array.dictionary, _uses(array))
            array = array.dictionary_decode()
        elif pat.is_string_view(kind):
            check_room(array, np.ones(len(array)), array.get_total_buffer_size())
            array = array.cast(pa.large_string())
        elif pat.is_decimal32(kind) or pat.is_decimal64(kind):
            array = array.cast(pa.decimal128(kind.precision, kind.scale))
        else:
            break
    return array


EXPANDED = 2**30
"""Bytes that the values of one column may take when repeated ones are written out: a few can stand for terabytes."""


def check_room(values: pa.Array, uses: NDArray[Any], room: int = 0) -> None:
    """LimitExceeded if values, each used so often, take much more than they do now."""
    taken = float(np.dot(_sizes(values), uses))
    if taken > max(EXPANDED, 2 * room):
        shape = f"{taken:,.0f} bytes when repeated values are written out"
        raise LimitExceeded(f"a column of {values.type} takes {shape}; the limit is {EXPANDED:,}")


def _sizes(values: pa.Array) -> NDArray[Any]:
    """The bytes of each text or list, about; 0 for values of a fixed size."""
    kind = family(values.type)
    if kind in ("list", "string"):
        lengths, each = (pc.list_value_length(values), 8) if kind == "list" else (pc.binary_length(values), 1)
        return np.asarray(pc.fill_null(lengths, 0).to_numpy() * float(each))
    if not pat.is_string_view(values.type):
        return np.zeros(len(values))
    views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)[values.offset :][: len(values), 0]
    return np.where(values.is_valid(), views, 0)


def run_lengths(array: pa.RunEndEncodedArray) -> NDArray[np.int64]:
    """How many rows of the array each of its values stands for."""
    ends = np.clip(array.run_ends.to_numpy().astype(np.int64) - array.offset, 0, len(array))
    return np.asarray(np.diff(ends, prepend=0))


def _uses(array: pa.DictionaryArray) -> NDArray[np.int64]:
    """How many rows each value of a dictionary stands for."""
    indices = array.indices.drop_null()
    return np.bincount(raw_values(indices).astype(np.int64), minlength=len(array.dictionary))


def raw_values(array: pa.Array) -> NDArray[Any]:
    """The fixed-width values of an array as they lie in memory; what stands under NULL means nothing."""
    width, buffer = _layout(array.type), array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), width)
    return np.frombuffer(buffer, width, len(array), array.offset * width.itemsize)


@lru_cache(maxsize=1_024)
def _layout(kind: pa.DataType) -> np.dtype[Any]:
    letter = "f" if family(kind) == "float" else "u" if pat.is_unsigned_integer(kind) else "i"
    return np.dtype(f"{letter}{kind.bit_width // 8}")


def valid_rows(array: pa.Array) -> NDArray[np.bool_] | None:
    """False where the array is NULL; None when it is nowhere."""
    if array.null_count == 0:
        return None
    valid: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def without_nan(array: pa.Array) -> pa.Array:
    """The same values with NULL for NaN."""
    if family(array.type) != "float":
        return array
    if pat.is_float16(array.type):
        array = array.cast(pa.float32())
    absent = pc.fill_null(pc.is_nan(array), False)
    return pc.if_else(absent, pa.scalar(None, array.type), array) if pc.any(absent).as_py() else array


def without_views(kind: pa.DataType) -> pa.DataType:
    """The same type with plain strings and bytes for views. As deep as the type, which Arrow walks in the same way."""
    if pat.is_string_view(kind):
        return pa.large_string()
    if pat.is_binary_view(kind):
        return pa.large_binary()
    if pat.is_struct(kind):
        return pa.struct([field.with_type(without_views(field.type)) for field in kind])
    if pat.is_map(kind):
        return pa.map_(without_views(kind.key_type), without_views(kind.item_type))
    if family(kind) == "list":
        return pa.large_list(without_views(kind.value_type))
    return kind
