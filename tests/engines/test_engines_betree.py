"""The BE-Tree: the paper's tables and examples, what its options do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Conjunction,
    Constraint,
    encode_events,
    expected,
    found,
    stored,
)
from test_engines_counting import check_ranges, one_sided

from matchwood.encoding.codes import TOP_LABEL
from matchwood.engines import ConjunctionStore, Workspace
from matchwood.engines.base import Work
from matchwood.engines.betree._place_kernels import hull_of
from matchwood.engines.betree.draw import Bucket, buckets
from matchwood.engines.betree.engine import BETree
from matchwood.errors import CorruptSnapshot, InvalidArgument

STEP = 2**25
"""64 values an attribute, each one a block of labels."""

RANGES = 20_000 if COMPILED else 200


def span(attribute: int, low: int, high: int, accepts_null: bool = False) -> Constraint:
    """Values low to high, both included."""
    return Constraint(attribute, ((low * STEP, TOP_LABEL if high == 63 else (high + 1) * STEP),), accepts_null)


def equal(attribute: int, value: int) -> Constraint:
    return span(attribute, value, value)


def built(store: ConjunctionStore, one_by_one: bool = False, **options: Any) -> BETree:
    engine = BETree(store, options)
    for units in [store.live_units()[at : at + 1] for at in range(store.count)] if one_by_one else [store.live_units()]:
        engine.insert(units)
    assert engine.audit() == []
    return engine


def work_of(engine: BETree, *events: dict[int, int]) -> Work:
    return engine.match(encode_events(events), 0, Workspace()).work


def home_of(engine: BETree, unit: int) -> Bucket:
    return next(bucket for bucket in buckets(engine) if unit in bucket.units)


# ------------------------------------------------------------------ the paper's tables and examples


def test_table_one() -> None:
    """The interval that each operator becomes; v1 = 5, a list of 5, 9 and 20."""
    low, top = (0, 5 * STEP), (6 * STEP, TOP_LABEL)
    listed = tuple((value * STEP, (value + 1) * STEP) for value in (5, 9, 20))
    others = ((0, 5 * STEP), (6 * STEP, 9 * STEP), (10 * STEP, 20 * STEP), (21 * STEP, TOP_LABEL))
    operators = {
        "<": (Constraint(0, (low,)), low),
        "<=": (Constraint(0, ((0, 6 * STEP),)), (0, 6 * STEP)),
        "=": (equal(0, 5), (5 * STEP, 6 * STEP)),
        "!=": (Constraint(0, (low, top)), (0, TOP_LABEL)),
        ">": (Constraint(0, (top,)), top),
        ">=": (Constraint(0, ((5 * STEP, TOP_LABEL),)), (5 * STEP, TOP_LABEL)),
        "in": (Constraint(0, listed), (5 * STEP, 21 * STEP)),
        "not in": (Constraint(0, others), (0, TOP_LABEL)),
        "between": (span(0, 5, 9), (5 * STEP, 10 * STEP)),
    }
    for name, (constraint, interval) in operators.items():
        store, _ = stored([(constraint,)])
        assert tuple(map(int, hull_of(store.view(), 0))) == interval, name


A, B, C, D = range(4)


def test_the_story_of_section_7_3() -> None:
    """Reconstructed: the figure's subscriptions are not in the text, what happens to them is."""
    rules: list[Conjunction] = [
        (span(A, 20, 40), span(B, 1, 9)),  # S1
        (span(C, 3, 7),),
        (span(D, 1, 40),),
        (span(A, 30, 50), span(B, 2, 5)),  # S4
        (span(D, 5, 60),),
        (span(D, 2, 33),),
        (span(A, 10, 60), span(B, 1, 30)),  # S7
        (span(A, 3, 8),),  # S8
        (span(A, 31, 32), span(B, 5, 6)),  # S9
    ]
    store, contents = stored(rules)
    engine = BETree(store, {"max_cap": 3, "min_size": 2})

    def insert(*numbers: int) -> None:
        for number in numbers:
            engine.insert(np.array([number - 1], np.int32))
            assert engine.nodes.audit(store.view(), store.attributes) == []

    def homes() -> dict[int | None, set[int]]:
        found_in: dict[int | None, set[int]] = {}
        for bucket in buckets(engine):
            found_in.setdefault(bucket.attribute, set()).update(unit + 1 for unit in bucket.units)
        return found_in

    insert(1, 2, 3)
    assert homes() == {None: {1, 2, 3}}
    insert(4)
    assert homes() == {None: {2, 3}, A: {1, 4}}, "the root overflows, [a] is chosen"
    insert(5, 6)
    assert homes() == {None: {2}, A: {1, 4}, D: {3, 5, 6}}, "again, [d] is chosen"
    insert(7, 8)
    assert (home_of(engine, 0).split, home_of(engine, 7).half) == (True, True), "the bucket of [a] is cut"
    assert (home_of(engine, 7).low, home_of(engine, 7).high) == (0, 2**30)
    assert homes()[A] == {1, 4, 7, 8}
    insert(9)
    assert homes() == {None: {2}, A: {8}, B: {1, 4, 7, 9}, D: {3, 5, 6}}, "the cut bucket is partitioned by [b]"
    events = [{A: 31 * STEP, B: 5 * STEP, D: 20 * STEP}, {A: 4 * STEP}, {C: 3 * STEP, A: 35 * STEP}]
    assert found(engine, encode_events(events)) == expected(contents, events)


