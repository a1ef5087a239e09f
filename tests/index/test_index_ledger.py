"""What is remembered of past events: noted in one place, and saving changes none of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.encoding.events import statistics
from matchwood.matching.ledger.singles import TOGETHER

RULES = {
    "adults": "age >= 18 and country in ('US', 'CA')",
    "free": "plan like 'free%' or missing is null",
    "paid": "not (plan like 'free%') and age < 60",
}
EVENTS = [{"age": age, "country": ("US", "DE")[age % 2], "plan": ("free", "gold", None)[age % 3]} for age in range(90)]


def filled(**settings: Any) -> mw.Index:
    index = mw.Index(**settings)
    index.insert_many(RULES)
    return index


def matched(**settings: Any) -> mw.Index:
    index = filled(**settings)
    index.match_many(pa.Table.from_pylist(EVENTS))
    for event in EVENTS[:7]:
        index.match(event)
    index.top_many(EVENTS[:5], weights={"age": 2.0, "nobody": 1.0})
    return index


def shares(index: mw.Index) -> list[float]:
    """Of each attribute's values below and above the middle of the labels."""
    numbers = np.repeat(np.arange(len(index._encoder.vocabulary.table), dtype=np.int32), 2)
    low, high = (np.tile(np.array(each, np.int32), len(numbers) // 2) for each in ([0, 2**30], [2**30, 2**31 - 1]))
    return index._encoder.event_statistics.shares(numbers, low, high).tolist()


@pytest.mark.parametrize("settings", [{}, {"engine": "scan", "options": {"spaces": "pstree"}}, {"engine": "oracle"}])
def test_saving_changes_nothing_that_is_remembered(tmp_path: Path, settings: dict[str, Any]) -> None:
    index = matched(**settings)
    before, ledger = index.stats(), index._matcher.ledger
    waiting, sampled = ledger.statistics._waiting.count, ledger.sample.events
    index.save(tmp_path / "index")
    assert index.stats() == before
    assert (ledger.statistics._waiting.count, ledger.sample.events) == (waiting, sampled)
    assert settings.get("engine") == "oracle" or waiting > 0 < sampled


@pytest.mark.parametrize("spaces", ["sorted", "pstree"])
def test_events_that_wait_are_counted_in_what_is_saved(tmp_path: Path, spaces: str) -> None:
    index = matched(options={"spaces": spaces})
    index.save(tmp_path / "index")
    opened = mw.open(tmp_path / "index")
    assert opened.stats()["observed_events"] == index.stats()["observed_events"] == len(EVENTS) + 7 + 5
    assert shares(opened) == shares(index)


def test_fading_shows_in_what_is_saved_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "REMEMBERED", 50)
    index = matched()
    seen = index.stats()["observed_events"]
    index.save(tmp_path / "index")
    assert index.stats()["observed_events"] == seen
    assert mw.open(tmp_path / "index").stats()["observed_events"] == seen // 2


def test_a_batch_is_noted_once_in_all_of_the_ledger() -> None:
    index = filled()
    ledger = index._matcher.ledger
    index.match_many(pa.Table.from_pylist(EVENTS))
    assert (ledger.statistics.events, ledger.sample.events, ledger.work.events) == (90, 90, 90)
    assert (ledger.clock._events, ledger.watch._events) == (0, 90), "the first call may compile: it is not timed"
    index.top(EVENTS[0])
    assert (ledger.statistics.events, ledger.sample.events, ledger.work.events) == (91, 91, 91)
    assert (ledger.clock._events, ledger.watch._events) == (1, 91)
    assert ledger.work.scored > 0


def test_single_events_are_noted_together_and_seen_by_whoever_looks() -> None:
    index = filled(engine="pstbloom")
    ledger = index._matcher.ledger
    given = (EVENTS * 3)[:TOGETHER]
    for event in given[1:]:
        index.match(event)
    assert (len(ledger._singles._waiting), ledger._work.events) == (TOGETHER - 1, 0)
    assert index.stats()["matching"]["events"] == index.stats()["observed_events"] == TOGETHER - 1
    assert ledger.sample.events == ledger.watch._events == TOGETHER - 1
    assert ledger.clock._events == TOGETHER - 2, "the first call may compile: it is not timed"
    for event in given:
        index.match(event)
    assert (len(ledger._singles._waiting), ledger._work.events) == (0, 2 * TOGETHER - 1)
    before = ledger.work.as_dict()
    index.match_many(given[1:])
    index.match_many(given)
    assert ledger.work.as_dict() == {name: 2 * count for name, count in before.items()}


def test_single_events_are_noted_before_codes_change() -> None:
    index = filled(engine="pstbloom")
    ledger = index._matcher.ledger
    for number, change in enumerate((
        lambda: index.__setitem__("new", "age < 7"),
        lambda: index.__delitem__("new"),
        index.compact,
        index._matcher.reconsider,
    )):  # fmt: skip
        index.match(EVENTS[number])
        assert len(ledger._singles._waiting) == 1
        change()
        assert len(ledger._singles._waiting) == 0
        assert ledger._work.events == ledger._statistics.events == number + 1


def test_single_events_that_wait_are_saved(tmp_path: Path) -> None:
    index = filled(engine="pstbloom")
    for event in EVENTS[:5]:
        index.match(event)
    index.save(tmp_path / "index")
    assert mw.open(tmp_path / "index").stats()["observed_events"] == 5
