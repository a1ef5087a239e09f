"""Tables of rules, and what an embedded index makes of the same ones."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import matchwood as mw

EVENTS = [
    {"age": 30, "city": "Rome", "vip": True},
    {"age": 3, "city": "Oslo", "tags": ["a", "b"]},
    {"city": "Bonn", "vip": False, "tags": []},
    {"age": 64, "tags": ["b"]},
    {},
]


def sound_rules(count: int, seed: int = 5) -> list[tuple[Any, str]]:
    """Rules in a random order of ids."""
    rng = random.Random(seed)
    tests = ["age >= {}", "age < {} and city = 'Rome'", "vip or age = {}", "tags one of ('a', 'z{}')", "city like 'R%'"]
    rules = [(number, rng.choice(tests).format(rng.randrange(70))) for number in range(count)]
    rng.shuffle(rules)
    return rules


def frame(spark: Any, rules: Iterable[tuple[Any, ...]], columns: str = "id long, expression string") -> Any:
    return spark.createDataFrame(list(rules), columns).repartition(3)


def embedded(rules: Iterable[tuple[Any, ...]], **settings: Any) -> tuple[mw.Index, Any]:
    """The same rules in one index, taken in the order of ids."""
    index = mw.Index(**settings)
    return index, index.insert_many(sorted(rules, key=lambda rule: rule[0]))


def same_answers(opened: mw.Index, expected: mw.Index) -> None:
    assert dict(opened.items()) == dict(expected.items())
    for event in EVENTS:
        assert opened.match(event) == expected.match(event)