def test_equation_nine() -> None:
    """A leaf without an attribute to part it is extended by multiples of max_cap, and shrinks again."""
    store, _ = stored([(span(0, 0, 40 + number),) for number in range(10)])
    engine = built(store, one_by_one=True, max_cap=4)
    home = home_of(engine, 0)
    assert (home.split, home.capacity, len(home.units)) == (True, 12, 10)
    assert engine.stats()["extended"] > 0
    engine.remove(np.arange(3, 10, dtype=np.int32))
    assert home_of(engine, 0).capacity == 4


def test_the_midpoint_cuts_and_what_straddles_stays() -> None:
    """Algorithm 6 as its text means it: neither half has the bound of the other, and the parent is still searched."""
    rules = [(span(0, value, value + 1),) for value in (2, 5, 29, 31, 32, 40, 61)] + [(span(0, 10, 50),)]
    store, contents = stored(rules)
    engine = built(store, max_cap=1, directory="generic")
    events = [{0: value * STEP} for value in range(64)]
    assert found(engine, encode_events(events)) == expected(contents, events)
    top = next(bucket for bucket in buckets(engine) if bucket.attribute == 0 and bucket.above == 0)
    assert set(top.units) == {3, 7}, "31 to 32 and 10 to 50 straddle the middle"
    halves = [bucket for bucket in buckets(engine) if bucket.above == top.number and bucket.half]
    assert sorted((half.low, half.high) for half in halves) == [(0, 2**30), (2**30, TOP_LABEL)]


def test_the_share_of_matching_rules_decides_the_capacity_of_leaves() -> None:
    """As in Table VI, with the capacities that were measured here."""
    for share, capacity in ((0.005, 320), (0.05, 320), (0.5, 1280)):
        store, _ = stored([(span(0, 0, 40), equal(1 + number % 3, number % 60)) for number in range(200)])
        engine = built(store)
        assert engine.stats()["max_cap"] == 320
        engine._feedback.events, engine._feedback.possible = 1000, 200_000
        engine._feedback.matched = int(share * 200_000)
        engine.reconsider()
        assert (engine.stats()["max_cap"], engine.stats()["reconsidered"]) == (capacity, 1)
        assert engine.audit() == []
    assert built(store, max_cap=7).stats()["max_cap"] == 7


# ------------------------------------------------------------------ structure


