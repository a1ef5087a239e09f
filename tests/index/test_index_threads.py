"""One writer, many readers: every answer is that of some moment between two writes, and time never runs backwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import matchwood as mw
from matchwood.matching.loading import load as bulk
from matchwood.matching.loading import sources
from tests.conftest import SOAK

EVENTS = [{"x": number} for number in range(0, 60, 3)]
STEPS = 25
REST = 0.0 if SOAK else 0.001
"""Seconds between two looks of a reader: without any, a writer waits for the interpreter most of the time."""


class Readers:
    """Threads that ask again and again, each with its own look at the index, until the writer is done."""

    def __init__(self, looks: list[Callable[[], int]]) -> None:
        self.problems: list[str] = []
        self.looked = [0] * len(looks)
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(place, look)) for place, look in enumerate(looks)]

    def _read(self, place: int, look: Callable[[], int]) -> None:
        last = -1
        try:
            while not self._done.is_set():
                moment = look()
                if moment < last:
                    self.problems.append(f"{look.__name__}: moment {moment} after {last}")
                last = moment
                self.looked[place] += 1
                self._done.wait(REST)
        except BaseException as error:
            self.problems.append(f"{look.__name__}: {error!r}")

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(60)
        assert self.problems == []
        assert min(self.looked) > 0


def looks_at(index: mw.Index, moment_of: Callable[[list[list[Any]]], int]) -> list[Callable[[], int]]:
    """Every way to ask; `moment_of` tells from the answers to EVENTS which prefix of the writes they are of."""

    def from_table(table: Any) -> list[list[Any]]:
        found: list[list[Any]] = [[] for _ in EVENTS]
        for event, rule in zip(table["event"].to_pylist(), table["rule"].to_pylist(), strict=True):
            found[event].append(rule)
        return found

    def match_many() -> int:
        return moment_of(from_table(index.match_many(EVENTS)))

    def match_batches() -> int:
        return moment_of(from_table(index.match_batches(EVENTS).read_all()))

    return [match_many, match_many, match_batches]


@pytest.mark.few
@pytest.mark.parametrize("limit", [1, 256], ids=["forms", "conjunctions"])
def test_two_rules_that_change_together(limit: int, engine: str) -> None:
    """`low` and `high` cut the events at one place, which each write moves: any other answer is torn.

    Between the writes other rules come and go, boundaries with them, and the index is compacted.
    """
    index = mw.Index(engine=engine, dnf_limit=limit)

    def rules(moment: int) -> dict[str, str]:
        place = 60 - moment * 2
        return {"low": f"x < {place} or y = {place}", "high": f"x >= {place} or y = -{place}"}

    def moment_of(found: list[list[Any]]) -> int:
        cut = [("low" in rules, "high" in rules) for rules in found]
        assert all(low != high for low, high in cut), found
        assert cut == sorted(cut, reverse=True), found
        return STEPS - sum(low for low, _ in cut)

    index.insert_many(rules(0))
    with Readers(looks_at(index, moment_of)):
        for moment in range(1, STEPS if SOAK else 9):
            index.insert_many(rules(moment), on_duplicate="replace")
            index[f"other {moment % 4}"] = f"x = {moment} or x > {40 - moment / 8} or z like '%{moment}%a%'"
            if moment % 3 == 0:
                del index[f"other {moment % 4}"]
            if moment % 8 == 0:
                index.compact()
    assert index.audit() == []


@pytest.mark.few(0)
def test_rules_of_several_conjunctions_come_and_go_whole(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One insertion in small chunks: each rule shares a conjunction that is there already, and brings a new one."""
    monkeypatch.setattr(sources, "CHUNK_RULES", 7)
    index = mw.Index(engine=engine)
    index["first"] = "shared = 1"
    total = 7 * (STEPS if SOAK else 3)

    def moment_of(found: list[list[Any]]) -> int:
        by_shared, by_own = found
        assert by_shared[0] == "first"
        assert by_shared[1:] == [f"r{number}" for number in range(len(by_shared) - 1)]
        assert by_own == by_shared[1:]
        return len(by_own)

    def both() -> int:
        table = index.match_many([{"shared": 1}, {"own": 5}])
        events, rules = table["event"].to_pylist(), table["rule"].to_pylist()
        return moment_of(
            [[rule for event, rule in zip(events, rules, strict=True) if event == each] for each in (0, 1)]
        )

    def length() -> int:
        count = len(index)
        assert len(list(index.items())) >= count
        assert index.stats()["rules"] >= count
        return count

    with Readers([both, both, length]):
        index.insert_many((f"r{number}", f"shared = 1 or own >= 0 and own < {10 + number}") for number in range(total))
    assert both() == total


