"""Numbers with a fraction or an exponent: doubles, and decimals for which no double stands.

A double stands for one decimal: its own value if it is whole, else the shortest text that reads back to it, as Python
and every data frame print it. So `10.05` is a double in a tree, although no double equals it. A literal with more
digits than that, such as 0.1234567890123456789, stays a Decimal, with the digits that were written.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

from matchwood.errors import InvalidArgument, LimitExceeded
from matchwood.language.limits import MAX_DIGITS

_EXACT = 2.0**53
_SURE = 16
"""Up to 15 digits and a point: then the nearest double stands for what is written."""


def decimal_of(double: float) -> Decimal:
    """The decimal that a finite double stands for.

    >>> decimal_of(10.05), decimal_of(2.0**62)
    (Decimal('10.05'), Decimal('4611686018427387904'))
    """
    return Decimal(double) if double.is_integer() else Decimal(repr(double))


def read_decimal(digits: str) -> float | Decimal:
    """What a text with a point or an exponent says; infinite if a double cannot hold it.

    As in SQL an exponent writes a double: from 2**53 on, where doubles are whole, that is its own value.

    >>> read_decimal("10.050"), read_decimal("1e-3"), read_decimal("0.1000000000000000055")
    (10.05, 0.001, Decimal('0.1000000000000000055'))
    """
    double = float(digits)
    has_exponent = "e" in digits or "E" in digits
    if (len(digits) <= _SURE and not has_exponent) or math.isinf(double):
        return double
    if has_exponent and abs(double) >= _EXACT:
        return double
    # "5." has a fraction as "5.0" has one: its Decimal must not read as an integer's.
    return _kept(_exact(f"{digits}0" if digits.endswith(".") else digits), double)


def narrowed(value: Decimal) -> int | float | Decimal:
    """A Decimal that Python code uses as a constant: an int if it is whole, a double if one stands for it."""
    if value.is_qnan() or value.is_infinite():
        return float(value)
    if not value.is_finite():
        raise InvalidArgument(f"a constant must be a number (got {value!r})")
    if value.adjusted() >= MAX_DIGITS:
        raise LimitExceeded(f"a number has more than {MAX_DIGITS:,} digits")
    if value == value.to_integral_value() and (abs(value) < _EXACT or _exponent(value) >= 0):
        return int(value)
    double = float(value)
    if math.isinf(double):
        shown = f"{value!s:.40}"
        raise InvalidArgument(f"a double must be able to hold a constant, if only nearly (got {shown})")
    return _kept(_limited(value), double)


def spell_decimal(value: Decimal) -> str:
    """Digits that are read back as the same Decimal."""
    return str(value)


def _kept(exact: Decimal, double: float) -> float | Decimal:
    return double if exact == decimal_of(double) else exact


def _exact(digits: str) -> Decimal:
    try:
        return _limited(Decimal(digits))
    except InvalidOperation:
        raise LimitExceeded(f"a number has more than {MAX_DIGITS:,} digits") from None


def _limited(value: Decimal) -> Decimal:
    if _exponent(value) < -MAX_DIGITS:
        raise LimitExceeded(f"a number has more than {MAX_DIGITS:,} digits")
    return value


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "a finite Decimal has an exponent"
    return exponent
