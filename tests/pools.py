"""Values that break things, by type: the constants of generated rules and the values of generated events.

Rules and events of one workload draw from the same small palette of each attribute, so that equalities hold
often enough to matter; the pools behind the palettes hold the extremes.
"""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from typing import Any

from matchwood.language import tree

Attributes = dict[str, str]
"""Names as the tree spells them, each with its type; `number` is one that no schema declares."""

ATTRIBUTES: Attributes = {
    "vip": "bool",
    "Flag": "bool",
    "age": "int",
    "`a.b`": "int",
    "score": "double",
    "net.load": "double",
    "mixed": "number",
    "MIXED": "number",
    "country": "string",
    "geo.city": "string",
    "odd name": "string",
    "born": "date",
    "seen_at": "timestamp",
    "größe": "timestamp",
    "ids": "list<int>",
    "tags": "list<string>",
}

_ORDERED = (*tree.COMPARISONS, *tree.SET_OPERATORS, *tree.RANGE_OPERATORS, *tree.NULL_OPERATORS)
_LISTS = (*tree.LIST_OPERATORS, *tree.NULL_OPERATORS)
OPERATORS: dict[str, tuple[str, ...]] = {
    "bool": _ORDERED,
    "int": _ORDERED,
    "double": _ORDERED,
    "number": _ORDERED,
    "string": (*_ORDERED, *tree.PATTERN_OPERATORS),
    "date": _ORDERED,
    "timestamp": _ORDERED,
    "list<int>": _LISTS,
    "list<string>": _LISTS,
}

INTS = [
    *range(-2, 8),
    *(18, 21, 100, 255, 256, 2**31 - 1, 2**31),
    *(2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, -(2**53)),
    *(2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1),
]
HUGE_INTS = [2**63, -(2**63) - 1, 10**30, -(10**400)]
"""Integers that only rules can name: no event holds them."""
DOUBLES = [
    *(math.nan, math.inf, -math.inf, 0.0, -0.0),
    *(0.5, 1.0, 1.5, 2.0, 2.5, -1.5, 0.1, 0.1 + 0.2, 1e15 + 0.5),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308),
    *(2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**63, -(2.0**63), 2.0**64),
]
DECIMALS = [
    *map(Decimal, ("10.05", "0.1", "-0.1", "2.50", "1.005", "100.00", "0.3", "0.30000000000000004")),
    *map(Decimal, ("0.100000000000000005", "0.100000000000000006", "1.000000000000000001", "0.999999999999999999")),
    *map(Decimal, ("9007199254740992.5", "9007199254740993.5", "12345678901234567.89", "1E-18", "-1E-18")),
    *map(Decimal, (2**63, -(2**63) - 1, "9223372036854775807.5", "-9223372036854775808.5", "1E+19")),
]
"""All of them numbers of DECIMAL(38, 18), which DuckDB holds."""
LONG_DECIMALS = [
    *map(Decimal, ("0.1000000000000000055511151231257827", "10.0500000000000000001", "1E-400", "-1E-400")),
    *map(Decimal, ("0.99999999999999999999", "9007199254740993.0", "1.00000000000000000000000001")),
]
"""Decimals that rules name, and no event of DuckDB holds."""
STRINGS = [
    *("", " ", "a", "b", "A", "ab", "abc", "abd", "US", "us", "CA", "k", "z", "'", "it's", '"', "`"),
    *("a_b", "a%b", "50%", "a\\b", "\\", "a!b", "line\nbreak", "tab\t", "%", "_"),
    *("é", "É", "e\u0301", "ß", "SS", "i", "İ", "ı", "\u212a", "Σ", "σ", "ς", "ﬁ", "ǅ"),
    *("日本", "日本語", "\ue000", "\uffff", "😀", "😀a", "𐐀", "𐐨", "\U0010ffff"),
]
DATES = [
    *(datetime.date(1970, 1, day) for day in (1, 2, 3)),
    *(datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)),
    *(datetime.date(1, 1, 2), datetime.date(9999, 12, 30), datetime.date(1900, 3, 1)),
]
_ZONES = [datetime.timezone(datetime.timedelta(minutes=minutes)) for minutes in (0, 120, -300, 345, -720)]
TIMESTAMPS = [
    *(datetime.datetime(each.year, each.month, each.day) for each in DATES),
    *(datetime.datetime(2026, 1, 1, hour, 30, 59, 999_999) for hour in (0, 1, 12, 23)),
    *(datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime.datetime(2026, 1, 1, 0, 0, 0, 1)),
    *(datetime.datetime(2026, 1, 1, 12, tzinfo=zone) for zone in _ZONES),
    *(datetime.datetime(2025, 12, 31, 19, tzinfo=_ZONES[2]), datetime.datetime(2026, 1, 1, 2, tzinfo=_ZONES[1])),
]
REGEXES = [
    *("", "^$", ".", "^.$", "^..$", "a|b", "^a", "b$", "[a-c]+", "^[^a]*$", "(?i)us", "(?i)^É$", "a.b", "(?s)e.b"),
    *(r"\d", r"^\PL*$", r"\pL", r"\\", r"\.", "a{2,3}", "(ab)*c?", "^(US|CA)$", "日", "😀", r"\bb", "%", "_"),
]

_POOLS: dict[str, list[Any]] = {
    "bool": [False, True],
    "int": INTS,
    "double": DOUBLES,
    "number": [*INTS, *DOUBLES, *DECIMALS],
    "string": STRINGS,
    "date": DATES,
    "timestamp": TIMESTAMPS,
    "list<int>": INTS,
    "list<string>": STRINGS,
}
_OTHER_LITERALS: dict[str, list[Any]] = {
    "int": [*HUGE_INTS, *DOUBLES, *DECIMALS, *LONG_DECIMALS],
    "double": [*INTS, *HUGE_INTS, *DECIMALS, *LONG_DECIMALS],
    "number": [*HUGE_INTS, *LONG_DECIMALS],
    "date": TIMESTAMPS,
    "timestamp": DATES,
}

Palettes = dict[str, list[Any]]


def palettes(rng: random.Random, attributes: Attributes = ATTRIBUTES, size: int = 4) -> Palettes:
    """For each attribute a few values that both rules and events use."""
    return {name: [rng.choice(_POOLS[kind]) for _ in range(size)] for name, kind in attributes.items()}


def literal(rng: random.Random, kind: str, palette: list[Any]) -> Any:
    """A constant of a rule: mostly of the palette, else any that the type can be compared with."""
    if rng.random() < 0.8:
        return rng.choice(palette)
    return rng.choice([*_POOLS[kind], *_OTHER_LITERALS.get(kind, [])])


def event_value(rng: random.Random, kind: str, palette: list[Any]) -> Any:
    """A value of an event, in one of the spellings that the type accepts; lists hold NULLs at times."""
    if kind.startswith("list<"):
        items = [event_value(rng, kind[5:-1], palette) for _ in range(rng.choice((0, 1, 2, 2, 3, 4)))]
        return [None if rng.random() < 0.15 else item for item in items]
    value = rng.choice(palette) if rng.random() < 0.85 else rng.choice(_POOLS[kind])
    if kind in ("date", "timestamp") and rng.random() < 0.2:
        return value.isoformat()
    return value
