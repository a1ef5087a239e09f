"""What `pstbloom` and `psthash` share: access predicates lead to candidates, which are tested where they lie.

VLDB 2018, sections 3.3, 5 and 6.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Number, Part, pooled, require
from matchwood.encoding import LEVELS, NULL_LABEL, EncodedEvents
from matchwood.engines._scan_kernels import count_attributes
from matchwood.engines.base import Hits
from matchwood.engines.pst._candidate_kernels import (
    choose_tests,
    order_for_tests,
    states_are_safe,
)
from matchwood.engines.pst._group_kernels import SMALLEST_GROUP, match_groups
from matchwood.engines.pst._match_kernels import BATCH, ListedUnits, ListScratch, ListSearch, match_lists
from matchwood.engines.pst._one_event_kernels import match_one
from matchwood.engines.pst.audit import audit_candidates
from matchwood.engines.pst.candidates import Candidates, given_counts
from matchwood.engines.pst.groups import MOST_ATTRIBUTES, group_scratch
from matchwood.engines.pst.signatures import NO_SIGNATURES, SignatureArrays
from matchwood.engines.shared._access_kernels import UNUSED, choose_access, choose_one_access
from matchwood.engines.shared._verification_kernels import LIVE, STALE
from matchwood.engines.shared.access import SelectivityOrder, selectivity_order
from matchwood.engines.shared.one_event import EventBuffers, OneEventSearch, PinnedCall
from matchwood.engines.shared.operators import NoValues
from matchwood.engines.shared.output import Output
from matchwood.engines.shared.store import SPARE
from matchwood.engines.shared.tombstones import ListEngine
from matchwood.engines.shared.views import read_only, read_only_events
from matchwood.engines.shared.workspace import Workspace

_LISTS = 16
"""Candidates of each unit that there is room for before they come: those of lists that outgrow theirs included."""

_GROWTH = 4
"""Lists that grew bit by bit are laid out anew, without gaps and in order, when there are so many times more units."""

_LARGE, _GROUP_HITS, _MOST_HITS = 2**18, 16, 2**24
"""An index of more units than that has room for so many hits of a group, times its units, if its events have as many,
and at most: where 1% of a million match, groups then have 1,600 events and not 400, and a list is walked a quarter as
often, which saves four tenths of the time."""

OPTIONS: Mapping[str, Any] = {"side_by_side": True, "ranking": "shares", "reconsider": True}
PUBLISHED: Mapping[str, Any] = {"side_by_side": False, "ranking": "operators", "reconsider": False}
"""What both engines share of their options, and what of the paper: lists of units, each verified where it is stored,
under access predicates chosen once, as 3.3 ranks them."""

_GONE = ("packed",)
"""Options that saved engines may have, and that no longer are: what they chose between is one now."""


class AccessEngine(ListEngine):
    """Posts each unit under the spaces of its access predicates, and verifies what an event finds there.

    The dyadic blocks of a predicate are disjoint, so an event finds a unit at most once. Constraints that accept NULL
    never give access; units without any other kind are looked at for every event.

    `side_by_side`  candidates lie in their lists with a test each, and the store has what they say in the order of the
                    lists; otherwise a list has units alone, which are verified from the store wherever they lie
    `ranking`       how predicates are ranked to give access, as `shared/access.py` describes
    `reconsider`    choose access predicates anew when too many candidates are looked at for what is found

    Work: candidates are the units in the lists that an event selects (removed ones included until the lists are built
    anew) and those looked at always; verified are the ones that passed their test, and the signatures.
    """

    uses_event_statistics: ClassVar[bool] = True
    keeps_positions: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"ranking": ("shares", "operators")}
    published_spaces: ClassVar[str | None] = "pstree"
    shaped_by_options: ClassVar[str] = "lists"
    stale: ClassVar[int] = STALE

    _candidates: Part[Candidates] = Part(
        lambda engine: engine._lists(), units="states", attributes="store.attributes", rank_bits="store.rank_bits"
    )
    _frequency = Column(np.int64, longest="store.attributes")
    _states = Column(np.uint8, longest="store.count")
    _laid_out = Number(0)
    _reconsidered = Number(0)

    def start(self) -> None:
        super().start()
        self._laid_out = 0

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """What was saved when candidates had residuals is laid out anew."""
        if "heads" in arrays and "tests" not in arrays:
            self.check_options(header)
            self.rebuild()
        else:
            super().restore(arrays, header)

    def invariants(self) -> None:
        """The constraints that are said to be decided must be there, and candidates have some."""
        conjunctions, states = self.store.view(), self._states.view()
        sound = states_are_safe(conjunctions.places, conjunctions.words, states)
        require(sound, "'states' names constraints that do not exist")
        life = states & (LIVE | STALE)
        require(bool((life != LIVE | STALE).all() and (states[life == 0] == 0).all()), "'states' contradicts itself")
        require(self._candidates.are_given(conjunctions, states), "a candidate has no constraint that gives access")
        super().invariants()

    def shape(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: value for name, value in settings.items() if name not in _GONE}

    @property
    def _wanted(self) -> int:
        """How many access predicates a unit has at most."""
        return 1

    @property
    def _most_spaces(self) -> int:
        """How many combinations of spaces a unit may have, unless a single access predicate has more."""
        return 1

    @property
    def _useless(self) -> float:
        """A predicate that lets more than this share of the events through is no further access predicate."""
        return 1.0

    @abstractmethod
    def _lists(self) -> Candidates:
        """Lists without candidates."""

    # ------------------------------------------------------------------ lists

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        if self._candidates.total and not self.store.within_words:
            # Tests have no room for attributes that came since words were divided.
            units = np.union1d(self.live_units(), units).astype(np.int32)
            self.start()
        super().insert(units)

    def index(self, units: NDArray[np.int32]) -> None:
        at_once, store = not self._candidates.total, self.store
        if at_once:
            store.divide_words()
        self._frequency.resize(store.attributes)
        count_attributes(store.view(), units, self._frequency.writable())
        operators = (self.values or NoValues()) if self.settings["ranking"] == "operators" else None
        selectivity = selectivity_order(
            store.view(), units, self._frequency.view(), self._live, self.event_statistics, operators
        )
        access, space_counts = self._chosen_access(units, selectivity)
        order = pooled(len(selectivity.order), np.int32)
        order_for_tests(store.view(), units, selectivity, access, self._wanted, order)
        store.reorder(units, selectivity.starts, read_only(order, np.int32))
        given = (access.reshape(-1, self._wanted) != UNUSED).sum(axis=1).astype(np.uint8)
        found = self._candidates.assign(store.view(), store.attributes, units, given, space_counts)
        words, shapes = pooled(len(units), np.uint32), pooled(len(units), np.uint16)
        choose_tests(store.to_reorder(), units, selectivity, order, given, words, self._states.writable(), shapes)
        # Units of one shape lie side by side: the processor then foresees where each candidate ends, and BEGen at 1%
        # takes a quarter less (`bench core`).
        self._candidates.put(units, np.argsort(shapes, kind="stable"), found, words)
        if at_once and self.settings["side_by_side"]:
            store.lay_out(self._candidates.units())
        self._arrangement = store.arrangement
        if not self._laid_out:
            self._laid_out = self._live

    def make_room(self) -> None:
        self._candidates.make_room(_LISTS * SPARE)
        self._states.make_room(SPARE)

    def _chosen_access(
        self, units: NDArray[np.int32], selectivity: SelectivityOrder
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The constraints that are to give access, as positions within their units, and the spaces of each."""
        access = pooled(self._wanted * len(units), np.int32)
        space_counts = pooled(self._wanted * len(units), np.int64)
        if self._wanted == 1 and self.settings["ranking"] != "operators":
            choose_one_access(self.store.view(), units, selectivity, access, space_counts)
        else:
            limits = self._wanted, self._most_spaces, self._useless
            choose_access(self.store.view(), units, selectivity, *limits, access, space_counts)
        return access, space_counts

    def without_lists(self, units: NDArray[np.int32]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._given(units) == 0
        return found

    def _given(self, units: NDArray[np.int32]) -> NDArray[np.uint8]:
        """How many constraints give access to each of these units."""
        return given_counts(self._states.view()[units])

    def removed(self, states: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Their lists still lead to them."""
        return states & np.uint8(255 - LIVE) | np.uint8(STALE)

    def overgrown(self, spare: int) -> bool:
        return self._live > _GROWTH * self._laid_out + spare

    @property
    def postings(self) -> int:
        return self._candidates.total

    def postings_of(self, units: NDArray[np.int32]) -> NDArray[np.int64]:
        return self._candidates.sizes(self.store.view(), read_only(units, np.int32), self._given(units))

    def reconsider(self) -> None:
        self.check()
        if not self.settings["reconsider"]:
            return
        self._reconsidered += 1
        self._build_anew()

    # ------------------------------------------------------------------ matching

    def _signature_arrays(self) -> SignatureArrays:
        return NO_SIGNATURES

    @property
    def _by_lists(self) -> bool:
        """Whether many events may be matched list by list."""
        return self._candidates.tested and self.store.attributes <= MOST_ATTRIBUTES

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        source, output = read_only_events(events), Output(workspace, events, first, self._worst(workspace))
        searched = self.store.view(), self._candidates.view(), self._signature_arrays(), self._search(), self._listed()
        written = self._scratch(len(source.attributes), workspace), output.arrays
        if source.count - first < SMALLEST_GROUP or not self._by_lists:
            match_lists(*searched, source, first, *written, *self._kinds)
            return output.last_hits()
        scratch, arrays = written
        candidates, pairs = self._candidates, len(source.attributes)
        group = group_scratch(
            workspace, candidates.lists, self.store.attributes, pairs, self.store.has_wide_sets, candidates.version
        )
        done = match_groups(*searched, source, first, scratch, group, arrays)
        if done == first:
            # Its lists are too many for a group: it goes alone, with what comes behind it.
            match_lists(*searched, source, first, *written, *self._kinds)
        return output.last_hits()

    def _worst(self, workspace: Workspace) -> int:
        """The hits of one event at most; of a large index as many more as make groups large enough."""
        more = min(_GROUP_HITS * self._live, _MOST_HITS) - workspace.room if self._live > _LARGE else 0
        return self._live + max(0, more)

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        buffers = EventBuffers(self.store.attributes)
        output = Output(workspace, buffers.events, 0, self._live).arrays
        conjunctions, search = self.store.view(), self._search()
        searched = *conjunctions[:3], *self._candidates.view(), *self._signature_arrays()
        written = *self._scratch(buffers.room, workspace), *output
        arrays = *searched, np.array([conjunctions.bits, *search], np.int64), *self._listed(), *written
        return OneEventSearch(PinnedCall(match_one, buffers, arrays, self._kinds), buffers, output.units, output.work)

    @property
    def _kinds(self) -> tuple[int | None, int | None]:
        """What kinds of lists there are beside those of single spaces, with candidates that have tests."""
        return None if self._wanted == 1 else 1, None if self._candidates.tested else 1

    def _search(self) -> ListSearch:
        return ListSearch(self._wanted, self._candidates.tested, self._stale_postings > 0, self._live)

    def _listed(self) -> ListedUnits:
        return ListedUnits(self._states.view(), self._always.view())

    def _scratch(self, pairs: int, workspace: Workspace) -> ListScratch:
        """What matching events writes to that have so many pairs together."""
        most = LEVELS * min(pairs, self.store.attributes)
        return ListScratch(
            workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL),
            workspace.array("pst.spaces", most, np.int32, None),
            workspace.array("pst.attributes", most, np.uint64, None),
            workspace.array("pst.levels", most, np.uint32, None),
            workspace.array("pst.found", self._candidates.lists, np.int32, None),
            workspace.array("pst.passing", BATCH, np.int32),
            workspace.array("pst.rests", BATCH, np.int32),
        )

    # ------------------------------------------------------------------ trust

    def stats(self) -> dict[str, Any]:
        return {**super().stats(), "lists": self._candidates.lists, "reconsidered": self._reconsidered}

    def audit_lists(self, units: NDArray[np.int32]) -> list[str]:
        """Every live unit is once in each list of its access predicates, with a test that it implies."""
        return audit_candidates(self._candidates, self.store.view(), units, self._states.view())
