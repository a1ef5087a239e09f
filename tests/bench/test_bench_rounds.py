"""No event is given twice to what is measured, in `measure_rounds` and in every experiment."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from matchwood.bench.frame.measure import measure_engine, time_box, timed_codes, times
from matchwood.bench.frame.rounds import BATCHES, LEAST_ROUNDS, PROBED, drawn, measure_rounds, warm_events
from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import Workspace
from matchwood.engines.base import Hits, Work
from tests.bench.conftest import Results
from tests.bench.watching import MEASURING, keys_of


class Recording:
    """Gives events out and writes down which, at so many seconds each."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.given: list[int] = []
        self.seconds = seconds

    def match(self, first: int, stop: int) -> float:
        self.given += range(first, stop)
        return self.seconds * (stop - first)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7, 100, 601])
@pytest.mark.parametrize("box", [math.inf, 1e9, 0.5, 0.001])
def test_each_event_is_given_once_and_in_order(count: int, box: float) -> None:
    recording = Recording(0.01)
    with time_box(box):
        rounds = measure_rounds(recording.match, count, enough_s=math.inf)
    assert recording.given == list(range(rounds.events))
    assert rounds.us == pytest.approx(1e4)
    assert (rounds.timeout is None) == (rounds.events == count)
    assert rounds.events == count or box < 1


def test_what_fits_into_the_box_is_told_by_the_first_events() -> None:
    recording = Recording(0.01)
    with time_box(1.0):
        rounds = measure_rounds(recording.match, 1_000, enough_s=math.inf)
    assert 80 <= rounds.events <= 100
    assert rounds.marks() == {"timeout": 1.0}
    with time_box(1.0):
        late = measure_rounds(Recording(0.01).match, 1_000, spent_s=5.0)
    assert late.events == 2 * PROBED


def test_enough_is_enough_and_no_timeout() -> None:
    recording = Recording(1.0)
    rounds = measure_rounds(recording.match, 600, enough_s=10.0)
    assert rounds.events == 100 * (1 + LEAST_ROUNDS)
    assert rounds.marks() == {}
    assert measure_rounds(Recording(1.0).match, 600, enough_s=math.inf).events == 600
    assert drawn(100) == 600 == 100 * BATCHES
    assert rounds.warmup_s == pytest.approx(100.0)


def test_the_median_round_counts_not_the_cheapest() -> None:
    rates = iter([9.0, 1.0, 2.0, 5.0, 6.0, 7.0])
    rounds = measure_rounds(lambda first, stop: next(rates) * (stop - first), 60, enough_s=math.inf)
    assert rounds.us == 5e6


def test_encoding_takes_each_event_once() -> None:
    given: list[int] = []

    def encode(first: int, stop: int) -> list[Any]:
        given.extend(range(first, stop))
        time.sleep(0.001)
        return [stop - first]

    us, codes = timed_codes(encode, 60)
    assert given == list(range(60))
    assert codes == [warm_events(60), 60 - warm_events(60)]
    assert us > 0
    assert times(1.25, 2.5) == {"encode_us": 1.25, "match_us": 2.5, "us_per_event": 3.75}


class Double:
    """An engine that finds nothing, ends its output at every third event, and knows which events it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[int, ...]] = []

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        stop = min(events.count, first + 3)
        self.given += [tuple(event) for event in keys_of(events, first, stop)]
        units, offsets = np.zeros(stop - first, np.int32), np.arange(stop - first + 1)
        return Hits(first, offsets, units, Work(1, 1, 1))


@pytest.mark.parametrize("box", [math.inf, 60.0])
def test_an_engine_is_given_no_event_twice(box: float) -> None:
    count = 50
    events = EncodedEvents(np.arange(count + 1), np.zeros(count, np.int32), np.arange(count, dtype=np.int32))
    double: Any = Double()
    with time_box(box):
        found = measure_engine(double, events, math.inf)
    assert double.given == [(0, label) for label in range(count)]
    assert (found.events, found.hits, len(found.running)) == (count, count, count)


# ---------------------------------------------------------------------- every experiment


@pytest.mark.parametrize("name", MEASURING)
def test_no_experiment_measures_an_event_that_the_engine_has_met(name: str, results: Results) -> None:
    watch = results.watched(name)
    assert watch.measured > 100
    assert watch.repeated == 0
