"""`engine="auto"`: what it chooses, that it says why, and that no answer changes while it changes its mind."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from auto_support import CHOOSABLE, change_mind, choice_of, event, events, finish, hits, matcher_of, obey, rule

import matchwood as mw
from matchwood.choosing import auto, trials
from matchwood.choosing.trial import Trial
from matchwood.engines import FIRST_ENGINE, GROUPED
from matchwood.errors import CorruptSnapshot, InvalidArgument, LimitExceeded
from matchwood.matching.ledger import clock
from matchwood.workloads.ads import ads
from matchwood.workloads.begen import begen
from matchwood.workloads.hem import hem
from tests.conftest import SOAK


def two(rng: random.Random, count: int) -> tuple[mw.Index, mw.Index]:
    """An index that chooses, and the oracle, with the same rules."""
    index, oracle = mw.Index(), mw.Index("oracle")
    rules = {number: rule(rng) for number in range(count)}
    for each in (index, oracle):
        each.insert_many(rules)
    return index, oracle


# ---------------------------------------------------------------------- rules


def test_a_small_index_begins_with_the_first_engine_and_never_thinks_about_it() -> None:
    rng = random.Random(1)
    index, oracle = two(rng, 300)
    told = choice_of(index)
    assert (index.engine, told["engine"], told["source"]) == (FIRST_ENGINE, FIRST_ENGINE, "default")
    matcher_of(index).ledger.clock.fold(1_000_000, 0, 3_600)
    asked = events(rng, 80)
    assert hits(index, asked) == hits(oracle, asked)
    assert not matcher_of(index).trying.locked()
    assert choice_of(index) == told


def test_wide_ranges_on_few_attributes_are_counted() -> None:
    """Access predicates that let a third of all events through lead to everybody: counting wins by its rules alone."""
    workload = hem(rules=3_000, events=5, attributes=3, width=0.5, seed=1)
    index = mw.Index()
    index.insert_many(workload.rules_table())
    told = choice_of(index)
    assert (index.engine, told["source"], told["changes"]) == ("counting", "rules", 1)
    assert told["predicted_us"]["counting"] < told["predicted_us"]["pstbloom"]
    assert "counting should take" in told["why"]
    assert "pstbloom" in told["why"]


def test_selective_rules_stay_with_access_predicates() -> None:
    index = mw.Index()
    index.insert_many(ads(rules=3_000, events=5, matching=0.001, seed=1).rules_table())
    told = choice_of(index)
    assert index.engine in ("pstbloom", "psthash")
    assert (told["features"]["units"], told["features"]["attributes"]) == (3_000, 122)
    assert told["features"]["constraints"] == pytest.approx(8, abs=0.3)
    assert set(told["predicted_us"]) == set(CHOOSABLE) - {GROUPED}
    assert json.loads(json.dumps(told)) == told


def test_the_choice_does_not_depend_on_how_rules_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one bulk, in parts, and one by one: what is chosen when all are laid out anew is the same."""
    count = 2_500 if SOAK else 700
    monkeypatch.setattr(auto, "LEAST_UNITS", count * 2 // 5)
    table = hem(rules=count, events=5, attributes=3, width=0.5, seed=2).rules_table()
    at_once, in_parts, one_by_one = mw.Index(), mw.Index(), mw.Index()
    at_once.insert_many(table)
    for start in range(0, count, count // 6):
        in_parts.insert_many(table.slice(start, count // 6))
    for number, text in enumerate(table["expression"].to_pylist()):
        one_by_one[number] = text
    assert {at_once.engine, in_parts.engine, one_by_one.engine} == {"counting"}
    for each in (at_once, in_parts, one_by_one):
        assert each.audit() == []


# --------------------------------------------------------------------- events


def test_events_change_the_mind_of_an_index_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is patched but the time after which it is worth a look: rules do not tell that a tenth of them match."""
    monkeypatch.setattr(clock, "FIRST_LOOK", 1e-6)
    monkeypatch.setattr("matchwood.choosing.choice.Plan.worth_it_at", 0.0)
    workload = begen(rules=4_000 if SOAK else 2_000, events=400, matching=0.2, seed=5)
    index, scan = mw.Index(), mw.Index("scan")
    for each in (index, scan):
        each.insert_many(workload.rules_table())
    before = index.engine
    asked = workload.events_table()
    expected = scan.match_many(asked)
    for _ in range(20):
        assert index.match_many(asked).equals(expected)
        finish(index)
        if choice_of(index)["trials"]:
            break
    told = choice_of(index)
    assert told["trials"] == 1
    assert told["source"] == "trial"
    assert {before, index.engine} <= set(told["measured_us"])
    assert told["measured_us"][index.engine] <= told["measured_us"][before]
    assert told["features"]["hits"] == pytest.approx(800 if SOAK else 400, rel=0.1)
    assert told["trial_seconds"] > 0
    assert index.match_many(asked).equals(expected)
    assert index.audit() == []


def test_a_trial_waits_until_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)
    monkeypatch.setattr(auto, "LEAST_UNITS", 1)
    index, _ = two(rng, 300)
    index.match_many(events(rng, 100))
    matcher = matcher_of(index)
    assert matcher.begin_trial() is None
    assert not matcher.reconsider_due
    matcher.ledger.clock.fold(0, 0, 3_600)
    assert matcher.reconsider_due
    trial = matcher.begin_trial()
    assert trial is not None
    assert index.engine not in trial.names


def test_too_few_events_are_no_reason_for_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    obey(monkeypatch, list(CHOOSABLE))
    index, _ = two(rng, 200)
    index.match_many(events(rng, auto.LEAST_SAMPLE - 1))
    assert change_mind(index) == FIRST_ENGINE
    index.match(event(rng))
    assert change_mind(index) != FIRST_ENGINE


@pytest.mark.long(3)
@pytest.mark.parametrize("name", [name for name in CHOOSABLE if name != FIRST_ENGINE])
def test_what_comes_and_goes_during_a_trial_is_made_up_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(name)
    obey(monkeypatch, [name])
    index, oracle = two(rng, 160)
    index.match_many(events(rng, 100))
    run = Trial.run

    def slowly(self: Trial, match_now: Any) -> Any:
        found = run(self, match_now)
        for each in (index, oracle):
            changes = random.Random(7)
            for number in changes.sample(range(160), 30):
                del each[number]
            each.insert_many({number: rule(changes) for number in range(1_000, 1_040)})
            each.insert_many({number: rule(changes) for number in range(1_000, 1_010)}, on_duplicate="replace")
            for number in range(1_030, 1_040):
                del each[number]
        return found

    monkeypatch.setattr(Trial, "run", slowly)
    assert change_mind(index) == name
    assert index.audit() == []
    asked = events(rng, 20)
    assert hits(index, asked) == hits(oracle, asked)
    for each in (index, oracle):
        each.insert_many({number: rule(random.Random(number)) for number in range(2_000, 2_020)})
        del each[2_003]
    assert hits(index, asked) == hits(oracle, asked)
    index.compact()
    assert (hits(index, asked), index.audit()) == (hits(oracle, asked), [])


def test_a_trial_is_dropped_when_numbers_change_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    obey(monkeypatch, ["counting"])
    index, oracle = two(rng, 300)
    index.match_many(events(rng, 100))
    run = Trial.run

    def interrupted(self: Trial, match_now: Any) -> Any:
        found = run(self, match_now)
        del index[3], oracle[3]
        index.compact()
        return found

    monkeypatch.setattr(Trial, "run", interrupted)
    assert change_mind(index) == FIRST_ENGINE
    assert choice_of(index)["trials"] == 0
    asked = events(rng, 100)
    assert (hits(index, asked), index.audit()) == (hits(oracle, asked), [])


def test_readers_and_a_writer_race_with_changes_of_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules 0 to 299 stay, so their hits never change; pairs come and go at once, so nobody ever sees half of one."""
    rng = random.Random(11)
    obey(monkeypatch, list(CHOOSABLE))
    index, oracle = two(rng, 300)
    asked = events(rng, 70)
    expected = {place: set() for place in range(70)}  # type: dict[int, set[int]]
    for place, number in zip(*hits(oracle, asked), strict=True):
        expected[place].add(number)
    wrong: list[str] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set() and not wrong:
            found: dict[int, set[int]] = {place: set() for place in range(70)}
            for place, number in zip(*hits(index, asked), strict=True):
                found[place].add(number)
            for place, numbers in found.items():
                if {number for number in numbers if number < 300} != expected[place]:
                    wrong.append(f"event {place} has others than {sorted(expected[place])}")
                if any(number >= 300 and (number ^ 1) not in numbers for number in numbers):
                    wrong.append(f"event {place} has half of a pair: {sorted(numbers)}")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    changes = random.Random(12)
    engines = set()
    trial: threading.Thread | None = None
    for turn in range(40 if SOAK else 8):
        if trial is None or not trial.is_alive():
            trial = threading.Thread(target=change_mind, args=(index,))
            trial.start()
        first = 300 + 2 * changes.randrange(40)
        text = rule(changes)
        for each in (index, oracle):
            each.insert_many({first: text, first + 1: text}, on_duplicate="replace")
        if turn % 3 == 2:
            index.insert_many({398: "a0 >= 0", 399: "a0 >= 0"}, on_duplicate="replace")
            oracle.insert_many({398: "a0 >= 0", 399: "a0 >= 0"}, on_duplicate="replace")
        if turn % 13 == 12:
            index.compact()
        engines.add(index.engine)
    stop.set()
    for thread in (*readers, trial):
        assert thread is not None
        thread.join()
    engines.add(change_mind(index))
    assert not wrong
    assert len(engines) > 1
    assert (hits(index, asked), index.audit()) == (hits(oracle, asked), [])
    assert choice_of(index)["changes"] >= len(engines) - 1


def test_ranking_is_the_same_whatever_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(13)
    obey(monkeypatch, list(CHOOSABLE))
    index, oracle = two(rng, 250 if SOAK else 100)
    asked = events(rng, 70)
    best = oracle.top_many(asked, n=3)
    for _ in CHOOSABLE:
        assert index.top_many(asked, n=3).equals(best)
        change_mind(index)
    index[999] = "a0 >= 0"
    oracle[999] = "a0 >= 0"
    assert index.top_many(asked, n=3).equals(oracle.top_many(asked, n=3))


def test_an_engine_that_cannot_be_built_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(14)
    obey(monkeypatch, ["counting"])
    index, oracle = two(rng, 200)
    asked = events(rng, 100)
    index.match_many(asked)

    def refuse(self: Any) -> None:
        raise LimitExceeded("too many")

    monkeypatch.setattr("matchwood.engines.counting.Counting.rebuild", refuse)
    assert change_mind(index) == FIRST_ENGINE
    told = choice_of(index)
    assert (told["trials"], told["changes"]) == (1, 0)
    assert "no other could be built" in told["why"]
    assert hits(index, asked) == hits(oracle, asked)


def test_a_trial_that_fails_leaves_the_index_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(15)
    obey(monkeypatch, ["counting"])
    index, oracle = two(rng, 200)
    asked = events(rng, 100)
    index.match_many(asked)

    def fail(self: Trial, match_now: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(Trial, "run", fail)
    trials.begin_trial(index, matcher_of(index))
    finish(index)
    assert "a trial failed" in choice_of(index)["why"]
    assert hits(index, asked) == hits(oracle, asked)


# --------------------------------------------------------------------- saving


@pytest.mark.long(3)
@pytest.mark.parametrize("name", CHOOSABLE)
def test_a_saved_choice_is_gone_on_with(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(f"saved {name}")
    obey(monkeypatch, [name, "scan" if name != "scan" else "counting"])
    index, oracle = two(rng, 200)
    sample = events(rng, 100)  # enough for a trial; the oracle has fewer
    index.match_many(sample)
    asked = sample if SOAK else sample[:20]
    while index.engine != name:
        change_mind(index)
    index.save(tmp_path / "index")
    opened = mw.open(tmp_path / "index")
    assert opened.engine == name
    assert choice_of(opened) == choice_of(index)
    assert (hits(opened, asked), opened.audit()) == (hits(oracle, asked), [])
    opened[500] = "a0 >= 0"
    oracle[500] = "a0 >= 0"
    assert hits(opened, asked) == hits(oracle, asked)
    opened.match_many(sample)
    assert change_mind(opened) != name
    assert (hits(opened, asked), opened.audit()) == (hits(oracle, asked), [])


def test_an_index_that_is_only_read_is_never_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(17)
    obey(monkeypatch, ["counting"])
    index, _ = two(rng, 200)
    index.save(tmp_path / "index")
    opened = mw.open(tmp_path / "index", read_only=True)
    began: list[Any] = []
    monkeypatch.setattr("matchwood.choosing.reconsidering.begin_trial", lambda *given: began.append(given))
    for each in (opened, index):
        each.match_many(events(rng, 100))
        each.match_many(events(rng, 100))
        matcher_of(each).ledger.clock.fold(1, 0, 3_600)
        each.match(event(rng))
    assert [given[0] for given in began] == [index]


def test_a_damaged_choice_is_refused(tmp_path: Path) -> None:
    index, _ = two(random.Random(18), 20)
    matcher_of(index).choice.engine = "oracle"
    index.save(tmp_path / "index")
    with pytest.raises(CorruptSnapshot, match="'oracle' is not an engine that can be chosen"):
        mw.open(tmp_path / "index")


# -------------------------------------------------------------------- options


def test_options_restrict_the_choice_to_the_engines_that_have_them() -> None:
    assert mw.Index(options={"access": 3}).engine == "psthash"
    assert mw.Index(options={"form": "cnf"}).engine == "kindex"
    assert mw.Index(options={"binary": True}).engine == "atree"
    assert mw.Index(options={"spaces": "pstree"}).stats()["choice"]["engine"] == FIRST_ENGINE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": 1}, "engine 'auto' has no option 'speed'"),
        ({"access": 2, "form": "cnf"}, "no engine has all of the options 'access', 'form'"),
        ({"access": 9}, "option 'access' of engine 'psthash' must be from 1 to 4"),
    ],
)
def test_options_that_no_engine_has_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        mw.Index(options=options)
