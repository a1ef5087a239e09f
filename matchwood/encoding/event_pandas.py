"""Columns of pandas, where NaN, NaT and NA are NULL.

Columns of NumPy and extension types become Arrow arrays. Columns of objects, in which anything may
stand, become lists of Python values. pandas itself is never imported here.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def pandas_column(series: Any) -> pa.Array | list[Any]:
    """A Series as an Arrow array if its type says what it holds, else as Python values."""
    if series.dtype == object:
        return _objects(series)
    try:
        array = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return _objects(series)
    return _without_nan(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)


def _objects(series: Any) -> list[Any]:
    """Python values, None for all that pandas takes to be missing (which a list or dict never is)."""
    values, missing = series.tolist(), series.isna().tolist()
    return [None if absent else value for value, absent in zip(values, missing, strict=True)]


def _without_nan(array: pa.Array) -> pa.Array:
    """Columns of Arrow types keep NaN apart from NA; both are NULL here."""
    if not pa.types.is_floating(array.type):
        return array
    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    absent = pc.fill_null(pc.is_nan(array), False)
    return pc.if_else(absent, pa.scalar(None, array.type), array) if pc.any(absent).as_py() else array
