"""Constants as Spark SQL, and comparisons that stay exact where Spark would round or cast.

Spark compares integers with doubles as doubles. Here a constant that the column's type cannot hold is replaced by
the nearest one that it can, and the operator by one that says the same.
"""

from __future__ import annotations

import datetime
import math
from typing import Any, Final

from matchwood.errors import MatchwoodError

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
    if kind == "int":
        whole = isinstance(value, int) or value.is_integer()
        return int(value) if whole and INT_MIN <= value <= INT_MAX else NO_VALUE
    if kind == "double" and isinstance(value, int):
        try:
            return float(value) if int(float(value)) == value else NO_VALUE
        except OverflowError:
            return NO_VALUE
    return value


def _below(column: str, kind: str, value: Any) -> str:
    """`column < value` for a constant that no value of the column equals."""
    if kind == "double":
        return f"{column} <= {literal(_double_below(value), kind)}"
    if value != value or value > INT_MAX:
        return always(column)
    return never(column) if value < INT_MIN else f"{column} <= {literal(math.floor(value), kind)}"


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
