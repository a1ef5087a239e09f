"""Truth values and numbers that came as text, in columns: cells of CSV files, values of maps."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.errors import LimitExceeded
from matchwood.language import read_decimal

INTEGER = r"^[+-]?[0-9]+$"
NUMBER = r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))$"
SPACES = " \t\n\r\f\v"
"""What may stand around a number or truth value."""
_PLAIN = r"^-?[0-9]*\.?[0-9]*$"
_MOST_DIGITS = 38
_EXACT = 2.0**53


def truths_of(text: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The truth values of trimmed words in any case, and which words are none.

    >>> [array.to_pylist() for array in truths_of(pa.array(["True", "0", None, "x"]))]
    [[True, False, None, False], [False, False, False, True]]
    """
    word = pc.utf8_lower(text)
    wrong = pc.invert(pc.is_in(word, pa.array(["true", "false", "1", "0", None])))
    return pc.if_else(pc.is_valid(word), pc.is_in(word, pa.array(["true", "1"])), pa.scalar(None, pa.bool_())), wrong


def numbers_of(text: pa.Array) -> pa.Array | list[int | float | Decimal | None]:
    """Trimmed text that is all numbers or NULL: integers where all are, otherwise decimals, which lose no digit;
    Python's numbers where no column of Arrow's holds them all.

    >>> numbers_of(pa.array(["+1", None])).to_pylist(), numbers_of(pa.array(["10.05", "-2"])).to_pylist()
    ([1, None], [Decimal('10.05'), Decimal('-2.00')])
    >>> numbers_of(pa.array([str(2**70), "0.5", "nan"]))
    [1180591620717411303424, Decimal('0.5'), nan]
    """
    digits = pc.replace_substring_regex(text, r"^\+", "")
    try:
        if pc.all(pc.match_substring_regex(digits, INTEGER), min_count=0).as_py():
            return digits.cast(pa.int64())
        if pc.all(pc.match_substring_regex(digits, _PLAIN)).as_py():
            return digits.cast(_decimal_type(digits))
    except pa.ArrowInvalid:  # beyond int64, or beyond the digits of a decimal
        pass
    return [None if each is None else number_of(each) for each in digits.to_pylist()]


def _decimal_type(digits: pa.Array) -> pa.DataType:
    """Room for the longest numbers, before the point and after it."""
    before = pc.max(pc.utf8_length(pc.replace_substring_regex(digits, r"\..*", ""))).as_py()
    after = pc.max(pc.utf8_length(pc.replace_substring_regex(digits, r"^[^.]*\.?", ""))).as_py()
    return pa.decimal128(min(before + after, _MOST_DIGITS) or 1, after)


def number_of(digits: str) -> int | float | Decimal:
    """The number that trimmed text stands for, which is one: all of its digits, but that an exponent writes a double
    from 2**53 on, as it does in a rule.

    >>> number_of("10.05"), number_of("1e-3"), number_of("1e23"), number_of("1e400"), number_of("inf")
    (Decimal('10.05'), Decimal('0.001'), 1e+23, Decimal('1E+400'), inf)
    """
    try:
        return int(digits)
    except ValueError:  # not an integer, or one of thousands of digits
        double = float(digits)
    lower = digits.lower()
    if "n" in lower or ("e" in lower and _EXACT <= abs(double) < math.inf):
        return double
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent of too many digits
        return double


def fraction_of(digits: str) -> float | Decimal:
    """What JSON means by a number with a point or an exponent: a double if one stands for it, else all digits.

    >>> fraction_of("10.05"), fraction_of("2.50000000000000000001"), fraction_of("1e400")
    (10.05, Decimal('2.50000000000000000001'), Decimal('1E+400'))
    """
    try:
        number = read_decimal(digits)
    except LimitExceeded:  # thousands of digits
        return number_of(digits)
    return number_of(digits) if math.isinf(number) else number
