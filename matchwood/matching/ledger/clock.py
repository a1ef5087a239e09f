"""When it is worth thinking about another engine: what matching has cost so far, against what a trial would."""

from __future__ import annotations

import threading

FIRST_LOOK = 0.2
"""Seconds of matching before anybody thinks about it at all: looking takes some 20 ms."""

LATER = 16.0
"""After a trial, the next is due when matching has taken so many times as long as until then."""

WINDOW = 0.5
"""Seconds of matching whose speed is compared with the speed after the last decision."""

SLOWER = 1.5
"""Events that take so many times as long as after the last decision are a reason to look again."""


class MatchingClock:
    """Seconds, events and hits of one engine over conjunctions; `due` when somebody should look at the choice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seconds = 0.0
        self.due = False
        self._look_at = FIRST_LOOK
        self._events = self._matched = 0
        self._in_company, self._event_seconds = 0.0, 0.0
        self._window_seconds, self._window_events = 0.0, 0
        self._usual: float | None = None

    def fold(self, events: int, matched: int, seconds: float, calls: int = 1) -> None:
        """Add what one call did, or several of as many events each."""
        with self._lock:
            self.seconds += seconds
            self._events += events
            self._event_seconds += seconds
            self._in_company += events * events / max(1, calls)
            self._matched += matched
            self._window_seconds += seconds
            self._window_events += events
            if self._window_seconds >= WINDOW:
                self._judge_window()
            self.due = self.seconds >= self._look_at

    def _judge_window(self) -> None:
        speed = self._window_seconds / max(1, self._window_events)
        self._window_seconds, self._window_events = 0.0, 0
        if self._usual is None:
            self._usual = speed
        elif speed > SLOWER * self._usual:
            self._look_at, self._usual = self.seconds, None

    def hits(self) -> float | None:
        """Units that were true of an event; None while too few events are known."""
        with self._lock:
            return self._matched / self._events if self._events >= 64 else None

    def batch(self, most_seconds: float) -> int:
        """How many events an event usually comes with, itself included; no more than are matched in so many seconds."""
        with self._lock:
            if not self._events:
                return 1
            affordable = most_seconds * self._events / max(1e-12, self._event_seconds)
            return int(min(affordable, self._in_company / self._events))

    def begin_anew(self) -> None:
        """The rules are others now: what was counted says little, and it is soon worth looking."""
        with self._lock:
            self._events = self._matched = 0
            self._in_company, self._event_seconds = 0.0, 0.0
            self._window_seconds, self._window_events, self._usual = 0.0, 0, None
            self._look_at = self.seconds + FIRST_LOOK
            self.due = False

    def look_at(self, seconds: float) -> None:
        """Look again when matching has taken so long, not before."""
        with self._lock:
            self._look_at = max(seconds, self.seconds + FIRST_LOOK)
            self._window_seconds, self._window_events, self._usual = 0.0, 0, None
            self.due = False

    def look_later(self) -> None:
        """Nothing to gain for now."""
        self.look_at(LATER * self.seconds)
