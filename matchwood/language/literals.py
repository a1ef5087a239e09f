"""Constants: from Python values, from the text inside a typed literal, and back to text.

A constant is exactly a bool, int, float, Decimal (`numbers.py`), str, datetime.date or datetime.datetime; subclasses
and NumPy scalars are unwrapped here, once, so that nothing later meets them.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from matchwood.errors import InvalidArgument, LimitExceeded, kind_in_words
from matchwood.language.limits import MAX_DIGITS
from matchwood.language.names import has_surrogate
from matchwood.language.numbers import narrowed, spell_decimal

_TOO_LARGE = 10**MAX_DIGITS
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?)?"
    r"(?:(Z)|([+-])([0-9]{2}):?([0-9]{2})?)?"
)
_DOUBLES = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf}


def literal(value: object) -> Any:
    """The constant that a Python value stands for.

    >>> import numpy as np
    >>> literal(np.int8(5)), literal(Decimal("10.05")), literal(True)
    (5, 10.05, True)
    """
    reader = _READERS.get(type(value))
    if reader is not None:
        return reader(value)
    if isinstance(value, np.generic):
        return literal(_unwrapped(value))
    for kind, reader in _READERS.items():
        if isinstance(value, kind):
            return reader(value)
    raise _refused(value)


def _refused(value: object) -> InvalidArgument:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return InvalidArgument(f"a constant must not be NULL (got {value!r}): test for it with is_null()")
    kinds = "a bool, int, float, Decimal, str, date or datetime"
    return InvalidArgument(f"a constant must be {kinds} (got {value!r}, {kind_in_words(value)})")


def _unwrapped(value: np.generic) -> object:
    """The Python value of a NumPy scalar."""
    if isinstance(value, np.datetime64):
        return _moment(value)
    plain = value.item()
    if isinstance(plain, np.floating) and (plain == float(plain) or np.isnan(plain)):
        return float(plain)
    if isinstance(plain, np.generic):
        raise _refused(value)
    return plain


def _moment(value: np.datetime64) -> object:
    """A date for whole days, else a timestamp; NumPy itself would turn nanoseconds into an integer."""
    if np.isnat(value):
        raise _refused(None)
    if not 1 <= int(value.astype("datetime64[Y]").astype(int)) + 1970 <= 9999:
        raise InvalidArgument(f"a date or timestamp must lie in the years 1 to 9999 (got {value!r})")
    unit = "D" if np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D") else "us"
    exact = value.astype(f"datetime64[{unit}]")
    if exact != value:
        raise InvalidArgument(f"a timestamp holds microseconds at most (got {value!r})")
    return exact.item()


def _integer(value: Any) -> int:
    plain = operator.index(value)
    if not -_TOO_LARGE < plain < _TOO_LARGE:
        raise LimitExceeded(f"a number has more than {MAX_DIGITS:,} digits")
    return plain


def _text(value: str) -> str:
    plain = str.__str__(value)
    if has_surrogate(plain):
        raise InvalidArgument("a text must not contain half a surrogate pair")
    return plain


def _date(value: datetime.date) -> datetime.date:
    return datetime.date(value.year, value.month, value.day)


def _timestamp(value: datetime.datetime) -> datetime.datetime:
    """A plain datetime: naive as it is, otherwise with a fixed offset of whole minutes."""
    if value != value:
        raise _refused(value)
    if getattr(value, "nanosecond", 0):
        raise InvalidArgument(f"a timestamp holds microseconds at most (got {value!r})")
    offset = value.utcoffset()
    fields = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    plain = datetime.datetime(*fields)
    if offset is None:
        return plain
    if offset % datetime.timedelta(minutes=1):
        return _shifted(plain, offset)
    return plain.replace(tzinfo=datetime.timezone(offset))


def _shifted(plain: datetime.datetime, offset: datetime.timedelta) -> datetime.datetime:
    """The moment in UTC: old local times have offsets with seconds, which a literal cannot write."""
    try:
        return (plain - offset).replace(tzinfo=datetime.UTC)
    except OverflowError:
        raise InvalidArgument(f"a timestamp must lie in the years 1 to 9999 (got {plain} at {offset})") from None


_READERS: dict[type, Callable[[Any], Any]] = {
    bool: bool,
    int: _integer,
    float: float,
    str: _text,
    datetime.datetime: _timestamp,
    datetime.date: _date,
    Decimal: narrowed,
}


def read_date(text: str) -> datetime.date:
    """The date in `date '…'`; a ValueError says what is wrong with it."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError("the form is YYYY-MM-DD")
    return datetime.date(int(found[1]), int(found[2]), int(found[3]))


def read_timestamp(text: str) -> datetime.datetime:
    """The moment in `timestamp '…'`; naive without an offset. A ValueError says what is wrong with it."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError("the form is YYYY-MM-DD hh:mm:ss[.ffffff][Z or ±hh:mm]")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.group(1, 2, 3, 4, 5, 6))
    fraction = int((found[7] or "").ljust(6, "0"))
    return datetime.datetime(year, month, day, hour, minute, second, fraction, _zone(found))


def _zone(found: re.Match[str]) -> datetime.timezone | None:
    if found[8]:
        return datetime.UTC
    if found[9] is None:
        return None
    hours, minutes = int(found[10]), int(found[11] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("the offset must be below 24:00")
    offset = datetime.timedelta(hours=hours, minutes=minutes)
    return datetime.timezone(-offset if found[9] == "-" else offset)


def read_double(text: str) -> float | None:
    """The double that only a cast can write: NaN and the infinities; None for any other text."""
    return _DOUBLES.get(text.lower())


def spell_double(value: float) -> str | None:
    """The name of a double that has no digits; None for all others."""
    if math.isfinite(value):
        return None
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def spell(value: Any) -> str:
    """The literal that a rule shows for a constant.

    >>> print(spell(1.0), spell("it's"), spell(math.inf), spell(datetime.date(2026, 1, 31)))
    1.0 'it''s' cast('Infinity' as double) date '2026-01-31'
    """
    return _SPELLERS[type(value)](value)


def _spell_float(value: float) -> str:
    name = spell_double(value)
    return repr(value) if name is None else f"cast('{name}' as double)"


_SPELLERS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _spell_float,
    Decimal: spell_decimal,
    str: lambda value: "'" + value.replace("'", "''") + "'",
    datetime.date: lambda value: f"date '{value.isoformat()}'",
    datetime.datetime: lambda value: f"timestamp '{value.isoformat(sep=' ')}'",
}
