"""Trials: engines over a copy of a store, measured alike, and handed over to the store as it is by then."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.bench.frame.encoded_rules import Encoded, encoded
from matchwood.choosing import trial as trials
from matchwood.choosing.trial import PIECE, MeasuredTrial, Stopwatch, Trial, match_all
from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import Engine, Work, Workspace, chosen_class, chosen_names
from matchwood.matching.ledger.clock import FIRST_LOOK, LATER, SLOWER, WINDOW, MatchingClock
from matchwood.workloads.begen import begen
from matchwood.workloads.hem import hem

NONE = Work(0, 0, 0)


@pytest.fixture
def given() -> Encoded:
    return encoded(begen(rules=400, events=5 * PIECE, matching=0.05, seed=3))


def hits_of(engine: Engine, events: EncodedEvents) -> list[list[int]]:
    found = engine.match(events, 0, Workspace())
    assert found.count == events.count
    return [sorted(units.tolist()) for units in np.split(found.units, found.offsets[1:-1])]


@pytest.mark.parametrize("name", chosen_names())
def test_an_engine_catches_up_with_its_store(name: str, given: Encoded) -> None:
    store, rest = given.store, encoded(begen(rules=90, events=5, matching=0.05, seed=4)).store
    trial = Trial(store.copy(), given.events, [name], {}, 0)
    gone = store.live_units()[::7]
    store.drop(gone)
    store.free(gone)
    added = store.add(rest.encoded(rest.live_units()))
    late = added.new_units[-3:]
    store.drop(late)
    store.free(late)
    best = trial.run(match_all(trial.built("scan")))  # type: ignore[arg-type]
    assert best is not None
    assert best.name == name
    trial.catch_up(best, store)
    store.take_over(best.store)
    best.store = store
    assert store.audit() == []
    fresh = chosen_class("scan")(store)
    fresh.rebuild()
    assert hits_of(best, given.events) == hits_of(fresh, given.events)
    assert best.audit() == []
    more = store.add(rest.encoded(rest.live_units()[-3:])).new_units
    best.insert(more)
    fresh.insert(more)
    assert hits_of(best, given.events) == hits_of(fresh, given.events)


@pytest.mark.parametrize("name", ["counting", "hem"])
def test_unions_of_a_trial_catch_up(name: str, given: Encoded) -> None:
    store, rest = given.store, encoded(begen(rules=60, events=5, matching=0.05, seed=4)).store
    trial = Trial(store.copy(), given.events, [name], {"unions": "always"}, 0)
    engine = trial.run(match_all(trial.built(name)))  # type: ignore[arg-type]
    assert engine is not None
    gone = store.live_units()[::9]
    store.drop(gone)
    store.free(gone)
    store.add(rest.encoded(rest.live_units()))
    trial.catch_up(engine, store)
    store.take_over(engine.store)
    engine.store = store
    assert engine.stats()["unions"]["fresh"] > 0
    fresh = chosen_class("scan")(store)
    fresh.rebuild()
    assert hits_of(engine, given.events) == hits_of(fresh, given.events)


@pytest.mark.parametrize("name", ["counting", "hem"])
def test_an_engine_has_its_unions_before_it_is_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.shared.unions.keeper.LEAST_UNITS", 10)
    plain = encoded(hem(rules=3_000, events=2 * PIECE, attributes=3, width=0.8, seed=3))
    trial = Trial(plain.store.copy(), plain.events, [name], {}, 0)
    engine = trial.built(name)
    assert engine is not None
    trial._stopwatch.get_ready(engine)
    assert engine.stats()["unions"]["bytes"] > 0


def test_a_copy_of_a_store_shares_nothing(given: Encoded) -> None:
    copy, units = given.store.copy(), given.store.live_units()
    before = {name: array.copy() for name, array in copy.arrays().items()}
    given.store.relabel(3, np.array([5], np.int32), np.array([6], np.int32))
    given.store.drop(units)
    given.store.free(units)
    assert (given.store.live, copy.live) == (0, len(units))
    assert all(np.array_equal(array, before[name]) for name, array in copy.arrays().items())
    assert copy.audit() == []


def test_a_trial_measures_every_engine_and_returns_the_fastest(given: Encoded) -> None:
    trial = Trial(given.store, given.events, ["scan", "pstbloom", "counting"], {}, 0)
    best = trial.run(match_all(trial.built("hem")))  # type: ignore[arg-type]
    assert best is not None
    assert set(trial.measured) == {"scan", "pstbloom", "counting"}
    assert all(trial.measured[best.name].ratio(other) <= 1 for other in trial.measured.values())
    assert trial.seconds > 0
    assert all(1 <= len(found.pieces) <= 5 for found in trial.measured.values())


def test_a_stopwatch_stops_when_the_time_is_over(given: Encoded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "MOST_SECONDS", 0.0)
    calls: list[int] = []
    found = Stopwatch(given.events).time(lambda events, workspace: calls.append(events.count))
    assert len(found.pieces) == 1
    assert calls == [PIECE, PIECE]


def test_a_hopeless_engine_is_given_up(given: Encoded, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1_000))
    monkeypatch.setattr(trials, "thread_time", lambda: next(ticks) * 1e-3)
    found = Stopwatch(given.events).time(lambda events, workspace: None, MeasuredTrial((1e-5,) * 5))
    assert len(found.pieces) == 2


def test_engines_are_compared_over_the_events_that_both_have_seen() -> None:
    assert MeasuredTrial((1.0, 2.0, 300.0)).ratio(MeasuredTrial((2.0, 4.0))) == 0.5
    assert MeasuredTrial((PIECE * 1e-6, PIECE * 2e-6)).us() == pytest.approx(1.5)


def test_a_clock_is_due_after_a_while_and_later_again() -> None:
    clock = MatchingClock()
    clock.fold(100, 300, FIRST_LOOK / 2)
    assert (clock.due, clock.hits()) == (False, 3.0)
    clock.fold(100, 0, FIRST_LOOK / 2)
    assert (clock.due, clock.hits()) == (True, 1.5)
    clock.look_later()
    clock.fold(1, 0, FIRST_LOOK / 2)
    assert not clock.due
    clock.fold(1, 0, LATER * FIRST_LOOK)
    assert clock.due
    clock.begin_anew()
    assert (clock.due, clock.hits()) == (False, None)


def test_events_that_take_longer_than_usual_are_a_reason_to_look() -> None:
    clock = MatchingClock()
    clock.look_at(1e9)
    for _ in range(5):
        clock.fold(1_000, 0, WINDOW)
    assert not clock.due
    clock.fold(1_000, 0, WINDOW * SLOWER * 1.01)
    assert clock.due
