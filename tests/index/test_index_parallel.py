"""Matching by several threads: the answers, the errors and the counts of one."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.encoding.events import plan as event_plan
from matchwood.matching import threads as pools
from matchwood.matching.threads import MOST_THREADS, checked_threads, in_order, in_turns
from tests.conftest import SOAK

COUNTS = [1, 2, 3, 7, None]


def table_of(rows: int) -> pa.Table:
    random = np.random.default_rng(11)
    return pa.table({f"c{i}": pa.array(random.integers(0, 50, rows), mask=random.random(rows) < 0.5) for i in range(8)})


def index_of(engine: str) -> mw.Index:
    index = mw.Index(engine=engine)
    index.insert_many((i, f"c{i % 8} > {i % 45} and (c{(i + 3) % 8} < {i % 31} or c1 is null)") for i in range(120))
    return index


@pytest.mark.long(2)
def test_tables_rankings_and_batches_are_those_of_one_thread(engine: str) -> None:
    index, table = index_of(engine), table_of(20 if engine == "oracle" else 700)
    expected, best = index.match_many(table), index.top_many(table, n=2)
    assert expected.num_rows > len(table)
    for threads in COUNTS:
        assert index.match_many(table, threads=threads).equals(expected)
        assert index.match_batches(table, threads=threads).read_all().equals(expected)
        assert index.top_many(table, n=2, threads=threads).equals(best)
        rows = table.to_pylist()
        assert index.match_many(rows, threads=threads).equals(expected)
        assert index.match_many(iter(rows), threads=threads).equals(expected)
        assert index.match_many(table.slice(0, 0), threads=threads).num_rows == 0
        assert index.match_many([], threads=threads).num_rows == 0


def test_work_is_counted_once(engine: str) -> None:
    index, table = index_of(engine), table_of(50 if engine == "oracle" else 400)

    def counted(threads: int | None) -> dict[str, int]:
        before = index.stats()["matching"]
        index.match_many(table, threads=threads)
        after = index.stats()["matching"]
        return {key: after[key] - before[key] for key in after}

    alone = counted(1)
    assert alone["events"] == len(table)
    assert counted(3) == counted(None) == alone


@pytest.mark.parametrize("threads", [0, -1, MOST_THREADS + 1, 2.0, "2", True, float("nan")])
def test_what_is_no_number_of_threads(threads: Any) -> None:
    index = index_of("scan")
    for ask in (index.match_many, index.match_batches, index.top_many):
        with pytest.raises(mw.InvalidArgument, match=r"threads must be an integer from 1 to 1,024, or None for one"):
            ask([{}], threads=threads)


def test_numbers_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked_threads(np.int32(3)) == 3
    assert checked_threads(None) == pools.usable_cores() >= 1
    for cores, threads in ((7, 7), (MOST_THREADS + 5, MOST_THREADS)):
        monkeypatch.setattr(pools, "usable_cores", lambda cores=cores: cores)
        assert checked_threads(None) == threads


def test_the_first_error_is_told_whoever_meets_it(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_plan, "GOOD_ROWS", 1)
    monkeypatch.setattr(event_plan, "LEAST_ROWS", 5)
    monkeypatch.setattr("matchwood.matching.event_rows.ROWS_AT_ONCE", 5)
    index = mw.Index(engine=engine)
    index["a"] = "x > 1"
    events: list[dict[str, Any]] = [{"x": 2}] * 100
    events[93], events[57] = {"x": "later"}, {"x": "first"}
    for threads in COUNTS:
        with pytest.raises(mw.EventError, match="event 57"):
            index.match_many(events, threads=threads)
        with pytest.raises(mw.EventError, match="event 57"):
            index.match_many(iter(events), threads=threads)
    assert index.match_many(events[:50], threads=3).num_rows == 50


def test_the_source_fails_after_what_it_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_plan, "GOOD_ROWS", 1)
    monkeypatch.setattr(event_plan, "LEAST_ROWS", 2)
    monkeypatch.setattr(event_plan, "ROWS", 2)
    index = mw.Index(engine="scan")
    index["a"] = "x > 1"

    def events(values: list[Any]) -> Iterator[dict[str, Any]]:
        for value in values:
            yield {"x": value}
        raise OSError("the source is gone")

    for threads in COUNTS:
        with pytest.raises(OSError, match="the source is gone"):
            index.match_many(events([2] * 40), threads=threads)
        with pytest.raises(mw.EventError, match="event 3"):
            index.match_many(events([2, 2, 2, "wrong"]), threads=threads)
        read, error = read_until_error(index.match_batches(events([2] * 40), threads=threads))
        assert (read, str(error)) == (40, "the source is gone")


def read_until_error(reader: pa.RecordBatchReader) -> tuple[int, Exception | None]:
    read = 0
    try:
        for batch in reader:
            read += batch.num_rows
    except Exception as error:
        return read, error
    return read, None


def test_batches_before_an_error_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_plan, "GOOD_ROWS", 1)
    monkeypatch.setattr(event_plan, "LEAST_ROWS", 4)
    index = mw.Index(engine="scan")
    index["a"] = "x > 1"
    events = [{"x": 2}] * 30 + [{"x": "wrong"}]
    for threads in (1, 2, 4):
        monkeypatch.setattr(event_plan, "ROWS", 4)
        read, error = read_until_error(index.match_batches(events, threads=threads))
        assert (read, "event 30" in str(error)) == (28, True)


@pytest.mark.long(2)
def test_rules_change_while_threads_match(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`low` and `high` cut the events at one place, which each write moves: any other answer is torn."""
    monkeypatch.setattr(event_plan, "GOOD_ROWS", 1)
    monkeypatch.setattr(event_plan, "LEAST_ROWS", 3)
    index, problems, done = mw.Index(engine=engine), list[Any](), threading.Event()
    events = pa.table({"x": list(range(40))})

    def write(place: int) -> None:
        index.insert_many({"low": f"x < {place} or y = {place}", "high": f"x >= {place}"}, on_duplicate="replace")

    def read(threads: int) -> None:
        try:
            while not done.is_set():
                found = index.match_many(events, threads=threads)
                if found["event"].to_pylist() != list(range(40)):
                    problems.append(found.to_pydict())
                for batch in index.match_batches(events, threads=threads):
                    positions = batch["event"].to_pylist()
                    if positions != list(range(positions[0], positions[-1] + 1)):
                        problems.append(batch.to_pydict())
        except BaseException as error:
            problems.append(error)

    write(20)
    readers = [threading.Thread(target=read, args=(threads,)) for threads in (2, 3)]
    for reader in readers:
        reader.start()
    for step in range(25 if SOAK else 10):
        write(5 + step)
        index[f"other {step % 3}"] = f"x > {100 + step} or z = {step}"
    done.set()
    for reader in readers:
        reader.join(60)
    assert problems == []
    assert index.audit() == []


