"""Elements of ordered domains as integers or bytes in the same order.

An int, bool, date or timestamp is its own key. A number's key has two parts: the *primary* orders the
doubles (their bits, so that neighbours differ by one; -0.0 is 0.0; NaN above infinity), and the
*residual* counts from the greatest double that is not above an integer up to it: 0 for all that doubles
hold, at most 1023. In Python a key is one integer, primary * 2**16 + residual. A string's key is its UTF-8 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.spaces.base import Strings

NAN_KEY = 0x7FF8_0000_0000_0000
RESIDUAL_BITS = 16

_INT64_MIN = np.int64(-(2**63))
_EXACT = 2**53
_DOUBLE = struct.Struct("<d")
_BITS = struct.Struct("<q")


def double_keys(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The primaries of doubles."""
    bits = np.ascontiguousarray(values).view(np.int64)
    keys = np.where(bits < 0, _INT64_MIN - bits, bits)
    keys[np.isnan(values)] = NAN_KEY
    return keys


def doubles_of(primaries: NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles that have these primaries."""
    bits = np.where(primaries < 0, _INT64_MIN - primaries, primaries)
    return bits.view(np.float64)


def integer_keys(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Primaries and residuals of integers."""
    nearest = values.astype(np.float64)
    primary = double_keys(nearest)
    residual = np.zeros(len(values), np.int16)
    inexact = np.flatnonzero((values > _EXACT) | (values < -_EXACT))
    if len(inexact):
        exact = values[inexact]
        beyond = nearest[inexact] >= 2.0**63
        back = np.where(beyond, 0.0, nearest[inexact]).astype(np.int64)
        primary[inexact] -= beyond | (back > exact)
        residual[inexact] = exact - doubles_of(primary[inexact]).astype(np.int64)
    return primary, residual


def number_keys(values: Sequence[float]) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Primaries and residuals of Python numbers: floats, and ints of 64 bits."""
    nearest = np.array(values, np.float64)
    primary = double_keys(nearest)
    residual = np.zeros(len(values), np.int16)
    large = np.flatnonzero(np.abs(nearest) >= _EXACT).tolist()
    integers = [position for position in large if isinstance(values[position], int)]
    if integers:
        exact = np.array([values[position] for position in integers], np.int64)
        primary[integers], residual[integers] = integer_keys(exact)
    return primary, residual


def number_key(value: float) -> int:
    """The key of one number in Python.

    >>> number_key(2**53) < number_key(2**53 + 1) < number_key(2.0**53 + 2)
    True
    """
    if value != value:
        return NAN_KEY << RESIDUAL_BITS
    nearest = float(value)
    bits: int = _BITS.unpack(_DOUBLE.pack(nearest))[0]
    primary = bits if bits >= 0 else -(2**63) - bits
    if -_EXACT <= value <= _EXACT or not isinstance(value, int):
        return primary << RESIDUAL_BITS
    if nearest > value:
        primary -= 1
        nearest = key_number(primary << RESIDUAL_BITS)
    return (primary << RESIDUAL_BITS) + (value - int(nearest))


def key_number(key: int) -> float:
    """The double at or just below the element that has a key."""
    primary = key >> RESIDUAL_BITS
    bits = primary if primary >= 0 else -(2**63) - primary
    return float(_DOUBLE.unpack(_BITS.pack(bits))[0])


def strings_of(texts: Sequence[bytes]) -> Strings:
    """UTF-8 texts laid end to end."""
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    return Strings(offsets, np.frombuffer(b"".join(texts), np.uint8))


def arrow_strings(column: pa.Array) -> Strings:
    """A column of Arrow's string or large_string without NULLs, not copied where its offsets are wide."""
    column = column.cast(pa.large_string()) if column.type != pa.large_string() else column
    _, offsets, data = column.buffers()
    if not len(column):
        return Strings(np.zeros(1, np.int64), np.empty(0, np.uint8))
    ends = np.frombuffer(offsets, np.int64, len(column) + 1, column.offset * 8)
    return Strings(ends, np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8))
