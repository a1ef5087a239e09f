"""What every engine over conjunctions must do: find exactly what is true, whatever came before."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Conjunction,
    Constraint,
    Event,
    encode,
    encode_events,
    expected,
    found,
    frozen,
    random_conjunctions,
    random_events,
    stored,
)

from matchwood.encoding.codes import TOP_LABEL, EncodedEvents
from matchwood.engines import ConjunctionStore, Engine, Workspace, chosen_class, chosen_names
from matchwood.errors import InvalidArgument
from tests.conftest import SOAK

SIZE = (3_000 if SOAK else 600) if COMPILED else 120
EVENTS = 60 if COMPILED else 12

pytestmark = pytest.mark.parametrize("name", chosen_names())


def built(name: str, store: ConjunctionStore) -> Engine:
    engine = chosen_class(name)(store)
    engine.insert(store.live_units())
    return engine


def units_of(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


@pytest.mark.few
@pytest.mark.parametrize(("seed", "attributes", "top"), [(1, 12, 64), (2, 3, 40), (3, 60, 30), (4, 5, 10**6)])
def test_hits_are_what_is_true(name: str, seed: int, attributes: int, top: int) -> None:
    conjunctions, events, wanted = answered(seed, attributes, top)
    engine = built(name, stored(conjunctions)[0])
    assert sum(map(len, wanted)) > len(events)
    assert found(engine, encode_events(events)) == wanted
    assert engine.audit() == []


@functools.cache
def answered(seed: int, attributes: int, top: int) -> tuple[list[Conjunction], list[Event], list[set[int]]]:
    """Conjunctions, events and the units that are true of them, which all engines share."""
    rng = np.random.default_rng(seed)
    conjunctions = random_conjunctions(rng, SIZE, attributes, top)
    events = random_events(rng, EVENTS, attributes, top)
    return conjunctions, events, expected(stored(conjunctions)[1], events)


def test_one_event_at_a_time_gives_the_same(name: str) -> None:
    rng = np.random.default_rng(5)
    store, contents = stored(random_conjunctions(rng, SIZE))
    engine, workspace = built(name, store), Workspace()
    for event in random_events(rng, EVENTS):
        assert found(engine, encode_events([event]), workspace) == expected(contents, [event])


def test_each_conjunction_alone(name: str) -> None:
    rng = np.random.default_rng(6)
    events = random_events(rng, 25)
    for conjunction in random_conjunctions(rng, 60 if COMPILED else 15):
        store, contents = stored([conjunction])
        assert found(built(name, store), encode_events(events)) == expected(contents, events)


EDGES: list[Conjunction] = [
    (),
    (Constraint(0, (), True),),
    (Constraint(0, ((0, TOP_LABEL),)),),
    (Constraint(0, ((0, 1),)),),
    (Constraint(0, ((1, TOP_LABEL),)),),
    (Constraint(0, ((TOP_LABEL - 1, TOP_LABEL),)),),
    (Constraint(0, ((0, TOP_LABEL - 1),)),),
    (Constraint(0, ((5, 6),), True), Constraint(1, ((5, 6),), True)),
    (Constraint(0, ((5, 6),)), Constraint(1, (), True)),
    (Constraint(0, ((0, 3), (5, 6), (9, 2**30), (2**30 + 1, TOP_LABEL))),),
    (Constraint(0, ((0, 3), (5, TOP_LABEL)), True), Constraint(3, ((7, 8),))),
]


def test_edges_of_the_domain_and_null(name: str) -> None:
    store, contents = stored(EDGES)
    labels = [0, 1, 2, 3, 4, 5, 6, 8, 9, 2**30 - 1, 2**30, 2**30 + 1, TOP_LABEL - 2, TOP_LABEL - 1]
    events = [{}, {1: 5}, {99: 3}, {3: 7}, *({0: label} for label in labels), *({0: label, 3: 7} for label in labels)]
    engine = built(name, store)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.stats()["always_candidates"] == 3


def test_more_constraints_than_a_byte_counts(name: str) -> None:
    wide = tuple(Constraint(attribute, ((1, 3),)) for attribute in range(300))
    store, contents = stored([wide, wide[:255], wide[:256], (*wide[:299], Constraint(299, ((1, 3),), True))])
    full = dict.fromkeys(range(300), 2)
    events = [full, {**full, 299: 9}, {**full, 254: 9}, {**full, 0: 0}, dict.fromkeys(range(299), 2), {}]
    engine = built(name, store)
    assert found(engine, encode_events(events)) == expected(contents, events)
    engine.remove(units_of(0, 1))
    events = events * 2
    assert found(engine, encode_events(events)) == [hits - {0, 1} for hits in expected(contents, events)]


def test_an_empty_engine_and_an_empty_batch(name: str) -> None:
    engine = chosen_class(name)(ConjunctionStore())
    assert found(engine, encode_events([{0: 1}, {}])) == [set(), set()]
    hits = engine.match(encode_events([]), 0, Workspace())
    assert (hits.count, len(hits.units)) == (0, 0)
    with pytest.raises(InvalidArgument, match="first event"):
        engine.match(encode_events([{}]), 2, Workspace())


def test_a_small_output_stops_at_the_edge_of_an_event_and_goes_on(name: str) -> None:
    rng = np.random.default_rng(7)
    store, contents = stored(random_conjunctions(rng, 200))
    engine = built(name, store)
    events = random_events(rng, 300)
    codes, workspace = encode_events(events), Workspace(room=0)
    assert found(engine, codes, workspace) == expected(contents, events)
    assert engine.match(codes, 0, workspace).count < len(events)
    assert engine.match(codes, 299, workspace).count == 1


def test_results_stay_as_they_are_while_the_next_call_runs(name: str) -> None:
    rng = np.random.default_rng(8)
    store, _ = stored(random_conjunctions(rng, SIZE))
    engine, workspace = built(name, store), Workspace()
    first, second = (encode_events(random_events(rng, EVENTS)) for _ in range(2))
    hits = engine.match(first, 0, workspace)
    kept = hits.units.copy(), hits.offsets.copy()
    engine.match(second, 0, workspace)
    assert np.array_equal(hits.units, kept[0])
    assert np.array_equal(hits.offsets, kept[1])


def test_inserting_twice_and_removing_twice_changes_nothing(name: str) -> None:
    store, contents = stored([(Constraint(0, ((1, 2),)),), (), (Constraint(1, ((1, 2),)),)])
    engine = built(name, store)
    engine.insert(units_of(0, 1))
    events = [{0: 1, 1: 1}]
    assert found(engine, encode_events(events)) == expected(contents, events)
    engine.remove(units_of(0, 1))
    engine.remove(units_of(1, 0))
    assert found(engine, encode_events(events)) == [{2}]
    engine.insert(units_of(0, 1))
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []


@pytest.mark.long(4)
def test_changes_of_every_kind_in_any_order(name: str) -> None:
    rng = np.random.default_rng(9)
    store, live = ConjunctionStore(), {}
    engine, workspace = chosen_class(name)(store), Workspace()
    scale = 1
    for step in range((160 if SOAK else 60) if COMPILED else 40):
        kind = rng.random()
        if kind < 0.5 or not live:
            conjunctions = random_conjunctions(rng, int(rng.choice([1, 1, 5, 60])), attributes=8, top=40)
            scaled = [_scaled(conjunction, scale) for conjunction in conjunctions]
            added = store.add(encode(scaled))
            live.update(zip(added.units.tolist(), scaled, strict=True))
            engine.insert(added.new_units)
        elif kind < 0.85:
            chosen = rng.choice(list(live), size=min(len(live), int(rng.choice([1, 3, 40]))), replace=False)
            chosen = chosen.astype(np.int32)
            freed = store.drop(np.repeat(chosen, store.uses[chosen]))
            engine.remove(freed)
            store.free(freed)
            live = {unit: live[unit] for unit in live if unit not in set(freed.tolist())}
        elif kind < 0.92:
            remap = store.compact()
            engine.rebuild()
            live = {int(remap[unit]): conjunction for unit, conjunction in live.items()}
        else:
            old = np.arange(1, 40, dtype=np.int32) * scale
            factor = 3 if scale < 10**6 else 1
            for attribute in range(8):
                store.relabel(attribute, old, old * factor)
            engine.rebuild()
            live = {unit: _scaled(conjunction, factor) for unit, conjunction in live.items()}
            scale *= factor
        events = [
            {attribute: label * scale for attribute, label in event.items()} for event in random_events(rng, 6, 8, 40)
        ]
        assert found(engine, encode_events(events), workspace) == expected(live, events), f"step {step}"
        if step % 10 == 0:
            assert store.audit() == engine.audit() == []


def _scaled(conjunction: Conjunction, factor: int) -> Conjunction:
    def label(value: int) -> int:
        return value if value == TOP_LABEL else value * factor

    return tuple(
        constraint._replace(intervals=tuple((label(low), label(high)) for low, high in constraint.intervals))
        for constraint in conjunction
    )


def test_one_by_one_and_in_bulk_are_the_same(name: str) -> None:
    rng = np.random.default_rng(10)
    store, contents = stored(random_conjunctions(rng, 300 if COMPILED else 60))
    engine = chosen_class(name)(store)
    for unit in rng.permutation(store.live_units()):
        engine.insert(units_of(unit))
    events = random_events(rng, EVENTS)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []


def _without(stats: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in stats.items() if key not in keys}


def test_a_restored_engine_answers_and_changes_alike(name: str) -> None:
    rng = np.random.default_rng(11)
    store, contents = stored(random_conjunctions(rng, SIZE))
    engine = built(name, store)
    gone = rng.choice(store.count, size=store.count // 5, replace=False).astype(np.int32)
    engine.remove(gone)
    store.free(store.drop(np.repeat(gone, store.uses[gone])))
    saved_store, saved_engine = frozen(store.arrays()), frozen(engine.arrays())
    again_store = ConjunctionStore()
    again_store.restore(saved_store, store.header())
    again = chosen_class(name)(again_store)
    again.restore(saved_engine, engine.header())
    events = random_events(rng, EVENTS)
    live = {unit: conjunction for unit, conjunction in contents.items() if unit not in set(gone.tolist())}
    assert found(again, encode_events(events)) == expected(live, events)
    # The rows of a BE-Tree's leaves are not saved: they are written anew, without the gaps of what was removed.
    # Neither are unions.
    gaps = {"betree": ("bytes_index", "bytes_rows"), "grouped": ("bytes_index", "unions")}.get(name, ())
    assert _without(again.stats(), gaps) == _without(engine.stats(), gaps)
    added = again_store.add(encode([(Constraint(2, ((0, 5),)),)]))
    again.insert(added.new_units)
    again.remove(units_of(next(iter(live))))
    live[int(added.units[0])] = (Constraint(2, ((0, 5),)),)
    del live[next(iter(live))]
    assert found(again, encode_events(events)) == expected(live, events)
    assert all(np.array_equal(array, engine.arrays()[key]) for key, array in saved_engine.items())


@pytest.mark.long(3)
def test_several_threads_match_at_once(name: str) -> None:
    rng = np.random.default_rng(12)
    store, contents = stored(random_conjunctions(rng, SIZE))
    engine = built(name, store)
    batches = [random_events(rng, 20) for _ in range(8)]
    wanted = [expected(contents, events) for events in batches]

    def work(place: int) -> bool:
        codes, workspace = encode_events(batches[place % 8]), Workspace(room=place * 10)
        return all(
            found(engine, codes, workspace) == wanted[place % 8] for _ in range((5 if SOAK else 2) if COMPILED else 1)
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(16)))


def test_one_workspace_serves_several_engines(name: str) -> None:
    rng, workspace = np.random.default_rng(13), Workspace()
    parts = [stored(random_conjunctions(rng, size, attributes=size)) for size in (50, 8, 90)]
    engines = [(built(name, store), contents) for store, contents in parts]
    for _ in range(3):
        for engine, contents in engines:
            events = random_events(rng, 5)
            assert found(engine, encode_events(events), workspace) == expected(contents, events)


def test_events_may_be_read_only_or_slices(name: str) -> None:
    rng = np.random.default_rng(14)
    store, contents = stored(random_conjunctions(rng, 100))
    engine, events = built(name, store), random_events(rng, 10)
    codes = encode_events(events)
    doubled = EncodedEvents(*(np.repeat(array, 2)[::2] for array in codes))
    wanted = expected(contents, events)
    assert found(engine, doubled) == found(engine, EncodedEvents(*frozen(codes._asdict()).values())) == wanted


def test_options_that_do_not_exist_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="has no option 'speed'"):
        chosen_class(name)(ConjunctionStore(), {"speed": 11})
