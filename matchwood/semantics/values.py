"""The oracle's reading of events: look-up of names, and values made comparable.

Nothing is imported from the encoding, on purpose: what the encoding reads is checked against this.
Numbers compare exactly, NaN above all: integers and decimals by their values, a double with a decimal constant as with
the double nearest to that, as SQL has it. Instants are whole microseconds since 1970 in UTC; a date is midnight in the
index's zone.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

from matchwood.errors import EventError, kind_in_words
from matchwood.language import decimal_of, split_path

FAMILIES = {
    "bool": "bool",
    "int": "number",
    "double": "number",
    "number": "number",
    "string": "string",
    "date": "time",
    "timestamp": "time",
    "list<int>": "list<int>",
    "list<string>": "list<string>",
}
"""Types whose values compare with each other share a family."""

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_NUMPY_DATES = ("datetime64[Y]", "datetime64[M]", "datetime64[W]", "datetime64[D]")
_PANDAS_NULLS = ("NAType", "NaTType")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?(\d\d))?", re.IGNORECASE)
_ANY_TIME = (datetime.date, datetime.datetime)


class Reader(Mapping[str, Any]):
    """An event that knows by itself how its attributes are read."""

    @abstractmethod
    def read(self, attribute: str) -> Any:
        """The value of an attribute, None for NULL."""


def look_up(event: Mapping[str, Any], attribute: str) -> Any:
    """The value under a name: a key, or a path through nested mappings; None when there is none.

    Nested events count as flattened with dots, so neighbouring parts of a path may also stand as one key.

    >>> look_up({"a": {"b": 1}}, "a.b"), look_up({"a.b": 2}, "a.b"), look_up({"a": {"b": 1}}, "`a.b`")
    (1, 2, None)
    """
    if isinstance(event, Reader):
        return event.read(attribute)
    parts = split_path(attribute)
    found = []
    stack: list[tuple[Mapping[str, Any], int]] = [(event, 0)]
    while stack:
        level, start = stack.pop()
        for stop, key in _keys(parts, start):
            if key not in level:
                continue
            if stop == len(parts):
                found.append(level[key])
            elif isinstance(level[key], Mapping):
                stack.append((level[key], stop))
            elif _holds_mapping(level[key]):
                raise EventError(attribute, where="event", got="a list of structs", expected="a field of a struct")
    if len(found) > 1:
        raise EventError(attribute, where="event", got="a field of that path and a key with dots", expected="only one")
    return unwrapped(found[0]) if found else None


def _holds_mapping(value: Any) -> bool:
    if isinstance(value, list | tuple) or hasattr(value, "dtype"):
        return any(isinstance(each, Mapping) for each in (value if getattr(value, "ndim", 1) else ()))
    return False


def _keys(parts: tuple[str, ...], start: int) -> Iterator[tuple[int, str]]:
    """The keys that a path may go on with, and where it stands after each; a quoted key with dots joins no other.

    A path of more than 16 keys is nested all the way, or one key: the encoding's limit, and so the language's.
    """
    yield start + 1, parts[start]
    stops = range(start + 2, len(parts) + 1)
    if len(parts) > 16:
        stops = range(len(parts), len(parts) + 1 if start == 0 else len(parts))
    for stop in stops:
        if not any("." in part for part in parts[start:stop]):
            yield stop, ".".join(parts[start:stop])


def unwrapped(value: Any) -> Any:
    """NumPy's and Arrow's values as Python's own; the nulls of pandas as None."""
    if type(value).__name__ in _PANDAS_NULLS:
        return None
    if hasattr(value, "as_py"):
        return _from_arrow(value)
    dtype = getattr(value, "dtype", None)
    if dtype is None or not hasattr(value, "tolist"):
        return value
    if getattr(dtype, "kind", "") == "M":
        value = value.astype("datetime64[D]" if dtype.name in _NUMPY_DATES else "datetime64[us]")
    if getattr(dtype, "name", "") == "float128" and (value != value or float(value) == value):
        return float(value)
    return value.tolist()


def _from_arrow(scalar: Any) -> Any:
    """Python's value; the scalar itself, which fits nothing, where Python has no such moment."""
    try:
        return unwrapped(scalar.as_py())
    except (ValueError, OverflowError):
        return scalar


class Instant(int):
    """Microseconds since 1970 in UTC; moments that Python's calendar ends before have no other form."""


def comparable(value: Any, kind: str, attribute: str, zone: datetime.tzinfo) -> Any:
    """An event's value as one that Python compares as the language does; EventError when it does not fit."""
    family = FAMILIES[kind]
    if family == "bool" and isinstance(value, bool):
        return value
    if family == "string" and isinstance(value, str) and _is_text(value):
        return value
    if family == "number" and isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool):
        return _number(value, kind, attribute)
    if family == "time" and isinstance(value, Instant) and _INT_MIN <= value <= _INT_MAX:
        return int(value)
    if family == "time" and isinstance(value, (*_ANY_TIME, str)):
        return _instant(value, kind, attribute, zone)
    if family in ("list<int>", "list<string>") and isinstance(value, list | tuple | set | frozenset):
        return {_element(unwrapped(element), family, attribute) for element in value if unwrapped(element) is not None}
    return _misfit(value, kind, attribute)


