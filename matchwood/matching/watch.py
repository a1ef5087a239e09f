"""Whether an engine looks at too much for what it finds, so that it should choose its access predicates anew."""

from __future__ import annotations

import threading

from matchwood.engines import Work

WINDOW = 10_000
"""Events that are judged together."""

TOO_MANY = 10
"""Candidates for each hit; and for each event, since a handful of them is not worth any work."""


class Watch:
    """Counts over windows of events. After a choice that did not help, the next window is twice as long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._window = WINDOW
        self._events = self._candidates = self._matched = 0
        self.due = False

    def fold(self, events: int, work: Work) -> None:
        """Add what one call did."""
        with self._lock:
            self._events += events
            self._candidates += work.candidates
            self._matched += work.matched
            if self._events >= self._window:
                self._judge()

    def _judge(self) -> None:
        wasteful = self._candidates > TOO_MANY * max(self._matched, self._events)
        self.due |= wasteful
        if not wasteful:
            self._window = WINDOW
        self._events = self._candidates = self._matched = 0

    def settle(self) -> None:
        """The engine has chosen anew: begin to count again."""
        with self._lock:
            self._window *= 2
            self._events = self._candidates = self._matched = 0
            self.due = False
