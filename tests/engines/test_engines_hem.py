"""The engine `hem`: every plan gives the same hits, U_m stays current, work is shared, and room is bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Conjunction,
    Constraint,
    encode,
    encode_events,
    expected,
    found,
    random_conjunctions,
    random_events,
    stored,
)

from matchwood.encoding.codes import NULL_LABEL, TOP_LABEL
from matchwood.engines import ConjunctionStore, Workspace
from matchwood.engines.hem._match_kernels import BUILT, CHECKED, LISTED, PASSES, SHARED, UNPROVEN, WALKED
from matchwood.engines.hem._plan_kernels import unmatched
from matchwood.engines.hem.engine import HEM
from matchwood.errors import CorruptSnapshot, InvalidArgument
from tests.conftest import SOAK

SIZE = 1_500 if COMPILED else 60

VARIANTS: list[dict[str, Any]] = [
    {},
    {"plan": "optimum"},
    {"plan": "triangle"},
    {"plan": "direct"},
    {"collect": False},
    {"collect": False, "direct_cost": 1},
    {"plan": "triangle", "collect": False},
    {"direct_cost": 1000},
    {"grid": 1},
    {"grid": 3, "plan": "triangle"},
    {"grid": 200},
    {"as_published": True},
    {"plan": "printed"},
    {"passes": True},
    {"passes": True, "plan": "optimum", "direct_cost": 1},
    {"passes": True, "plan": "direct"},
    {"share": False},
    {"share": False, "collect": False},
]


def built(store: ConjunctionStore, **options: Any) -> HEM:
    engine = HEM(store, options)
    engine.insert(store.live_units())
    return engine


def counted(engine: HEM, events: list[dict[int, int]]) -> np.ndarray:
    """The counters after matching events in one call."""
    workspace = Workspace()
    hits = engine.match(encode_events(events), 0, workspace)
    assert hits.count == len(events)
    return workspace.array("hem.counters", 1, np.int64)


def boxes(rng: np.random.Generator, count: int, attributes: int, width: int, top: int = 10**6) -> list[Conjunction]:
    """Rules with an interval of one width on every attribute, as in the paper."""
    lows = rng.integers(0, top - width, (count, attributes)).tolist()
    scale = TOP_LABEL // top
    return [tuple(Constraint(a, ((low * scale, (low + width) * scale),)) for a, low in enumerate(row)) for row in lows]


@pytest.mark.few
@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize(("attributes", "top"), [(12, 64), (2, 40), (90, 30)])
def test_every_plan_gives_the_same_hits(options: dict[str, Any], attributes: int, top: int) -> None:
    rng = np.random.default_rng(attributes)
    store, contents = stored(random_conjunctions(rng, SIZE if SOAK else SIZE // 2, attributes, top))
    engine = built(store, **options)
    events = random_events(rng, 30, attributes, top)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []


@pytest.mark.few
@pytest.mark.parametrize("options", [VARIANTS[0], VARIANTS[2], VARIANTS[4], VARIANTS[9]], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_insertions_and_deletions_interleaved(options: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    store = ConjunctionStore()
    engine, workspace = HEM(store, options), Workspace()
    live: dict[int, Conjunction] = {}
    for step in range(60 if COMPILED else 12):
        if rng.random() < 0.6 or not live:
            made = random_conjunctions(rng, int(rng.choice([1, 1, 5, 60])), 5, 64)
            added = store.add(encode(made))
            live.update(zip(added.units.tolist(), made, strict=True))
            engine.insert(added.new_units)
        else:
            gone = rng.permutation(list(live))[: int(rng.choice([1, 1, 20]))].astype(np.int32)
            engine.remove(gone)
            store.free(store.drop(np.repeat(gone, store.uses[gone])))
            for unit in gone.tolist():
                del live[unit]
        events = random_events(rng, 4, 5, 64)
        assert found(engine, encode_events(events), workspace) == expected(live, events)
        if step % 10 == 0:
            assert engine.audit() == []
    assert engine.audit() == []


def test_a_unit_that_was_removed_may_come_back() -> None:
    store, contents = stored(random_conjunctions(np.random.default_rng(1), 200))
    engine, units = built(store), store.live_units()
    engine.remove(units[::2])
    engine.remove(units[::2])
    assert all(unit % 2 for hits in found(engine, encode_events([{0: 5}])) for unit in hits)
    engine.insert(units)
    events = random_events(np.random.default_rng(2), 20)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []


def test_u_m_is_current_after_every_change() -> None:
    rng = np.random.default_rng(3)
    store, contents = stored(boxes(rng, 400 if COMPILED else 60, 3, 300_000))
    engine, units = HEM(store, {"grid": 16}), rng.permutation(store.live_units())
    for step, unit in enumerate(units):
        engine.insert(unit[None])
        if step % 3 == 2:
            engine.remove(units[step - 1][None])
            del contents[int(units[step - 1])]
    inside = [contents[unit] for unit in contents]
    view = engine._triangles.view()
    for attribute in range(3):
        low, high = np.array([rule[attribute].intervals[0] for rule in inside]).T
        assert unmatched(view, attribute, NULL_LABEL) == (len(inside), 0)
        for label in rng.integers(0, TOP_LABEL, 20):
            exact = int(np.count_nonzero((label < low) | (label >= high)))
            told, edge = unmatched(view, attribute, np.int32(label))
            assert abs(told - exact) <= (edge + 1) // 2
            assert edge < len(inside) / 2 or not COMPILED


def test_an_absent_attribute_excludes_all_that_constrain_it() -> None:
    rules = [(Constraint(0, ((low, low + 9),)),) for low in range(50)]
    rules += [(Constraint(0, ((low, low + 9),)), Constraint(1, ((0, 5),))) for low in range(50)]
    store, _ = stored(rules)
    work = built(store, plan="triangle").match(encode_events([{0: 20}, {1: 3}, {}]), 0, Workspace()).work
    assert (work.candidates, work.verified, work.matched) == (9, 0, 9)


def test_candidates_are_verified_once_and_not_at_all_where_triangles_decide() -> None:
    rng = np.random.default_rng(4)
    store, contents = stored(boxes(rng, SIZE, 6, 500_000))
    scale = TOP_LABEL // 10**6
    events = [dict(enumerate((row * scale).tolist())) for row in rng.integers(200_000, 800_000, (10, 6))]
    encoded = encode_events(events)
    whole = built(store, plan="triangle").match(encoded, 0, Workspace()).work
    assert (whole.verified, whole.candidates) == (0, whole.matched)
    near = built(store).match(encoded, 0, Workspace()).work
    assert max(near.matched, near.verified) <= near.candidates < 10 * store.live / 4
    direct = built(store, plan="direct").match(encoded, 0, Workspace()).work
    assert direct.verified == direct.candidates == 10 * store.live
    with_null = encode([(Constraint(0, ((5, 9),)), Constraint(9, (), True))])
    engine = built(store, plan="triangle")
    engine.insert(store.add(with_null).new_units)
    work = engine.match(encoded, 0, Workspace()).work
    assert work.verified == work.candidates == whole.candidates
    assert sum(map(len, expected(contents, events))) == whole.matched > 0


def test_events_that_share_values_share_the_triangles() -> None:
    rng = np.random.default_rng(5)
    store, contents = stored(boxes(rng, SIZE, 3, 700_000))
    engine, scale = built(store, plan="triangle"), TOP_LABEL // 10**6
    values = [150_000 * scale, 500_000 * scale]
    events = [{0: values[n % 2], 1: values[n // 2 % 2], 2: values[n // 4 % 2]} for n in range(16)]
    counters = counted(engine, events)
    assert (counters[PASSES], counters[BUILT], counters[SHARED]) == (48, 6, 42)
    once = counters[WALKED]
    assert counted(engine, events[:8])[WALKED] == once
    workspace = Workspace()
    for event in events:
        assert found(engine, encode_events([event]), workspace) == expected(contents, [event])
    assert workspace.array("hem.counters", 1, np.int64)[BUILT] == 6
    engine.remove(np.array([0], np.int32))
    del contents[0]
    assert found(engine, encode_events(events), workspace) == expected(contents, events)
    assert workspace.array("hem.counters", 1, np.int64)[BUILT] == 12


def test_as_published_there_are_passes_and_no_masks_to_share() -> None:
    rng = np.random.default_rng(15)
    store, contents = stored(boxes(rng, SIZE, 6, 500_000))
    scale = TOP_LABEL // 10**6
    events = [dict(enumerate((row * scale).tolist())) for row in rng.integers(200_000, 800_000, (5, 6))] * 2
    ours, theirs = (counted(built(store, **options), events) for options in ({}, {"as_published": True}))
    assert (ours[CHECKED], theirs[CHECKED] > 0) == (0, True)
    assert ours[BUILT] + ours[LISTED] > 0
    assert theirs[[BUILT, SHARED, LISTED]].tolist() == [0, 0, 0]
    # Each triangle walks what it excludes, for each event again; each pass checks what is left, attribute by attribute.
    assert theirs[WALKED] > len(events) * SIZE / 4
    assert theirs[CHECKED] < len(events) * 6 * SIZE
    published = built(store, as_published=True)
    assert found(published, encode_events(events)) == expected(contents, events)
    assert (published.settings["plan"], published.settings["passes"]) == ("printed", True)


def test_masks_that_are_not_shared_are_made_again() -> None:
    rng = np.random.default_rng(5)
    store, contents = stored(boxes(rng, SIZE, 2, 700_000))
    events = [{0: TOP_LABEL // 2, 1: TOP_LABEL // 3}] * 4
    engine = built(store, plan="triangle", share=False)
    counters = counted(engine, events)
    assert (counters[PASSES], counters[BUILT], counters[SHARED]) == (8, 8, 0)
    assert found(engine, encode_events(events)) == expected(contents, events)


def test_plans_that_are_not_proven_are_counted() -> None:
    rng = np.random.default_rng(16)
    store, contents = stored(boxes(rng, 60, 6, 500_000))
    events = [dict.fromkeys(range(6), TOP_LABEL // 2)]
    engine = built(store, plan="optimum", collect=False)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.stats()["unproven_plans"] == 0
    workspace = Workspace()
    engine.scratch(workspace, engine._union_call(workspace).scratch).counters[UNPROVEN] = 3
    engine.match(encode_events(events), 0, workspace)
    assert engine.stats()["unproven_plans"] == 0


def test_what_was_saved_before_an_option_was_there_still_opens() -> None:
    store, contents = stored(boxes(np.random.default_rng(17), 60, 2, 500_000))
    engine, events = built(store), [{0: TOP_LABEL // 2, 1: TOP_LABEL // 2}]
    header = {**engine.header(), "options": {"grid": 80, "plan": "near", "collect": True, "direct_cost": 60}}
    again = HEM(store)
    again.restore(engine.arrays(), header)
    assert found(again, encode_events(events)) == expected(contents, events)
    with pytest.raises(CorruptSnapshot, match="the options of the engine are not those of its triangles"):
        HEM(store, {"grid": 3}).restore(engine.arrays(), header)


def test_the_shorter_side_of_a_triangle_is_walked() -> None:
    rng = np.random.default_rng(6)
    store, _ = stored(boxes(rng, SIZE, 1, 20_000))
    event = [{0: TOP_LABEL // 2}]
    short = counted(built(store, plan="triangle"), event)[WALKED]
    long = counted(built(store, plan="triangle", collect=False), event)[WALKED]
    assert short < SIZE / 5 if COMPILED else short <= SIZE
    assert long > SIZE / 2
    wide, _ = stored(boxes(rng, SIZE, 1, 980_000))
    assert counted(built(wide, plan="triangle"), event)[WALKED] < SIZE / 2


@pytest.mark.skipif(not COMPILED, reason="needs many rules")
def test_few_candidates_come_as_a_list_and_many_as_bits() -> None:
    rng, scale = np.random.default_rng(7), TOP_LABEL // 10**6
    narrow, _ = stored(boxes(rng, SIZE, 4, 1_000))
    middle = dict.fromkeys(range(4), 500_000 * scale)
    assert counted(built(narrow), [middle])[LISTED] == 1
    assert counted(built(narrow, collect=False), [middle])[LISTED] == 0
    wide, _ = stored(boxes(rng, SIZE, 4, 900_000))
    assert counted(built(wide), [middle])[LISTED] == 0


@pytest.mark.skipif(not COMPILED, reason="needs many rules")
def test_rules_that_leave_attributes_out_are_found_through_those_that_they_have() -> None:
    count = 40_000
    step = TOP_LABEL // count
    store, contents = stored([(Constraint(n % 50, ((n * step, (n + 1) * step),)),) for n in range(count)])
    engine, event = built(store), {1: 20_001 * step, 2: 10_002 * step, 3: 5 * step}
    assert counted(engine, [event])[LISTED] == 1
    assert found(engine, encode_events([event])) == expected(contents, [event])


def test_work_does_not_grow_with_the_rules_that_an_event_cannot_match() -> None:
    walked = []
    for count in (500, 4_000) if COMPILED else (100, 800):
        step = TOP_LABEL // count
        store, _ = stored([(Constraint(0, ((n * step, (n + 1) * step),)),) for n in range(count)])
        walked.append(int(counted(built(store), [{0: count // 2 * step}])[WALKED]))
    assert walked[1] < (500 if COMPILED else 100)


def test_points_are_moved_a_bounded_number_of_times() -> None:
    rng = np.random.default_rng(8)
    count = 3_000 if COMPILED else 150
    store, _ = stored(boxes(rng, count, 3, 400_000))
    engine, units = HEM(store), store.live_units()
    for unit in units:
        engine.insert(unit[None])
    stats = engine.stats()
    assert stats["points"] == 3 * count
    assert stats["moved_points"] <= 4 * stats["points"]
    assert len(engine._triangles.column("pool")) <= 4 * stats["points"] + 2**16
    for unit in units[: count // 2]:
        engine.remove(unit[None])
    assert engine.stats()["points"] == 3 * (count - count // 2)
    assert engine.stats()["moved_points"] == stats["moved_points"]


def test_what_growing_left_behind_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.hem.triangles._SPARE", 0)
    rng = np.random.default_rng(9)
    store, contents = stored(random_conjunctions(rng, 300, 3, 40))
    engine, events = HEM(store), random_events(rng, 10, 3, 40)
    for unit in store.live_units():
        engine.insert(unit[None])
        assert not engine._triangles.wasteful
    for unit in rng.permutation(store.live_units())[:250]:
        engine.remove(unit[None])
        del contents[int(unit)]
        assert not engine._triangles.wasteful
    assert found(engine, encode_events(events)) == expected(contents, events)


def test_ranges_are_never_enumerated() -> None:
    """A million one-sided ranges in the small: a point each, and squares that cost the same for any number."""
    count = 20_000 if COMPILED else 300
    step = TOP_LABEL // count
    constants = np.random.default_rng(10).permutation(count - 1) + 1
    rules = [(Constraint(0, ((int(c) * step, TOP_LABEL) if c % 2 else (0, int(c) * step),)),) for c in constants]
    store, contents = stored(rules)
    engine = built(store)
    assert engine.stats()["points"] == count - 1
    assert engine.stats()["bytes_index"] < 40 * count + 500_000
    events = [{0: label} for label in (0, step, TOP_LABEL // 2, TOP_LABEL - 1)]
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert counted(engine, events[2:3])[WALKED] < 0.6 * count


def test_grids_grow_finer_with_their_points() -> None:
    rng = np.random.default_rng(11)
    store, _ = stored(boxes(rng, 5_000 if COMPILED else 300, 1, 400_000))
    engine, taus = HEM(store, {"grid": 20}), []
    for start in range(0, store.live, 50):
        engine.insert(store.live_units()[start : start + 50])
        taus.append(int(engine._triangles.view().taus[0]))
    assert taus == sorted(taus)
    assert taus[0] < taus[-1] <= 20
    assert engine.audit() == []


def test_many_dimensions_are_warned_of() -> None:
    store, _ = stored([(Constraint(attribute, ((0, 5),)),) for attribute in range(31)])
    engine = built(store)
    assert "31 attributes: 'hem' is made for up to 30" in engine.stats()["warning"]
    engine.remove(np.array([0], np.int32))
    assert "warning" not in engine.stats()
    assert engine.stats()["dimensions"] == 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plan": "best"}, "'plan' of engine 'hem' must be one of 'near', 'optimum', 'triangle', 'direct', 'printed'"),
        ({"plan": 3}, "must be a string"),
        ({"grid": 0}, "must be from 1 to 1000"),
        ({"grid": True}, "must be an integer"),
        ({"collect": 1}, "must be True or False"),
        ({"tau": 80}, "its options: as_published, collect, direct_cost, grid, passes, plan, share"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        HEM(ConjunctionStore(), options)


def test_audit_sees_what_is_broken() -> None:
    def broken(column: str, position: Any, value: int) -> list[str]:
        store, _ = stored([*random_conjunctions(np.random.default_rng(12), 80), (Constraint(0, (), True),)])
        engine = built(store)
        columns = {**engine._triangles.columns, **engine.columns}
        columns[column].writable()[position] = value
        return engine.audit()

    assert "the sums of attribute" in broken("sums", 0, 99)[0]
    assert "is not in its square" in broken("starts", slice(None), 0)[0]
    assert "says something else" in broken("bounds", 0, 77)[0]
    assert "says something else" in broken("pool", 0, 79)[0]
    assert "bits of units" in broken("bits", 0, 0)[0]
    assert "miscounted" in broken("totals", 0, 3)[0]
    assert any("but not both" in problem for problem in broken("states", 5, -1))
    assert any("without a point" in problem for problem in broken("states", slice(None), -2))
