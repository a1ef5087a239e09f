"""Small indexes that hold something of everything, and the events to ask them about."""

from __future__ import annotations

import datetime
import random
from typing import Any

import matchwood as mw

SCHEMA = {"age": "int", "born": "date", "geo": {"zip": "int"}, "props": "map<string,string>"}
RULES = {
    "adult": "age >= 18 and country in ('US', 'CA')",
    "minor": "age < 18",
    "same": "age<18",
    "null": "country is null or country not in ('US')",
    "double": "score between 0.5 and 0.9 xor vip",
    "text": "name like 'A%' and name != 'Ann'",
    "pattern": "name like '%n_a%' or name rlike '^b+$'",
    "folded": "name ilike '%É%'",
    "tags": "tags one of ('sport', 'news') and not tags all of ('a', 'b')",
    "numbers": "ids none of (1, 2, 3)",
    "time": "seen >= timestamp '2026-01-01 00:00:00' and born < date '2000-02-29'",
    "path": "geo.zip = 12345 or `odd.name` = true",
    "map": "props.color = 'red'",
    "always": "true",
    "never": "age > 5 and age < 5",
    "wide": " and ".join(f"(a{number} = 1 or b{number} > 2.5)" for number in range(10)),
    "unknown": "(score > 0.7) is not true",
}


def sample_index(engine: str = "auto", text_ids: bool = True, **settings: Any) -> mw.Index:
    """An index with a past: rules were deleted and replaced."""
    index = mw.Index(engine=engine, schema=SCHEMA, timezone="Europe/Rome", **settings)
    rules = RULES if text_ids else {number * 3 - 10: text for number, text in enumerate(RULES.values())}
    gone = ["gone", "went"] if text_ids else [1000, 2000]
    index.insert_many({gone[0]: "age = 99 and x = 'gone'", **rules, gone[1]: "score < 0.1 or tags one of ('gone')"})
    for rule_id in gone:
        del index[rule_id]
    first = next(iter(rules))
    index[first] = "age >= 21"
    index.insert_many(
        [(first, rules[first], {"weight": 2.5, "weights": {"country": {"US": 3}}})], on_duplicate="replace"
    )
    return index


def sample_events(count: int, seed: int = 1) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [_event(rng) for _ in range(count)]


def _event(rng: random.Random) -> dict[str, Any]:
    values: dict[str, Any] = {
        "age": rng.choice((5, 17, 18, 30, 99)),
        "country": rng.choice(("US", "CA", "FR", "")),
        "score": rng.choice((0.05, 0.5, 0.7, 0.95, 1, float("nan"))),
        "vip": rng.random() < 0.5,
        "name": rng.choice(("Ann", "Anna", "Andrea", "bbb", "émile", "Zoë", "")),
        "tags": rng.sample(["sport", "news", "a", "b", "gone", None], rng.randrange(4)),
        "ids": rng.sample([1, 2, 5, 6], rng.randrange(3)),
        "seen": rng.choice(("2025-12-31T23:30:00", datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC))),
        "born": rng.choice(("1999-01-01", datetime.date(2001, 1, 1))),
        "geo": {"zip": rng.choice((12345, 1))},
        "odd.name": rng.random() < 0.3,
        "props": {"color": rng.choice(("red", "blue"))},
        **{f"{letter}{number}": rng.choice((1, 3)) for number in range(10) for letter in "ab"},
    }
    return {name: value for name, value in values.items() if rng.random() < 0.8}


def answers(index: mw.Index, events: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """All hits, as plain data."""
    return index.match_many(events).to_pydict()  # type: ignore[no-any-return]
