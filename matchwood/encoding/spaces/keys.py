"""Elements of ordered domains, and the boundaries between them, as integers or bytes in the same order.

An int, bool, date or timestamp is its own key. A place on the line of numbers (`decimals.py`) has a key of two parts:
the *primary* orders the doubles (their bits, so that neighbours differ by one; -0.0 is 0.0; NaN above infinity) and is
that of the greatest double not above it. The *rest* is four times the number of integers from that double on up to the
place, 0 for all that doubles hold and at most 1023, and 0 to 3 more:

    0  the integer or decimal at the place; a boundary before it
    1  the double at the place; a boundary between the two
    2  a boundary behind both
    3  a place between integers and doubles, told by further bytes: `FineKey`

In Python a key is one integer, primary * 2**16 + rest. A string's key is its UTF-8 bytes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.decimals import FineDecimal, Place, double_below, order_bytes

NAN_KEY = 0x7FF8_0000_0000_0000
REST_BITS = 16
REST_MASK = 0xFFFF
PLACE_BITS = 2
DOUBLE, BEHIND, FINE = 1, 2, 3
"""What the lowest bits of a rest say, beside 0 for the exact number at the place."""

_INT64_MIN = np.int64(-(2**63))
_INT_MIN, _INT_END = -(2**63), 2**63
_EXACT = 2**53
_DOUBLE = struct.Struct("<d")
_BITS = struct.Struct("<q")


class FineKey(int):
    """The key of a place that its primary and rest do not tell from others, and the bytes that do."""

    fine: bytes

    def __new__(cls, key: int, fine: bytes) -> FineKey:
        self = super().__new__(cls, key)
        self.fine = fine
        return self

    def _parts(self) -> tuple[int, bytes]:
        return int(self), self.fine

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FineKey) and self._parts() == other._parts()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._parts())

    def __lt__(self, other: int) -> bool:
        return self._parts() < (int(other), fine_bytes(other))

    def __le__(self, other: int) -> bool:
        return self._parts() <= (int(other), fine_bytes(other))

    def __gt__(self, other: int) -> bool:
        return self._parts() > (int(other), fine_bytes(other))

    def __ge__(self, other: int) -> bool:
        return self._parts() >= (int(other), fine_bytes(other))


def fine_bytes(key: int) -> bytes:
    """The bytes that tell a key from others with its primary and rest; none for most."""
    return key.fine if isinstance(key, FineKey) else b""


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
    """Primaries and rests of integers."""
    nearest = values.astype(np.float64)
    primary = double_keys(nearest)
    rest = np.zeros(len(values), np.int16)
    inexact = np.flatnonzero((values > _EXACT) | (values < -_EXACT))
    if len(inexact):
        exact = values[inexact]
        beyond = nearest[inexact] >= 2.0**63
        back = np.where(beyond, 0.0, nearest[inexact]).astype(np.int64)
        primary[inexact] -= beyond | (back > exact)
        rest[inexact] = (exact - doubles_of(primary[inexact]).astype(np.int64)) << PLACE_BITS
    return primary, rest


def number_keys(places: Sequence[Place]) -> tuple[NDArray[np.int64], NDArray[np.int16], dict[int, bytes]]:
    """Primaries and rests of places, and for some positions the further bytes."""
    try:
        nearest = np.array(places, np.float64)
    except OverflowError:
        nearest = np.array([_nearest(place) for place in places], np.float64)
    primary, rest = double_keys(nearest), np.zeros(len(places), np.int16)
    large = [at for at in np.flatnonzero(np.abs(nearest) >= _EXACT).tolist() if isinstance(places[at], int)]
    odd = [at for at in large if not _INT_MIN <= places[at] < _INT_END]
    if FineDecimal in set(map(type, places)):
        odd += [at for at, place in enumerate(places) if type(place) is FineDecimal]
    whole = [at for at in large if _INT_MIN <= places[at] < _INT_END]
    if whole:
        primary[whole], rest[whole] = integer_keys(np.array([places[at] for at in whole], np.int64))
    keys = {at: number_key(places[at]) for at in odd}
    for at, key in keys.items():
        primary[at], rest[at] = key >> REST_BITS, key & REST_MASK
    return primary, rest, {at: key.fine for at, key in keys.items() if isinstance(key, FineKey)}


def _nearest(place: Place) -> float:
    """Beyond the greatest double an infinity: such integers have no arrays of their own."""
    try:
        return float(place)
    except OverflowError:
        return math.inf if place > 0 else -math.inf


def number_key(place: Place, side: int = 0) -> int:
    """The key of one place in Python, or of a boundary there.

    >>> number_key(2**53) < number_key(2**53 + 1) < number_key(2.0**53 + 2)
    True
    >>> number_key(0.1, BEHIND) < number_key(FineDecimal("0.10000000000000000001")) < number_key(0.1 + 2e-17)
    True
    """
    if isinstance(place, Decimal):
        return _fine_key(place, side)
    if place != place:
        return (NAN_KEY << REST_BITS) + side
    if isinstance(place, int) and not -_EXACT <= place <= _EXACT:
        return _large_key(place, side)
    return (_primary(float(place)) << REST_BITS) + side


def _primary(double: float) -> int:
    bits: int = _BITS.unpack(_DOUBLE.pack(double))[0]
    return bits if bits >= 0 else -(2**63) - bits


def _large_key(place: int, side: int) -> int:
    nearest = _nearest(place)
    if math.isfinite(nearest) and int(nearest) == place:
        return (_primary(nearest) << REST_BITS) + side
    if not _INT_MIN <= place < _INT_END:
        return _fine_key(Decimal(place), side)
    below = math.nextafter(nearest, -math.inf) if nearest > place else nearest
    return (_primary(below) << REST_BITS) + ((place - int(below)) << PLACE_BITS) + side


def _fine_key(place: Decimal, side: int) -> FineKey:
    below, integers = double_below(place), 0
    if abs(below) >= _EXACT and _INT_MIN <= place < _INT_END:
        integers = math.floor(place) - int(below)
    key = (_primary(below) << REST_BITS) + (integers << PLACE_BITS) + FINE
    return FineKey(key, order_bytes(place) + bytes((side,)))


def key_number(key: int) -> float:
    """The double at or just below the place that has a key."""
    primary = key >> REST_BITS
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
