"""What matching tells a BE-Tree: how many rules match, and where candidates were false (section 5)."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from matchwood.engines._betree_leaf_kernels import COVERED, COVERED_FALSE, EVALUATED, NOTED, REUSED
from matchwood.engines.base import Hits

_CAPACITIES = ((0.2, 320), (np.inf, 1280))
"""The capacity of a leaf for a share of rules that match below each bound.

Table VI has 5 below 1%, 20 below 10%, else 160. There a node costs as much as a few candidates; here the first test of
a candidate takes 1 to 2 ns, and a node 20 to 50: from 160 on nothing is gained or lost up to a share of 10% (docs)."""

_ENOUGH = 256
"""Events before their share of matching rules counts; until then few are taken to match."""


class Feedback:
    """Counts of all match calls, from any number of threads; the ones for the ranking are those of the present
    window."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.events = self.possible = self.matched = self.evaluated = self.reused = 0
        self.start_window()

    def start_window(self) -> None:
        """Forget what the ranking has taken into account."""
        self.window = self.changes = self._covered = self._covered_false = 0
        self.discarded = np.zeros(0, np.float64)

    def fold(self, hits: Hits, live: int, tally: NDArray[np.int64], notes: NDArray[np.int32]) -> None:
        """Add what one call did."""
        with self._lock:
            self.events += hits.count
            self.possible += hits.count * live
            self.matched += len(hits.units)
            self.evaluated += int(tally[EVALUATED])
            self.reused += int(tally[REUSED])
            self._covered += int(tally[COVERED])
            self._covered_false += int(tally[COVERED_FALSE])
            self.window += hits.count
            self._note(notes[: 2 * tally[NOTED]].reshape(-1, 2))

    def _note(self, notes: NDArray[np.int32]) -> None:
        if len(notes):
            most = int(notes[:, 0].max()) + 1
            if most > len(self.discarded):
                self.discarded = np.concatenate((self.discarded, np.zeros(most - len(self.discarded))))
            np.add.at(self.discarded, notes[:, 0], notes[:, 1])

    @property
    def false_rate(self) -> float:
        """The rate of false candidates for covered predicates."""
        return self._covered_false / self._covered if self._covered else 0.0

    def capacity(self) -> int:
        """The capacity that suits the observed share of matching rules."""
        share = self.matched / self.possible if self.possible and self.events >= _ENOUGH else 0.0
        return next(capacity for bound, capacity in _CAPACITIES if share < bound)