def test_equalities_are_found_in_the_hash_table() -> None:
    store, contents = stored([(equal(0, value), span(1, 0, 30)) for value in range(1, 41)])
    events = [{0: 7 * STEP, 1: 0}, {0: 7 * STEP}, {1: 0}]
    for directory, hashed in (("hybrid", 40), ("specialised", 40), ("generic", 0)):
        engine = built(store, directory=directory, max_cap=2)
        assert engine.stats()["hashed_buckets"] == hashed
        assert work_of(engine, {0: 7 * STEP, 1: 0}).candidates <= 3
        assert found(engine, encode_events(events)) == expected(contents, events)


def test_equalities_are_consumed_first() -> None:
    """Hy-R: the range is on the more popular attribute, and still the equality leads to the rule."""
    rules = [(equal(1 + number % 2, 1 + number), span(0, number % 20, 40)) for number in range(60)]
    store, _ = stored(rules)
    ranked, popular = built(store, max_cap=2), built(store, max_cap=2, equality_first=False)
    assert {bucket.attribute for bucket in buckets(ranked) if bucket.above == 0} == {1, 2}
    assert {bucket.attribute for bucket in buckets(popular) if bucket.above == 0} == {0}


def test_an_attribute_is_used_once_on_a_path_and_null_never_leads() -> None:
    nullable = span(0, 3, 4, accepts_null=True)
    store, contents = stored([(nullable,), (), (nullable, equal(1, 5)), (Constraint(2, (), True), equal(1, 6))])
    engine = built(store, max_cap=1, min_size=1)
    assert engine.stats()["always_candidates"] == 2
    events = [{}, {0: 3 * STEP}, {1: 5 * STEP}, {0: 9 * STEP, 1: 5 * STEP}, {1: 6 * STEP, 2: 0}]
    assert found(engine, encode_events(events)) == expected(contents, events)


def test_buckets_know_the_smallest_interval_of_their_rules() -> None:
    store, _ = stored([(span(0, 20 + number % 5, 40),) for number in range(5)])
    engine = built(store, max_cap=2)
    assert work_of(engine, {0: 5 * STEP}).candidates == 0
    assert work_of(engine, {0: 39 * STEP}).candidates == 5


def test_rules_of_many_attributes_do_not_pile_up() -> None:
    """None is shared by min_size rules: leaves are extended, but not without end."""
    store, contents = stored([(equal(attribute, 5),) for attribute in range(300)])
    for batch in (True, False):
        engine = built(store, batch=batch, max_cap=5)
        assert work_of(engine, {7: 5 * STEP}).candidates <= 11
        assert found(engine, encode_events([{7: 5 * STEP}])) == expected(contents, [{7: 5 * STEP}])


@pytest.mark.parametrize("underflow", ["merge", "reinsert"])
def test_what_underflows_is_merged_or_reinserted(underflow: str) -> None:
    store, contents = stored([(equal(number % 4, number), span(5, number % 9, 50)) for number in range(60)])
    engine = built(store, max_cap=3, underflow=underflow)
    rng = np.random.default_rng(4)
    for unit in rng.permutation(60)[:57].astype(np.int32):
        engine.remove(np.array([unit]))
        store.free(store.drop(np.array([unit])))
        assert engine.audit() == []
        del contents[int(unit)]
    assert engine.stats()["dissolved"] > 0
    events = [{number % 4: number * STEP, 5: 10 * STEP} for number in range(60)]
    assert found(engine, encode_events(events)) == expected(contents, events)
    engine.remove(store.live_units())
    assert (engine.stats()["p_nodes"], engine.stats()["c_nodes"]) == (0, 2)


def test_halves_are_merged_into_an_open_parent() -> None:
    store, _ = stored([(span(0, value, value + 2),) for value in range(0, 60, 4)])
    engine = built(store, max_cap=4, directory="generic")
    before = engine.stats()["split_buckets"]
    engine.remove(np.arange(4, 15, dtype=np.int32))
    assert engine.stats()["merges"] > 0
    assert engine.stats()["split_buckets"] < before


