"""Unions of runs of spaces: the same hits, whatever comes and goes, and built when they are worth it."""

from __future__ import annotations

import threading
from struct import pack
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
    random_conjunctions,
    random_events,
    stored,
)

from matchwood.encoding.codes import TOP_LABEL
from matchwood.engines import ConjunctionStore, Engine, Workspace, engine_class
from matchwood.engines.shared.unions import unions as building
from matchwood.errors import InvalidArgument

SIZE = 1_500 if COMPILED else 80
UNITING = ["counting", "hem"]


def built(name: str, store: ConjunctionStore, **options: Any) -> Engine:
    engine: Engine = engine_class(name)(store, options)
    engine.insert(store.live_units())
    return engine


def united(engine: Engine) -> dict[str, int]:
    told: dict[str, int] = engine.stats()["unions"]
    return told


def wide(rng: np.random.Generator, count: int, attributes: int, top: int = 10**6) -> list[Conjunction]:
    """Rules of which an event matches many: most constraints hold of most labels."""
    made: list[Conjunction] = []
    for _ in range(count):
        named = np.flatnonzero(rng.random(attributes) < 0.7).tolist()
        low, high = np.sort(rng.integers(1, top, (2, attributes)), axis=0).tolist()
        made.append(tuple(wide_constraint(rng, each, low[each], high[each] + 1) for each in named))
    return made


def wide_constraint(rng: np.random.Generator, attribute: int, low: int, high: int) -> Constraint:
    """`!=`, `not in`, or all but one end of the domain; one in four accepts NULL."""
    cuts: list[tuple[tuple[int, int], ...]] = [
        ((0, low), (low + 1, TOP_LABEL)),
        ((0, low), (low + 1, high + 1), (high + 2, TOP_LABEL)),
        ((0, high),),
        ((low, TOP_LABEL),),
    ]
    return Constraint(attribute, cuts[int(rng.integers(4))], bool(rng.random() < 0.25))


def one_by_one(engine: Engine, events: list[Event]) -> list[set[int]]:
    """The hits of events, each alone."""
    search = engine.one_event(Workspace())
    assert search is not None
    sets = []
    for event in events:
        hits = search.hits(b"".join(pack("2i", label, attribute) for attribute, label in sorted(event.items())))
        assert hits is not None
        sets.append(set(search.units[:hits].tolist()))
        assert len(sets[-1]) == hits
    return sets


@pytest.mark.long(5)
@pytest.mark.parametrize("name", UNITING)
@pytest.mark.parametrize(("attributes", "top"), [(12, 64), (2, 40), (90, 30), (4, 10_000), (1, 300)])
def test_unions_give_the_same_hits(name: str, attributes: int, top: int) -> None:
    rng = np.random.default_rng(attributes)
    store, contents = stored(random_conjunctions(rng, SIZE, attributes, top))
    engine = built(name, store, unions="always")
    events = random_events(rng, 40, attributes, top)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert attributes / 2 < united(engine)["attributes"] <= attributes
    assert one_by_one(engine, events) == expected(contents, events)


@pytest.mark.parametrize("name", UNITING)
@pytest.mark.parametrize("attributes", [3, 10])
def test_many_rules_match(name: str, attributes: int) -> None:
    rng = np.random.default_rng(attributes)
    store, contents = stored(wide(rng, SIZE, attributes))
    engine = built(name, store, unions="always")
    events: list[Event] = [
        {a: int(rng.integers(10**6)) for a in range(attributes) if rng.random() < 0.9} for _ in range(30)
    ]
    wanted = expected(contents, events)
    assert found(engine, encode_events(events)) == wanted
    assert sum(map(len, wanted)) > 0.05 * store.count * len(events)


@pytest.mark.parametrize("name", UNITING)
def test_labels_at_the_edges_of_cells(name: str) -> None:
    """All labels around all boundaries, with exact cells and with coarse ones."""
    rng = np.random.default_rng(3)
    store, contents = stored(wide(rng, 60, 2, 200))
    events: list[Event] = [{0: label} for label in range(205)] + [{1: label, 0: 7} for label in range(205)]
    events += [{}, {0: TOP_LABEL - 1}, {5: 3}]
    wanted = expected(contents, events)
    for rows in (building.ROWS, 8):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(building, "ROWS", rows)
            engine = built(name, store, unions="always")
            assert found(engine, encode_events(events)) == wanted
        assert (united(engine)["entries"] > 0) == (rows == 8)


