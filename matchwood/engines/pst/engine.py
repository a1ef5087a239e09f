"""What `pstbloom` and `psthash` share: access predicates lead to candidates, which are verified where they lie.

VLDB 2018, sections 3.3, 5 and 6.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Number, Part, require
from matchwood.encoding import LEVELS, NULL_LABEL, EncodedEvents
from matchwood.engines._scan_kernels import count_attributes
from matchwood.engines.base import Hits
from matchwood.engines.pst._group_kernels import SMALLEST_GROUP, match_groups
from matchwood.engines.pst._match_kernels import BATCH, ListedUnits, ListScratch, ListSearch, match_lists
from matchwood.engines.pst._one_event_kernels import match_one
from matchwood.engines.pst.audit import audit_candidates
from matchwood.engines.pst.candidates import Candidates, planned_tests
from matchwood.engines.pst.groups import group_scratch
from matchwood.engines.pst.signatures import NO_SIGNATURES, SignatureArrays
from matchwood.engines.shared._access_kernels import UNUSED, choose_access, choose_one_access
from matchwood.engines.shared._residual_kernels import LIVE, STALE
from matchwood.engines.shared.access import SelectivityOrder, selectivity_order, taken
from matchwood.engines.shared.one_event import EventBuffers, OneEventSearch, PinnedCall
from matchwood.engines.shared.operators import NoValues
from matchwood.engines.shared.output import Output
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.tombstones import ListEngine
from matchwood.engines.shared.views import read_only, read_only_events
from matchwood.engines.shared.workspace import Workspace

_GROWTH = 4
"""Lists that grew bit by bit are laid out anew, without gaps and in order, when there are so many times more units."""

_LARGE, _GROUP_HITS, _MOST_HITS = 2**18, 16, 2**24
"""An index of more units than that has room for so many hits of a group, times its units, if its events have as many,
and at most: where 1% of a million match, groups then have 1,600 events and not 400, and a list is walked a quarter as
often, which saves four tenths of the time."""

OPTIONS: Mapping[str, Any] = {"packed": 4, "side_by_side": True, "ranking": "shares", "reconsider": True}
LIMITS = {"packed": (0, 2**20)}
PUBLISHED: Mapping[str, Any] = {"packed": 0, "side_by_side": False, "ranking": "operators", "reconsider": False}
"""What both engines share of their options, and what of the paper: lists of units, each verified where it is stored,
under access predicates chosen once, as 3.3 ranks them."""


class AccessEngine(ListEngine):
    """Posts each unit under the spaces of its access predicates, and verifies what an event finds there.

    The dyadic blocks of a predicate are disjoint, so an event finds a unit at most once. Constraints that accept NULL
    never give access; units without any other kind are looked at for every event.

    `packed`        lists of at least so many candidates are packed, to be verified together; 0 for none. Nothing is
                    packed that does not lie side by side
    `side_by_side`  candidates lie in their lists with a first test, and all else that they test in the same order;
                    otherwise a list has units alone, which are verified from the store
    `ranking`       how predicates are ranked to give access, as `shared/access.py` describes
    `reconsider`    choose access predicates anew when too many candidates are looked at for what is found

    Work: candidates are the units in the lists that an event selects (removed ones included until the lists are built
    anew) and those looked at always; verified are the ones that passed their first test, and the signatures.
    """

    uses_event_statistics: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"ranking": ("shares", "operators")}
    published_spaces: ClassVar[str | None] = "pstree"
    shaped_by_options: ClassVar[str] = "lists"
    stale: ClassVar[int] = STALE

    _candidates: Part[Candidates] = Part(
        lambda engine: engine._lists(), units="states", attributes="store.attributes", intervals="_intervals"
    )
    _frequency = Column(np.int64, longest="store.attributes")
    _access = Column(np.uint16, length="_most_access")
    _states = Column(np.uint8, longest="store.count", most=STALE)
    _laid_out = Number(0)
    _reconsidered = Number(0)

    def start(self) -> None:
        super().start()
        self._laid_out = 0

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """What was saved when packed candidates lay in blocks is laid out anew."""
        if "packs" in arrays and "packed_tests" not in arrays:
            self.check_options(header)
            self.rebuild()
        else:
            super().restore(arrays, header)

    def invariants(self) -> None:
        """Positions must be those of constraints, or of none."""
        access = self._access.view().reshape(-1, self._wanted)
        constraints = np.diff(self.store.view().offsets)[: len(access), None]
        require(((access == UNUSED) | (access < constraints)).all(), "'access' names constraints that do not exist")
        super().invariants()

    def shape(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Which lists were long enough to be packed does not matter once they are laid out."""
        return {**settings, "packed": bool(settings["packed"])}

    @property
    def _most_access(self) -> int:
        return self._wanted * self._states.count

    @property
    def _intervals(self) -> int:
        return len(self.store.view().intervals) // 2

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

    def index(self, units: NDArray[np.int32]) -> None:
        conjunctions, most, attributes = self.store.view(), self._most_access, self.store.attributes
        self._access.resize(most, UNUSED)
        self._frequency.resize(attributes)
        count_attributes(conjunctions, units, self._frequency.writable())
        operators = (self.values or NoValues()) if self.settings["ranking"] == "operators" else None
        selectivity = selectivity_order(
            conjunctions, units, self._frequency.view(), self._live, self.event_statistics, operators
        )
        space_counts = None
        if self._wanted == 1 and operators is None:
            space_counts = np.empty(len(units), np.int64)
            choose_one_access(conjunctions, units, selectivity, self._access.writable(), space_counts)
        else:
            limits = self._wanted, self._most_spaces, self._useless
            choose_access(conjunctions, units, selectivity, *limits, self._access.writable())
        tests = read_only(np.empty(0, np.int32), np.int32)
        if self.settings["side_by_side"]:
            tests, places = self._by_shape(conjunctions, units, selectivity)
            units, selectivity = read_only(units[places], np.int32), taken(selectivity, places)
            space_counts = None if space_counts is None else space_counts[places]
        self._candidates.post(conjunctions, attributes, units, selectivity, self._access, tests, space_counts)
        self._states.writable()[units] = LIVE
        if not self._laid_out:
            self._laid_out = self._live

    def _by_shape(
        self, conjunctions: Conjunctions, units: NDArray[np.int32], selectivity: SelectivityOrder
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """First tests, and the places of their units, in an order in which those lie side by side that have as much
        left to test.

        The processor then foresees where each candidate ends: BEGen at 1% takes a quarter less (`bench core`).
        """
        tests, shapes = planned_tests(conjunctions, units, selectivity, self._access.view(), self._wanted)
        # Of 16 bits NumPy sorts by digits, which takes a tenth of the time: nearly all shapes have no more.
        short = shapes.astype(np.uint16) if shapes.max(initial=0) < 2**16 else shapes
        places = np.argsort(short, kind="stable")
        return read_only(tests[places], np.int32), places

    def without_lists(self, units: NDArray[np.int32]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._access.view()[:: self._wanted][units] == UNUSED
        return found

    def overgrown(self, spare: int) -> bool:
        return self._live > _GROWTH * self._laid_out + spare

    @property
    def postings(self) -> int:
        return self._candidates.total

    def postings_of(self, units: NDArray[np.int32]) -> NDArray[np.int64]:
        return self._candidates.sizes(self.store.view(), read_only(units, np.int32), self._access.view())

    def reconsider(self) -> None:
        self.check()
        if not self.settings["reconsider"]:
            return
        self._reconsidered += 1
        self._build_anew()

    # ------------------------------------------------------------------ matching

    def _signature_arrays(self) -> SignatureArrays:
        return NO_SIGNATURES

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        source, output = read_only_events(events), Output(workspace, events, first, self._worst(workspace))
        searched = self.store.view(), self._candidates.view(), self._signature_arrays(), self._search(), self._listed()
        written = self._scratch(len(source.attributes), workspace), output.arrays
        if source.count - first < SMALLEST_GROUP or not self._candidates.packed:
            match_lists(*searched, source, first, *written, *self._kinds)
            return output.last_hits()
        scratch, arrays = written
        candidates, pairs = self._candidates, len(source.attributes)
        group = group_scratch(workspace, candidates.lists, self.store.attributes, pairs, candidates.version)
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
        searched = *self.store.view(), *self._candidates.view(), *self._signature_arrays()
        written = *self._scratch(buffers.room, workspace), *output
        arrays = *searched, np.array(self._search(), np.int64), *self._listed(), *written
        return OneEventSearch(PinnedCall(match_one, buffers, arrays, self._kinds), buffers, output.units, output.work)

    @property
    def _kinds(self) -> tuple[int | None, int | None]:
        """What kinds of lists there are beside those of single spaces, with candidates side by side."""
        return None if self._wanted == 1 else 1, None if self._candidates.side_by_side else 1

    def _search(self) -> ListSearch:
        return ListSearch(self._wanted, self._candidates.side_by_side, self._stale_postings > 0, self._live)

    def _listed(self) -> ListedUnits:
        return ListedUnits(self._access.view(), self._states.view(), self._always.view())

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
        )

    # ------------------------------------------------------------------ trust

    def stats(self) -> dict[str, Any]:
        return {
            **super().stats(),
            "bytes_residuals": self._candidates.residuals.nbytes,
            "lists": self._candidates.lists,
            "packed_postings": self._candidates.packed,
            "reconsidered": self._reconsidered,
        }

    def audit_lists(self, units: NDArray[np.int32]) -> list[str]:
        """Every live unit is once in each list of its access predicates, with all that is left to test."""
        return audit_candidates(self._candidates, self.store.view(), units, self._access.view())
