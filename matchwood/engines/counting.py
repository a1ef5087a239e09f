"""SIFT: inverted lists over the spaces of each attribute, and a counter for every unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.encoding import LEVELS, NULL_LABEL, EncodedEvents
from matchwood.engines._counting_kernels import LIVE, STALE, VERIFIED, describe_units, match_counting
from matchwood.engines.base import Engine, Hits
from matchwood.engines.shared.output import Output
from matchwood.engines.shared.postings import Postings
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only, read_only_events, require, require_range, saved
from matchwood.engines.shared.workspace import Workspace

_SPARE = 4096


class Counting(Engine):
    """Posts every constraint that NULL fails under the dyadic blocks of its intervals, and counts, for an event,
    how many of each unit's constraints hold: the unit is complete when all do.

    The blocks of a constraint are disjoint, so it counts at most once an event. Constraints that accept NULL, and
    those beyond the 255th, are verified when the rest is complete. Units without any other kind are looked at
    for every event.

    Work: candidates are the units that at least one posting touched (removed ones included until the lists are built
    anew) and those looked at always; verified are the ones whose constraints were tested.
    """

    name: ClassVar[str] = "counting"
    store: ConjunctionStore

    def __init__(self, store: ConjunctionStore, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(store, options)
        self._start()

    def _start(self) -> None:
        self._postings = Postings()
        self._needs = Growable(np.uint8)
        self._states = Growable(np.uint8)
        self._always = Growable(np.int32)
        self._live, self._verified, self._stale_postings, self._stale_always = 0, 0, 0, 0
        self._version, self._sound = object(), True

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._needs.resize((self.store.count + 7) // 8 * 8)
        self._states.resize(self.store.count)
        states = self._states.view()[units]
        if (states & STALE).any():
            self._build_anew()
        self._index(units[states & LIVE == 0])
        if self._postings.pool_size > 4 * self._postings.total + 16 * _SPARE:
            self._build_anew()

    def _index(self, units: NDArray[np.int32]) -> None:
        conjunctions, wanted = self.store.view(), read_only(units, np.int32)
        describe_units(conjunctions, wanted, self._needs.writable(), self._states.writable())
        self._postings.post(conjunctions, self.store.attributes, wanted)
        self._always.extend(wanted[self._needs.view()[wanted] == 0])
        self._live += len(wanted)
        self._verified += int(np.count_nonzero(self._states.view()[wanted] & VERIFIED))
        self._version = object()

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        gone = np.unique(units[self._states.view()[units] & LIVE != 0])
        self._stale_postings += int(self._postings.sizes(self.store.view(), gone).sum())
        self._stale_always += int(np.count_nonzero(self._needs.view()[gone] == 0))
        self._verified -= int(np.count_nonzero(self._states.view()[gone] & VERIFIED))
        self._needs.writable()[gone] = 0
        self._states.writable()[gone] = STALE
        self._live -= len(gone)
        self._version = object()
        if self._wasteful():
            self._build_anew()

    def _wasteful(self) -> bool:
        postings = 2 * self._stale_postings > self._postings.total + _SPARE
        return postings or 2 * self._stale_always > len(self._always) + _SPARE

    def _build_anew(self) -> None:
        """Lists without stale units and without gaps."""
        live = np.flatnonzero(self._states.view() & LIVE).astype(np.int32)
        self._start()
        self.insert(live)

    def rebuild(self) -> None:
        self._start()
        self.insert(self.store.live_units())

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        conjunctions, source = self.store.view(), read_only_events(events)
        output = Output(workspace, events, first, self._live)
        most = LEVELS * min(len(source.attributes), self.store.attributes)
        needs = self._needs.view()
        match_counting(
            conjunctions, self._postings.view(), needs, self._states.view(), self._always.view(), self._live,
            self._verified > 0, source, first,
            workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL),
            workspace.copy("counting.counters", needs, self._version),
            workspace.array("counting.starts", most, np.int64, None),
            workspace.array("counting.stops", most, np.int64, None),
            output.units, output.offsets, output.work,
        )  # fmt: skip
        return output.hits()

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        own = {"needs": self._needs.view(), "states": self._states.view(), "always": self._always.view()}
        return {**self._postings.arrays(), **own}

    def header(self) -> dict[str, Any]:
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self._start()
        self._postings.restore(arrays)
        self._needs = Growable(np.uint8, saved(arrays, "needs", np.uint8))
        self._states = Growable(np.uint8, saved(arrays, "states", np.uint8))
        self._always = Growable(np.int32, saved(arrays, "always", np.int32))
        self._sound = False

    def check(self) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays."""
        if self._sound:
            return
        units, states = self.store.count, self._states.view()
        require(len(states) <= units, "'states' does not fit the units")
        require(len(self._needs) == (len(states) + 7) // 8 * 8, "'needs' does not fit the units")
        require(len(self._postings.view().levels) <= self.store.attributes, "'levels' does not fit the attributes")
        require_range(self._always.view(), 0, max(1, len(states)), "always")
        self._postings.check(len(states))
        self._live = int(np.count_nonzero(states & LIVE))
        self._verified = int(np.count_nonzero(states & VERIFIED))
        stale = np.flatnonzero(states & STALE).astype(np.int32)
        self._stale_always = int(np.count_nonzero(states[self._always.view()] & STALE))
        self._stale_postings = int(self._postings.sizes(self.store.view(), stale).sum())
        self._sound = True

    def stats(self) -> dict[str, Any]:
        self.check()
        return {
            "always_candidates": len(self._always) - self._stale_always,
            "bytes_index": self._postings.nbytes + self._needs.nbytes + self._states.nbytes + self._always.nbytes,
            "lists": self._postings.lists,
            "postings": self._postings.total,
            "stale_postings": self._stale_postings,
        }

    # ------------------------------------------------------------------ trust

    def audit(self) -> list[str]:
        """Every live unit is in the list of each of its blocks once, and knows how many complete it."""
        self.check()
        indexed = np.zeros(self.store.count, dtype=np.bool_)
        indexed[: len(self._states)] = self._states.view() & LIVE != 0
        wrong = np.flatnonzero(indexed != self.store.alive)
        problems = [f"unit {wrong[0]} is alive or indexed, but not both ({len(wrong)} such)"] if len(wrong) else []
        units = np.flatnonzero(indexed).astype(np.int32)
        return problems + self._audit_units(units) + self._postings.audit(self.store.view(), units)

    def _audit_units(self, units: NDArray[np.int32]) -> list[str]:
        encoded, problems = self.store.encoded(units), []
        owner = np.repeat(np.arange(len(units)), np.diff(encoded.offsets))
        selective = np.bincount(owner[~encoded.accepts_null], minlength=len(units))
        counted = np.minimum(selective, np.iinfo(np.uint8).max)
        wrong = units[self._needs.view()[units] != counted]
        if len(wrong):
            problems.append(f"unit {wrong[0]} counts to the wrong number ({len(wrong)} such)")
        verified = self._states.view()[units] & VERIFIED != 0
        wrong = units[verified != (np.diff(encoded.offsets) > counted)]
        if len(wrong):
            problems.append(f"unit {wrong[0]} is verified without need, or not in spite of it ({len(wrong)} such)")
        always = self._always.view()
        listed = np.sort(always[self._states.view()[always] & LIVE != 0])
        if not np.array_equal(listed, units[counted == 0]):
            problems.append("the units looked at always are not those without a constraint to post")
        return problems
