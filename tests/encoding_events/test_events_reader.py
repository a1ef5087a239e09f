"""Events that come one after the other are read as those of a chunk are, whatever they hold and whatever changes."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import matchwood as mw
from matchwood.encoding import EventReader, event_plan, sorted_pairs
from matchwood.encoding.events.one_event import reader as reading

RULES = {
    "a": "a > 5", "b": "b between -3 and 2.5", "c": "c = 9007199254740993", "d": "d < 0.1", "t": "t >= 'm'",
    "n": "n.m = 2", "l": "tags contains 'x'", "k": "k like 'x%'", "z": "z is null", "f": "f = true",
}  # fmt: skip
VALUES: list[Any] = [
    0, 1, 2, 6, -7, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**63, 0.1, 2.5, -0.0, math.inf, math.nan,
    None, True, False, "x", "m", "", Decimal("0.1"), Decimal(2), np.int8(6), np.float32(0.5), np.float64("nan"), ["x"],
    {"m": 2}, {"m": 2.0},
]  # fmt: skip


def pairs_by(reader: EventReader, index: mw.Index, event: dict[str, Any]) -> list[int] | None:
    found = reader.read(event_plan(index._encoder), event)
    return None if found is None else np.frombuffer(found, np.int64).tolist()


@pytest.mark.parametrize("settings", [{}, {"nan": "null"}, {"options": {"spaces": "pstree"}}], ids=str)
def test_as_those_of_a_chunk(settings: dict[str, Any]) -> None:
    index, rng, reader = mw.Index("pstbloom", **settings), random.Random(1), EventReader()
    index.insert_many(RULES)
    names = [*"abcdtkzfn", "tags", "unknown", "n.m"]
    for step in range(3_000):
        kept = VALUES[:10] if step % 3 else VALUES
        event = {name: rng.choice(kept) for name in rng.sample(names, rng.randrange(6))}
        assert pairs_by(reader, index, event) == sorted_pairs(event_plan(index._encoder), event), event
        if step % 100 == 99:
            index[f"more {step}"] = f"{rng.choice('abcd')} >= {rng.choice([1, 2.5, -7, 0.1, 2**53 + 1])}"
        if step % 300 == 299:
            del index[f"more {step}"]


@pytest.mark.parametrize("keys", [reading.MOST - 1, reading.MOST, reading.MOST + 1, 3 * reading.MOST])
def test_events_of_many_keys(keys: int) -> None:
    index, reader = mw.Index("scan"), EventReader()
    index.insert_many({number: f"a{number} > {number}" for number in range(2 * reading.MOST)})
    event: dict[str, Any] = {f"a{number}": number + number % 2 for number in range(keys)}
    for changed in (event, event | {"a1": 0.5}, event | {"a2": None}, dict(reversed(event.items()))):
        assert pairs_by(reader, index, changed) == sorted_pairs(event_plan(index._encoder), changed)
        assert index.match(changed) == [
            number for number in range(min(keys, 2 * reading.MOST)) if (changed[f"a{number}"] or 0) > number
        ]


def test_lines_of_plans_that_threads_made_at_once_are_all_forgotten() -> None:
    index = mw.Index("scan")
    index["low"] = "a < 10"
    encoder = index._encoder
    first = event_plan(encoder)
    encoder.event_plan = None
    second = event_plan(encoder)
    readers = [(EventReader(), plan) for plan in (first, second)]
    before = [reader.read(plan, {"a": 5}) for reader, plan in readers]
    index["lower"] = "a < 5"
    after = [reader.read(plan, {"a": 5}) for reader, plan in readers]
    assert before[0] == before[1] != after[0] == after[1]
