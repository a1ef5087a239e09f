"""The work that engines do, not only their answers: an index that stops filtering fails here."""

from __future__ import annotations

import numpy as np
import pytest
from engines_support import COMPILED, Conjunction, Constraint, encode_events, stored

from matchwood.encoding.codes import TOP_LABEL, EncodedEvents
from matchwood.engines import Engine, Workspace, engine_class
from matchwood.engines.base import Work

SIZE = 20_000 if COMPILED else 400
ATTRIBUTES = 100


def selective(rng: np.random.Generator, count: int) -> list[Conjunction]:
    """Rules of four narrow constraints on 100 attributes."""
    made = []
    for _ in range(count):
        named = np.sort(rng.choice(ATTRIBUTES, size=4, replace=False)).tolist()
        lows = rng.integers(0, 60, size=4).tolist()
        made.append(tuple(Constraint(a, ((low, low + 4),)) for a, low in zip(named, lows, strict=True)))
    return made


def events_of(rng: np.random.Generator, count: int) -> EncodedEvents:
    named = [np.sort(rng.choice(ATTRIBUTES, size=10, replace=False)).tolist() for _ in range(count)]
    return encode_events([dict(zip(some, rng.integers(0, 64, size=10).tolist(), strict=True)) for some in named])


def work_of(engine: Engine, events: EncodedEvents) -> Work:
    hits = engine.match(events, 0, Workspace())
    assert hits.count == events.count
    return hits.work


@pytest.fixture(scope="module")
def workload() -> tuple[object, EncodedEvents]:
    rng = np.random.default_rng(1)
    return stored(selective(rng, SIZE))[0], events_of(rng, 20)


def test_scan_verifies_only_what_passes_its_first_test(workload: tuple[object, EncodedEvents]) -> None:
    store, events = workload
    engine = engine_class("scan")(store)
    engine.rebuild()
    work = work_of(engine, events)
    assert work.candidates == 20 * store.live
    # A first test holds for one event in 10 (it has the attribute) x 16 (the label lies in the interval).
    assert 0 < work.verified < work.candidates / 80


def test_scan_tests_the_narrowest_constraint_first() -> None:
    wide, narrow = ((0, TOP_LABEL),), ((7, 8),)
    store, _ = stored([(Constraint(0, wide), Constraint(1, narrow)), (Constraint(0, narrow), Constraint(1, wide))])
    engine = engine_class("scan")(store)
    engine.rebuild()
    assert engine.tests().attributes.tolist() == [1, 0]
    assert work_of(engine, encode_events([{0: 1, 1: 1}])).verified == 0


def test_scan_prefers_the_rarer_attribute() -> None:
    common = [(Constraint(0, ((low, low + 1),)),) for low in range(20)]
    store, _ = stored([*common, (Constraint(0, ((30, 31),)), Constraint(1, ((30, 31),)))])
    engine = engine_class("scan")(store)
    engine.rebuild()
    assert engine.tests().attributes.tolist() == [0] * 20 + [1]


def test_counting_touches_few_and_verifies_none(workload: tuple[object, EncodedEvents]) -> None:
    store, events = workload
    engine = engine_class("counting")(store)
    engine.rebuild()
    work = work_of(engine, events)
    assert work.verified == 0
    # Each of 4 constraints holds for one event in 160, so some 2.5% of all units are touched.
    assert 0 < work.candidates < 20 * store.live / 30


@pytest.mark.parametrize("reset_all", [True, False])
def test_counting_counts_each_touched_unit_once(reset_all: bool) -> None:
    both = (Constraint(0, ((0, 5),)), Constraint(1, ((0, 5),)))
    rules = [both, (*both, Constraint(2, ((0, 5),))), (Constraint(2, ((0, 5),)),)]
    others = [(Constraint(3, ((low, low + 1),)),) for low in range(0 if reset_all else 500)]
    store, _ = stored([*rules, *others])
    engine = engine_class("counting")(store)
    engine.rebuild()
    work = work_of(engine, encode_events([{0: 1, 1: 1}, {2: 3}, {3: 900}]))
    assert (work.candidates, work.matched) == (2 + 2 + 0, 1 + 1 + 0)


def test_counting_verifies_what_it_did_not_count() -> None:
    nullable = Constraint(1, ((0, 5),), True)
    store, _ = stored([(Constraint(0, ((0, 5),)), nullable), (nullable,), ()])
    engine = engine_class("counting")(store)
    engine.rebuild()
    assert engine.stats()["always_candidates"] == 2
    assert work_of(engine, encode_events([{0: 9, 1: 9}])) == Work(candidates=2, verified=2, matched=1, postings=0)
    assert work_of(engine, encode_events([{0: 1, 1: 9}])) == Work(candidates=3, verified=3, matched=1, postings=1)