@pytest.mark.parametrize("name", UNITING)
def test_nothing_is_verified_where_every_attribute_has_cells(name: str) -> None:
    rng = np.random.default_rng(4)
    store, contents = stored(wide(rng, SIZE, 3))
    engine = built(name, store, unions="always")
    events: list[Event] = [{0: 10**5, 1: 5 * 10**5, 2: 9 * 10**5}]
    hits = engine.match(encode_events(events), 0, Workspace())
    assert set(hits.units.tolist()) == expected(contents, events)[0]
    assert hits.work.verified == hits.work.postings == 0
    assert hits.work.candidates == hits.work.matched > 0


@pytest.mark.parametrize("name", UNITING)
def test_rows_are_bounded_and_what_they_do_not_tell_is_verified(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    store, contents = stored(random_conjunctions(rng, SIZE, 40, 500))
    events = random_events(rng, 30, 40, 500)
    for most in (2**16, 2**13, 2**11):
        monkeypatch.setattr(building, "MOST_BYTES", most)
        engine = built(name, store, unions="always")
        assert found(engine, encode_events(events)) == expected(contents, events)
        held = engine._unions.held  # type: ignore[attr-defined]
        assert held.bits.nbytes <= most or not COMPILED
        if most == 2**11:
            assert held.loose_units > 0 or not COMPILED


@pytest.mark.parametrize("name", UNITING)
def test_rare_attributes_have_no_cells(name: str) -> None:
    rng = np.random.default_rng(6)
    rules = [(*rule, Constraint(10 + at, ((5, 50),))) for at, rule in enumerate(wide(rng, 200, 3))]
    store, contents = stored(rules)
    engine = built(name, store, unions="always")
    events: list[Event] = [{0: 5 * 10**5, 1: 10**5, 2: 10, 10 + at: 20, 50: 60} for at in range(100)]
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert united(engine)["attributes"] == 3


@pytest.mark.long(3)
@pytest.mark.parametrize("name", UNITING)
@pytest.mark.parametrize("seed", range(3))
def test_units_come_and_go(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    store, contents = stored(wide(rng, SIZE // 2, 5))
    engine, workspace = built(name, store, unions="always"), Workspace()
    live, seen, most = dict(contents), set(), max(3, SIZE // 40)
    for step in range(12):
        events = random_events(rng, 8, 5, 10**6)
        assert found(engine, encode_events(events), workspace) == expected(live, events)
        assert one_by_one(engine, events) == expected(live, events)
        seen.add(united(engine)["fresh"] > 0)
        rules = wide(rng, int(rng.integers(1, most)), 5 + step % 3)
        added = store.add(encode(rules))
        engine.insert(added.new_units)
        live |= dict(zip(added.units.tolist(), rules, strict=True))
        gone = np.array(rng.choice(sorted(live), int(rng.integers(1, most)), replace=False), np.int32)
        engine.remove(gone)
        store.free(store.drop(np.repeat(gone, store.uses[gone])))
        live = {unit: rule for unit, rule in live.items() if unit not in set(gone.tolist())}
        assert engine.audit() == []
    assert seen == {False, True}


@pytest.mark.parametrize("name", UNITING)
def test_units_that_came_back(name: str) -> None:
    rng = np.random.default_rng(7)
    store, contents = stored(wide(rng, 300, 3))
    engine, events = built(name, store, unions="always"), random_events(rng, 10, 3, 10**6)
    units = store.live_units()
    for gone in (units[:20], units[10:40]):
        assert found(engine, encode_events(events)) == expected(contents, events)
        engine.remove(gone)
        left = {unit: rule for unit, rule in contents.items() if unit not in set(gone.tolist())}
        assert found(engine, encode_events(events)) == expected(left, events)
        engine.insert(gone)
        assert found(engine, encode_events(events)) == expected(contents, events)


@pytest.mark.parametrize("name", UNITING)
def test_unions_of_other_units_are_dropped(name: str) -> None:
    rng = np.random.default_rng(8)
    store, contents = stored(wide(rng, 200, 3))
    engine, events = built(name, store, unions="always"), random_events(rng, 5, 3, 10**6)
    alone = engine.nbytes
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.nbytes == alone + united(engine)["bytes"] > alone
    rules = wide(rng, 150, 3)
    added = store.add(encode(rules))
    engine.insert(added.new_units)
    assert united(engine)["bytes"] == 0
    engine.rebuild()
    assert united(engine)["bytes"] == 0


@pytest.mark.long(1)
@pytest.mark.parametrize("name", UNITING)
def test_they_are_built_when_they_would_have_saved_as_much(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not COMPILED:
        monkeypatch.setattr("matchwood.engines.shared.unions.keeper.LEAST_UNITS", 10)
    monkeypatch.setattr("matchwood.engines.shared.unions.keeper.BUILD_CONSTRAINT", 20.0)
    monkeypatch.setattr("matchwood.engines.shared.unions.keeper.perf_counter_ns", lambda: 0)
    rng = np.random.default_rng(9)
    store, contents = stored(wide(rng, 5_000 if COMPILED else 100, 4))
    events = random_events(rng, 60 if COMPILED else 20, 4, 10**6)
    wanted = expected(contents, events)
    engine, workspace = built(name, store), Workspace()
    engine.match(encode_events(events[:1]), 0, workspace)
    assert united(engine)["bytes"] == 0
    assert found(engine, encode_events(events * 20), workspace) == wanted * 20
    assert united(engine)["attributes"] == 4
    assert one_by_one(engine, events) == wanted
    never = built(name, store, unions="never")
    assert found(never, encode_events(events * 20)) == wanted * 20
    assert united(never)["bytes"] == 0
    alone = built(name, store)
    assert one_by_one(alone, events * 20) == wanted * 20
    assert united(alone)["attributes"] == 4


@pytest.mark.long(1)
@pytest.mark.parametrize("name", UNITING)
def test_newer_ones_are_built_when_too_many_came_since(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.shared.unions.keeper.LEAST_UNITS", 10)
    rng = np.random.default_rng(10)
    store, contents = stored(wide(rng, 4_000 if COMPILED else 120, 3))
    engine, workspace, events = built(name, store), Workspace(), random_events(rng, 30, 3, 10**6)
    for _ in range(2):
        engine.match(encode_events(events), 0, workspace)
        engine.foresee(10**9)
    assert found(engine, encode_events(events), workspace) == expected(contents, events)
    assert united(engine)["bytes"] > 0
    rules = wide(rng, len(contents) // 6, 3)
    added = store.add(encode(rules))
    engine.insert(added.new_units)
    contents |= dict(zip(added.units.tolist(), rules, strict=True))
    fresh = united(engine)["fresh"]
    assert fresh == len(added.new_units) > 0
    for _ in range(2):
        assert found(engine, encode_events(events), workspace) == expected(contents, events)
        engine.foresee(10**9)
    engine.match(encode_events(events), 0, workspace)
    assert united(engine)["fresh"] == 0


def test_where_few_units_match_nothing_is_built() -> None:
    rng = np.random.default_rng(11)
    count = 3_000 if COMPILED else 100
    step = TOP_LABEL // count
    rules = [tuple(Constraint(a, ((at * step, (at + 1) * step),)) for a in range(2)) for at in range(count)]
    store, contents = stored(rules)
    engine, events = built("counting", store), random_events(rng, 50, 2, TOP_LABEL)
    for _ in range(3):
        assert found(engine, encode_events(events)) == expected(contents, events)
        engine.foresee(10**6)
    assert united(engine)["bytes"] == 0


@pytest.mark.long(1)
@pytest.mark.parametrize("name", UNITING)
def test_threads_that_match_while_one_builds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.shared.unions.keeper.LEAST_UNITS", 10)
    monkeypatch.setattr("matchwood.engines.shared.unions.keeper.BUILD_CONSTRAINT", 0.5)
    monkeypatch.setattr("matchwood.engines.shared.unions.keeper.BUILD_WORD", 0.0)
    monkeypatch.setattr("matchwood.engines.shared.unions.keeper.perf_counter_ns", lambda: 0)
    rng = np.random.default_rng(12)
    store, contents = stored(wide(rng, 3_000 if COMPILED else 60, 4))
    events = random_events(rng, 40 if COMPILED else 5, 4, 10**6)
    wanted, wrong = expected(contents, events), []

    def match(engine: Engine) -> None:
        for _ in range(5):
            if found(engine, encode_events(events)) != wanted or one_by_one(engine, events) != wanted:
                wrong.append(engine)

    for _ in range(3):
        engine = built(name, store)
        threads = [threading.Thread(target=match, args=(engine,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert united(engine)["bytes"] > 0
    assert wrong == []


@pytest.mark.parametrize("name", UNITING)
def test_units_come_and_go_between_the_steps_of_building(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("STEP_CONSTRAINTS", "STEP_WORDS", "STEP_SORTED"):
        monkeypatch.setattr(f"matchwood.engines.shared.unions.building.{limit}", 64)
    rng = np.random.default_rng(17)
    store, contents = stored(wide(rng, 600 if COMPILED else 60, 3))
    engine, workspace, events = built(name, store), Workspace(), random_events(rng, 6, 3, 10**6)
    keeper: Any = engine._unions  # type: ignore[attr-defined]
    keeper._plan = building.plan_unions(store, store.live_units())
    keeper._begin(store, store.live_units())
    steps, changes, held = 0, 0, len(contents)
    while keeper.held is None:
        keeper._go_on()
        steps += 1
        if keeper.held is None and changes < held // 20:
            rules = wide(rng, 2, 3)
            added = store.add(encode(rules))
            engine.insert(added.new_units)
            contents |= dict(zip(added.units.tolist(), rules, strict=True))
            gone = np.array(sorted(contents)[steps % 7 :: len(contents) // 2][:2], np.int32)
            engine.remove(gone)
            store.drop(gone)
            for unit in gone.tolist():
                del contents[unit]
            changes += 2
    assert steps > 20
    assert len(keeper.held.fresh) > 0
    keeper._wanted = "always"  # whatever counting would cost
    assert found(engine, encode_events(events), workspace) == expected(contents, events)


@pytest.mark.parametrize("name", UNITING)
def test_a_call_makes_one_step_that_earlier_ones_have_paid_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keeping = "matchwood.engines.shared.unions.keeper"
    monkeypatch.setattr(f"{keeping}.LEAST_UNITS", 10)
    monkeypatch.setattr(f"{keeping}.BUILD_CONSTRAINT", 0.5)
    monkeypatch.setattr(f"{keeping}.BUILD_WORD", 0.0)
    clock = iter(range(0, 10**12, 10**9))
    monkeypatch.setattr(f"{keeping}.perf_counter_ns", lambda: next(clock))
    rng = np.random.default_rng(18)
    store, contents = stored(wide(rng, 2_000 if COMPILED else 60, 4))
    engine, workspace, events = built(name, store), Workspace(), random_events(rng, 30, 4, 10**6)
    for _ in range(5):
        assert found(engine, encode_events(events), workspace) == expected(contents, events)
    taken = next(clock) // 10**9 // 2
    assert taken == 1, "the first step took a second, which nothing has paid for since"
    assert united(engine)["bytes"] == 0


@pytest.mark.parametrize("name", UNITING)
def test_they_are_not_saved(name: str) -> None:
    rng = np.random.default_rng(13)
    store, contents = stored(wide(rng, 300, 3))
    engine, events = built(name, store, unions="always"), random_events(rng, 10, 3, 10**6)
    before = set(engine.arrays())
    found(engine, encode_events(events))
    assert set(engine.arrays()) == before
    again = type(engine)(store, engine.settings)
    again.restore(engine.arrays(), engine.header())
    assert found(again, encode_events(events)) == expected(contents, events)
    assert united(again) == united(engine)


@pytest.mark.parametrize("name", UNITING)
def test_as_published_there_are_none(name: str) -> None:
    store, _ = stored(wide(np.random.default_rng(14), 100, 2))
    engine = built(name, store, as_published=True)
    assert engine.settings["unions"] == "never"
    with pytest.raises(InvalidArgument, match=r"'unions' of engine .* is 'never' as published"):
        built(name, store, as_published=True, unions="always")
    with pytest.raises(InvalidArgument, match="must be one of 'auto', 'always', 'never'"):
        built(name, store, unions="sometimes")


def test_the_published_hem_of_before_there_were_unions_still_opens() -> None:
    store, contents = stored(wide(np.random.default_rng(15), 100, 2))
    engine, events = built("hem", store, as_published=True), [{0: 5 * 10**5, 1: 5 * 10**5}]
    header = engine.header()
    old = {**header, "options": {name: value for name, value in header["options"].items() if name != "unions"}}
    again = engine_class("hem")(store, {"as_published": True})
    again.restore(engine.arrays(), old)
    assert found(again, encode_events(events)) == expected(contents, events)


@pytest.mark.parametrize("options", [{"plan": "triangle"}, {"plan": "optimum"}, {"passes": True}], ids=str)
def test_other_plans_of_hem_take_triangles(options: dict[str, Any]) -> None:
    store, contents = stored(wide(np.random.default_rng(16), 100, 2))
    engine, events = built("hem", store, unions="always", **options), [{0: 5 * 10**5, 1: 5 * 10**5}]
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert united(engine)["bytes"] == 0
