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


def decoded(array: pa.Array) -> pa.Array:
    """The same values without extension type, run-end encoding, dictionary, views or narrow decimals."""
    while family(kind := array.type) == "other":
        if isinstance(kind, pa.BaseExtensionType):
            array = array.storage
        elif pat.is_run_end_encoded(kind):
            array = pc.run_end_decode(array)
        elif pat.is_dictionary(kind):
            array = array.dictionary_decode()
        elif pat.is_string_view(kind):
            array = array.cast(pa.large_string())
        elif pat.is_decimal32(kind) or pat.is_decimal64(kind):
            array = array.cast(pa.decimal128(kind.precision, kind.scale))
        else:
            break
    return array


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
