"""Engines over lists: what is removed leaves a tombstone, and lists are built anew when too much of them is stale."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column
from matchwood.engines.base import Engine
from matchwood.engines.shared._verification_kernels import LIVE
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only

SPARE = 4096
"""Stale postings, or stale units among those looked at always, that may be there beside half of all."""


class ListEngine(Engine):
    """Takes units in and out; an engine says how they stand in its lists, from which nothing is ever taken out.

    `_states`  of each unit LIVE, or the engine's `stale` once it is removed; 0 if the lists do not have it
    `_always`  units that no list leads to, stale ones included: they are looked at for every event
    """

    stale: ClassVar[int]
    store: ConjunctionStore

    _states = Column(np.uint8, longest="store.count")
    _always = Column(np.int32, below="states")

    def start(self) -> None:
        super().start()
        self._live, self._stale_postings, self._stale_always = 0, 0, 0

    # ------------------------------------------------------------------ what an engine says

    @abstractmethod
    def index(self, units: NDArray[np.int32]) -> None:
        """Put units into the lists, and note in `_states` that they live."""

    def forget(self, units: NDArray[np.int32]) -> None:
        """These units are about to be removed."""

    def removed(self, states: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The states that live units have once they are removed."""
        return np.full(len(states), self.stale, np.uint8)

    def overgrown(self, spare: int) -> bool:
        """Whether lists that grew bit by bit should be laid out anew."""
        return False

    @property
    @abstractmethod
    def postings(self) -> int:
        """Postings in all lists, those of stale units included."""

    @abstractmethod
    def postings_of(self, units: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many postings each of these units has."""

    @abstractmethod
    def without_lists(self, units: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of these units no list leads to."""

    @abstractmethod
    def audit_lists(self, units: NDArray[np.int32]) -> list[str]:
        """Whether the lists, which hold these units and stale ones, are as they should be."""

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._states.resize(self.store.count)
        states = self._states.view()[units]
        if (states & self.stale).any():
            # Their old postings are still there, and would lead to the new ones twice.
            self._build_anew()
        fresh = read_only(units[states & LIVE == 0], np.int32)
        self._live += len(fresh)
        self.index(fresh)
        self._always.extend(fresh[self.without_lists(fresh)])
        if self.overgrown(SPARE):
            self._build_anew()

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        gone = np.unique(units[self._states.view()[units] & LIVE != 0])
        self._stale_postings += int(self.postings_of(gone).sum())
        self._stale_always += int(np.count_nonzero(self.without_lists(gone)))
        self._live -= len(gone)
        self.forget(gone)
        self._states.writable()[gone] = self.removed(self._states.view()[gone])
        if self._wasteful():
            self._build_anew()

    def _wasteful(self) -> bool:
        postings = 2 * self._stale_postings > self.postings + SPARE
        return postings or 2 * self._stale_always > self._always.count + SPARE

    def live_units(self) -> NDArray[np.int32]:
        """The units that are indexed, increasing."""
        return np.flatnonzero(self._states.view() & LIVE).astype(np.int32)

    def _build_anew(self) -> None:
        """Lists without stale units and without gaps."""
        live = self.live_units()
        self.start()
        self.insert(live)

    # ------------------------------------------------------------------ trust

    def invariants(self) -> None:
        states = self._states.view()
        self._live = int(np.count_nonzero(states & LIVE))
        stale = np.flatnonzero(states & self.stale).astype(np.int32)
        self._stale_always = int(np.count_nonzero(states[self._always.view()] & self.stale))
        self._stale_postings = int(self.postings_of(stale).sum())

    @property
    def always_candidates(self) -> int:
        return len(self._always) - self._stale_always

    def stats(self) -> dict[str, Any]:
        return {**super().stats(), "postings": self.postings, "stale_postings": self._stale_postings}

    def audit(self) -> list[str]:
        """Every live unit stands in its lists, or among those looked at always, and no other does."""
        self.check()
        return self.audit_indexed(self._states.view() & LIVE != 0) + self.audit_listed()

    def audit_listed(self) -> list[str]:
        """Whether the units that are indexed stand where they should, whichever of the store those are."""
        indexed, always, units = self._states.view() & LIVE != 0, self._always.view(), self.live_units()
        problems = []
        if not np.array_equal(np.sort(always[indexed[always]]), units[self.without_lists(units)]):
            problems.append("the units looked at always are not those without lists")
        return problems + self.audit_lists(units)
