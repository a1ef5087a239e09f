"""A line on standard error that shows how far a long job is."""

from __future__ import annotations

import sys
import time
from types import TracebackType


class Progress:
    """Counts work and says so: on a terminal in place, elsewhere as a line now and then.

    Nothing is printed in the first two seconds: short jobs stay silent.
    """

    QUIET_SECONDS = 2.0

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what, self.total, self.done = what, total, 0
        self._started = time.monotonic()
        self._last = self._started + self.QUIET_SECONDS
        self._in_place = sys.stderr.isatty()
        self._drawn = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def advance(self, count: int) -> None:
        """Note that `count` more pieces are done."""
        self.done += count
        now = time.monotonic()
        if now - self._last >= (0.2 if self._in_place else 10.0) or not self._drawn and now >= self._last:
            self._last = now
            self._draw()

    def _draw(self) -> None:
        self._drawn = True
        ending = "" if self._in_place else "\n"
        start = "\r" if self._in_place else ""
        sys.stderr.write(f"{start}{self}{ending}")
        sys.stderr.flush()

    def __str__(self) -> str:
        share = f" of {self.total:,} ({100 * self.done / self.total:.0f}%)" if self.total else ""
        rate = self.done / self.seconds if self.seconds > 0 else 0.0
        return f"{self.what}: {self.done:,}{share}, {rate:,.0f} a second"

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn and self._in_place:
            sys.stderr.write("\n")
