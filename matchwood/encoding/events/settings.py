"""The settings by which an index reads events of every kind: whether NaN is NULL, and what is converted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from matchwood.encoding.events.coercion import UNITS, Coercion
from matchwood.encoding.events.unwrapping import ValueReading
from matchwood.encoding.schema.declared import Declared, read_schema
from matchwood.encoding.schema.timezones import Zone
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.language import canonical

NAN = ("value", "null")
_EPOCH = re.compile(r"timestamp\[(\w+)\]")


class EventSettings(NamedTuple):
    """`nan` is `value` or `null` for every kind of event; None: a value, but what marks a missing one in pandas.

    `coerce` says by attribute what values of other types are converted to.
    """

    nan: str | None = None
    coerce: Mapping[str, str] = {}

    @classmethod
    def of(cls, nan: Any, coerce: Any) -> EventSettings:
        """Settings as they are given to an index."""
        if nan is not None and nan not in NAN:
            raise InvalidArgument(f"nan must be 'value' or 'null' (got {nan!r:.80})")
        if coerce is not None and not isinstance(coerce, Mapping):
            raise InvalidArgument(f"coerce must be a dict of attributes and types (got {coerce!r:.80})")
        given = ((_name(name), how) for name, how in (coerce or {}).items())
        return cls(nan, {name: coercion(name, how).spelled for name, how in given})

    def declare(self, declared: Declared) -> Declared:
        """The declared types with those that values are converted to, which are declared thereby."""
        types = dict(declared.types)
        for name, how in self.coerce.items():
            kind = coercion(name, how).kind
            known = declared.type_of(name)
            if known not in (None, "any", kind):
                raise InvalidArgument(f"coerce: {name!r} is declared as {known}, and cannot be converted to {kind}")
            types[name] = kind
        return declared._replace(types=types)

    def readings(self, zone: Zone, names: list[str], from_pandas: bool = False) -> list[ValueReading]:
        """How the values of each attribute are read."""
        nan_is_null = self.nan_is_null(from_pandas)
        common = ValueReading(zone, nan_is_null, from_pandas)
        if not self.coerce:
            return [common] * len(names)
        hows = [self.coerce.get(name) for name in names]
        return [
            common if how is None else common._replace(how=coercion(name, how))
            for name, how in zip(names, hows, strict=True)
        ]

    def nan_is_null(self, from_pandas: bool) -> bool:
        return self.nan == "null" or (self.nan is None and from_pandas)

    def coercion_of(self, name: str) -> Coercion | None:
        """What values of an attribute are converted to, if they are."""
        how = self.coerce.get(name)
        return None if how is None else coercion(name, how)

    def header(self) -> dict[str, Any]:
        """As they are saved; nothing where all are the default, so that older versions read such an index."""
        settings = {"nan": self.nan, "coerce": dict(self.coerce)}
        return {name: value for name, value in settings.items() if value}


def saved_settings(header: Mapping[str, Any]) -> EventSettings:
    """The settings in the header of an encoder; ValueError if they are damaged."""
    try:
        return EventSettings.of(header.get("nan"), header.get("coerce"))
    except MatchwoodError as error:
        raise ValueError(str(error)) from error


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidArgument(f"coerce: a name must be a str (got {name!r:.80}, a {type(name).__name__})")
    return canonical(name)


def coercion(name: str, how: Any) -> Coercion:
    """What a spelling stands for: a type, or for counts since 1970 a timestamp with its unit.

    >>> coercion("t", "timestamp[ms]"), coercion("n", "bigint")
    (Coercion(kind='timestamp', unit='ms'), Coercion(kind='int', unit='s'))
    """
    counted = _EPOCH.fullmatch(how) if isinstance(how, str) else None
    if counted is not None and counted[1] in UNITS:
        return Coercion("timestamp", counted[1])
    kind = _known_type(how) if isinstance(how, str) and counted is None else None
    if kind is None:
        units = ", ".join(f"timestamp[{unit}]" for unit in UNITS)
        raise InvalidArgument(
            f"coerce: {name!r} cannot be converted to {how!r:.80}: give a type such as int, double, bool, string or "
            f"date, or a timestamp with the unit of what it counts from 1970: {units}"
        )
    return Coercion(kind)


def _known_type(spelling: str) -> str | None:
    try:
        kinds = list(read_schema({"x": spelling}).types.values())
    except InvalidArgument:
        return None
    return None if kinds in ([], ["any"]) else kinds[0]
