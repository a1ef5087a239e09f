"""A line on standard error that shows how far a long job is."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import ClassVar, NamedTuple


class LoadProgress(NamedTuple):
    """How far a load of rules is: rules `read` and `rejected` so far, how many there are if that is known, and seconds.

    >>> LoadProgress(50, 1, 200, 2.0).seconds_left, LoadProgress(50, 1, None, 2.0).seconds_left
    (6.0, None)
    """

    read: int
    rejected: int
    total: int | None
    seconds: float

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this rate; None if nobody knows how many rules there are."""
        if self.total is None or not self.read:
            return None
        return self.seconds * max(self.total - self.read, 0) / self.read


class Progress:
    """Counts work and shows it while the job lasts: on a terminal in place, elsewhere as a line now and then.

    Nothing is shown in the first two seconds, so short jobs stay silent. The line has a thread of its own, which also
    tells the time of steps that cannot count: compiled kernels leave the interpreter to it.

    >>> with Progress("reading rules.csv", "rules", total=200) as progress:
    ...     progress.advance(50)
    >>> str(progress).split(" per second")[0].rsplit(", ", 1)[0]
    'reading rules.csv: 50 of 200 rules (25%)'
    """

    QUIET_SECONDS = 2.0
    IN_PLACE_SECONDS = 0.25
    LINE_SECONDS = 10.0
    _under_way: ClassVar[list[Progress]] = []
    """Jobs within jobs: only the innermost is shown."""

    def __init__(
        self, what: str, unit: str = "", total: int | None = None, look: Callable[[Progress], None] | None = None
    ) -> None:
        """`look` is called before the line is drawn, where the work is counted elsewhere."""
        self.what, self.unit, self.total, self.done, self.rejected, self.look = what, unit, total, 0, 0, look
        self._started = time.monotonic()
        self._over = threading.Event()
        self._in_place = sys.stderr is not None and sys.stderr.isatty()
        self._drawn = False
        self._thread = threading.Thread(target=self._keep_drawing, name="progress", daemon=True)

    @property
    def seconds(self) -> float:
        """How long the job has taken so far."""
        return time.monotonic() - self._started

    def advance(self, count: int = 1) -> None:
        """Note that `count` more pieces are done."""
        self.done += count

    def follow(self, load: LoadProgress) -> None:
        """Show how far a load of rules is: `insert_many(rules, progress=progress.follow)`."""
        self.done, self.rejected, self.total = load.read, load.rejected, self.total or load.total

    def __str__(self) -> str:
        rate = self.done / max(self.seconds, 1e-9)
        parts = [
            self._count(),
            f"{self.rejected:,} rejected" if self.rejected else "",
            f"{rate:,.0f} per second" if rate >= 1 else "",
            f"{self.seconds:.0f} s",
            self._left(),
        ]
        return f"{self.what}: {', '.join(part for part in parts if part)}"

    def _count(self) -> str:
        if not self.unit:
            return ""
        if self.total:
            return f"{self.done:,} of {self.total:,} {self.unit} ({100 * self.done / self.total:.0f}%)"
        return f"{self.done:,} {self.unit}"

    def _left(self) -> str:
        left = LoadProgress(self.done, 0, self.total, self.seconds).seconds_left
        return f"{left:.0f} s left" if left and left >= 1 else ""

    def _keep_drawing(self) -> None:
        pause = self.QUIET_SECONDS
        while not self._over.wait(pause):
            if Progress._under_way[-1:] == [self]:
                self._look()
                self._write(f"\r\x1b[K{self}" if self._in_place else f"{self}\n")
                self._drawn = True
            pause = self.IN_PLACE_SECONDS if self._in_place else self.LINE_SECONDS

    def _look(self) -> None:
        # Whatever counts the work may be gone for a moment, or for good: the line then tells the time alone.
        with contextlib.suppress(Exception):
            if self.look is not None:
                self.look(self)

    def _write(self, text: str) -> None:
        # A closed or broken standard error is no reason to fail: the job goes on without the line.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()

    def __enter__(self) -> Progress:
        Progress._under_way.append(self)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Progress._under_way.remove(self)
        self._over.set()
        self._thread.join()
        if self._drawn and self._in_place:
            self._write("\r\x1b[K")
