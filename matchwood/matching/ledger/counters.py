"""What calls did, counted: all work since an index was made or opened, and whether it is too much for what it finds."""

from __future__ import annotations

import threading

from matchwood.engines import Work

WINDOW = 10_000
"""Events that are judged together."""

TOO_MANY = 10
"""Candidates for each hit; and for each event, since a handful of them is not worth any work."""


class WorkCounters:
    """Totals over all match calls of all threads since the index was made or opened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.events = self.candidates = self.verified = self.matched = self.postings = self.scored = 0
        self.unknown_weights = 0

    def fold(self, events: int, work: Work, scored: int = 0) -> None:
        """Add what one call did; `scored` are rules that it scored."""
        with self._lock:
            self.events += events
            self.candidates += work.candidates
            self.verified += work.verified
            self.matched += work.matched
            self.postings += work.postings
            self.scored += scored

    def pass_over(self, weights: int) -> None:
        """Count weights of events that were given for attributes which no rule has."""
        with self._lock:
            self.unknown_weights += weights

    def as_dict(self) -> dict[str, int]:
        with self._lock:
            return {
                "events": self.events,
                "candidates": self.candidates,
                "verified": self.verified,
                "matched": self.matched,
                "postings": self.postings,
                "scored": self.scored,
                "unknown_weights": self.unknown_weights,
            }


class Watch:
    """Whether an engine should choose its access predicates anew: candidates and hits over windows of events.

    After a choice that did not help, the next window is twice as long.
    """

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
