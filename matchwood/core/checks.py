"""What a saved state must hold, before anybody relies on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from matchwood.errors import CorruptSnapshot


def saved(arrays: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike) -> NDArray[Any]:
    """The named array of a saved state; an error if it is missing or of another type."""
    array = arrays.get(name)
    if array is None:
        raise CorruptSnapshot(f"the array {name!r} is missing from the saved state")
    if array.dtype != np.dtype(dtype) or array.ndim != 1:
        got = f"{array.ndim} dimensions of {array.dtype}"
        raise CorruptSnapshot(f"the array {name!r} must be one-dimensional {np.dtype(dtype)} (got {got})")
    return array


def saved_count(header: Mapping[str, Any], name: str) -> int:
    """The named number of a saved header; an error if it is missing or negative."""
    value = header.get(name)
    if type(value) is not int or value < 0:
        raise CorruptSnapshot(f"the saved header must hold {name!r} as a number from 0 on (got {value!r})")
    return value


def require(sound: Any, problem: str) -> None:
    """Refuse a saved state in which something does not hold."""
    if not sound:
        raise CorruptSnapshot(f"the saved state is damaged: {problem}")


def require_offsets(offsets: NDArray[Any], end: int, name: str) -> None:
    """Refuse offsets that do not begin at 0, grow, and end at `end`."""
    grows = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == end and bool((offsets[1:] >= offsets[:-1]).all())
    require(grows, f"{name!r} must grow from 0 to {end}")


def require_range(values: NDArray[Any], low: int, high: int, name: str) -> None:
    """Refuse values outside of low : high."""
    inside = not len(values) or (int(values.min()) >= low and int(values.max()) < high)
    require(inside, f"{name!r} holds values outside of [{low}, {high})")
