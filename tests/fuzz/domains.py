"""Attributes by kind, and the values that rules and events draw from: few of them, so that equalities hold."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from typing import Any, TypeAlias

KINDS: dict[str, str] = {
    "vip": "bool",
    "Vip": "bool",
    "age": "int",
    "`a.b`": "int",
    "height": "double",
    "net.load": "double",
    "mixed": "number",
    "x": "number",
    "y": "number",
    "z": "number",
    "country": "string",
    "geo.city": "string",
    "odd name": "string",
    "born": "date",
    "seen": "timestamp",
    "größe": "timestamp",
    "ids": "list<int>",
    "tags": "list<string>",
}
"""Names as answers spell them; `number` takes ints, doubles and decimals, and is never declared."""

ORDERED = ("=", "!=", "<", "<=", ">", ">=", "in", "not in", "between", "not between")
PATTERNS = ("like", "not like", "ilike", "not ilike", "rlike", "not rlike")
LISTS = ("one of", "all of", "none of", "contains", "not contains")
NULLS = ("is null", "is not null")

INTS = [*range(-2, 8), 255, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 - 2, -(2**63)]
HUGE = [2**63, -(2**63) - 1, 10**30]
DOUBLES = [
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 0.1, 0.1 + 0.2),
    *(5e-324, -5e-324, 1.7976931348623157e308, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63)),
]
DECIMALS = [
    *map(Decimal, ("0.1", "10.05", "0.5", "-0.1", "2.50", "1.00000000000000000001", "0.1000000000000000055", "1.5")),
    *map(Decimal, ("9007199254740993.5", "9007199254740993", "0.99999999999999999999", "1E-400", "1E+30", "-1E+40")),
]
STRINGS = [
    *("", " ", "a", "b", "A", "ab", "abc", "abd", "ba", "US", "us", "it's", '"', "`", "a_b", "a%b", "50%"),
    *("a\\b", "\\", "a!b", "line\nbreak", "é", "É", "e\u0301", "ß", "İ", "Σ", "ς", "日本", "\uffff", "😀", "😀a"),
]
DATES = [datetime.date(*day) for day in ((1970, 1, 1), (1969, 12, 31), (2024, 2, 29), (2026, 3, 8), (1, 1, 3))]
_EAST, _WEST = (datetime.timezone(datetime.timedelta(minutes=each)) for each in (345, -300))
TIMESTAMPS = [
    *(datetime.datetime(day.year, day.month, day.day) for day in DATES),
    *(datetime.datetime(2026, 3, 8, 2, 30), datetime.datetime(2026, 11, 1, 1, 30)),
    *(datetime.datetime(2026, 3, 8, 0, 0, 0, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)),
    *(datetime.datetime(2026, 3, 8, 12, tzinfo=zone) for zone in (datetime.UTC, _EAST, _WEST)),
]
POOLS: dict[str, list[Any]] = {
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
STRANGERS: dict[str, list[Any]] = {
    "int": [*HUGE, *DOUBLES, *DECIMALS],
    "double": [*HUGE, *INTS, *DECIMALS],
    "number": HUGE,
    "date": TIMESTAMPS,
    "timestamp": DATES,
}
"""Constants that a kind may be compared with, although no event holds them."""

ZONES = ("UTC", "UTC", "UTC", "America/New_York", "Asia/Kathmandu", "+02:00")

Palette: TypeAlias = dict[str, list[Any]]


def operators(kind: str) -> tuple[str, ...]:
    if kind.startswith("list<"):
        return (*LISTS, *NULLS)
    return (*ORDERED, *PATTERNS, *NULLS) if kind == "string" else (*ORDERED, *NULLS)


def palette(rng: random.Random, names: list[str], most: int) -> Palette:
    """A few values for each attribute, the plain ones more often."""
    return {name: _few(rng, POOLS[KINDS[name]], most) for name in names}


def _few(rng: random.Random, pool: list[Any], most: int) -> list[Any]:
    near = pool[:8] if rng.random() < 0.6 else pool
    return [rng.choice(near) for _ in range(rng.randint(2, most))]


def constant(rng: random.Random, kind: str, own: list[Any]) -> Any:
    """A constant of a rule: mostly of the palette."""
    if rng.random() < 0.88:
        return rng.choice(own)
    return rng.choice([*POOLS[kind], *STRANGERS.get(kind, [])])


def event_value(rng: random.Random, kind: str, own: list[Any]) -> Any:
    """A value of an event; lists hold NULLs at times."""
    if kind.startswith("list<"):
        items = [event_value(rng, kind[5:-1], own) for _ in range(rng.choice((0, 1, 2, 2, 3)))]
        return [None if rng.random() < 0.1 else item for item in items]
    return rng.choice(own) if rng.random() < 0.88 else rng.choice(POOLS[kind])
