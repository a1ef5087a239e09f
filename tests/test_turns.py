"""Turns of readers that are left for what is missing: nobody waits meanwhile, and nothing half done is answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.core import (
    BeginAgain,
    MatchingTurn,
    ReadersWriterLock,
    UnchangedTurn,
    begun_again,
    giving_up,
    within_this_turn,
)
from matchwood.core.turns import HERE, made_outside
from matchwood.encoding import EventChunk, can_be_read_again

PATIENCE = 20.0
EVENT = {"n": 1}


def nothing() -> None:
    """Threads keep nothing."""


def in_a_thread(work: Callable[[], object]) -> None:
    """Done while the caller waits; fails if it hangs."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "a thread hangs"


def written(lock: ReadersWriterLock) -> None:
    """Somebody writes."""

    def write() -> None:
        with lock.writing():
            pass

    in_a_thread(write)


def test_a_reader_that_leaves_holds_nobody_up_and_goes_on_where_it_was() -> None:
    lock, held = ReadersWriterLock(), []

    def make() -> str:
        held.append(lock.is_reading())
        return "made"

    with MatchingTurn(lock, False, nothing):
        assert made_outside(make) == "made"
        assert lock.is_reading()
    assert held == [False]
    assert not lock.is_reading()


def test_a_reader_begins_again_if_somebody_wrote_meanwhile() -> None:
    lock, attempts, forgotten = ReadersWriterLock(), [], []

    def attempt() -> str:
        attempts.append(None)
        with MatchingTurn(lock, False, lambda: forgotten.append(None)):
            return made_outside(lambda: (len(attempts) > 1 or written(lock), "made")[1])

    assert begun_again(attempt) == "made"
    assert (len(attempts), len(forgotten)) == (2, 1)
    assert not lock.is_reading()
    written(lock)


def test_long_work_on_one_state_lets_writers_in_while_something_is_made_and_begins_again_if_one_wrote() -> None:
    lock, writer, attempts, let_in = ReadersWriterLock(), threading.RLock(), [], []

    def write() -> None:
        let_in.append(writer.acquire(timeout=PATIENCE))
        if len(attempts) == 1:
            written(lock)
        writer.release()

    def attempt() -> str:
        attempts.append(None)
        with UnchangedTurn(writer, lock):
            return made_outside(lambda: (in_a_thread(write), "made")[1])

    assert begun_again(attempt) == "made"
    assert (len(attempts), let_in) == (2, [True, True])
    assert HERE.leaving is None
    in_a_thread(write)
    assert let_in == [True, True, True]


def test_a_reader_that_holds_more_than_its_turn_gives_up_and_what_it_needs_is_made_first() -> None:
    lock, made = ReadersWriterLock(), []

    def make() -> int:
        made.append(lock.is_reading())
        return len(made)

    def attempt() -> None:
        with MatchingTurn(lock, False, nothing), giving_up():
            if not made:
                made_outside(make)

    begun_again(attempt)
    assert made == [False]
    with giving_up():
        assert made_outside(make) == 2, "without a turn there is nothing to give up"


def test_those_who_help_within_the_turn_of_another_thread_give_up() -> None:
    lock, raised = ReadersWriterLock(), []

    def help_out(_: int) -> None:
        try:
            made_outside(nothing)
        except BeginAgain as again:
            raised.append(again)

    with MatchingTurn(lock, False, nothing):
        helping = within_this_turn(help_out)
        in_a_thread(lambda: helping(1))
    assert len(raised) == 1
    assert within_this_turn(help_out) is help_out


def test_a_thread_that_reads_twice_or_writes_as_well_stays() -> None:
    lock = ReadersWriterLock()
    for outer in (lock.reading(), lock.writing()):
        with outer, MatchingTurn(lock, False, nothing):
            assert made_outside(lock.is_reading)


def test_a_reader_that_is_refused_when_it_comes_back_leaves_nothing_behind() -> None:
    lock = ReadersWriterLock()

    def poison() -> None:
        lock.poison = lambda: ValueError("half done")

    with pytest.raises(ValueError, match="half done"), MatchingTurn(lock, False, nothing):
        made_outside(poison)
    assert not lock.is_reading()
    assert HERE.leaving is None


# ------------------------------------------------------------------------------ of an index


@pytest.fixture
def index() -> mw.Index:
    made = mw.Index("scan")
    made["first"] = "n = 1"
    made.match(EVENT)
    return made


def missing_something(index: mw.Index, monkeypatch: pytest.MonkeyPatch, name: str) -> list[bool]:
    """The next call of a method of the matcher meets what is missing, and somebody inserts a rule meanwhile."""
    method, told = getattr(index._matcher.encoder, name), []

    def make() -> None:
        told.append(index._lock.is_reading())
        in_a_thread(lambda: index.__setitem__("second", "n = 1"))

    def met(*arguments: Any, **named: Any) -> Any:
        if not told:
            made_outside(make)
        return method(*arguments, **named)

    monkeypatch.setattr(index._matcher.encoder, name, met)
    return told


def test_an_event_is_answered_by_the_rules_after_what_was_missing(
    index: mw.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = index.stats()["matching"]["events"]
    told = missing_something(index, monkeypatch, "encode_event")
    assert index.match(EVENT, missing="error") == ["first", "second"]
    assert told == [False]
    assert index.stats()["matching"]["events"] == before + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_many_events_are_answered_by_the_same_rules(
    index: mw.Index, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    many = [EVENT] * 40_000
    told = _met_in_a_chunk(index, monkeypatch)
    found = index.match_many(many, threads=threads, on_error="report")
    assert told == [False]
    assert found.num_rows == 2 * len(many)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stream_is_read_once_and_batches_begin_again(
    index: mw.Index, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    told = _met_in_a_chunk(index, monkeypatch)
    batches = index.match_batches((EVENT for _ in range(40_000)), threads=threads)
    assert sum(batch.num_rows for batch in batches) == 80_000
    assert told == [False]


def test_only_what_is_held_is_read_again() -> None:
    class Counted:
        """A stream that knows its length, as those of progress bars do."""

        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Iterator[Any]:
            yield EVENT

    table = pa.Table.from_pylist([EVENT])
    held = [EVENT, [EVENT], (EVENT,), table, table.to_batches()[0], table.to_struct_array(), table.to_pandas()]
    assert all(map(can_be_read_again, held))
    assert not any(map(can_be_read_again, [Counted(), iter([EVENT]), table.to_reader(), 3]))


def _met_in_a_chunk(index: mw.Index, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    encode, told, turn = EventChunk.encode, [], threading.Lock()

    def make() -> None:
        told.append(index._lock.is_reading())
        in_a_thread(lambda: index.__setitem__("second", "n = 1"))

    def met(self: EventChunk) -> Any:
        with turn:
            if not told:
                made_outside(make)
        return encode(self)

    monkeypatch.setattr(EventChunk, "encode", met)
    return told