def test_work_has_ended_when_the_call_has() -> None:
    """Whoever gives up must not leave threads behind that still match."""
    running, most, lock = 0, 0, threading.Lock()

    def work(part: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        if part == 5:
            raise ValueError("five")
        return part

    with pytest.raises(ValueError, match="five"):
        list(in_order(iter(range(50)), work, 4))
    assert running == 0
    assert 1 < most <= 4
    answers = in_order(iter(range(50)), work, 4)
    assert [next(answers), next(answers)] == [0, 1]
    answers.close()
    assert running == 0
    assert list(in_order(iter(range(5)), work, 3)) == list(range(5))


def test_turns_are_taken_for_groups() -> None:
    turns = list[str]()

    class Turn:
        def __enter__(self) -> None:
            turns.append("begin")

        def __exit__(self, *raised: object) -> None:
            turns.append("end")

    def parts() -> Iterator[int]:
        for part in range(5):
            turns.append(f"take {part}")
            yield part

    assert list(in_turns(parts(), lambda part: [part, part], 2, Turn)) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert turns[:8] == ["take 0", "take 1", "begin", "end", "take 2", "take 3", "begin", "end"]


def _matched(answers: Any) -> None:
    index = mw.Index(engine="scan")
    index["a"] = "x > 1"
    answers.put(index.match_many([{"x": 2}] * 100, threads=2).num_rows)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    context = multiprocessing.get_context("fork")
    mw.Index(engine="scan").match_many([{"x": 2}] * 100, threads=2)
    answers = context.Queue()
    child = context.Process(target=_matched, args=(answers,))
    child.start()
    assert answers.get(timeout=60) == 100
    child.join(60)