def test_ranges_with_one_open_end() -> None:
    encoded, store = one_sided(RANGES), ConjunctionStore()
    engine = BETree(store)
    units = store.add(encoded).units
    engine.insert(units)
    check_ranges(engine, encoded, units)
    assert engine.stats()["bytes_index"] < 200 * len(units) + 20_000
    one_by_one = BETree(store, {"batch": False})
    one_by_one.insert(units[: RANGES // 4])
    assert one_by_one.stats()["extended"] < 500, "leaves that cannot be parted are surveyed seldom"


# ------------------------------------------------------------------ self-adjustment


def test_histograms_see_what_popularity_does_not() -> None:
    store, _ = stored([(span(0, 1, 61), span(1, number % 60, number % 60 + 1)) for number in range(100)])
    event = {0: 30 * STEP, 1: 6 * STEP}
    hopeful = built(store, max_cap=5, equality_first=False)
    careful = built(store, max_cap=5, equality_first=False, loss="histogram")
    assert home_of(hopeful, 0) != home_of(careful, 0)
    assert next(each.attribute for each in buckets(careful) if each.above == 0) == 1
    assert work_of(careful, event).candidates < 20


def test_exploration_and_reinsertion_are_reproducible() -> None:
    rng = np.random.default_rng(8)
    rules = [
        tuple(equal(int(each), int(rng.integers(5))) for each in sorted(rng.permutation(6)[:3])) for _ in range(200)
    ]
    store, contents = stored(rules)
    options = {"exploit": 0.5, "reinsertion": 0.3, "max_cap": 3}
    first, second = (built(store, one_by_one=True, seed=5, **options) for _ in range(2))
    other = built(store, one_by_one=True, seed=6, **options)
    assert first.stats()["explored"] > 0
    assert first.stats()["reinserted"] > 0
    assert all(np.array_equal(first.arrays()[name], second.arrays()[name]) for name in first.arrays())
    assert buckets(first) != buckets(other)
    events = [dict.fromkeys(range(6), 2 * STEP)]
    assert found(other, encode_events(events)) == found(first, encode_events(events)) == expected(contents, events)
    assert built(store, max_cap=3).stats()["explored"] == 0


# ------------------------------------------------------------------ evaluation


def shared() -> list[Conjunction]:
    """Few distinct predicates, many combinations."""
    return [
        (span(0, 0, 40 + a), span(1, 3, 20 + b), span(2, 5, 30 + c))
        for a in range(6)
        for b in range(6)
        for c in range(6)
    ]


EVENT = {0: 20 * STEP, 1: 22 * STEP, 2: 32 * STEP}


def test_lazy_evaluation_evaluates_each_predicate_once() -> None:
    store, contents = stored(shared())
    for blocks in (True, False):
        engine = built(store, evaluation="lazy", blocks=blocks)
        assert engine.stats()["predicates"] == 18
        events = [EVENT, {}, {0: 0}, EVENT, {0: 44 * STEP, 1: 3 * STEP, 2: 5 * STEP}]
        assert found(engine, encode_events(events)) == expected(contents, events), "bits are reset between events"
        before = engine.counters()
        work = work_of(engine, EVENT)
        evaluated, reused = (engine.counters()[name] - before[name] for name in ("evaluated", "reused"))
        assert 3 <= evaluated <= 18
        assert reused > work.candidates


def test_predicates_are_counted_for_deletion() -> None:
    store, _ = stored(shared())
    engine = built(store, evaluation="lazy")
    engine.remove(np.arange(36, dtype=np.int32))
    assert engine.stats()["predicates"] == 17, "the 36 rules of one predicate are gone"


def test_the_bitmap_leaves_nothing_to_evaluate() -> None:
    store, contents = stored(shared())
    for blocks in (True, False):
        engine = built(store, evaluation="bitmap", blocks=blocks)
        assert found(engine, encode_events([EVENT, {}, EVENT])) == expected(contents, [EVENT, {}, EVENT])
        assert (engine.counters()["evaluated"], engine.stats()["bitmaps_built"]) == (0, 1)
        engine.remove(np.array([3], np.int32))
        engine.insert(np.array([3], np.int32))
        assert engine.stats()["bitmaps_built"] == 1, "nothing is new"


def test_the_hybrid_evaluates_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.betree.predicates._MOST_UNSEEN", 3)
    store, contents = stored([*shared(), (span(0, 7, 50),), (span(1, 7, 51),), (span(2, 7, 52),), (span(3, 7, 53),)])
    engine = BETree(store, {"evaluation": "hybrid", "batch": False})
    engine.insert(np.arange(216, dtype=np.int32))
    engine.match(encode_events([EVENT]), 0, Workspace())
    assert (engine.counters()["evaluated"], engine.stats()["bitmaps_built"]) == (0, 1)
    for unit, built_so_far in ((216, 1), (217, 1), (218, 2), (219, 2)):
        engine.insert(np.array([unit], np.int32))
        assert engine.stats()["bitmaps_built"] == built_so_far
    before = engine.counters()["evaluated"]
    event = {**EVENT, 3: 7 * STEP}
    assert found(engine, encode_events([event])) == expected(contents, [event])
    assert engine.counters()["evaluated"] == before + 1


def test_attributes_with_many_spaces_stay_out_of_the_bitmap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.betree.predicates._MOST_SPACES", 20)
    rules = [(span(0, 0, 10), span(1, value, value + 1)) for value in range(40)]
    store, contents = stored(rules)
    engine = built(store, evaluation="bitmap", max_cap=50)
    events = [{0: 0, 1: value * STEP} for value in (0, 7, 30, 60)]
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.counters()["evaluated"] > 0


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_bloom_filters_spare_verification(bits: int) -> None:
    rng = np.random.default_rng(bits)
    rules = [tuple(span(int(each), 0, 50) for each in sorted(rng.permutation(40)[:4])) for _ in range(300)]
    store, contents = stored(rules)
    engine, plain = built(store, bloom_bits=bits, max_cap=30), built(store, max_cap=30)
    event = dict.fromkeys(range(8), 0)
    work = work_of(engine, event)
    assert work.candidates == work_of(plain, event).candidates == work_of(plain, event).verified
    assert work.verified < work.candidates / (2 if bits > 16 else 1)
    assert found(engine, encode_events([event])) == expected(contents, [event])


def test_blocks_hold_the_constraints_that_are_left() -> None:
    """An equality that is a bucket on the way is not stored, and the range is the row's test: residuals are bare."""
    store, _ = stored([(equal(0, 1 + number % 8), span(1, 0, number)) for number in range(60)])
    engine = built(store, max_cap=20, evaluation="plain")
    engine.rebuild()
    assert engine.stats()["bytes_rows"] == 4 * (60 * (4 + 2) + 8 * 3)
    long = tuple(span(attribute, 0, 40) for attribute in range(30))
    store, contents = stored([long, long[:5], long[3:25]])
    for options in ({"evaluation": "plain"}, {"evaluation": "lazy"}, {"evaluation": "bitmap"}):
        engine = built(store, **options)
        events = [dict.fromkeys(range(30), 5 * STEP), {**dict.fromkeys(range(30), 5 * STEP), 24: 50 * STEP}]
        assert found(engine, encode_events(events)) == expected(contents, events)


# ------------------------------------------------------------------ refusals


def test_options_are_checked() -> None:
    store = ConjunctionStore()
    with pytest.raises(InvalidArgument, match="must be one of 'generic', 'specialised', 'hybrid'"):
        BETree(store, {"directory": "other"})
    with pytest.raises(InvalidArgument, match=r"must be from 0\.0 to 1\.0"):
        BETree(store, {"alpha": 1.5})
    with pytest.raises(InvalidArgument, match="must be a float"):
        BETree(store, {"alpha": 1})


def test_a_tree_of_other_options_is_refused() -> None:
    store, _ = stored(shared())
    engine, other = built(store), BETree(store, {"max_cap": 9})
    with pytest.raises(CorruptSnapshot, match="options"):
        other.restore(engine.arrays(), engine.header())
    for name, value in (("max_cap", 0), ("beta", 2.0), ("beta", None)):
        with pytest.raises(CorruptSnapshot):
            BETree(store).restore(engine.arrays(), {**engine.header(), name: value})