def test_a_sequence_of_single_writes(engine: str) -> None:
    """Insertions, then replacements, then deletions, each prefix of which has an answer of its own."""
    index = mw.Index(engine=engine)
    count = 30

    def look() -> int:
        inserted = index.match_many([{"x": 1}, {"y": 1}])
        events, rules = inserted["event"].to_pylist(), inserted["rule"].to_pylist()
        old = [rule for event, rule in zip(events, rules, strict=True) if event == 0]
        new = [rule for event, rule in zip(events, rules, strict=True) if event == 1]
        if not new:
            assert old == list(range(len(old)))
            return len(old)
        if old:
            assert new + old == list(range(count))
            return count + len(new)
        assert new == list(range(count - len(new), count))
        return 2 * count + (count - len(new))

    with Readers([look, look, look]):
        for number in range(count):
            index[number] = f"x = 1 or z = {number}"
        for number in range(count):
            index[number] = f"y = 1 or z = {-number}"
        for number in range(count - 1):
            del index[number]
    assert look() == 3 * count - 1


def test_types_of_rules_to_come_do_not_show_early(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a load is being prepared, events are read by the types of the rules that are there."""
    index = mw.Index(engine=engine)
    index["null"] = "x is not null"
    seen: list[Any] = []
    real = bulk._Load._take

    def take(load: Any, rule: Any, row: int) -> None:
        real(load, rule, row)
        seen.append((index.match({"x": 5}), index.match({"x": "five"}), index.types(), len(index)))
        assert index.explain({"x": 5}, "null").verdict is True

    monkeypatch.setattr(bulk._Load, "_take", take)
    index.insert_many({"text": "x = 'five'", "other": "y = 1"})
    assert seen == [(["null"], ["null"], {}, 1)] * 2
    assert index.match({"x": "five"}) == ["null", "text"]
    with pytest.raises(mw.EventError):
        index.match({"x": 5})


@pytest.mark.long(2)
def test_writers_take_turns(engine: str) -> None:
    index = mw.Index(engine=engine)
    broken: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for number in range(20):
                index[f"{name}{number}"] = f"x = {number} or a{name} = 1"
                index.insert_many({f"{name}{number}b": f"x >= {number}"})
                if number % 3 == 0:
                    del index[f"{name}{number}"]
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert broken == []
    assert len(index) == 3 * (20 + 13)
    assert index.match({"ab": 1}) == [f"b{number}" for number in range(20) if number % 3]
    assert index.audit() == []


def test_long_looks_do_not_hold_up_matching(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a lint, a save or an audit runs and a writer waits for it, others go on matching."""
    index = mw.Index()
    index["a"] = "x = 1"
    linting, go_on = threading.Event(), threading.Event()

    def slow(*arguments: Any) -> Any:
        linting.set()
        assert go_on.wait(30)
        return None

    monkeypatch.setattr("matchwood.insight.lint_rules", slow)
    threads = [threading.Thread(target=index.lint), threading.Thread(target=index.__setitem__, args=("b", "x = 1"))]
    threads[0].start()
    assert linting.wait(30)
    threads[1].start()
    matched = [index.match({"x": 1}) for _ in range(50)]
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert matched == [["a"]] * 50
    assert index.match({"x": 1}) == ["a", "b"]


def test_readers_that_wait_for_a_writer_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told so: what the writer left half done is never matched."""
    index = mw.Index()
    index["a"] = "x = 1"
    writing, go_on = threading.Event(), threading.Event()
    told: list[str] = []

    def failing(*arguments: Any) -> None:
        writing.set()
        assert go_on.wait(30)
        raise MemoryError("no room")

    def asking(ask: Callable[[], object]) -> None:
        try:
            ask()
        except (mw.MatchwoodError, MemoryError) as error:
            told.append(str(error))

    monkeypatch.setattr(type(index._matcher.engine), "insert", failing)
    asks = [lambda: index.__setitem__("b", "x = 1 or y = 2"), *[lambda: index.match({"x": 1})] * 3]
    asks.append(lambda: index.__setitem__("c", "x = 1"))
    threads = [threading.Thread(target=asking, args=(ask,)) for ask in asks]
    threads[0].start()
    assert writing.wait(30)
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert sorted(told)[-1] == "no room"
    assert len(told) == 5
    assert all("failed half-way" in each for each in told if each != "no room")
