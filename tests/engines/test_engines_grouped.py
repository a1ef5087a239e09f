"""`grouped`: units that match often, and those that do not, each where they are found fastest."""

from __future__ import annotations

from struct import pack

import numpy as np
import pytest
from engines_support import COMPILED, Conjunction, Constraint, encode, encode_events, is_true, random_events
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.engines import ConjunctionStore, Grouped, Workspace
from matchwood.engines.grouped import group as groups
from matchwood.errors import CorruptSnapshot

ATTRIBUTES, TOP = 6, 1_000


def wide_and_narrow(rng: np.random.Generator, count: int) -> list[Conjunction]:
    """Every third is true of most events, the others of hardly any."""
    found = []
    for number in range(count):
        width = int(rng.integers(700, 999)) if number % 3 == 0 else int(rng.integers(1, 60))
        attributes = sorted(rng.choice(ATTRIBUTES, 3, replace=False).tolist())
        starts = [int(rng.integers(0, TOP - width)) for _ in attributes]
        found.append(
            tuple(
                Constraint(attribute, ((start, start + width),))
                for attribute, start in zip(attributes, starts, strict=True)
            )
        )
    return found


class Seen:
    """Events of which every attribute has any value."""

    events = 10_000

    def shares(
        self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        return np.clip((high.astype(np.float64) - low) / TOP, 0.0, 1.0)


def made(count: int = 300, seed: int = 1) -> tuple[Grouped, list[Conjunction]]:
    conjunctions = wide_and_narrow(np.random.default_rng(seed), count)
    store = ConjunctionStore()
    store.add(encode(conjunctions))
    engine = Grouped(store)
    engine.event_statistics = Seen()
    engine.rebuild()
    return engine, conjunctions


def some_events(count: int, seed: int = 2) -> list[dict[int, int]]:
    return random_events(np.random.default_rng(seed), count, attributes=ATTRIBUTES, top=TOP)


def check(engine: Grouped, conjunctions: dict[int, Conjunction], events: list[dict[int, int]]) -> None:
    """All hits, by batches with much and with little room, and one event after the other."""
    expected = [{unit for unit, each in conjunctions.items() if is_true(each, event)} for event in events]
    encoded = encode_events(events)
    for workspace in (Workspace(), Workspace(room=0)):
        position = 0
        while position < len(events):
            found = engine.match(encoded, position, workspace)
            for number, units in enumerate(np.split(found.units, found.offsets[1:-1])):
                assert len(set(units.tolist())) == len(units)
                assert set(units.tolist()) == expected[position + number]
            assert found.work.matched == len(found.units)
            position += found.count
    search = engine.one_event(Workspace())
    for event, hits in zip(events[:40], expected, strict=False):
        count = search.hits(b"".join(pack("2i", label, attribute) for attribute, label in sorted(event.items())))
        assert count is not None
        assert set(search.units[:count].tolist()) == hits
        assert len(hits) == count
        assert (search.work[0], search.work[3]) == (1, count)
    assert engine.audit() == []


def test_units_are_divided_by_how_often_they_should_match() -> None:
    engine, conjunctions = made()
    told = engine.stats()
    assert 0 < told["groups"]["often"] <= 100
    assert sum(told["groups"].values()) == 300
    wide = [engine._often.numbers.view()[place] for place in engine._often.store.live_units()]
    assert all(number % 3 == 0 for number in wide)
    check(engine, dict(enumerate(conjunctions)), some_events(200 if COMPILED else 20))
    assert engine.stats()["unions"]["bytes"] > 0


def test_units_come_and_go_in_both_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "SPARE", 5)
    rng = np.random.default_rng(5)
    engine, first = made(120)
    store, known = engine.store, dict(enumerate(first))
    asked, rounds = some_events(40 if COMPILED else 5), 12 if COMPILED else 2
    largest = engine._often.store.count
    for _ in range(rounds):
        gone = rng.choice(list(known), 30, replace=False).astype(np.int32)
        engine.remove(gone)
        store.free(store.drop(gone))
        for unit in gone.tolist():
            del known[unit]
        fresh = wide_and_narrow(rng, 30)
        added = store.add(encode(fresh))
        engine.insert(added.new_units)
        known |= dict(zip(added.units.tolist(), fresh, strict=True))
        check(engine, known, asked)
    assert engine._often.store.count < largest + 10 * rounds


def test_it_is_divided_anew_by_what_events_are_like() -> None:
    engine, conjunctions = made()
    before = engine.stats()["groups"]["often"]

    class Narrow(Seen):
        def shares(
            self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
        ) -> NDArray[np.float64]:
            return super().shares(attributes, low, high) / 100

    engine.event_statistics = Narrow()
    engine.reconsider()
    assert engine.stats()["groups"]["often"] == 0 < before
    check(engine, dict(enumerate(conjunctions)), some_events(30 if COMPILED else 5))


def test_it_is_saved_with_both_groups() -> None:
    engine, conjunctions = made()
    store = ConjunctionStore()
    store.restore(engine.store.arrays(), engine.store.header())
    opened = Grouped(store)
    opened.restore(engine.arrays(), engine.header())
    check(opened, dict(enumerate(conjunctions)), some_events(30 if COMPILED else 5))
    assert opened.stats()["groups"] == engine.stats()["groups"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("often.numbers", 299, "not where it should be"),
        ("often.numbers", 300, "'numbers'"),
        ("often.places", 90, "taken by dead units|'places'"),
    ],
)
def test_damaged_groups_are_refused(name: str, value: int, told: str) -> None:
    engine, _ = made()
    arrays = {each: array.copy() for each, array in engine.arrays().items()}
    place = 0 if name == "often.numbers" else 1
    assert arrays[name][place] != value
    arrays[name][place] = value
    damaged = Grouped(engine.store)
    damaged.restore(arrays, engine.header())
    with pytest.raises(CorruptSnapshot, match=told):
        damaged.check()
    header = {each: value for each, value in engine.header().items() if each != "often"}
    with pytest.raises(CorruptSnapshot, match="nothing of 'often'"):
        Grouped(engine.store).restore(engine.arrays(), header)


def test_an_audit_finds_units_in_both_groups_and_in_none() -> None:
    engine, _ = made()
    lost, twice = engine._often.numbers.view()[:2].tolist()
    engine._often.remove(np.array([lost], np.int32))
    engine._seldom.insert(np.array([twice], np.int32))
    assert any(f"unit {lost} is alive or indexed, but not both" in problem for problem in engine.audit())
    assert any(f"unit {twice} stands in both groups" in problem for problem in engine.audit())


def test_an_audit_compares_what_both_stores_say() -> None:
    engine, _ = made()
    numbers = engine._often.numbers.view().copy()
    numbers[:2] = numbers[1], numbers[0]
    engine._often.numbers = Growable(np.int32, numbers)
    assert any("say something else" in problem for problem in engine.audit())
