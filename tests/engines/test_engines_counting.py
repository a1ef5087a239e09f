"""The posting lists of `counting`: how they grow, what they cost, and when they are built anew."""

from __future__ import annotations

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Constraint,
    encode_events,
    expected,
    found,
    random_conjunctions,
    random_events,
    stored,
)

from matchwood.encoding.codes import TOP_LABEL, EncodedConjunctions
from matchwood.engines import ConjunctionStore, Workspace
from matchwood.engines.counting import Counting
from matchwood.engines.shared import postings

RANGES = 20_000 if COMPILED else 300


def one_sided(count: int, seed: int = 1) -> EncodedConjunctions:
    """Ranges on one attribute with distinct constants, half of them open at either end."""
    rng = np.random.default_rng(seed)
    step = 2**31 // count
    bounds = (rng.permutation(count - 1) + 1).astype(np.int64) * step
    upward = rng.random(count - 1) < 0.5
    return EncodedConjunctions(
        np.arange(count, dtype=np.int64),
        np.zeros(count - 1, dtype=np.int32),
        np.zeros(count - 1, dtype=np.bool_),
        np.arange(count, dtype=np.int64),
        np.where(upward, bounds, 0).astype(np.int32),
        np.where(upward, TOP_LABEL, bounds).astype(np.int32),
    )


def part(encoded: EncodedConjunctions, start: int, stop: int) -> EncodedConjunctions:
    count = np.arange(stop - start + 1, dtype=np.int64)
    return EncodedConjunctions(count, *(array[start:stop] for array in encoded[1:3]), count,
                               encoded.low[start:stop], encoded.high[start:stop])  # fmt: skip


def check_ranges(engine: Counting, encoded: EncodedConjunctions, units: np.ndarray) -> None:
    labels = [0, 1, 2**30, 2**30 + 12345, TOP_LABEL - 1]
    for label, hits in zip(labels, found(engine, encode_events([{0: label} for label in labels])), strict=True):
        assert hits == set(units[(encoded.low <= label) & (label < encoded.high)].tolist())


def test_ranges_are_never_enumerated() -> None:
    encoded = one_sided(RANGES)
    store = ConjunctionStore()
    engine = Counting(store)
    units = store.add(encoded).units
    engine.insert(units)
    assert engine.stats()["postings"] <= 31 * len(units)
    assert engine.stats()["bytes_index"] < 700 * len(units)
    check_ranges(engine, encoded, units)


def test_ranges_inserted_one_by_one_cost_the_same_room() -> None:
    encoded = one_sided(RANGES // 10 + 10)
    store = ConjunctionStore()
    engine = Counting(store)
    units = []
    for place in range(encoded.count):
        added = store.add(part(encoded, place, place + 1))
        engine.insert(added.new_units)
        units.append(added.units)
    bulk = Counting(store)
    bulk.insert(store.live_units())
    assert engine.stats()["postings"] == bulk.stats()["postings"]
    assert engine._postings.pool_size <= 4 * engine._postings.total + 2**16
    check_ranges(engine, encoded, np.concatenate(units))
    assert engine.audit() == bulk.audit() == []


def test_lists_made_at_once_have_no_gaps() -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(2), 500))
    engine = Counting(store)
    engine.insert(store.live_units())
    assert engine._postings.pool_size == engine._postings.total


def test_constraints_that_lose_their_place_are_posted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of a constraint saves time alone: lists, their order and their room do not depend on it."""
    store, contents = stored(random_conjunctions(np.random.default_rng(9), 600, attributes=30))
    events, engines = random_events(np.random.default_rng(10), 20, 30), []
    for places in (1, 2**20):
        monkeypatch.setattr(postings, "_LEAST_MET", places)
        monkeypatch.setattr(postings, "_MOST_MET", places)
        engine = Counting(store)
        for units in np.array_split(store.live_units(), 3):
            engine.insert(units)
        assert engine.audit() == []
        assert found(engine, encode_events(events)) == expected(contents, events)
        engines.append(engine)
    few, many = (engine.arrays() for engine in engines)
    assert few.keys() == many.keys()
    assert all(np.array_equal(few[name], many[name]) for name in few)


def test_removed_units_stay_in_the_lists_until_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.shared.tombstones.SPARE", 10)
    rng = np.random.default_rng(3)
    store, contents = stored(random_conjunctions(rng, 300))
    engine, events = Counting(store), random_events(rng, 10)
    engine.insert(store.live_units())
    seen = set()
    for unit in rng.permutation(store.live_units()):
        engine.remove(np.array([unit], dtype=np.int32))
        del contents[int(unit)]
        stats = engine.stats()
        seen.add(stats["stale_postings"] > 0)
        assert 2 * stats["stale_postings"] <= stats["postings"] + 10
        if unit % 10 == 0:
            assert found(engine, encode_events(events)) == expected(contents, events)
    assert seen == {True, False}
    assert engine.stats()["postings"] <= 10


def test_gaps_left_by_growing_lists_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.shared.tombstones.SPARE", 0)
    rng = np.random.default_rng(4)
    store, contents = stored(random_conjunctions(rng, 400, attributes=2, top=30))
    engine, built = Counting(store), []
    monkeypatch.setattr(engine, "_build_anew", lambda: built.append(1) or Counting._build_anew(engine))
    for unit in store.live_units():
        engine.insert(np.array([unit], dtype=np.int32))
        assert engine._postings.pool_size <= 4 * engine._postings.total
    assert len(built) < 30
    assert engine.audit() == []
    events = random_events(rng, 20, 2, 30)
    assert found(engine, encode_events(events)) == expected(contents, events)


def test_counters_are_as_they_were_after_every_call() -> None:
    rng = np.random.default_rng(5)
    store, _ = stored(random_conjunctions(rng, 800 if COMPILED else 100))
    engine, workspace = Counting(store), Workspace()
    engine.insert(store.live_units())
    engine.remove(store.live_units()[::7])
    for events in (random_events(rng, 30), [{0: 3}], [{1: 50}]):
        found(engine, encode_events(events), workspace)
        counters = workspace.copy("counting.counters", engine._needs.view(), engine._version)
        assert np.array_equal(counters, engine._needs.view())


def test_audit_sees_what_is_broken() -> None:
    def broken(column: str, position: int, value: int, of_lists: bool = True) -> list[str]:
        store, _ = stored([*random_conjunctions(np.random.default_rng(6), 80), (Constraint(0, (), True),)])
        engine = Counting(store)
        engine.insert(store.live_units())
        getattr(engine._postings if of_lists else engine, column).writable()[position] = value
        return engine.audit()

    assert "differ" in broken("_pool", 0, 79)[0]
    assert any("differ" in problem for problem in broken("_counts", 0, 0))
    assert "every list once" in broken("_table", slice(None), -1)[0]
    assert "level" in broken("_levels", 0, 0)[0]
    assert any("overlap" in problem for problem in broken("_starts", 1, 0))
    assert any("wrong number" in problem for problem in broken("_needs", 5, 77, False))
    assert any("verified" in problem for problem in broken("_states", slice(0, 40), 3, False))
    assert any("looked at always" in problem for problem in broken("_always", 0, 0, False))
    assert any("but not both" in problem for problem in broken("_states", 5, 0, False))
