"""Many events at once: lists that several of them select are walked once for all, with the same hits and work."""

from __future__ import annotations

import random
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.choosing import rehearse_reading
from matchwood.encoding import EncodedEvents
from matchwood.engines import Workspace
from matchwood.engines.pst import _known_list_kernels, groups
from matchwood.engines.pst import engine as pst
from tests.conftest import SOAK

NAMES = [f"x{number}" for number in range(8)]
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("pstbloom", {}),
    ("psthash", {}),
    ("psthash", {"dense": 8, "access": 3, "most_spaces": 64}),
]


@pytest.fixture(autouse=True)
def few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of two events are tried with both at once."""
    monkeypatch.setattr(groups, "FEWEST", 2)


def predicate(rng: random.Random, name: str) -> str:
    low, shape = rng.randrange(30), rng.random()
    if shape < 0.4:
        return f"{name} between {low} and {low + rng.randrange(12)}"
    if shape < 0.6:
        return f"{name} in ({', '.join(str(rng.randrange(40)) for _ in range(rng.randrange(2, 7)))})"
    if shape < 0.7:
        return f"{name} not in ({low}, {low + 5}, {low + 9})"
    if shape < 0.8:
        return f"{name} {rng.choice(('>=', '<', '!='))} {low}"
    return f"{name} is null" if shape < 0.83 else f"{name} = {low}"


def rules(rng: random.Random, count: int) -> dict[int, str]:
    chosen = ([predicate(rng, name) for name in rng.sample(NAMES, rng.randrange(1, 5))] for _ in range(count))
    return {number: " and ".join(parts) for number, parts in enumerate(chosen)}


def table(rng: random.Random, count: int) -> pa.Table:
    """Events of a few kinds, so that they select the same lists."""
    values = [0, 3, 7, 12, 20, 25, 39, None]
    return pa.table({name: pa.array([rng.choice(values) for _ in range(count)], pa.int64()) for name in NAMES})


def encoded(index: mw.Index, events: pa.Table) -> EncodedEvents:
    (batch,) = index._encoder.event_batches(events)
    return batch.events


def matched(engine: Any, events: EncodedEvents, workspace: Workspace) -> tuple[list[list[int]], list[int]]:
    """The sorted units of each event, and candidates, verified and matched of all."""
    first, units, work = 0, [], np.zeros(3, np.int64)
    while first < events.count:
        hits = engine.match(events, first, workspace)
        assert hits.first == first
        assert hits.count > 0
        units += [sorted(each.tolist()) for each in np.split(hits.units, hits.offsets[1:-1])]
        work += hits.work[:3]
        first += hits.count
    return units, work.tolist()


def one_by_one(engine: Any, events: EncodedEvents) -> tuple[list[list[int]], list[int]]:
    units, work, workspace = [], np.zeros(3, np.int64), Workspace()
    for event in range(events.count):
        start, stop = events.offsets[event], events.offsets[event + 1]
        alone = EncodedEvents(np.array([0, stop - start]), events.attributes[start:stop], events.labels[start:stop])
        hits = engine.match(alone, 0, workspace)
        units.append(sorted(hits.units.tolist()))
        work += hits.work[:3]
    return units, work.tolist()


@pytest.mark.few
@pytest.mark.parametrize("room", [0, 700, 2**20])
@pytest.mark.parametrize(("engine", "options"), SETTINGS)
def test_groups_find_what_single_events_find(engine: str, options: dict[str, Any], room: int) -> None:
    rng = random.Random(f"{engine} {options}")
    index = mw.Index(engine, options=options)
    index.insert_many(rules(rng, 400))
    events = encoded(index, table(rng, 300))
    workspace = Workspace(room=room)
    wanted = one_by_one(index._matcher.engine, events)
    assert matched(index._matcher.engine, events, workspace) == wanted
    assert sum(map(len, wanted[0])) > 1_000
    for number in range(0, 400, 7):
        del index[number]
    index.insert_many({1_000 + number: rule for number, rule in rules(rng, 30).items()})
    events = encoded(index, table(rng, 150))
    assert matched(index._matcher.engine, events, workspace) == one_by_one(index._matcher.engine, events)


@pytest.mark.parametrize(("engine", "options"), SETTINGS)
def test_groups_answer_as_the_oracle_does(engine: str, options: dict[str, Any]) -> None:
    rng = random.Random(f"oracle {engine} {options}")
    given, events = rules(rng, 250 if SOAK else 120), table(rng, 120)
    index, oracle = mw.Index(engine, options=options), mw.Index("oracle")
    for each in (index, oracle):
        each.insert_many(given)
    assert index.match_many(events).equals(oracle.match_many(events))


@pytest.mark.few
@pytest.mark.parametrize(("engine", "options"), SETTINGS)
@pytest.mark.parametrize("count", [20, 700])
def test_lists_that_come_later_are_found(engine: str, options: dict[str, Any], count: int) -> None:
    """What is remembered of labels from earlier calls, few or many, is forgotten when lists change."""
    rng, workspace = random.Random(f"later {engine} {options}"), Workspace()
    index = mw.Index(engine, options=options)
    index.insert_many(rules(rng, 120))
    given = table(rng, count)
    matched(index._matcher.engine, encoded(index, given), workspace)
    for first in (1_000, 2_000):
        index.insert_many({first + number: rule for number, rule in rules(rng, 40).items()})
        events = encoded(index, given)
        assert matched(index._matcher.engine, events, workspace) == one_by_one(index._matcher.engine, events)


LITTLE_ROOM = [
    ("SELECTED", 3), ("SELECTED", 300), ("KEPT", 70), ("SEGMENTS", 3), ("KNOWN_LISTS", 1), ("KNOWN_LISTS", 150),
    ("KNOWN_TESTS", 1), ("KNOWN_TESTS", 140), ("KNOWN_LABELS", 4),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "room"), LITTLE_ROOM)
def test_what_a_group_has_no_room_for_goes_the_way_of_single_events(
    limit: str, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, limit, room)
    rng = random.Random(limit)
    index = mw.Index("pstbloom")
    index.insert_many(rules(rng, 300))
    events = encoded(index, table(rng, 200))
    assert matched(index._matcher.engine, events, Workspace()) == one_by_one(index._matcher.engine, events)


def test_the_last_rank_is_no_null() -> None:
    """Ranks of 16 bits leave none for NULL: events with the last one are looked at alone."""
    index = mw.Index("pstbloom")
    index.insert_many({number: f"x0 = {number % 3} and x1 >= {number}" for number in range(60)})
    index.insert_many({100 + number: f"x0 = {number % 3} and x1 is not null" for number in range(10)})
    events = encoded(index, pa.table({"x0": [0, 1, 2, 0] * 10, "x1": pa.array([5, None, 70, 59] * 10, pa.int64())}))
    labels = events.labels.copy()
    labels[events.labels == events.labels.max()] = 2**31 - 2
    assert 2**31 - 2 >> _known_list_kernels.RANK_SHIFT == _known_list_kernels.NULL_RANK
    changed = EncodedEvents(events.offsets, events.attributes, labels)
    engine = index._matcher.engine
    assert matched(engine, changed, Workspace()) == one_by_one(engine, changed)


def test_many_lists_of_values_in_one_rule() -> None:
    rng, names = random.Random("pieces"), [f"y{number}" for number in range(12)]
    index, given = mw.Index("pstbloom"), {}
    for number in range(120 if SOAK else 40):
        chosen = rng.sample(names, rng.randrange(6, 13))
        parts = (f"{name} in ({', '.join(map(str, rng.sample(range(24), 14)))})" for name in chosen)
        given[number] = f"flag = {number % 2} and " + " and ".join(parts)
    index.insert_many(given)
    columns = {name: pa.array([rng.randrange(24) for _ in range(40)] * 3, pa.int64()) for name in names}
    events = pa.table({"flag": pa.array([0, 1] * 60, pa.int64()), **columns})
    codes = encoded(index, events)
    assert matched(index._matcher.engine, codes, Workspace()) == one_by_one(index._matcher.engine, codes)
    oracle = mw.Index("oracle")
    oracle.insert_many(given)
    assert index.match_many(events).equals(oracle.match_many(events))


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("engine", ["pstbloom", "psthash"])
def test_groups_are_rehearsed(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise their kernel is compiled while others wait."""
    calls, match_groups = set(), pst.match_groups

    def watched(*given: Any) -> Any:
        calls.add(engine)
        return match_groups(*given)

    monkeypatch.setattr(pst, "match_groups", watched)
    rehearse_reading(mw.Index(engine))
    assert calls == {engine}
