"""Rules with weights, and what they must score: the oracle's own function, sorted."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import matchwood
from matchwood.language.tree import Expression, Predicate, postorder
from matchwood.ranking.weights import checked_weights
from matchwood.semantics.scores import score
from tests.pools import ATTRIBUTES, Palettes, literal

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.7, 1.0, 2.0, 3.1, 1e-300, 1e16)
"""Sums of these depend on the order of additions."""

Best = list[tuple[Any, float]]


def rule_options(rng: random.Random, rule: Expression, shared: Palettes) -> dict[str, Any] | None:
    """Weights for a rule: none, a constant, by attribute, by value."""
    if rng.random() < 0.3:
        return None
    weights: dict[str, Any] = {}
    for name in sorted({node.attr for node in postorder(rule) if isinstance(node, Predicate)}):
        chance = rng.random()
        if chance < 0.3:
            weights[name] = rng.choice(WEIGHTS)
        elif chance < 0.8:
            kind = ATTRIBUTES[name]
            values = [literal(rng, kind, shared[name]) for _ in range(rng.randint(1, 4))]
            weights[name] = {value: rng.choice(WEIGHTS) for value in values}
    return {"weight": rng.choice(WEIGHTS), "weights": weights}


def event_weights(rng: random.Random, known: Sequence[str]) -> dict[str, float]:
    return {name: rng.choice(WEIGHTS) for name in known if rng.random() < 0.5}


class Ranking:
    """An index under test and the rules that it should have, with their weights."""

    def __init__(self, engine: str, types: Mapping[str, str], **options: Any) -> None:
        self.index = matchwood.Index(engine=engine, schema=types, **options)
        self.rules: dict[Any, tuple[Expression, float, dict[str, Any]]] = {}

    def put(self, rule_id: Any, rule: Expression, options: Mapping[str, Any] | None) -> bool:
        """Insert or replace a rule; False if its weights name a value twice."""
        report = self.index.insert_many([(rule_id, str(rule), options)], on_duplicate="replace")
        if report.rejected.num_rows:
            told = report.rejected["error"][0].as_py()
            assert "the same value" in told or "no value of" in told, told
            return False
        checked = checked_weights(options)
        self.rules[rule_id] = (rule, checked.constant, json.loads(checked.by_attribute or "{}"))
        return True

    def remove(self, rule_id: Any) -> None:
        del self.index[rule_id]
        del self.rules[rule_id]

    def reopen(self, path: Path) -> None:
        self.index.save(path)
        self.index = matchwood.open(path)

    def expected(self, event: Mapping[str, Any], n: int, weights: Mapping[str, float]) -> Best:
        types, found = self.index.types(), []
        for place, (rule_id, (rule, constant, own)) in enumerate(self.rules.items()):
            scored = score(rule, event, own, weights, types)
            if scored is not None:
                found.append((-(scored + constant), place, rule_id))
        return [(rule_id, -negative) for negative, _, rule_id in sorted(found)[:n]]

    def check(self, events: Sequence[Mapping[str, Any]], n: int, weights: Sequence[Mapping[str, float]]) -> int:
        """Compare the best rules of events, one by one and together; returns how many there were."""
        wanted = [self.expected(event, n, own) for event, own in zip(events, weights, strict=True)]
        for event, own, best in zip(events, weights, wanted, strict=True):
            assert self.index.top(event, n, own) == best, event
        assert ranks(self.index.top_many(list(events), n, list(weights)), len(events)) == wanted
        return sum(map(len, wanted))


def ranks(table: pa.Table, count: int) -> list[Best]:
    """The best rules of each event, from the table that `top_many` returns."""
    assert table.column_names == ["event", "rank", "rule", "score"]
    found: list[Best] = [[] for _ in range(count)]
    last = -1
    for row in table.to_pylist():
        assert row["event"] >= last
        last = row["event"]
        found[last].append((row["rule"], row["score"]))
        assert row["rank"] == len(found[last])
    return found
