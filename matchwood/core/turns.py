"""The turns of readers, and what a thread knows of its own: whether there is little to do, and how to leave the turn.

Nobody holds a lock of an index while a kernel is loaded or compiled. A reader that meets a kernel which is not there
leaves its turn, has it made, and comes back: it goes on where it was if nobody wrote meanwhile, and begins again
(`BeginAgain`) if somebody did. Where it cannot leave, since it holds more than its turn or works in that of another
thread, it gives the turn up at once, and the kernel is made before it begins again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from matchwood.core.locks import ReadersWriterLock

Made = TypeVar("Made")
Part = TypeVar("Part")
Done = TypeVar("Done")
Make = Callable[[], Any]


class BeginAgain(BaseException):
    """Whoever took the turn begins it again; no error, so nothing that handles errors may hold it up."""

    def __init__(self, make: Make | None = None) -> None:
        super().__init__("what this reader needs was not there")
        self._make = make

    def get_ready(self) -> None:
        """Make what is still missing; nobody waits for the caller now."""
        if self._make is not None:
            self._make()


def begun_again(attempt: Callable[[], Done]) -> Done:
    """What an attempt comes to that takes the turn of a reader, begun as often as it is told to."""
    while True:
        try:
            return attempt()
        except BeginAgain as again:
            again.get_ready()


class Leaving(Protocol):
    """How a reader has something made without holding up others."""

    def outside(self, make: Callable[[], Made]) -> Made: ...


class _GivesUp:
    """Of a reader that cannot leave."""

    def outside(self, make: Callable[[], Made]) -> Made:
        raise BeginAgain(make)


_GIVES_UP = _GivesUp()


class _Here(threading.local):
    """What a thread knows of its own turn.

    `little`   in how many turns with little work it is
    `leaving`  how it leaves the turn that it is in; None if there is none, or none that could begin again
    `before_kernel`  what it does before it has a kernel loaded or compiled, if it is to let others go first
    """

    little = 0
    leaving: Leaving | None = None
    before_kernel: Callable[[], None] | None = None


HERE = _Here()


def made_outside(make: Callable[[], Made]) -> Made:
    """Have something made, without holding the turn of a reader that can leave it."""
    leaving = HERE.leaving
    return make() if leaving is None else leaving.outside(make)


class MatchingTurn:
    """The turn of a reader that begins again when it is told to; as cheap as can be, since every event goes through it.

    `little`  whether there is little work in it
    `forget`  drops what may be half done in the memory of threads, when the turn is given up
    """

    __slots__ = ("_forget", "_little", "_lock")

    def __init__(self, lock: ReadersWriterLock, little: bool, forget: Callable[[], None]) -> None:
        self._lock, self._little, self._forget = lock, little, forget

    def __enter__(self) -> None:
        self._lock.begin_reading()
        if self._little:
            HERE.little += 1
        HERE.leaving = self

    def __exit__(self, kind: type[BaseException] | None, *raised: Any) -> None:
        HERE.leaving = None
        if self._little:
            HERE.little -= 1
        self._lock.end_reading()
        if kind is BeginAgain:
            self._forget()

    def is_first_to_share(self) -> bool:
        """Whether nobody has had others help within a turn of this lock; from now on somebody has."""
        first, self._lock.has_helped = not self._lock.has_helped, True
        return first

    def outside(self, make: Callable[[], Made]) -> Made:
        """Leave, make something, come back; BeginAgain if somebody wrote meanwhile."""
        HERE.leaving = None
        try:
            made, unchanged = self._lock.outside(make)
        finally:
            HERE.leaving = self
        if not unchanged:
            raise BeginAgain
        return made


class UnchangedTurn:
    """A time without writers for long work on one state, which begins again when it is told to.

    Those who match go on meanwhile. It is left for what is missing just as a reader's turn is.
    """

    __slots__ = ("_before", "_lock", "_writer", "_writes")

    def __init__(self, writer: Any, lock: ReadersWriterLock) -> None:
        self._writer, self._lock = writer, lock

    def __enter__(self) -> None:
        self._writer.acquire()
        self._writes, self._before, HERE.leaving = self._lock.writes, HERE.leaving, self

    def __exit__(self, *raised: Any) -> None:
        HERE.leaving = self._before
        self._writer.release()

    def outside(self, make: Callable[[], Made]) -> Made:
        """Let writers in, make something, come back; BeginAgain if one of them wrote."""
        HERE.leaving = None
        self._writer.release()
        try:
            made = make()
        finally:
            self._writer.acquire()
            HERE.leaving = self
        if self._lock.writes != self._writes:
            raise BeginAgain
        return made


def at_rest(writer: Any, lock: ReadersWriterLock, work: Callable[[], Done]) -> Done:
    """What long work comes to that changes nothing, without writers; they are let in while something is made for it."""

    def done() -> Done:
        with UnchangedTurn(writer, lock):
            lock.refuse_if_poisoned()
            return work()

    return work() if lock.is_reading() else begun_again(done)


def leads_others() -> bool:
    """Whether this thread should do a first part of its work alone, since it is the first to share out work of its
    kind: it can leave for what is missing, and those who help it could only give up."""
    leaving = HERE.leaving
    return isinstance(leaving, MatchingTurn) and leaving.is_first_to_share()


class LittleTurn:
    """A turn in which there is little work."""

    __slots__ = ("_turn",)

    def __init__(self, turn: Any) -> None:
        self._turn = turn

    def __enter__(self) -> None:
        self._turn.__enter__()
        HERE.little += 1

    def __exit__(self, *raised: Any) -> None:
        HERE.little -= 1
        self._turn.__exit__(*raised)


@contextlib.contextmanager
def little_work(little: bool) -> Iterator[None]:
    """Say whether what this thread does now is little work."""
    before, HERE.little = HERE.little, int(little)
    try:
        yield
    finally:
        HERE.little = before


@contextlib.contextmanager
def before_kernels(let_others_go_first: Callable[[], None]) -> Iterator[None]:
    """Have this thread do something before each kernel that is loaded or compiled for it."""
    before, HERE.before_kernel = HERE.before_kernel, let_others_go_first
    try:
        yield
    finally:
        HERE.before_kernel = before


@contextlib.contextmanager
def giving_up() -> Iterator[None]:
    """For a reader that holds something else which other readers wait for: it cannot leave, but begin again."""
    before = HERE.leaving
    HERE.leaving = None if before is None else _GIVES_UP
    try:
        yield
    finally:
        HERE.leaving = before


def within_this_turn(work: Callable[[Part], Done]) -> Callable[[Part], Done]:
    """The same work, to be done by another thread within the turn of this one."""
    if HERE.leaving is None:
        return work

    def done(part: Part) -> Done:
        HERE.leaving = _GIVES_UP
        try:
            return work(part)
        finally:
            HERE.leaving = None

    return done
