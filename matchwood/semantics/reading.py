"""The oracle's reading of one event by an index's settings: what NaN means, what is converted, what is left out."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from matchwood.errors import EventError
from matchwood.semantics.values import Instant, Reader, comparable, look_up, zone_named

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))", re.ASCII)
_SPACES = " \t\n\r\f\v"
_SECONDS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


class ReadEvent(Reader):
    """An event whose attributes `look_up` finds as they are read here.

    `coerce`  by attribute the type that values of other types are converted to
    """

    def __init__(
        self,
        event: Mapping[str, Any],
        types: Mapping[str, str],
        timezone: str,
        nan_is_null: bool = False,
        coerce: Mapping[str, str] | None = None,
    ) -> None:
        self._event, self._types, self._zone = event, types, zone_named(timezone)
        self._nan_is_null, self._coerce = nan_is_null, coerce or {}
        self._left_out: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        return self._event[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._event)

    def __len__(self) -> int:
        return len(self._event)

    def read(self, attribute: str) -> Any:
        """The value of an attribute, None for NULL."""
        if attribute in self._left_out:
            return None
        value = self._plain(look_up(self._event, attribute))
        how = self._coerce.get(attribute)
        return value if how is None or value is None else self._plain(converted(value, how))

    def _plain(self, value: Any) -> Any:
        is_nan = self._nan_is_null and not isinstance(value, str) and _is_nan(value)
        return None if is_nan else value

    def leave_out(self, attributes: Iterable[str], where: str) -> dict[str, EventError]:
        """Take values that do not fit for NULL from now on; returns the error about each."""
        found = {}
        for attribute in sorted(attributes):
            try:
                value, kind = self.read(attribute), self._types.get(attribute, "any")
                if value is not None and kind != "any":
                    comparable(value, kind, attribute, self._zone)
            except EventError as error:
                told = EventError(error.what, where=where, got=error.got, expected=error.expected, hint=error.hint)
                found[attribute] = told
        self._left_out |= found.keys()
        return found


def _is_nan(value: Any) -> bool:
    try:
        return math.isnan(value)
    except (TypeError, ValueError, OverflowError):
        return False


def converted(value: Any, how: str) -> Any:
    """A value as another type, if it stands for one; otherwise as it is.

    >>> converted("18", "int"), converted(0, "timestamp[s]")
    (18, 0)
    """
    text = value.strip(_SPACES) if isinstance(value, str) else None
    if how == "int":
        return _integer(value, text)
    if how == "double":
        return value if text is None or not _NUMBER.fullmatch(text) else _number(text)
    if how == "bool":
        return _truth(value, text)
    if how == "string":
        return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int) else value
    if how == "date":
        return value.date() if isinstance(value, datetime.datetime) and value.tzinfo is None else value
    if how.startswith("timestamp"):
        return _moment(value, text, how)
    return _listed(value, text)


def _number(text: str) -> int | float | Decimal:
    """Exact, but that an exponent writes a double where doubles are whole, as it does in a rule."""
    double = _double(text)
    if not isinstance(double, float) or "n" in text.lower():
        return double
    if "e" in text.lower() and 2**53 <= abs(double) < math.inf:
        return double
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of too many digits
        return double


def _double(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:  # not an integer, or one of thousands of digits
        return float(text)


def _integer(value: Any, text: str | None) -> Any:
    if text is not None:
        return _number(text) if _INTEGER.fullmatch(text) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _truth(value: Any, text: str | None) -> Any:
    if text is not None:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), value)
    return bool(value) if not isinstance(value, bool) and isinstance(value, int) and value in (0, 1) else value


def _moment(value: Any, text: str | None, how: str) -> Any:
    number = value
    if text is not None:
        if len(text) <= 8 or not _NUMBER.fullmatch(text):
            return value
        number = _double(text)
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        return value
    unit = how.partition("[")[2].rstrip("]") or "s"
    micros = number // 1_000 if unit == "ns" else number * (1_000_000 // _SECONDS[unit])
    return Instant(math.floor(micros))


def _listed(value: Any, text: str | None) -> Any:
    try:
        found = json.loads(value) if text is not None else value
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, list) else value
