"""The readers-writer lock, under threads that a broken one would let through or hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from matchwood.core.locks import ReadersWriterLock

PATIENCE = 20.0
"""Seconds after which a thread that still runs is taken for hanging."""


def run(*jobs: Callable[[], object]) -> None:
    """Run the jobs in threads; fail if one hangs or raises."""
    failures: list[BaseException] = []

    def guarded(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if failures:
        raise failures[0]


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the awaited state never came"
        time.sleep(0.001)


def test_readers_read_together() -> None:
    lock, together = ReadersWriterLock(), threading.Barrier(4, timeout=PATIENCE)

    def read() -> None:
        with lock.reading():
            together.wait()

    run(read, read, read, read)


def test_a_writer_is_alone() -> None:
    lock, state, torn = ReadersWriterLock(), [0, 0], []

    def write() -> None:
        for _ in range(60):
            with lock.writing():
                seen = state[0]
                time.sleep(0)
                state[0] = seen + 1
                time.sleep(0.0002)
                state[1] = state[0]

    def read() -> None:
        for _ in range(300):
            with lock.reading():
                first = state[0]
                time.sleep(0)
                if first != state[1]:
                    torn.append(tuple(state))

    run(write, write, write, read, read, read)
    assert state == [180, 180]
    assert torn == []


def test_a_writer_gets_its_turn_among_readers_that_never_pause() -> None:
    lock, written, inside = ReadersWriterLock(), threading.Event(), threading.Semaphore(0)

    def read() -> None:
        while not written.is_set():
            with lock.reading():
                inside.release()
                time.sleep(0.002)

    def write() -> None:
        inside.acquire()
        with lock.writing():
            written.set()

    run(read, read, read, read, write)
    assert written.is_set()


def test_a_reader_gets_its_turn_among_writers_that_never_pause() -> None:
    lock, read_done, inside = ReadersWriterLock(), threading.Event(), threading.Semaphore(0)

    def write() -> None:
        while not read_done.is_set():
            with lock.writing():
                inside.release()
                time.sleep(0.002)

    def read() -> None:
        inside.acquire()
        with lock.reading():
            read_done.set()

    run(write, write, write, read)
    assert read_done.is_set()


def test_a_reader_reads_again_although_a_writer_waits() -> None:
    lock, order = ReadersWriterLock(), []

    def read() -> None:
        with lock.reading():
            until(lambda: lock._waiting_writers == 1)
            with lock.reading():
                order.append("read again")

    def write() -> None:
        until(lambda: bool(lock._readers))
        with lock.writing():
            order.append("wrote")

    run(read, write)
    assert order == ["read again", "wrote"]


def test_a_waiting_writer_holds_back_later_readers() -> None:
    lock, order = ReadersWriterLock(), []

    def first() -> None:
        with lock.reading():
            until(lambda: lock._waiting_readers == 1)
            order.append("first")

    def write() -> None:
        until(lambda: bool(lock._readers))
        with lock.writing():
            order.append("writer")

    def later() -> None:
        until(lambda: lock._waiting_writers == 1)
        with lock.reading():
            order.append("later")

    run(first, write, later)
    assert order == ["first", "writer", "later"]


def test_a_reader_may_not_become_a_writer() -> None:
    lock = ReadersWriterLock()
    with lock.reading(), pytest.raises(RuntimeError, match="finish reading first"), lock.writing():
        raise AssertionError("a reader became a writer")
    with lock.writing():
        assert lock._writer == threading.get_ident()


def test_a_writer_may_read_and_write_again() -> None:
    lock, order = ReadersWriterLock(), []

    def write() -> None:
        with lock.writing():
            until(lambda: lock._waiting_readers == 1)
            with lock.reading(), lock.writing():
                order.append("nested")
            time.sleep(0.01)
            order.append("outer")

    def read() -> None:
        until(lambda: lock._writer is not None)
        with lock.reading():
            order.append("reader")

    run(write, read)
    assert order == ["nested", "outer", "reader"]


def test_an_error_inside_releases_the_lock() -> None:
    lock = ReadersWriterLock()
    for context in (lock.reading(), lock.writing()):
        with pytest.raises(ZeroDivisionError), context:
            _ = 1 // 0
    entered: list[str] = []

    def write() -> None:
        with lock.writing():
            entered.append("write")

    run(write)
    assert entered == ["write"]
    assert (lock._readers, lock._writer, lock._depth) == ({}, None, 0)


@pytest.mark.parametrize("waits_to", ["read", "write"])
def test_a_wait_that_is_interrupted_leaves_no_trace(waits_to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = ReadersWriterLock()

    def interrupted(timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    def wait() -> None:
        with (
            pytest.raises(KeyboardInterrupt),
            lock.reading() if waits_to == "read" else lock.writing(),
        ):
            raise AssertionError("entered beside a writer")

    with lock.writing():
        monkeypatch.setattr(lock._turn, "wait", interrupted)
        run(wait)
        monkeypatch.undo()
    assert (lock._waiting_readers, lock._waiting_writers, lock._passes) == (0, 0, 0)
    with lock.reading():
        assert lock._writer is None
    with lock.writing():
        assert lock._readers == {}


def test_random_mixture_ends_and_keeps_its_counts() -> None:
    lock, written = ReadersWriterLock(), [0]

    def work(seed: int) -> None:
        state = seed
        for _ in range(200):
            state = (state * 1103515245 + 12345) % 2**31
            if state % 5 == 0:
                with lock.writing():
                    written[0] += 1
                    with lock.reading():
                        written[0] += 0
            else:
                with lock.reading(), lock.reading():
                    assert lock._writer is None

    run(*(lambda seed=seed: work(seed) for seed in range(6)))
    assert (lock._readers, lock._writer, lock._passes, lock._waiting_readers) == ({}, None, 0, 0)
    assert written[0] > 100
