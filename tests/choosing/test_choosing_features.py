"""Features and samples: figures of rules that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.bench.frame.encoded_rules import encoded
from matchwood.choosing.features import MOST_UNITS, features_of
from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import ConjunctionStore
from matchwood.index import Index
from matchwood.matching.engine_matcher import EngineMatcher
from matchwood.matching.ledger.sample import MOST_EVENTS, EventSample, SampleShares, joined, taken
from matchwood.workloads.begen import begen


def store_of(index: Index) -> ConjunctionStore:
    assert isinstance(index._matcher, EngineMatcher)
    return index._matcher.parts[0].store


def events_of(index: Index, events: list[dict[str, int]]) -> EncodedEvents:
    return joined([index._encoder.encode_event(event) for event in events])


def test_the_figures_of_a_few_rules() -> None:
    index = Index("scan")
    index.insert_many({1: "a = 1 and b = 1", 2: "a = 2 and b = 1", 3: "a = 1 and  b = 1", 4: "c is null"})
    store = store_of(index)
    found = features_of(store, None)
    assert (found.units, found.attributes, found.sharing, found.always) == (3, 3, pytest.approx(4 / 3), 1)
    assert found.constraints == pytest.approx(5 / 3)
    sample = events_of(index, [{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 3}, {"a": 1}] * 500)
    seen = features_of(store, SampleShares(sample))
    assert seen.pairs == pytest.approx(1.5, abs=0.01)
    # a = 1 holds for half of the events, a = 2 and b = 1 for a quarter each; b = 1 stands in two units.
    assert seen.satisfied == pytest.approx(0.5 + 0.25 + 2 * 0.25, rel=0.05)
    assert seen.candidates == pytest.approx(0.25 + 0.25 + 1, rel=0.05)
    assert seen.hits == pytest.approx(0.5 * 0.25 + 0.25 * 0.25 + 1, rel=0.05)
    assert features_of(store, SampleShares(sample), hits=7.0).hits == 7.0


def test_the_order_of_constraints_and_of_units_changes_no_figure() -> None:
    given = encoded(begen(rules=2_000, events=300, matching=0.01, seed=3))
    known = SampleShares(given.events)
    before = [features_of(given.store, statistics) for statistics in (None, known)]
    units = given.store.live_units()
    sizes = given.store.sizes(units)
    turned = [place for size in sizes.tolist() for place in reversed(range(size))]
    given.store.reorder(units, np.cumsum(sizes) - sizes, np.array(turned, np.int32))
    given.store.lay_out(units[::-1])
    for statistics, expected in zip((None, known), before, strict=True):
        assert features_of(given.store, statistics)._asdict() == pytest.approx(expected._asdict(), rel=1e-6)


def test_an_empty_store_has_features() -> None:
    found = features_of(store_of(Index("scan")), None)
    assert (found.units, found.hits, found.candidates) == (0, 0, 0)


def test_of_many_units_a_part_tells_of_all() -> None:
    given = encoded(begen(rules=3 * MOST_UNITS, events=4, matching=0.001, seed=1))
    found = features_of(given.store, None)
    assert found.units == given.store.live
    assert found.satisfied == pytest.approx(_whole_satisfied(given.store), rel=0.05)


def _whole_satisfied(store: ConjunctionStore) -> float:
    """The same over three thirds, added up."""
    thirds = [ConjunctionStore() for _ in range(3)]
    units = store.live_units()
    for place, third in enumerate(thirds):
        third.add(store.encoded(units[place::3]))
    return sum(features_of(third, None).satisfied for third in thirds)


def test_a_sample_is_bounded_and_has_events_of_several_calls() -> None:
    sample = EventSample()
    batch = encoded(begen(rules=300, events=400, matching=0.05, seed=2)).events
    for _ in range(100):
        sample.observe(batch)
    assert MOST_EVENTS <= sample.events <= MOST_EVENTS + 256
    assert sample.frozen().count == sample.events
    sample.clear()
    assert (sample.events, sample.frozen().count) == (0, 0)
    sample.observe(taken(batch, np.array([3])))
    found = sample.frozen()
    assert found.attributes.tolist() == batch.attributes[batch.offsets[3] : batch.offsets[4]].tolist()
    assert found.labels.tolist() == batch.labels[batch.offsets[3] : batch.offsets[4]].tolist()


def test_shares_of_a_sample_are_counted() -> None:
    events = EncodedEvents(
        np.array([0, 2, 3, 3, 5], np.int64), np.array([0, 1, 0, 0, 1], np.int32), np.array([5, 7, 9, 5, 8], np.int32)
    )
    statistics = SampleShares(events)
    attributes = np.array([0, 0, 0, 1, 2], np.int32)
    low, high = np.array([5, 6, 0, 8, 0], np.int32), np.array([6, 9, 100, 9, 100], np.int32)
    assert statistics.events == 4
    assert statistics.shares(attributes, low, high).tolist() == [0.5, 0.0, 0.75, 0.25, 0.0]
