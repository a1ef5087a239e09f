"""How much work matching has done: counted by each call, folded together here."""

from __future__ import annotations

import threading

from matchwood.engines import Work


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
