"""Events that wait to be counted."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.encoding import Encoder
from matchwood.encoding.events import statistics
from matchwood.encoding.events.waiting import WaitingEvents
from tests.encoding.encoding_support import Rules
from tests.encoding.test_encoding_event_statistics import batch, shares


def pairs(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def test_what_was_added_last_is_taken_back() -> None:
    waiting = WaitingEvents()
    waiting.add(pairs(0, 1), pairs(10, 20), 1)
    waiting.add(pairs(2, 1, 0), pairs(30, 40, 50), 2)
    assert (waiting.count, waiting.pairs) == (3, 5)
    waiting.take_back(3, 2)
    assert (waiting.count, waiting.attributes.tolist(), waiting.labels.tolist()) == (1, [0, 1], [10, 20])


def test_labels_are_counted_by_attribute() -> None:
    waiting = WaitingEvents()
    assert list(waiting.by_attribute()) == []
    waiting.add(pairs(7, 3, 7), pairs(0, 2**31 - 1, 5), 2)
    waiting.add(pairs(7, 70_000, 7), pairs(5, 1, 5), 2)
    found = [(number, labels.tolist(), times.tolist()) for number, labels, times in waiting.by_attribute()]
    assert found == [(3, [2**31 - 1], [1]), (7, [0, 5], [1, 3]), (70_000, [1], [1])]


def test_a_copy_goes_on_by_itself() -> None:
    waiting = WaitingEvents()
    waiting.add(pairs(0), pairs(10), 1)
    other = waiting.copy()
    other.relabel(0, pairs(10), pairs(11))
    other.add(pairs(0), pairs(12), 1)
    assert (waiting.count, waiting.labels.tolist()) == (1, [10])
    assert (other.count, other.labels.tolist()) == (2, [11, 12])


@pytest.mark.parametrize("limits", [{"WAITING": 30}, {"WAITING_PAIRS": 60}])
def test_events_are_counted_when_they_or_their_values_are_many(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    for constant, value in limits.items():
        monkeypatch.setattr(statistics, constant, value)
    rules = Rules(Encoder())
    rules.add("low", "x < 5 and y < 5")
    history = rules.encoder.event_statistics
    for number in range(35):
        history.observe(batch(rules.encoder, [{"x": number % 10, "y": 0}]))
    assert (history.events, history._waiting.count) == (35, 5)
    assert shares(rules, "low") == [pytest.approx(20 / 35), 1.0]
