"""Truth values and numbers that came as text, in columns: cells of CSV files, values of maps."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

INTEGER = r"^[+-]?[0-9]+$"
NUMBER = r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))$"
SPACES = " \t\n\r\f\v"
"""What may stand around a number or truth value."""
_EXACT = 2.0**53


def truths_of(text: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The truth values of trimmed words in any case, and which words are none.

    >>> [array.to_pylist() for array in truths_of(pa.array(["True", "0", None, "x"]))]
    [[True, False, None, False], [False, False, False, True]]
    """
    word = pc.utf8_lower(text)
    wrong = pc.invert(pc.is_in(word, pa.array(["true", "false", "1", "0", None])))
    return pc.if_else(pc.is_valid(word), pc.is_in(word, pa.array(["true", "1"])), pa.scalar(None, pa.bool_())), wrong


def numbers_of(text: pa.Array) -> pa.Array | list[int | float | None]:
    """Trimmed text that is all numbers or NULL: integers where all are, otherwise doubles; Python's numbers where a
    double would not hold an integer.

    >>> numbers_of(pa.array(["+1", None])).to_pylist(), numbers_of(pa.array([str(2**70), "0.5"]))
    ([1, None], [1180591620717411303424, 0.5])
    """
    digits = pc.replace_substring_regex(text, r"^\+", "")
    whole = pc.match_substring_regex(digits, INTEGER)
    try:
        if pc.all(whole, min_count=0).as_py():
            return digits.cast(pa.int64())
        doubles = digits.cast(pa.float64())
    except pa.ArrowInvalid:  # beyond int64, or beyond a double
        return [_number_or_none(value) for value in digits.to_pylist()]
    large = pc.and_(whole, pc.greater_equal(pc.abs(doubles), _EXACT))
    return [_number_or_none(value) for value in digits.to_pylist()] if pc.any(large).as_py() else doubles


def _number_or_none(digits: str | None) -> int | float | None:
    return None if digits is None else number_of(digits)


def number_of(digits: str) -> int | float:
    """The number that trimmed text stands for, which is one."""
    try:
        return int(digits)
    except ValueError:  # not an integer, or one of thousands of digits
        return float(digits)
