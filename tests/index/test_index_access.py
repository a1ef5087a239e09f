"""Access predicates in an index: chosen by what events were like, and chosen anew when they were not."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import matchwood
from matchwood.engines.base import Work
from matchwood.matching.ledger import counters
from matchwood.matching.ledger.counters import Watch
from matchwood.matching.ledger.singles import TOGETHER
from tests.conftest import SOAK

ENGINES = ["pstbloom", "psthash"]
EMPTY_SHARE = 1.05


def skewed(engine: str, rules: int = 400) -> matchwood.Index:
    """Rules whose narrowest predicate, on `a`, holds of nearly every event, and whose wide one, on `b`, of few."""
    index = matchwood.Index(engine=engine)
    index.insert_many([(number, f"a = 1 and b between {number} and {number + 40}") for number in range(rules)])
    return index


def events(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [{"a": 1, "b": 10_000 + first + number} for number in range(count)]


def candidates_of(index: matchwood.Index, given: list[dict[str, Any]]) -> int:
    before = index.stats()["matching"]["candidates"]
    index.match_many(given)
    return index.stats()["matching"]["candidates"] - before


@pytest.fixture
def short_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "WINDOW", 500)


@pytest.mark.usefixtures("short_window")
@pytest.mark.parametrize("engine", ENGINES)
def test_access_predicates_are_chosen_anew_when_candidates_are_too_many(engine: str) -> None:
    index = skewed(engine)
    assert candidates_of(index, events(499)) == 499 * 400
    assert index.stats()["reconsidered"] == 0
    index.match_many(events(1, 499))
    assert index.stats()["reconsidered"] == 1
    assert candidates_of(index, events(100, 500)) == 0
    assert index.match({"a": 1, "b": 20}) == list(range(21))
    assert index.audit() == []


@pytest.mark.usefixtures("short_window")
def test_one_event_at_a_time_and_in_batches() -> None:
    one, batched = skewed("pstbloom"), skewed("pstbloom")
    for event in events(500 + TOGETHER):  # single events are noted a few at a time
        one.match(event)
    for _ in batched.match_batches([*events(500), {"a": 1, "b": 3}]):
        pass
    assert one.stats()["reconsidered"] == batched.stats()["reconsidered"] == 1


@pytest.mark.usefixtures("short_window")
@pytest.mark.parametrize("engine", ["scan", "counting", "oracle"])
def test_engines_without_access_predicates_have_nothing_to_choose(engine: str) -> None:
    index = skewed(engine, 20)
    index.match_many(events(600))
    assert "reconsidered" not in index.stats()
    assert index.match({"a": 1, "b": 3}) == [0, 1, 2, 3]


@pytest.mark.usefixtures("short_window")
def test_what_is_read_only_stays_as_it_is(tmp_path: Path) -> None:
    skewed("pstbloom").save(tmp_path / "index")
    opened = matchwood.open(tmp_path / "index", read_only=True)
    opened.match_many(events(600))
    assert opened.stats()["reconsidered"] == 0
    changing = matchwood.open(tmp_path / "index")
    changing.match_many(events(600))
    assert changing.stats()["reconsidered"] == 1


@pytest.mark.usefixtures("short_window")
def test_a_change_on_its_way_is_not_waited_for() -> None:
    index, found = skewed("pstbloom"), []

    def rules() -> Any:
        """Rules that are read while others match."""
        thread = threading.Thread(target=lambda: found.append(index.match_many(events(600)).num_rows))
        thread.start()
        thread.join(30)
        assert found == [0]
        yield 1_000, "c = 1"

    index.insert_many(rules())
    index.match({"c": 1})
    assert index.stats()["reconsidered"] == 1


@pytest.mark.usefixtures("short_window")
def test_matching_goes_on_in_other_threads() -> None:
    index, wrong = skewed("psthash"), []

    def work(first: int) -> None:
        for turn in range(20):
            found = index.match_many([*events(50, first), {"a": 1, "b": 5}])["rule"].to_pylist()
            if found != [0, 1, 2, 3, 4, 5]:
                wrong.append((turn, found))

    threads = [threading.Thread(target=work, args=(100 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert index.stats()["reconsidered"] >= 1


def test_rules_inserted_later_are_filed_by_the_events_before() -> None:
    index = matchwood.Index(engine="pstbloom")
    index["first"] = "a = 1 and b between 0 and 40"
    index.match_many(events(2_000))
    index.insert_many([(f"r{number}", f"a = 1 and b between {number} and {number + 40}") for number in range(200)])
    assert candidates_of(index, events(50, 2_000)) <= 50


def test_the_history_is_part_of_a_snapshot(tmp_path: Path) -> None:
    index = skewed("pstbloom")
    index.match_many(events(2_000))
    index.save(tmp_path / "index")
    opened = matchwood.open(tmp_path / "index")
    opened.compact()
    assert candidates_of(opened, events(50)) == 0


def test_a_watch_waits_longer_after_a_choice_that_did_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "WINDOW", 10)
    wasteful, fine, few = Work(2_000, 0, 10), Work(100, 0, 10), Work(90, 0, 0)
    watched = Watch()
    watched.fold(9, wasteful)
    assert not watched.due
    watched.fold(1, wasteful)
    assert watched.due
    watched.settle()
    watched.fold(10, wasteful)
    assert not watched.due
    watched.fold(10, wasteful)
    assert watched.due
    watched.settle()
    watched.fold(40, fine)
    assert not watched.due
    watched.fold(10, wasteful)
    assert watched.due
    watched = Watch()
    watched.fold(10, few)
    assert not watched.due


@pytest.mark.few
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", [{}, {"spaces": "pstree"}], ids=["sorted", "pstree"])
def test_nothing_is_left_when_all_rules_are_gone(engine: str, options: dict[str, Any]) -> None:
    index = matchwood.Index(engine=engine, options=options)
    index["first"] = "a = 1"
    del index["first"]
    index.compact()
    before = index.stats()
    index.insert_many(
        [
            (f"r{number}", f"a > {number} and b = {number % 7} and c <= {number}")
            for number in range(3_000 if SOAK else 600)
        ]
    )
    index.match_many([{"a": number, "b": 3, "c": 5} for number in range(200)])
    for rule in list(index):
        del index[rule]
    index.compact()
    after = index.stats()
    assert (after["postings"], after["lists"], after["units"]) == (0, 0, 0)
    for name in ("bytes_index", "bytes_verify", "bytes_shared"):
        assert after[name] <= EMPTY_SHARE * before[name]
    assert index.audit() == []


def test_options_are_saved_with_the_index(tmp_path: Path) -> None:
    index = matchwood.Index(engine="psthash", options={"access": 3, "dense": 0})
    index.insert_many(
        [(number, f"a = {number % 5} and b = {number % 7} and c = {number % 3}") for number in range(300)]
    )
    index.save(tmp_path / "index")
    opened = matchwood.open(tmp_path / "index")
    event = {"a": 1, "b": 1, "c": 1}
    assert opened.match(event) == index.match(event)
    assert len(index.match(event)) == 3
    assert candidates_of(opened, [event]) == 1
    assert opened.stats()["lists"] == index.stats()["lists"]
