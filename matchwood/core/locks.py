"""A lock for one writer or many readers.

Turns are fair in both directions: a waiting writer holds back readers that come after it, and the readers
that waited for a writer all go before the next one. A thread that already reads may read again
whoever waits, and a writer may read and write again; a reader may not become a writer, since two
that tried would wait for each other. A writer that fails half-way poisons the lock: nobody may look at what it left.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Lock, get_ident
from types import TracebackType
from typing import TypeVar

Done = TypeVar("Done")


class ReadersWriterLock:
    """Many readers or one writer.

    >>> lock = ReadersWriterLock()
    >>> with lock.reading(), lock.reading():
    ...     pass
    >>> with lock.writing(), lock.reading():
    ...     pass
    """

    def __init__(self) -> None:
        self._mutex = Lock()
        self._turn = Condition(self._mutex)
        self._readers: dict[int, int] = {}
        """How often each reading thread has entered, by thread."""
        self._writer: int | None = None
        self._depth = 0
        """How often the writer has entered."""
        self._waiting_writers = 0
        self._waiting_readers = 0
        self._passes = 0
        """Readers that waited for the last writer, and go before the next one."""
        self._writes = 0
        self.poison: Callable[[], Exception] | None = None
        """Makes the error for everybody who wants to enter; set for good by a writer that could not finish."""
        self.has_helped = False
        """Whether a reader has shared its work out to other threads before."""
        self._read, self._write = _Reading(self), _Writing(self)

    @property
    def writes(self) -> int:
        """How often writers were done: the same number twice means that nothing has changed in between."""
        return self._writes

    def reading(self) -> _Reading:
        """A context in which no other thread writes."""
        return self._read

    def writing(self) -> _Writing:
        """A context in which no other thread reads or writes."""
        return self._write

    def is_reading(self) -> bool:
        """Whether the calling thread is in a reading context."""
        with self._mutex:
            return get_ident() in self._readers

    def refuse_if_poisoned(self) -> None:
        """Raise what a failed writer left behind, if one did."""
        if self.poison is not None:
            raise self.poison()

    def outside(self, work: Callable[[], Done]) -> tuple[Done, bool]:
        """Do something in the middle of reading while others may write, and whether none of them did.

        A thread that has entered several times, or writes as well, cannot leave: others wait for it.
        """
        with self._mutex:
            leaves, writes = self._readers.get(get_ident()) == 1 and self._writer is None, self._writes
        if not leaves:
            return work(), True
        self.end_reading()
        try:
            done = work()
        finally:
            self.begin_reading()
        return done, self._writes == writes

    def begin_reading(self) -> None:
        """Enter a reading context; `reading` is the way to do so that also ends it."""
        me = get_ident()
        with self._mutex:
            depth = self._readers.get(me)
            if depth is None and self._writer != me and (self._writer is not None or self._waiting_writers):
                self._wait_to_read()
            if self.poison is not None:  # as `refuse_if_poisoned`, without a call: every event comes through here
                raise self.poison()
            self._readers[me] = (depth or 0) + 1

    def _wait_to_read(self) -> None:
        writes = self._writes
        self._waiting_readers += 1
        try:
            while self._writer is not None or (self._waiting_writers and self._writes == writes):
                self._turn.wait()
        finally:
            self._waiting_readers -= 1
            if self._writes != writes and self._passes:
                self._passes -= 1
                if not self._passes:
                    self._turn.notify_all()

    def end_reading(self) -> None:
        """Leave a reading context."""
        me = get_ident()
        with self._mutex:
            depth = self._readers.get(me, 1) - 1
            if depth:
                self._readers[me] = depth
                return
            self._readers.pop(me, None)  # a reader that left for a while may have been refused since
            if self._waiting_writers and not self._readers:
                self._turn.notify_all()

    def _begin_writing(self) -> None:
        me = get_ident()
        with self._mutex:
            if self._writer != me:
                if me in self._readers:
                    raise RuntimeError("a thread that reads an index cannot change it: finish reading first")
                if self._writer is not None or self._readers or self._passes:
                    self._wait_to_write()
                self._refuse_to_write()
                self._writer = me
            self._depth += 1

    def _wait_to_write(self) -> None:
        self._waiting_writers += 1
        try:
            while self._writer is not None or self._readers or self._passes:
                self._turn.wait()
        except BaseException:
            self._turn.notify_all()
            raise
        finally:
            self._waiting_writers -= 1

    def _refuse_to_write(self) -> None:
        """As `refuse_if_poisoned`; whoever waited behind this writer goes on, to be refused as well."""
        if self.poison is not None:
            self._turn.notify_all()
        self.refuse_if_poisoned()

    def _end_writing(self) -> None:
        with self._mutex:
            self._depth -= 1
            if self._depth:
                return
            self._writer = None
            self._writes += 1
            self._passes = self._waiting_readers
            if self._passes or self._waiting_writers:
                self._turn.notify_all()


class _Reading:
    __slots__ = ("_lock",)

    def __init__(self, lock: ReadersWriterLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.begin_reading()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.end_reading()


class _Writing:
    __slots__ = ("_lock",)

    def __init__(self, lock: ReadersWriterLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock._begin_writing()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock._end_writing()
