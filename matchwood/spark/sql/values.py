"""Constants as Spark SQL, and comparisons that stay exact where Spark would round or cast.

Spark compares integers with doubles as doubles, and rounds decimals that have no common type of 38 digits. Here a
constant that the column's type cannot hold is replaced by the nearest one that it can, and the operator by one that
says the same. Kinds of columns are those of `text.Slot`.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

from matchwood.errors import MatchwoodError
from matchwood.language import decimal_of

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
NO_VALUE: Final = object()
"""No value of the column's type equals the constant."""


class Untranslatable(MatchwoodError):
    """A rule that cannot be said in Spark SQL, and why."""


def always(column: str) -> str:
    """TRUE, or NULL where the column is."""
    return f"CASE WHEN {column} IS NOT NULL THEN TRUE END"


def never(column: str) -> str:
    """FALSE, or NULL where the column is."""
    return f"CASE WHEN {column} IS NOT NULL THEN FALSE END"


def comparison(column: str, kind: str, operator: str, value: Any) -> str:
    """One comparison, exact even where the column's type cannot hold the constant.

    >>> comparison("a0", "int", "<", 1.5), comparison("a0", "int", "=", 1.5)
    ('a0 <= 1L', 'CASE WHEN a0 IS NOT NULL THEN FALSE END')
    >>> comparison("a0", "decimal(10,2)", "=", 10.05), comparison("a0", "decimal(10,2)", ">", 1.005)
    ("a0 = CAST('10.05' AS DECIMAL(10,2))", "NOT (a0 <= CAST('1.00' AS DECIMAL(10,2)))")
    """
    exact = exact_value(value, kind)
    if exact is not NO_VALUE:
        return f"{column} {operator} {literal(exact, kind)}"
    if operator in ("=", "!="):
        return never(column) if operator == "=" else always(column)
    below = _below(column, kind, value)
    return below if operator.startswith("<") else f"NOT ({below})"


def exact_value(value: Any, kind: str) -> Any:
    """The constant as a value of the column's type, or NO_VALUE where none equals it."""
    if kind == "int" or kind.startswith("decimal"):
        return _exact_number(value, kind)
    if kind == "double" and isinstance(value, Decimal):
        return float(value)
    if kind == "double" and isinstance(value, int):
        try:
            return float(value) if int(float(value)) == value else NO_VALUE
        except OverflowError:
            return NO_VALUE
    return value


class _Digits(NamedTuple):
    """The values of a column of integers or decimals: whole numbers of units, of which 10**scale are one."""

    scale: int
    least: int
    most: int


def _digits(kind: str) -> _Digits:
    if kind == "int":
        return _Digits(0, INT_MIN, INT_MAX)
    precision, scale = map(int, kind.removeprefix("decimal(").removesuffix(")").split(","))
    return _Digits(scale, 1 - 10**precision, 10**precision - 1)


def _is_finite(value: Any) -> bool:
    """Python would make a double of an integer first, however large."""
    return not isinstance(value, float) or math.isfinite(value)


def _units(value: Any, scale: int) -> Fraction:
    """A finite constant in units of a column; a double is the decimal that it stands for."""
    exact: int | Decimal = decimal_of(value) if isinstance(value, float) else value
    return Fraction(exact) * int(10**scale)


def _exact_number(value: Any, kind: str) -> Any:
    digits = _digits(kind)
    units = _units(value, digits.scale) if _is_finite(value) else Fraction(1, 2)
    if units.denominator > 1 or not digits.least <= units <= digits.most:
        return NO_VALUE
    return _of_units(int(units), kind)


def _of_units(units: int, kind: str) -> int | Decimal:
    return units if kind == "int" else Decimal(f"{units}E{-_digits(kind).scale}")


def _below(column: str, kind: str, value: Any) -> str:
    """`column < value` for a constant that no value of the column equals."""
    if kind == "double":
        return f"{column} <= {literal(_double_below(value), kind)}"
    if not _is_finite(value):
        return never(column) if value == -math.inf else always(column)
    digits = _digits(kind)
    units = math.floor(_units(value, digits.scale))
    if units > digits.most:
        return always(column)
    return never(column) if units < digits.least else f"{column} <= {literal(_of_units(units, kind), kind)}"


def _double_below(value: int) -> float:
    """The largest double below an integer that is none itself."""
    try:
        near = float(value)
    except OverflowError:
        return math.nextafter(math.inf, 0) if value > 0 else -math.inf
    return near if int(near) < value else math.nextafter(near, -math.inf)


def literal(value: Any, kind: str) -> str:
    """A constant as Spark SQL.

    >>> literal(1, "int"), literal(float("nan"), "double"), literal(True, "bool")
    ('1L', "CAST('NaN' AS DOUBLE)", 'TRUE')
    """
    if kind == "int":
        return f"{value}L" if value > INT_MIN else f"CAST('{value}' AS BIGINT)"
    if kind.startswith("decimal"):
        return f"CAST('{value:f}' AS {kind.upper()})"
    if kind == "double":
        # Column and constant have no -0.0: a set of constants that Spark hashes would tell it from 0.0.
        return _double(value + 0.0)
    if kind == "time":
        return f"CAST('{_moment_text(value)}' AS TIMESTAMP)"
    return str(value).upper() if kind == "bool" else text_literal(value)


def _double(value: float) -> str:
    if math.isinf(value):
        return f"CAST('{'' if value > 0 else '-'}Infinity' AS DOUBLE)"
    return "CAST('NaN' AS DOUBLE)" if value != value else f"{value!r}D"


def _moment_text(value: datetime.date) -> str:
    """ISO 8601; a moment that names no zone is read by Spark in the session's, as the index does in its own."""
    return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else f"{value.isoformat()} 00:00:00"


def text_literal(text: str) -> str:
    """Text as a literal; what any of Spark's settings could read in another way goes as bytes.

    >>> text_literal("US"), text_literal("it's")
    ("'US'", "CAST(X'69742773' AS STRING)")
    """
    if text.isprintable() and not set(text) & {"'", "\\", "$"}:
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
