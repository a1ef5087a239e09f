"""What matching tells a BE-Tree: how many rules match, and what false candidates cost (section 5).

TODS 2013, section 5: what matching tells, and the tuning of beta (15).
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import giving_up
from matchwood.engines.betree._leaf_kernels import EVALUATED, NOTED, REUSED
from matchwood.engines.betree._note_kernels import COVERED, COVERED_FALSE, DISCARDED, LEAF, TOLD, fold_notes
from matchwood.engines.betree.layout import BucketTree, Noted
from matchwood.engines.shared.workspace import Workspace

CAPACITIES: dict[str, tuple[tuple[float, int], ...]] = {
    "measured": ((0.2, 320), (np.inf, 1280)),
    "published": ((0.01, 5), (0.1, 20), (np.inf, 160)),
}
"""The capacity of a leaf for a share of rules that match below each bound, as measured here and as in Table VI.

In the paper a node costs as much as a few candidates; here the first test of a candidate takes 1 to 2 ns, and a node 20
to 50: from 160 on nothing is gained or lost up to a share of 10% (docs)."""

_ENOUGH = 256
"""Events before their share of matching rules counts; until then few are taken to match."""

_MOST_COVERED = 2**20
"""Candidates by covered predicates that the rate of false ones is taken over; older ones count less and less."""


class ToldOfTree(NamedTuple):
    """Where match calls of one thread write what they tell of a tree.

    `live`   its units
    `tally`  counts, 0 before each call
    `tree`   its nodes, to keep what is noted of them; None if nobody wants to know
    `share`  of the last events that nodes remember
    """

    live: int
    tally: NDArray[np.int64]
    tree: BucketTree | None
    noted: Noted
    share: float

    def fold(self, feedback: Feedback, events: int, matched: int) -> None:
        """Hand it over, and begin anew."""
        feedback.fold(events, matched, self)
        self.tally[:] = 0


class Feedback:
    """Counts of all match calls, from any number of threads; what they tell of single nodes is kept with these."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.events = self.possible = self.matched = self.evaluated = self.reused = self.discarded = 0
        self.forget_nodes()

    def forget_nodes(self) -> None:
        """The tree was built anew: its nodes are others."""
        self._told = np.zeros(TOLD, np.int64)
        self.start_window()

    def start_window(self) -> None:
        """The operations of the whole tree are counted from here."""
        self.window = self.changes = 0

    def fold(self, events: int, matched: int, told: ToldOfTree) -> None:
        """Add what one call did for so many events, which so many units match together."""
        tally = told.tally
        with self._lock, giving_up():
            if told.tree is not None:  # first of all: whoever gives up here has added nothing yet
                before = int(self._told[DISCARDED])
                fold_notes(told.tree, told.noted, int(tally[NOTED]), told.share, self._told)
                self.discarded += int(self._told[DISCARDED]) - before
            self.events += events
            self.possible += events * told.live
            self.matched += matched
            self.evaluated += int(tally[EVALUATED])
            self.reused += int(tally[REUSED])
            self.window += events

    @property
    def false_rate(self) -> float | None:
        """The rate of false candidates for covered predicates; None if there were none of these."""
        covered = int(self._told[COVERED])
        return int(self._told[COVERED_FALSE]) / covered if covered else None

    def age(self) -> None:
        """Let candidates of long ago count less: half, once there are very many. Only changes of the tree do this, so
        that it does not matter in how many calls events came."""
        if self._told[COVERED] > _MOST_COVERED:
            self._told[[COVERED, COVERED_FALSE]] //= 2

    def capacity(self, table: str) -> int:
        """The capacity that suits the observed share of matching rules."""
        share = self.matched / self.possible if self.possible and self.events >= _ENOUGH else 0.0
        return next(capacity for bound, capacity in CAPACITIES[table] if share < bound)


def new_noted(workspace: Workspace, clusters: int, partitions: int, homes: NDArray[np.int32]) -> Noted:
    """Memory in which one match call notes what it tells of so many nodes."""
    return Noted(
        workspace.array("betree.leaves", LEAF * clusters, np.int64),
        workspace.array("betree.partitions", partitions, np.int64),
        workspace.array("betree.noted", clusters + partitions, np.int32, None),
        homes,
    )
