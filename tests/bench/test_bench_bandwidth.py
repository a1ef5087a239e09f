"""`bench bandwidth`: what an event touches follows from the engine's own counters."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.bench.frame.encoded_rules import encoded
from matchwood.bench.own import bandwidth
from matchwood.bench.registry import SCALES, SMOKE
from matchwood.engines import Workspace, engine_class
from matchwood.workloads.begen import begen

pytestmark = pytest.mark.every_day


@pytest.fixture(scope="module")
def rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    return list(results["bandwidth"]["rows"])


def test_every_engine_has_its_share_on_every_workload(rows: list[dict[str, Any]]) -> None:
    assert [(row["workload"], row["engine"]) for row in rows] == [
        (workload, engine) for workload in ("begen 1%", "ads 0.1%") for engine in bandwidth.ENGINES
    ]
    for row in rows:
        assert row["checked"] is True
        assert row["bytes_per_hit"] * row["hits_per_event"] == pytest.approx(row["bytes_per_event"], rel=0.02)
        assert row["memory_share"] == pytest.approx(row["floor_us"] / row["match_us"], rel=0.02, abs=0.002)
        assert min(row["stream_gb_per_s"], row["gather_ns"], row["gb_per_s"]) > 0
    assert set(bandwidth.SIZES) == set(bandwidth.STREAMED) == {SMOKE, *SCALES}


def test_traffic_is_counted_event_by_event() -> None:
    given = encoded(begen(rules=400, events=20, matching=0.05, seed=3))
    for name in bandwidth.ENGINES:
        engine = engine_class(name)(given.store.copy())
        engine.rebuild()
        work = engine.match(given.events, 0, Workspace()).work
        assert work.candidates > 0
        pairs, events = len(given.events.attributes), given.events.count
        found = bandwidth.traffic_of(engine, given)
        if name == "counting":
            assert found.gathers == pytest.approx(work.postings / events)
            expected = 8 * pairs + 4 * work.matched + 4 * work.postings + 2 * given.store.live * events
        else:
            assert found.gathers == pytest.approx(2 * work.verified / events)
            store = given.store.view()
            said = (store.words.nbytes + store.sets.nbytes) / given.store.live
            expected = 8 * pairs + 4 * work.matched + 8 * work.candidates + said * work.verified
        assert found.streamed == pytest.approx(expected / events)
        assert found.touched == found.streamed + 64 * found.gathers
