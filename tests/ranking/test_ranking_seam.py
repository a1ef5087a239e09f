"""The seam for engines that rank by themselves: programs, bounds, and counters are right under every change."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import matchwood
from matchwood.engines import registry
from tests.cases import event, expression
from tests.conftest import SOAK
from tests.contract.ranking import Ranking, event_weights, rule_options
from tests.contract.twin import SCHEMA
from tests.pools import palettes
from tests.ranking.pruning import Pruning


@pytest.fixture(autouse=True)
def pruning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._ENGINES, "pruning", Pruning)


@pytest.mark.parametrize("seed", range(6 if SOAK else 2))
def test_bounds_hold_for_random_rules(seed: int) -> None:
    rng = random.Random(f"bounds/{seed}")
    shared = palettes(rng)
    twin = Ranking("pruning", SCHEMA, dnf_limit=(2, 256)[seed % 2])
    for number in range(60):
        rule = expression(rng, shared, leaves=rng.randint(1, 9))
        twin.put(number, rule, rule_options(rng, rule, shared))
    names = sorted(twin.index._encoder.schema.names())
    events = [event(rng, shared, missing=0.15) for _ in range(20)]
    for n in (1, 2, 5):
        assert twin.check(events, n, [event_weights(rng, names) for _ in events]) > 15


def test_bounds_follow_changes(tmp_path: Path) -> None:
    rng = random.Random("bounds under changes")
    shared = palettes(rng)
    twin = Ranking("pruning", {})
    for _ in range(60):
        if rng.random() < 0.3 and twin.rules:
            twin.remove(rng.choice(list(twin.rules)))
        else:
            rule = expression(rng, shared, leaves=rng.randint(1, 4))
            for number in rng.sample(range(30), 3):
                twin.put(number, rule, rule_options(rng, rule, shared))
        if rng.random() < 0.15:
            twin.index.compact()
        if rng.random() < 0.1:
            twin.reopen(tmp_path)
        names = sorted(twin.index._encoder.schema.names())
        events = [event(rng, shared, missing=0.15) for _ in range(2)]
        twin.check(events, rng.choice((1, 3)), [event_weights(rng, names) for _ in events])
    assert twin.index.audit() == []


def test_an_engine_is_told_when_bounds_of_its_units_rise() -> None:
    index = matchwood.Index(engine="pruning")
    index.insert_many([(1, "a = 1", {"weight": 2})])
    engine = index._matcher.engine  # type: ignore[attr-defined]
    index.insert_many([(2, "a = 1", {"weight": 1})])
    assert engine.weighed == 0
    index.insert_many([(3, "a = 1", {"weight": 3, "weights": {"a": 5}})])
    assert engine.weighed == 1
    assert index.top({"a": 1}, 2) == [(3, 8.0), (1, 3.0)]


def test_what_cannot_be_among_the_best_is_not_scored() -> None:
    index = matchwood.Index(engine="pruning")
    index.insert_many([(number, "a >= 1", {"weight": number}) for number in range(3)])
    index.insert_many([(number, f"a >= 1 and b <= {number}", {"weight": 100 - number}) for number in range(3, 100)])
    best = index.top({"a": 5, "b": 1}, 2)
    assert best == [(3, 99.0), (4, 98.0)]
    assert index.stats()["matching"]["scored"] == 2


def test_values_have_bounds_of_their_own() -> None:
    index = matchwood.Index(engine="pruning")
    for number in range(50):
        report = index.insert_many([(number, "a in ('x', 'y') and b > 0", {"weights": {"a": {"x": 0.1, "y": number}}})])
        assert report.rejected.num_rows == 0
    index.insert_many([(99, "b > 0 and b > 1", {"weights": {"b": 2}})])
    assert index.top({"a": "x", "b": 2}, 1) == [(99, 4.0)]
    assert index.stats()["matching"]["scored"] == 1
    assert index.top({"a": "y", "b": 2}, 1) == [(49, 50.0)]


def test_terms_of_an_or_bound_their_own_units() -> None:
    index = matchwood.Index(engine="pruning")
    index.insert_many([(1, "(a = 1 and b = 1) or (a = 1 and c = 1 and d = 1)", {"weights": {"c": 50}})])
    index.insert_many([(2, "a = 1 and b = 1 and e = 1 and f = 1")])
    event = {"a": 1, "b": 1, "e": 1, "f": 1}
    assert index.top(event, 1) == [(2, 4.0)]
    assert index.stats()["matching"]["scored"] == 1
    assert index.top({**event, "c": 1, "d": 1}, 1) == [(1, 52.0)]
