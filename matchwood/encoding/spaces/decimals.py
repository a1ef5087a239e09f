"""Decimals on the line of numbers: where they stand among the integers and the doubles.

The line has one place for each decimal number. An integer or a decimal stands at its own place; a double at the place
of the decimal that it stands for (`language/numbers.py`), just above the integer or decimal there. So 10.05 as a
decimal and 10.05 as a double are neighbours, and a comparison with 10.05 takes both or none.

In Python a place is written as the int or the float that stands there. The places between two neighbouring doubles that
are not whole have neither: those are FineDecimal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.language import decimal_of

_LONG = 400
"""A decimal with more digits before the point is beyond all doubles, and is not written out."""


class FineDecimal(Decimal):
    """A decimal that is not whole and for which no double stands; it compares with doubles by their places.

    >>> 0.1 < FineDecimal("0.100000000000000003") < 0.1 + 2e-17, 0.1 == Decimal(0.1), 0.1 == FineDecimal(Decimal(0.1))
    (True, True, False)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return not isinstance(other, float) and Decimal.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = Decimal.__hash__

    def __lt__(self, other: Any) -> bool:
        return Decimal.__lt__(self, _place_of(other))

    def __le__(self, other: Any) -> bool:
        return Decimal.__le__(self, _place_of(other))

    def __gt__(self, other: Any) -> bool:
        return Decimal.__gt__(self, _place_of(other))

    def __ge__(self, other: Any) -> bool:
        return Decimal.__ge__(self, _place_of(other))


Place: TypeAlias = int | float | FineDecimal


def _place_of(other: Any) -> Any:
    return decimal_of(other) if isinstance(other, float) and math.isfinite(other) else other


def place_of(value: Decimal) -> Place:
    """The place of a finite decimal.

    >>> place_of(Decimal("10.050")), place_of(Decimal("3.00")), place_of(Decimal("0.1000000000000000055"))
    (10.05, 3, Decimal('0.1000000000000000055'))
    """
    if value.adjusted() < _LONG:
        if value == value.to_integral_value():
            return int(value)
        nearest = float(value)
        if value == decimal_of(nearest):
            return nearest
    return FineDecimal(stripped(value))


def stripped(value: Decimal) -> Decimal:
    """The same number without zeros at its end; Python's own `normalize` would round it."""
    sign, digits, exponent = value.as_tuple()
    kept = len(digits)
    while kept > 1 and not digits[kept - 1]:
        kept -= 1
    assert isinstance(exponent, int), "a finite Decimal has an exponent"
    return Decimal((sign, digits[:kept], exponent + len(digits) - kept))


def double_below(value: Decimal) -> float:
    """The greatest double whose place is not above a decimal."""
    nearest = float(value)
    if nearest == -math.inf or (nearest != math.inf and decimal_of(nearest) <= value):
        return nearest
    return math.nextafter(nearest, -math.inf)


def order_bytes(value: Decimal) -> bytes:
    """Bytes that compare like decimals of one sign, none of them the beginning of another's."""
    negative, digits, _ = stripped(value).as_tuple()
    data = (value.adjusted() + 2**63).to_bytes(8, "big") + bytes(digit + 1 for digit in digits) + b"\0"
    return data.translate(_TURNED) if negative else data


_TURNED = bytes(range(255, -1, -1))


class Decimals:
    """A column of decimals that are not 64-bit integers.

    `nearest`  the double nearest to each; of fine ones a few doubles beside it at most
    `fine`     the positions of those for which `nearest` may not stand, increasing
    `exact`    these themselves
    """

    __slots__ = ("exact", "fine", "nearest")

    def __init__(
        self, nearest: NDArray[np.float64], fine: NDArray[np.int64], exact: pa.Array | Sequence[Decimal]
    ) -> None:
        self.nearest, self.fine, self.exact = nearest, fine, exact

    def __len__(self) -> int:
        return len(self.nearest)

    def distinct(self, positions: NDArray[np.int64]) -> tuple[list[Decimal], NDArray[np.int64]]:
        """The distinct ones among some of `exact`, and which of them each is."""
        if isinstance(self.exact, pa.Array):
            encoded = self.exact.take(pa.array(positions)).dictionary_encode()
            return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
        return [self.exact[position] for position in positions.tolist()], np.arange(len(positions))
