"""DataFrames of pandas and polars, one column at a time; neither library is imported here.

Columns whose type says what they hold become Arrow arrays. Columns of objects, in which anything may stand, and
those that Arrow has no type for, become lists of Python values. In pandas, NaN, NaT and NA are NULL;
an index made with nan="value" keeps NaN.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from matchwood.encoding.events.columns.types import without_nan


def is_frame(events: Any, library: str) -> bool:
    """Whether this is a DataFrame of a library; nobody has one who has not imported that."""
    # Another thread may be in the middle of importing it: then there is a module, but no DataFrame yet.
    frame = getattr(sys.modules.get(library), "DataFrame", None)
    return frame is not None and isinstance(events, frame)


class PandasRows:
    """Some rows of a DataFrame of pandas; NaN is NULL unless it is kept."""

    def __init__(self, frame: Any, start: int, size: int, keeps_nan: bool = False) -> None:
        self._frame, self._keeps_nan = frame.iloc[start : start + size], keeps_nan

    def column(self, position: int) -> pa.Array | list[Any]:
        series = self._frame.iloc[:, position]
        if series.dtype == object:
            return _objects(series, self._keeps_nan)
        try:
            array = pa.array(series, from_pandas=not (self._keeps_nan and series.dtype.kind == "f"))
        except (pa.ArrowException, TypeError, ValueError):
            return _objects(series, self._keeps_nan)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        # Columns of Arrow types keep NaN apart from NA; both are NULL here.
        return array if self._keeps_nan else without_nan(array)


def _objects(series: Any, keeps_nan: bool) -> list[Any]:
    """Python values, None for all that pandas takes to be missing (which a list or dict never is)."""
    values, missing = series.tolist(), series.isna().tolist()
    return [
        None if absent and not (keeps_nan and isinstance(value, float)) else value
        for value, absent in zip(values, missing, strict=True)
    ]


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
