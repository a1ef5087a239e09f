"""DataFrames of pandas and polars, one column at a time; neither library is imported here.

Columns whose type says what they hold become Arrow arrays. Columns of objects, in which anything may stand, and
those that Arrow has no type for, become lists of Python values. In pandas, NaN, NaT and NA are NULL.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def is_frame(events: Any, library: str) -> bool:
    """Whether this is a DataFrame of a library; nobody has one who has not imported that."""
    # Another thread may be in the middle of importing it: then there is a module, but no DataFrame yet.
    frame = getattr(sys.modules.get(library), "DataFrame", None)
    return frame is not None and isinstance(events, frame)


class PandasRows:
    """Some rows of a DataFrame of pandas."""

    def __init__(self, frame: Any, start: int, size: int) -> None:
        self._frame = frame.iloc[start : start + size]

    def column(self, position: int) -> pa.Array | list[Any]:
        series = self._frame.iloc[:, position]
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


class PolarsRows:
    """Some rows of a DataFrame of polars."""

    def __init__(self, frame: Any, start: int, size: int) -> None:
        self._frame = frame.slice(start, size)

    def column(self, position: int) -> pa.Array | list[Any]:
        series = self._frame.to_series(position)
        try:
            return series.to_arrow()
        except Exception:  # whatever polars raises for integers of 128 bits and for objects
            values: list[Any] = series.to_list()
            return values
