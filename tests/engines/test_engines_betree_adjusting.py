"""Self-adjustment of the BE-Tree (TODS 2013, section 5): ranks, windows, what is recycled, what feedback lives and dies
with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines_support import Conjunction, encode_events, expected, found, stored
from test_engines_betree import STEP, built, equal, home_of, span, work_of

from matchwood.engines import ConjunctionStore, Workspace
from matchwood.engines.betree._place_kernels import rank_of
from matchwood.engines.betree.draw import buckets
from matchwood.engines.betree.engine import BETree
from matchwood.engines.betree.layout import CHANGED, LEAF_SPENT, LOSS, LOSS_UNIT, NOTE, OTHERS, SEEN, SPENT
from matchwood.errors import InvalidArgument

Event = dict[int, int]
NEVER = 10**9
"""A window that does not end, for tests of what is noted in it."""


def popular_and_useless() -> list[Conjunction]:
    """Attribute 0 comes first among the popular ones, and tells nothing apart; attribute 1 would."""
    told: list[Conjunction] = [(span(0, 1, 61), span(1, each % 60, each % 60 + each // 60)) for each in range(60, 160)]
    return told + [(span(2, number, number + 2),) for number in range(60)]


def matched(engine: BETree, events: list[Event], step: int = 1 << 30) -> BETree:
    """The engine, after it was told of events in calls of so many."""
    workspace = Workspace()
    for first in range(0, len(events), step):
        found(engine, encode_events(events[first : first + step]), workspace)
    return engine


def changed(engine: BETree, unit: int) -> None:
    """A rule goes and comes back."""
    engine.remove(np.array([unit], np.int32))
    engine.insert(np.array([unit], np.int32))
    assert engine.audit() == []


def notes_of(engine: BETree) -> tuple[np.ndarray, np.ndarray]:
    """A row a c-node, and a row a p-node."""
    columns = engine.nodes.columns
    clusters, partitions = columns["cluster_notes"].view(), columns["partition_notes"].view()
    return clusters.reshape(-1, NOTE).copy(), partitions.reshape(-1, NOTE).copy()


def random_rules(count: int, seed: int = 3) -> list[Conjunction]:
    rng = np.random.default_rng(seed)
    return [
        tuple(
            equal(a, int(rng.integers(64))) if rng.random() < 0.4 else span(a, low := int(rng.integers(60)), low + 3)
            for a in sorted(rng.permutation(8)[:3].tolist())
        )
        for _ in range(count)
    ]


def random_values(count: int, seed: int = 4) -> list[Event]:
    rng = np.random.default_rng(seed)
    return [{a: int(rng.integers(64)) * STEP for a in range(8) if rng.random() < 0.8} for _ in range(count)]


# ------------------------------------------------------------------ what is noted


@pytest.mark.parametrize("evaluation", ["plain", "lazy", "hybrid"])
@pytest.mark.parametrize("blocks", [True, False])
def test_events_tell_the_same_one_by_one_and_in_one_batch(evaluation: str, blocks: bool) -> None:
    store, _ = stored(random_rules(400))
    events = random_values(900)
    told = []
    for step in (1, 7, len(events)):
        engine = built(store, max_cap=4, window=NEVER, evaluation=evaluation, blocks=blocks)
        told.append((notes_of(matched(engine, events, step)), engine.counters()["discarded"], engine._feedback._told))
    (clusters, partitions), discarded, rates = told[0]
    assert discarded > 10_000
    for (more_clusters, more_partitions), more_discarded, more_rates in told[1:]:
        assert np.array_equal(clusters, more_clusters)
        assert np.array_equal(partitions, more_partitions)
        assert (discarded, rates.tolist()) == (more_discarded, more_rates.tolist())


def test_a_call_that_fills_its_output_notes_every_event_once() -> None:
    store, _ = stored([(span(0, 0, 40), span(1, 0, number % 60)) for number in range(100)])
    events = [{0: STEP, 1: 0}] * 50
    one, other = (built(store, max_cap=10, window=NEVER) for _ in range(2))
    matched(one, events)
    found(other, encode_events(events), Workspace(room=1))
    assert np.array_equal(notes_of(one)[0], notes_of(other)[0])


@pytest.mark.parametrize("bits", [0, 64])
def test_discarded_evaluations_by_hand(bits: int) -> None:
    """Equation 11 counts evaluations: one for a candidate that fails at first, more for one that fails later."""
    rules: list[Conjunction] = [
        (span(0, 0, 40), span(1, 5, 6), span(2, 0, 50)),  # fails at attribute 1, its first test
        (span(0, 0, 40), span(1, 0, 1), span(2, 7, 9)),  # passes attribute 1, fails at attribute 2: the third
        (span(0, 0, 40), span(1, 0, 1), span(2, 0, 50)),  # holds
        (span(0, 0, 40), span(1, 0, 2), span(7, 0, 50)),  # fails at attribute 7, which no event has
    ]
    store, _ = stored(rules)
    engine = built(store, window=NEVER, evaluation="plain", blocks=False, bloom_bits=bits)
    matched(engine, [{0: 0, 1: 0, 2: 0}] * 5)
    root = notes_of(engine)[0][0]
    spent = 2 + 3 + (0 if bits else 3)
    assert (root[SEEN], root[LEAF_SPENT], root[SPENT]) == (5, 5 * spent, 5 * spent)
    assert engine.counters()["discarded"] == 5 * spent


def test_nodes_count_the_events_that_reach_them() -> None:
    store, _ = stored([(equal(0, value % 4), span(1, 0, value)) for value in range(40)])
    engine = built(store, max_cap=10, window=NEVER)
    matched(engine, [{0: STEP, 1: 0}] * 3 + [{0: 2 * STEP}] * 4 + [{5: 0}] * 6)
    clusters, partitions = notes_of(engine)
    assert (clusters[0, SEEN], clusters[1, SEEN]) == (13, 13)
    assert partitions[:, SEEN].max() == 7
    assert clusters[home_of(engine, 1).number, SEEN] == 3
    assert clusters[home_of(engine, 2).number, SEEN] == 4
    assert clusters[home_of(engine, 3).number, SEEN] == 0


# ------------------------------------------------------------------ ranks


def test_the_rank_of_a_p_node_is_equation_10() -> None:
    """Every predicate on the way to a leaf gains, once for each of its rules; every node loses."""
    store, _ = stored(random_rules(300))
    engine = built(store, max_cap=5, window=NEVER, alpha=0.4, beta=0.3)
    tree, settings = engine.nodes.tree(), engine._settings()
    depth = {bucket.number: 0 for bucket in buckets(engine) if bucket.above is None}
    gains = dict[tuple[int, int], float]()
    by_number = {bucket.number: bucket for bucket in buckets(engine)}
    for bucket in by_number.values():
        way, at = [], bucket
        while at.attribute is not None:
            top = at
            while top.half:
                top = by_number[int(top.above or 0)]
            way.append((int(top.above or 0), at.attribute, at.exact))
            at = by_number[int(top.above or 0)]
        gain = sum(0.7 if exact else 0.3 for *_, exact in way) * len(bucket.units)
        for place, attribute, _ in way:
            gains[place, attribute] = gains.get((place, attribute), 0.0) + 0.6 * gain
    assert depth
    ranks = engine_ranks(engine, tree, settings)
    assert ranks == pytest.approx(gains)
    matched(engine, random_values(50))
    engine.reconsider()
    clusters, partitions = notes_of(engine)
    assert engine.audit() == []
    assert clusters[:, OTHERS].sum() > 0
    assert partitions[:, LOSS].sum() > 0


def engine_ranks(engine: BETree, tree: Any, settings: Any) -> dict[tuple[int, int], float]:
    from matchwood.engines.betree.layout import ATTRIBUTE, NONE, PARTITION, PARTITIONS, PLACE

    rows = tree.partitions[: PARTITION * tree.state[PARTITIONS]].reshape(-1, PARTITION)
    return {
        (int(row[PLACE]), int(row[ATTRIBUTE])): float(rank_of(tree, number, settings))
        for number, row in enumerate(rows)
        if row[PLACE] != NONE
    }


def test_loss_is_an_average_over_the_events_that_reach_the_node() -> None:
    store, _ = stored([(equal(0, value % 4), span(1, 10, 20 + value)) for value in range(40)])
    engine = built(store, max_cap=50, window=NEVER, theta=-1e6)
    home = home_of(engine, 1)
    assert home.attribute is None
    engine = built(store, max_cap=10, window=NEVER, theta=-1e6)
    home = home_of(engine, 1).number
    matched(engine, [{0: STEP, 1: 0}] * 3 + [{5: 0}] * 50)
    engine.reconsider()
    clusters, partitions = notes_of(engine)
    assert clusters[home, OTHERS] * LOSS_UNIT == 10.0, "ten candidates, each false at its first test"
    assert partitions[:, LOSS].max() * LOSS_UNIT == 10.0
    assert clusters[home, SEEN] == 0, "a new window"


@pytest.mark.parametrize("share", [10, 1])
def test_a_node_that_few_events_reach_is_judged_by_those(share: int) -> None:
    store, contents = stored(popular_and_useless())
    engine = built(store, max_cap=110, window=400, equality_first=False)
    lost = {0: 30 * STEP, 1: 63 * STEP}
    matched(engine, [lost if number % 10 < share else {9: 0} for number in range(400)])
    changed(engine, 0)
    assert engine.stats()["recycled_p_nodes"] == 1
    assert found(engine, encode_events([lost])) == expected(contents, [lost])


# ------------------------------------------------------------------ beta


def test_beta_is_tuned_by_equation_15() -> None:
    """Below a p-node: three candidates an event by predicates that their bucket covers, two of them false."""
    store, _ = stored([(span(0, 2 * value, 2 * value + 2),) for value in range(3)] + [(equal(1, 5),)] * 1)
    engine = built(store, max_cap=3, min_size=1, tune_beta=True, directory="specialised")
    assert home_of(engine, 0).attribute == 0
    matched(engine, [{0: STEP, 1: 9 * STEP}] * 10)
    changed(engine, 1)
    assert engine._feedback.false_rate == 2 / 3
    assert engine.stats()["beta"] == 0.5 - 1 / 3


def test_candidates_count_once_for_each_predicate_that_is_covered() -> None:
    """A rule two p-nodes deep is a candidate by two covered predicates; one behind an equality by none."""
    rules = [(span(0, 0, 40 + number), span(1, 0, number)) for number in range(20)]
    rules += [(equal(2, 1 + number % 2), span(3, 0, number)) for number in range(20)]
    store, _ = stored(rules)
    engine = built(store, max_cap=4, tune_beta=True, directory="specialised")
    event = {0: 0, 1: 10 * STEP, 2: STEP, 3: 0}
    assert work_of(engine, event).candidates == 30
    above = {bucket.number: bucket.attribute for bucket in buckets(engine)}
    ways = {(above[bucket.above], bucket.attribute) for bucket in buckets(engine) if bucket.above and bucket.units}
    assert ways == {(0, 1), (2, 3)}
    assert engine._feedback._told[:2].tolist() == [2 * 20 + 10, 2 * 10]


def test_beta_is_left_alone_without_covered_predicates() -> None:
    """In the root nothing is covered, and a predicate that is exactly its bucket is subsumed."""
    for rules, options in (
        ([(span(0, value, value + 1),) for value in range(50)], {"max_cap": 100}),
        ([(equal(0, value % 5 + 1), span(1, 0, value)) for value in range(50)], {"max_cap": 10}),
    ):
        store, _ = stored(rules)
        engine = built(store, tune_beta=True, **options)
        matched(engine, [{0: STEP, 1: 60 * STEP}] * 300)
        changed(engine, 1)
        assert engine.stats()["beta"] == 0.5


# ------------------------------------------------------------------ recycling


def test_nodes_that_lose_are_recycled() -> None:
    store, contents = stored(popular_and_useless())
    engine = built(store, max_cap=110, window=200, equality_first=False)
    event = {0: 30 * STEP, 1: 6 * STEP}
    assert {bucket.attribute for bucket in buckets(engine) if bucket.above == 0} == {0}
    matched(engine, [event] * 200)
    changed(engine, 0)
    assert engine.stats()["recycled_p_nodes"] == 1
    assert 0 not in {bucket.attribute for bucket in buckets(engine)}, "another attribute takes the rules"
    assert found(engine, encode_events([event])) == expected(contents, [event])


def test_alpha_decides_whether_loss_counts() -> None:
    store, _ = stored(popular_and_useless())
    engine = built(store, max_cap=110, window=200, alpha=0.0, equality_first=False)
    matched(engine, [{0: 30 * STEP, 1: 6 * STEP}] * 300)
    engine.reconsider()
    assert engine.stats()["recycled"] == 0


def test_leaves_and_buckets_are_recycled_as_well() -> None:
    """A bucket whose rules never match loses, beside others of the same p-node that gain."""
    rules = [(equal(0, 1), span(1, number, number + 1)) for number in range(8)]
    rules += [(equal(0, 2), span(1, 0, 20 + number)) for number in range(40)]
    store, contents = stored(rules)
    engine = built(store, max_cap=45, window=60)
    events = [{0: STEP, 1: 62 * STEP}, {0: 2 * STEP, 1: 0}] * 30
    matched(engine, events)
    changed(engine, 15)
    stats = engine.stats()
    assert (stats["recycled_l_nodes"], stats["recycled_p_nodes"], stats["recycled"]) == (1, 0, 1)
    assert found(engine, encode_events(events[:2])) == expected(contents, events[:2])


def test_a_bucket_goes_with_its_p_nodes() -> None:
    """The p-node below gains just enough by itself; what events lose in the bucket as a whole is too much."""
    rules = [(equal(0, 1), span(1, 0, 20 + number)) for number in range(24)]
    store, contents = stored(rules + [(equal(0, 2), span(1, 0, 20 + number)) for number in range(40)])
    engine = built(store, max_cap=6, window=60, directory="specialised")
    good, lost = {0: STEP, 1: 0}, {0: STEP, 1: 43 * STEP}
    matched(engine, ([good] * 6 + [lost] * 4) * 6)
    changed(engine, 60)
    stats = engine.stats()
    assert (stats["recycled_p_nodes"], stats["recycled_c_nodes"], stats["recycled_l_nodes"]) == (0, 1, 0)
    assert found(engine, encode_events([good, lost])) == expected(contents, [good, lost])


def test_every_node_has_a_window_of_its_own() -> None:
    """A tenth of the rules below it: a leaf of 20 is judged after two events, the p-node of 60 goes on to six."""
    store, _ = stored([(equal(0, 1 + number % 3), span(1, number, number + 1)) for number in range(60)])
    engine = built(store, max_cap=25, node_window=0.1, theta=-1e6)
    engine._adjust(everything=False)
    matched(engine, [{0: STEP, 1: 63 * STEP}])
    engine._adjust(everything=True)
    leaf = home_of(engine, 0).number
    matched(engine, [{0: STEP, 1: 63 * STEP}] * 2)
    engine._adjust_if_due()
    clusters, partitions = notes_of(engine)
    assert clusters[leaf, OTHERS] * LOSS_UNIT == 20.0
    assert (clusters[leaf, SEEN], partitions[0, SEEN]) == (0, 2)
    matched(engine, [{0: 3 * STEP, 1: 0}] * 3)
    changed(engine, 2)
    clusters, partitions = notes_of(engine)
    assert partitions[0, LOSS] * LOSS_UNIT == (2 * 20 + 3 * 20) / 5, "five events and a change make six"
    assert partitions[0, CHANGED] == 1, "and the rule that came back begins the next"


def test_a_window_without_events_goes_on() -> None:
    store, _ = stored([(equal(0, 1 + number % 3), span(1, number, number + 1)) for number in range(60)])
    engine = built(store, max_cap=25, node_window=0.1, theta=1e6)
    for unit in range(20):
        changed(engine, unit)
    assert engine.stats()["recycled"] == 0
    matched(engine, [{0: STEP}] * 3)
    changed(engine, 0)
    assert engine.stats()["recycled"] > 0


# ------------------------------------------------------------------ what feedback dies with


def test_feedback_dies_with_a_rebuild() -> None:
    store, _ = stored(random_rules(300))
    engine = matched(built(store, max_cap=5, window=NEVER, tune_beta=True), random_values(200))
    engine.reconsider()
    matched(engine, random_values(200))
    assert all(notes.any() for notes in notes_of(engine))
    assert engine._feedback.false_rate is not None
    engine.rebuild()
    assert not any(notes.any() for notes in notes_of(engine))
    assert engine._feedback.false_rate is None
    assert engine._feedback.window == 0


def test_feedback_dies_with_a_node() -> None:
    """All nodes but the root are freed; those that take their numbers begin with nothing."""
    rules = random_rules(300)
    store, _ = stored(rules)
    engine = matched(built(store, max_cap=5, window=NEVER, theta=-1e9), random_values(200))
    engine.reconsider()
    matched(engine, random_values(20))
    before = engine.stats()
    engine.remove(store.live_units())
    assert not notes_of(engine)[0][2:, [SEEN, SPENT, LOSS, OTHERS]].any()
    engine.insert(store.live_units()[:200])
    engine.insert(store.live_units()[200:])
    clusters, partitions = notes_of(engine)
    assert engine.stats()["c_nodes"] > before["c_nodes"] // 2
    for notes in (clusters[2:], partitions):
        assert not notes[:, [SEEN, SPENT, LEAF_SPENT, LOSS, OTHERS]].any()


def test_a_p_node_that_goes_does_not_wait_any_longer() -> None:
    """Its window is over, and then the removal that would have ranked it leaves it too few rules to live on."""
    store, _ = stored([(equal(0, 1 + number % 2), span(1, 0, number)) for number in range(20)])
    engine = matched(built(store, max_cap=5, node_window=0.1), [{0: STEP, 1: 0}] * 30)
    assert engine.nodes.columns["due"].view()[0] > 0
    engine.remove(store.live_units()[:19])
    assert engine.stats()["p_nodes"] == 0
    assert not notes_of(engine)[1].any()
    assert engine.nodes.columns["due"].view()[0] == 0


def test_a_leaf_that_is_cut_is_judged_anew() -> None:
    store, _ = stored([(span(0, number, number + 1),) for number in range(40)])
    engine = BETree(store, {"max_cap": 10, "window": NEVER, "batch": False, "min_size": 1})
    engine.insert(store.live_units()[:11])
    matched(engine, [{0: 5 * STEP}] * 10)
    home = home_of(engine, 5).number
    assert notes_of(engine)[0][home, SEEN] == 10
    engine.insert(store.live_units()[11:])
    assert engine.stats()["split_buckets"] > 0
    assert engine.audit() == []
    top = next(bucket.number for bucket in buckets(engine) if bucket.attribute == 0 and not bucket.half)
    assert notes_of(engine)[0][top, SEEN] == 0


# ------------------------------------------------------------------ predicates and reinsertion


@pytest.mark.parametrize("evaluation", ["lazy", "bitmap", "hybrid"])
def test_revived_predicates_are_no_orphans(evaluation: str) -> None:
    store, contents = stored([(equal(0, 1), equal(1, 2)), (equal(0, 1), equal(1, 3))])
    engine = built(store, evaluation=evaluation)
    for _ in range(5):
        engine.remove(np.array([0, 1], np.int32))
        assert engine.stats()["predicates"] == 0
        engine.insert(np.array([0, 1], np.int32))
        assert engine.stats()["predicates"] == 3
    assert found(engine, encode_events([{0: STEP, 1: 2 * STEP}])) == expected(contents, [{0: STEP, 1: 2 * STEP}])


def test_the_bitmap_takes_in_what_it_was_made_without() -> None:
    """A predicate that nobody had when the bitmap was made has no bit when it comes back: it is made anew."""
    store, contents = stored([(equal(0, 1),), (equal(0, 2),), (equal(0, 3),)])
    engine = BETree(store, {"evaluation": "bitmap"})
    for unit in (0, 1):
        engine.insert(np.array([unit], np.int32))
    engine.remove(np.array([0], np.int32))
    engine.insert(np.array([2], np.int32))
    made = engine.stats()["bitmaps_built"]
    engine.insert(np.array([0], np.int32))
    assert engine.stats()["bitmaps_built"] == made + 1
    assert found(engine, encode_events([{0: STEP}])) == expected(contents, [{0: STEP}])
    assert engine.counters()["evaluated"] == 0


def test_a_cut_that_wants_room_reinserts_once() -> None:
    """The same seed and the same changes make the same tree, however often kernels stop for room."""
    store, _ = stored(random_rules(600))
    engines = []
    for spacious in (False, True):
        engine = BETree(store, {"max_cap": 3, "reinsertion": 0.3, "seed": 4, "batch": False})
        if spacious:
            engine.nodes._reserve(20_000, 20_000)
        engine.insert(store.live_units())
        assert engine.audit() == []
        engines.append(engine)
    few, many = (engine.stats() for engine in engines)
    assert few["reinserted"] == many["reinserted"] > 0
    assert buckets(engines[0]) == buckets(engines[1])


# ------------------------------------------------------------------ as published


def test_as_published_is_table_six_and_a_window_a_node() -> None:
    store, contents = stored(random_rules(500))
    ours, published = built(store), built(store, as_published=True)
    assert (ours.stats()["max_cap"], published.stats()["max_cap"]) == (320, 5)
    assert published.stats()["l_nodes"] > ours.stats()["l_nodes"]
    assert published.settings["node_window"] == 0.1
    assert published.stats()["bytes_rows"] < ours.stats()["bytes_rows"], "rows are bare units"
    events = random_values(100)
    for engine in (ours, published):
        assert found(engine, encode_events(events)) == expected(contents, events)
        changed(engine, 3)
    assert ours.stats()["recycled"] == 0
    assert published.stats()["recycled"] > 0
    for share, capacity in ((0.005, 5), (0.05, 20), (0.5, 160)):
        published._feedback.events, published._feedback.possible = 1000, 200_000
        published._feedback.matched = int(share * 200_000)
        published.reconsider()
        assert published.stats()["max_cap"] == capacity


def test_as_published_and_an_option_that_contradicts_it() -> None:
    with pytest.raises(InvalidArgument, match="'max_cap' of engine 'betree' is 0 as published"):
        BETree(ConjunctionStore(), {"as_published": True, "max_cap": 9})
