"""SIFT: inverted lists over the spaces of each attribute, and a counter for every unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Part
from matchwood.encoding import LEVELS, NULL_LABEL, EncodedEvents
from matchwood.engines._counting_kernels import (
    LIVE,
    STALE,
    VERIFIED,
    CountedUnits,
    CountingScratch,
    describe_units,
    match_counting,
)
from matchwood.engines.base import Hits
from matchwood.engines.shared.one_event import BatchOfOne, EventBuffers, OneEventSearch
from matchwood.engines.shared.output import HitOutput, Output
from matchwood.engines.shared.postings import Postings
from matchwood.engines.shared.tombstones import ListEngine
from matchwood.engines.shared.unions.keeper import BY_COUNTS, NEVER_UNITE, UNIONS, UnionCall, UnionKeeper
from matchwood.engines.shared.views import read_only_events
from matchwood.engines.shared.workspace import Workspace


class Counting(ListEngine):
    """Posts every constraint that NULL fails under the dyadic blocks of its intervals, and counts, for an event,
    how many of each unit's constraints hold: the unit is complete when all do.

    The blocks of a constraint are disjoint, so it counts at most once an event. Constraints that accept NULL, and
    those beyond the 255th, are verified when the rest is complete. Units without any other kind are looked at
    for every event.

    `unions`  where so many postings would be counted that it costs less, the units that fail are the union of a few
              bitsets (`shared/unions`): `auto` decides by counts, `always` takes them for every event, `never` for none

    Work: candidates are the units that at least one posting touched (removed ones included until the lists are built
    anew) and those looked at always, or those that unions leave; verified are the ones whose constraints were tested.
    """

    name: ClassVar[str] = "counting"
    stale: ClassVar[int] = STALE
    options: ClassVar[Mapping[str, Any]] = {"unions": BY_COUNTS}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"unions": UNIONS}
    published: ClassVar[Mapping[str, Any]] = {"unions": NEVER_UNITE}
    unites: ClassVar[bool] = True

    _postings = Part(lambda engine: Postings(), units="states", attributes="store.attributes")
    _needs = Column(np.uint8, length="_padded")
    _states = Column(np.uint8, longest="store.count", most=LIVE | VERIFIED | STALE)

    def start(self) -> None:
        super().start()
        self._verified, self._version, self._unions = 0, object(), UnionKeeper(self.settings["unions"])

    def invariants(self) -> None:
        super().invariants()
        self._verified = int(np.count_nonzero(self._states.view() & VERIFIED))

    @property
    def _padded(self) -> int:
        """Counters are set back eight at a time."""
        return (len(self._states) + 7) // 8 * 8

    # ------------------------------------------------------------------ lists

    def index(self, units: NDArray[np.int32]) -> None:
        self._needs.resize(self._padded)
        describe_units(self.store.view(), units, self._needs.writable(), self._states.writable())
        self._postings.post(self.store.view(), self.store.attributes, units)
        self._verified += int(np.count_nonzero(self._states.view()[units] & VERIFIED))
        self._unions.insert(units)
        self._version = object()

    def forget(self, units: NDArray[np.int32]) -> None:
        self._verified -= int(np.count_nonzero(self._states.view()[units] & VERIFIED))
        self._needs.writable()[units] = 0
        self._unions.remove(units)
        self._version = object()

    def overgrown(self, spare: int) -> bool:
        return self._postings.pool_size > 4 * self._postings.total + 16 * spare

    @property
    def postings(self) -> int:
        return self._postings.total

    def postings_of(self, units: NDArray[np.int32]) -> NDArray[np.int64]:
        return self._postings.sizes(self.store.view(), units)

    def without_lists(self, units: NDArray[np.int32]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._needs.view()[units] == 0
        return found

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        output, call = Output(workspace, events, first, self._live), self._union_call(workspace)
        match_counting(*self._call(read_only_events(events), first, workspace, call, output.arrays))
        self._unions.settle(call)
        return output.hits()

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        buffers = EventBuffers(self.store.attributes)
        output = Output(workspace, buffers.events, 0, self._live).arrays

        def matching(call: UnionCall) -> BatchOfOne:
            arguments = self._call(buffers.source, 0, workspace, call, output)
            return BatchOfOne(match_counting, buffers, output.work, arguments)

        match_one = self._unions.one_event(lambda: self._union_call(workspace), matching)
        return OneEventSearch(match_one, buffers, output.units, output.work)

    def foresee(self, times: int) -> None:
        self._unions.foresee(times)

    def _union_call(self, workspace: Workspace) -> UnionCall:
        return self._unions.call(self.store, self._live, self.live_units, workspace)

    def _call(
        self, source: EncodedEvents, first: int, workspace: Workspace, unions: UnionCall, output: HitOutput
    ) -> tuple[Any, ...]:
        """All that the kernel takes."""
        needs, most = self._needs.view(), LEVELS * min(len(source.attributes), self.store.attributes)
        counted = CountedUnits(needs, self._states.view(), self._always.view())
        scratch = CountingScratch(
            workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL),
            workspace.copy("counting.counters", needs, self._version),
            workspace.array("counting.starts", most, np.int64, None),
            workspace.array("counting.stops", most, np.int64, None),
            unions.scratch,
        )
        searched = self.store.view(), self._postings.view(), unions.arrays, unions.size, counted
        return *searched, self._live, self._verified > 0, source, first, scratch, output

    # ------------------------------------------------------------------ trust

    def stats(self) -> dict[str, Any]:
        return {**super().stats(), "lists": self._postings.lists, "unions": self._unions.stats()}

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._unions.nbytes

    def audit_lists(self, units: NDArray[np.int32]) -> list[str]:
        """Every live unit is in the list of each of its blocks once, and knows how many complete it."""
        return self._audit_units(units) + self._postings.audit(self.store.view(), units)

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
        return problems
