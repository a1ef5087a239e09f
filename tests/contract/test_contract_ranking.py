"""The contract for ranking: the best rules, their scores to the bit, on every engine."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.cases import event, expression
from tests.contract.ranking import Ranking, event_weights, rule_options
from tests.contract.twin import SCHEMA
from tests.pools import palettes


@pytest.mark.parametrize("seed", range(4))
def test_random_rules_score_as_the_oracle_says(engine: str, seed: int) -> None:
    rng = random.Random(f"ranking/{seed}")
    shared = palettes(rng)
    twin = Ranking(engine, SCHEMA, dnf_limit=rng.choice((2, 256)))
    for number in range(60):
        rule = expression(rng, shared, leaves=rng.randint(1, 9))
        twin.put(number, rule, rule_options(rng, rule, shared))
    names = sorted(twin.index._encoder.schema.names())
    events = [event(rng, shared, missing=0.15) for _ in range(25)]
    weights = [event_weights(rng, names) for _ in events]
    assert twin.check(events, 3, weights) > 25
    assert twin.check(events, 1000, weights) > 100


@pytest.mark.parametrize("seed", range(2))
def test_a_life_of_changes(engine: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"changes/{seed}")
    shared = palettes(rng)
    twin = Ranking(engine, {})
    for _ in range(40):
        chance = rng.random()
        if chance < 0.3 and twin.rules:
            twin.remove(rng.choice(list(twin.rules)))
        else:
            for number in rng.sample(range(30), rng.randint(1, 4)):
                rule = expression(rng, shared, leaves=rng.randint(1, 6))
                twin.put(number, rule, rule_options(rng, rule, shared))
        if rng.random() < 0.15:
            twin.index.compact()
        if rng.random() < 0.1:
            twin.reopen(tmp_path)
        events = [event(rng, shared, missing=0.15) for _ in range(3)]
        names = sorted(twin.index._encoder.schema.names())
        twin.check(events, rng.choice((1, 5, 100)), [event_weights(rng, names) for _ in events])
    assert twin.index.audit() == []
