"""Rules and events for the tests of matching, indexes saved whole or in shards, and what an Index itself answers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from matchwood import Index, storage
from matchwood.matching.saving import index_part, index_settings
from matchwood.sharding.summary import layout_of, summary_of

EVENTS_DDL = "id bigint, age int, score double, country string, tags array<string>, extra string"


def some_rules(count: int, seed: int) -> dict[Any, str]:
    """Rules over the columns of `some_events`, among them some that only ask for NULL."""
    draw = random.Random(seed)
    predicates = [
        lambda: f"age >= {draw.randrange(80)}",
        lambda: f"age between {draw.randrange(40)} and {draw.randrange(40, 80)}",
        lambda: f"country in ('{draw.choice('ABCD')}', '{draw.choice('EFGH')}')",
        lambda: f"not (score < {draw.random():.2f})",
        lambda: f"tags one of ('{draw.choice('xyz')}', 'w')",
        lambda: f"country like '{draw.choice('ABCDE')}%'",
        lambda: "score is null",
    ]
    return {
        number: f" {draw.choice(['and', 'or'])} ".join(draw.choice(predicates)() for _ in range(draw.randint(1, 4)))
        for number in range(count)
    }


def some_events(count: int, seed: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {
            "id": number,
            "age": draw.choice([None, draw.randrange(90)]),
            "score": draw.choice([None, draw.random()]),
            "country": draw.choice([None, *"ABCDEFGH"]),
            "tags": draw.choice([None, [], ["x"], ["y", "w"], ["z", None]]),
            "extra": f"not for rules {number}",
        }
        for number in range(count)
    ]


def index_of(rules: Mapping[Any, str]) -> Index:
    index = Index()
    report = index.insert_many(list(rules.items()))
    assert not report.rejected.num_rows
    return index


def save_shards(path: str, rules: Mapping[Any, str], shards: int) -> int:
    """The rules as a version of several shards, dealt out by turns; returns its number."""
    ordered = sorted(rules.items())
    indexes = [index_of(dict(ordered[number::shards])) for number in range(shards)]
    names = [f"s{number}" for number in range(shards)]
    layout = layout_of(names, [summary_of(index) for index in indexes])
    parts = {name: index_part(index) for name, index in zip(names, indexes, strict=True)}
    return storage.save(path, parts, layout.header(index_settings(indexes[0])))


def expected(index: Index, events: Sequence[Mapping[str, Any]]) -> dict[int, list[Any]]:
    """The ids for each event's `id`, as the Index says."""
    hits: dict[int, list[Any]] = {event["id"]: [] for event in events}
    for hit in index.match_many(list(events)).to_pylist():
        hits[events[hit["event"]]["id"]].append(hit["rule"])
    return hits


def plan_of(frame: Any) -> str:
    """The physical plan as text; the same call for a classic and a Connect frame."""
    import contextlib
    import io

    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        frame.explain()
    return told.getvalue()
