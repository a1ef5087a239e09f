"""What `pstbloom` and `psthash` share: access predicates lead to candidates, which are verified where they lie."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.encoding import LEVELS, NULL_LABEL, EncodedEvents
from matchwood.engines._scan_kernels import count_attributes
from matchwood.engines.base import Engine, Hits
from matchwood.engines.pst._block_kernels import PACKED
from matchwood.engines.pst._candidate_kernels import plan_shapes
from matchwood.engines.pst._match_kernels import BLOCK, match_lists
from matchwood.engines.pst.audit import audit_candidates
from matchwood.engines.pst.candidates import Candidates
from matchwood.engines.pst.signatures import NO_SIGNATURES, SignatureArrays
from matchwood.engines.shared._access_kernels import UNUSED, choose_access
from matchwood.engines.shared._residual_kernels import LIVE, STALE
from matchwood.engines.shared.access import SelectivityOrder, ranked, taken
from matchwood.engines.shared.operators import NoValues
from matchwood.engines.shared.output import Output
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only, read_only_events, require, require_range, saved, saved_count
from matchwood.engines.shared.workspace import Workspace

_SPARE = 4096
_GROWTH = 4
"""Lists that grew bit by bit are laid out anew, without gaps and in order, when there are so many times more units."""

OPTIONS: Mapping[str, Any] = {"packed": 16, "side_by_side": True, "ranking": "shares", "reconsider": True}
LIMITS = {"packed": (0, 2**20)}
PUBLISHED: Mapping[str, Any] = {"packed": 0, "side_by_side": False, "ranking": "operators", "reconsider": False}
"""What both engines share of their options, and what of the paper: lists of units, each verified where it is stored,
under access predicates chosen once, as 3.3 ranks them."""


class AccessEngine(Engine):
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
    anew) and those looked at always; verified are the ones that passed the test in their heads, and the signatures.
    """

    uses_history: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"ranking": ("shares", "operators")}
    published_spaces: ClassVar[str | None] = "pstree"
    store: ConjunctionStore

    def __init__(self, store: ConjunctionStore, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(store, options)
        self._reconsidered = 0
        self._start()

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

    def _start(self) -> None:
        self._candidates = self._lists()
        self._frequency = Growable(np.int64)
        self._access = Growable(np.uint16)
        self._states = Growable(np.uint8)
        self._always = Growable(np.int32)
        self._live, self._stale_postings, self._stale_always, self._laid_out = 0, 0, 0, 0
        self._sound = True

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._states.resize(self.store.count)
        self._access.resize(self._wanted * self.store.count, UNUSED)
        states = self._states.view()[units]
        if (states == STALE).any():
            self._build_anew()
        self._index(read_only(units[states != LIVE], np.int32))
        if self._live > _GROWTH * self._laid_out + _SPARE:
            self._build_anew()

    def _index(self, units: NDArray[np.int32]) -> None:
        conjunctions = self.store.view()
        self._frequency.resize(self.store.attributes)
        count_attributes(conjunctions, units, self._frequency.writable())
        self._live += len(units)
        operators = (self.values or NoValues()) if self.settings["ranking"] == "operators" else None
        ranking = ranked(conjunctions, units, self._frequency.view(), self._live, self.history, operators)
        limits = self._wanted, self._most_spaces, self._useless
        choose_access(conjunctions, units, ranking, *limits, self._access.writable())
        if self.settings["side_by_side"]:
            places = self._by_shape(units, ranking)
            units, ranking = read_only(units[places], np.int32), taken(ranking, places)
        self._candidates.post(conjunctions, self.store.attributes, units, ranking, self._access)
        self._states.writable()[units] = LIVE
        self._always.extend(units[self._first_access(units) == UNUSED])
        if not self._laid_out:
            self._laid_out = self._live

    def _by_shape(self, units: NDArray[np.int32], ranking: SelectivityOrder) -> NDArray[np.int64]:
        """The order in which units lie side by side that have as much left to test.

        The processor then foresees where each candidate ends: BEGen at 1% takes a quarter less (`bench core`).
        """
        shapes = np.empty(len(units), np.int64)
        plan_shapes(self.store.view(), units, ranking, self._access.view(), self._wanted, shapes)
        return np.argsort(shapes, kind="stable")

    def _first_access(self, units: NDArray[np.int32]) -> NDArray[np.uint16]:
        found: NDArray[np.uint16] = self._access.view()[:: self._wanted][units]
        return found

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        gone = np.unique(units[self._states.view()[units] == LIVE])
        self._stale_postings += int(self._sizes(gone).sum())
        self._stale_always += int(np.count_nonzero(self._first_access(gone) == UNUSED))
        self._states.writable()[gone] = STALE
        self._live -= len(gone)
        if self._wasteful():
            self._build_anew()

    def _sizes(self, units: NDArray[np.int32]) -> NDArray[np.int64]:
        return self._candidates.sizes(self.store.view(), read_only(units, np.int32), self._access.view())

    def _wasteful(self) -> bool:
        postings = 2 * self._stale_postings > self._candidates.total + _SPARE
        return postings or 2 * self._stale_always > len(self._always) + _SPARE

    def _build_anew(self) -> None:
        """Lists without stale units and without gaps, by access predicates as they would be chosen now."""
        live = np.flatnonzero(self._states.view() == LIVE).astype(np.int32)
        self._start()
        self.insert(live)

    def rebuild(self) -> None:
        self._start()
        self.insert(self.store.live_units())

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
        conjunctions, source, lists = self.store.view(), read_only_events(events), self._candidates.view()
        output = Output(workspace, events, first, self._live)
        most = LEVELS * min(len(source.attributes), self.store.attributes)
        match_lists(
            conjunctions, lists, self._signature_arrays(), self._wanted, self._candidates.side_by_side,
            self._access.view(), self._states.view(), self._always.view(),
            self._live, self._stale_postings > 0, source, first,
            workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL),
            workspace.array("pst.spaces", most, np.int32, None),
            workspace.array("pst.attributes", most, np.uint64, None),
            workspace.array("pst.levels", most, np.uint32, None),
            workspace.array("pst.found", len(lists.keys), np.int32, None),
            workspace.array("pst.passing", BLOCK, np.int32),
            workspace.array("pst.left", PACKED, np.uint8),
            output.units, output.offsets, output.work,
        )  # fmt: skip
        return output.hits()

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        own = {name: column.view() for name, column in self._columns().items()}
        return {**self._candidates.arrays(), **own}

    def _columns(self) -> dict[str, Growable]:
        return {
            "frequency": self._frequency,
            "access": self._access,
            "states": self._states,
            "always": self._always,
        }

    def header(self) -> dict[str, Any]:
        return {"options": self.settings, "laid_out": self._laid_out, "reconsidered": self._reconsidered}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self._start()
        require(self._were(header.get("options")), "the options of the engine are not those of its lists")
        self._laid_out, self._reconsidered = saved_count(header, "laid_out"), saved_count(header, "reconsidered")
        self._candidates.restore(arrays)
        self._frequency = Growable(np.int64, saved(arrays, "frequency", np.int64))
        self._access = Growable(np.uint16, saved(arrays, "access", np.uint16))
        self._states = Growable(np.uint8, saved(arrays, "states", np.uint8))
        self._always = Growable(np.int32, saved(arrays, "always", np.int32))
        self._sound = False

    def _were(self, saved_options: Any) -> bool:
        """Whether lists were saved with these settings; options from after that time had their defaults."""
        return isinstance(saved_options, Mapping) and {**self.options, **saved_options} == self.settings

    def check(self) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays."""
        if self._sound:
            return
        conjunctions, states = self.store.view(), self._states.view()
        require(len(states) <= self.store.count, "'states' does not fit the units")
        require_range(states, 0, STALE + 1, "states")
        require(len(self._access) == self._wanted * len(states), "'access' does not fit the units")
        require(len(self._frequency) <= self.store.attributes, "'frequency' does not fit the attributes")
        require_range(self._always.view(), 0, max(1, len(states)), "always")
        self._check_access(states)
        self._candidates.check(len(states), self.store.attributes, len(conjunctions.intervals) // 2)
        self._live = int(np.count_nonzero(states == LIVE))
        stale = np.flatnonzero(states == STALE).astype(np.int32)
        self._stale_always = int(np.count_nonzero(states[self._always.view()] == STALE))
        self._stale_postings = int(self._sizes(stale).sum())
        self._sound = True

    def _check_access(self, states: NDArray[np.uint8]) -> None:
        """Positions must be those of constraints, or of none."""
        access = self._access.view().reshape(len(states), self._wanted)
        constraints = np.diff(self.store.view().offsets)[: len(states), None]
        require(((access == UNUSED) | (access < constraints)).all(), "'access' names constraints that do not exist")

    def stats(self) -> dict[str, Any]:
        self.check()
        return {
            "always_candidates": len(self._always) - self._stale_always,
            "bytes_index": self._candidates.nbytes + sum(column.nbytes for column in self._columns().values()),
            "bytes_tails": self._candidates.view().tails.nbytes,
            "lists": self._candidates.lists,
            "postings": self._candidates.total,
            "packed_postings": self._candidates.in_packs,
            "stale_postings": self._stale_postings,
            "reconsidered": self._reconsidered,
        }

    # ------------------------------------------------------------------ trust

    def audit(self) -> list[str]:
        """Every live unit is once in each list of its access predicates, with all that is left to test."""
        self.check()
        indexed = np.zeros(self.store.count, dtype=np.bool_)
        indexed[: len(self._states)] = self._states.view() == LIVE
        wrong = np.flatnonzero(indexed != self.store.alive)
        problems = [f"unit {wrong[0]} is alive or indexed, but not both ({len(wrong)} such)"] if len(wrong) else []
        units = np.flatnonzero(indexed).astype(np.int32)
        always = self._always.view()
        listed = np.sort(always[self._states.view()[always] == LIVE])
        if not np.array_equal(listed, units[self._first_access(units) == UNUSED]):
            problems.append("the units looked at always are not those without access predicates")
        access = self._access.view()
        return problems + audit_candidates(self._candidates, self.store.view(), units, access)