def comparable_literal(literal: Any, zone: datetime.tzinfo, value: Any = None) -> Any:
    """A rule's constant on the same scale as the events' values, to be compared with one of them."""
    if literal_family(literal) == "number":
        return number_key(_beside(literal, value[1] if isinstance(value, tuple) else None))
    return microseconds(literal, zone) if isinstance(literal, _ANY_TIME) else literal


def literal_family(literal: Any) -> str:
    """What a constant can be compared with.

    >>> [literal_family(literal) for literal in (True, 1, 1.5, "a", datetime.date(2026, 1, 1))]
    ['bool', 'number', 'number', 'string', 'time']
    """
    if isinstance(literal, bool):
        return "bool"
    if isinstance(literal, int | float | decimal.Decimal):
        return "number"
    return "time" if isinstance(literal, _ANY_TIME) else "string"


def number_key(number: Any) -> tuple[bool, Any]:
    """Numbers in one exact order, NaN above all and equal to itself."""
    return (True, 0) if number != number else (False, number)


def _beside(literal: Any, number: Any) -> Any:
    """A constant as an event's number meets it.

    A double meets a decimal as the nearest double. A decimal meets a double as the decimal that this stands for: the
    shortest text that reads back to it or, if it is whole, its value. All else compares as it is.
    """
    if isinstance(number, float) and isinstance(literal, decimal.Decimal):
        return float(literal)
    if isinstance(number, decimal.Decimal) and isinstance(literal, float) and math.isfinite(literal):
        return decimal_of(literal)
    return literal


def microseconds(moment: datetime.date, zone: datetime.tzinfo) -> int:
    """Microseconds since 1970 in UTC; a date is midnight, and what names no zone is read in `zone`.

    A time that the clocks skip or repeat is read with the offset before the change, as Java does.

    >>> microseconds(datetime.date(1970, 1, 2), ZoneInfo("UTC")) // 3_600_000_000
    24
    """
    if isinstance(moment, datetime.datetime):
        moment = datetime.datetime(
            *(moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond),
            tzinfo=moment.tzinfo or zone,
            fold=moment.fold if moment.tzinfo else 0,
        )
    else:
        moment = datetime.datetime(moment.year, moment.month, moment.day, tzinfo=zone)
    return (moment - _EPOCH) // _MICROSECOND


def zone_named(name: str) -> datetime.tzinfo:
    """A time zone of the IANA database, or a fixed offset such as +02:00.

    >>> zone_named("Europe/Paris"), zone_named("+02:00").utcoffset(None)
    (zoneinfo.ZoneInfo(key='Europe/Paris'), datetime.timedelta(seconds=7200))
    """
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return datetime.UTC if name.upper() in ("UTC", "GMT", "Z") else ZoneInfo(name)
    hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
    ahead = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return datetime.timezone(-ahead if offset[1] == "-" else ahead)


def _number(value: Any, kind: str, attribute: str) -> Any:
    """Integers have 64 bits; an int attribute takes no float, not even 1.0, but decimals that are whole."""
    if isinstance(value, decimal.Decimal):
        value = _plain_decimal(value, attribute)
    if (kind == "int" and not isinstance(value, int)) or (isinstance(value, int) and not _INT_MIN <= value <= _INT_MAX):
        _misfit(value, f"{kind} of 64 bits", attribute)
    return number_key(value)


def _plain_decimal(value: decimal.Decimal, attribute: str) -> int | float | decimal.Decimal:
    """A Decimal as the int or the double without digits that it is; all others stay what they are."""
    if value.is_snan():
        return _misfit(value, "a number", attribute)
    if not value.is_finite():
        return float(value)
    is_whole = _INT_MIN <= value <= _INT_MAX and value == value.to_integral_value()
    return int(value) if is_whole else value


def _instant(value: Any, kind: str, attribute: str, zone: datetime.tzinfo) -> int:
    """A date attribute takes dates and their ISO form; a timestamp attribute takes moments as well."""
    if isinstance(value, str):
        value = _from_iso(value, kind, attribute)
    if kind == "date" and isinstance(value, datetime.datetime):
        _misfit(value, kind, attribute)
    return microseconds(value, zone)


def _from_iso(text: str, kind: str, attribute: str) -> datetime.date:
    try:
        if kind == "date":
            return datetime.date.fromisoformat(text)
        if len(text) <= 10 or "T" in text or " " in text:
            return datetime.datetime.fromisoformat(text)
    except ValueError:
        pass
    return _misfit(text, f"{kind} in the form of ISO 8601", attribute)


def _is_text(value: str) -> bool:
    """Whether UTF-8 can hold it: half a surrogate pair is no character."""
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def _element(element: Any, kind: str, attribute: str) -> Any:
    if kind == "list<string>" and isinstance(element, str) and _is_text(element):
        return element
    if kind == "list<int>" and isinstance(element, int | decimal.Decimal) and not isinstance(element, bool):
        return _number(element, "int", attribute)
    return _misfit(element, kind, attribute)


def _misfit(value: Any, expected: str, attribute: str) -> NoReturn:
    raise EventError(attribute, where="event", got=f"{_shown(value)}, {kind_in_words(value)}", expected=expected)


def _shown(value: Any) -> str:
    """The beginning of a value; 100,000 nested lists and numbers of 5,000 digits have no `repr`."""
    try:
        return f"{value!r:.80}"
    except (RecursionError, ValueError):
        return "a value that cannot be shown"
