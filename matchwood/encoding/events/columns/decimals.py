"""Columns of decimals: integers among them, and the others as `spaces/decimals.py` looks them up."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.events.columns import _decimal_kernels as kernels
from matchwood.encoding.events.columns.parts import ColumnPart
from matchwood.encoding.events.columns.types import valid_rows
from matchwood.encoding.spaces.decimals import Decimals, place_of

_POWERS = np.array([float(10**power) for power in range(309)])
"""Powers of ten, nearest to them from 10**23 on; Arrow's scales reach from -76 to 76."""
_POWERS.flags.writeable = False
_NULL = -1


def decimal_parts(array: pa.Array) -> tuple[list[ColumnPart], NDArray[np.int64]]:
    """The integers in an array of decimal128 or decimal256, then its other values; and the rows of the latter."""
    array = _written_out(array)
    kinds, integers, nearest = kernels.read_decimals(_pieces(array), array.type.scale, _POWERS)
    valid = valid_rows(array)
    if valid is not None:
        kinds = np.where(valid, kinds, np.int8(_NULL))
    whole, others = np.flatnonzero(kinds == kernels.WHOLE), np.flatnonzero(kinds > kernels.WHOLE)
    parts = [ColumnPart(integers[whole], whole)] if len(whole) else []
    if len(others):
        long = np.flatnonzero(kinds[others] == kernels.LONG)
        parts.append(ColumnPart(Decimals(nearest[others], long, array.take(pa.array(others[long]))), others))
    return parts, others


def _written_out(array: pa.Array) -> pa.Array:
    """Hundreds and the like with their zeros, if there is room for them; those without are beyond 64 bits."""
    try:
        return array.cast(pa.decimal256(76, 0)) if array.type.scale < 0 else array
    except pa.ArrowInvalid:
        return array


def _pieces(array: pa.Array) -> NDArray[np.uint32]:
    width, buffer = array.type.bit_width // 32, array.buffers()[1]
    return np.frombuffer(buffer, np.uint32, len(array) * width, 4 * array.offset * width).reshape(-1, width)


def parts_of_decimals(values: list[Decimal], rows: NDArray[np.int64]) -> list[ColumnPart]:
    """Decimals of Python that are finite, with the row of each."""
    try:
        parts, _ = decimal_parts(pa.array(values))
    except (pa.ArrowException, OverflowError):  # more digits than Arrow has room for
        nearest = np.array([_nearest(value) for value in values], np.float64)
        parts = [ColumnPart(Decimals(nearest, np.arange(len(values)), values), np.arange(len(values)))]
    return [part._replace(rows=rows[part.rows]) for part in parts]


def _nearest(value: Decimal) -> float:
    place = place_of(value)
    try:
        return float(place)
    except OverflowError:
        return np.inf if place > 0 else -np.inf
