"""HEM: triangles exclude what an attribute's value excludes, in an order that a cost model finds for each event.

Sci. China 2016, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Number, Part, require
from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines.base import Engine, Hits
from matchwood.engines.hem._match_kernels import COUNTERS, UNPROVEN, Extent, Ways, match_hem, queue_all
from matchwood.engines.hem._triangle_kernels import ABSENT, INDEXED, drop_listed, split_units
from matchwood.engines.hem.audit import audit_triangles
from matchwood.engines.hem.options import CHOICES, DEFAULTS, LIMITS, PLANS, PUBLISHED
from matchwood.engines.hem.triangle import squares
from matchwood.engines.hem.triangles import Triangles
from matchwood.engines.shared.one_event import BatchOfOne, EventBuffers, OneEventSearch
from matchwood.engines.shared.output import HitOutput, Output
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.unions.keeper import NEVER_UNITE, UnionCall, UnionKeeper
from matchwood.engines.shared.unions.layout import UnionScratch, UnionSize
from matchwood.engines.shared.views import read_only, read_only_events
from matchwood.engines.shared.workspace import Workspace

MANY_DIMENSIONS = 30
_MASK_BYTES = 2**24
_MOST_MASKS = 256


class ExclusionScratch(NamedTuple):
    """What matching writes to.

    `which`, `rates`, `costs`, `order`  the attributes that have a triangle, their prices, and their places in the queue
    `listed`      the attributes that a list of candidates comes from
    `begins`, `stops`, `edges`  stretches of a walk
    `left`, `seen`  a bit for each unit: the candidates; and those already listed, none between two events
    `masks`, `mask_keys`  bits of the units that an attribute's label leaves, and what each such mask is of: events
                  that share a value find them, in this call or a later one, until the rules change
    `candidates`  units
    `counters`    as `_match_kernels` names them
    `union`       what matching by unions writes to
    """

    which: NDArray[np.int64]
    rates: NDArray[np.float64]
    costs: NDArray[np.float64]
    order: NDArray[np.int64]
    listed: NDArray[np.int64]
    begins: NDArray[np.int64]
    stops: NDArray[np.int64]
    edges: NDArray[np.bool_]
    left: NDArray[np.uint64]
    seen: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    mask_keys: NDArray[np.int64]
    candidates: NDArray[np.int32]
    counters: NDArray[np.int64]
    union: UnionScratch


class TriangleView(NamedTuple):
    """Points of a triangle, with the rows of its grid: `bounds` has the two labels of each."""

    tau: int
    units: NDArray[np.int32]
    bounds: NDArray[np.int32]


class HEM(Engine):
    """Sci. China 2016. Each constraint that NULL fails is a point in its attribute's triangle, that of several
    intervals by what encloses them; an event's labels exclude points. Units without a point are looked at always.

    `grid`         rows of a triangle's grid, where it has points enough for them
    `plan`         how triangles and verification share the work: `near` (Algorithm 4 and what we add to it), `printed`
                   (Algorithm 4 to the letter), `optimum` (the best of all plans), `triangle` or `direct` alone
    `collect`      also walk Subarea 3, and keep what is there, where that is shorter than excluding the rest
    `direct_cost`  what verifying a candidate costs, in points walked over
    `passes`       what triangles leave is checked attribute by attribute (Algorithm 2), not rule by rule
    `share`        keep the result of a triangle for events that have the same value
    `unions`       the plan `near`, without `passes`, may take unions of runs of spaces (`shared/unions`) in the place
                   of triangles: `auto` where that should cost less, `always`, or `never`

    Work: candidates are the units that the triangles of the plan, or unions, leave, and those looked at always;
    verified are all of them, or none where triangles or unions decide everything.
    """

    name: ClassVar[str] = "hem"
    options: ClassVar[Mapping[str, Any]] = DEFAULTS
    limits: ClassVar[Mapping[str, tuple[int, int]]] = LIMITS
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = CHOICES
    published: ClassVar[Mapping[str, Any]] = PUBLISHED
    unites: ClassVar[bool] = True
    keeps_positions: ClassVar[bool] = True
    shaped_by_options: ClassVar[str] = "triangles"
    store: ConjunctionStore

    _triangles = Part(
        lambda engine: Triangles(engine.settings["grid"]),
        states="states",
        constraints="_constraints",
        attributes="store.attributes",
    )
    _states = Column(np.int32, longest="store.count", low=INDEXED, below="always")
    _always = Column(np.int32, below="states")
    _partial = Number(0)

    def __init__(self, store: ConjunctionStore, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(store, options)
        self._unproven, self._counting = 0, Lock()

    def start(self) -> None:
        super().start()
        self._indexed, self._partial, self._version = 0, 0, object()
        own = self.settings
        self._unions = UnionKeeper(own["unions"] if own["plan"] == "near" and not own["passes"] else NEVER_UNITE)

    def invariants(self) -> None:
        states, always = self._states.view(), self._always.view()
        listed = np.flatnonzero(states >= 0)
        require(len(listed) == len(always) and (always[states[listed]] == listed).all(), "units are listed wrongly")
        self._indexed = int(np.count_nonzero(states == INDEXED))

    @property
    def _constraints(self) -> int:
        """The end of the constraints of the units that the engine knows."""
        known = np.arange(len(self._states), dtype=np.int32)
        ends = self.store.view().places[known] + self.store.sizes(known)
        return int(ends.max(initial=0))

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._states.resize(self.store.count, ABSENT)
        wanted = read_only(units[self._states.view()[units] == ABSENT], np.int32)
        pointed = np.empty(len(wanted), np.bool_)
        split_units(self.store.view(), wanted, pointed)
        self._list(wanted[~pointed])
        self._unions.insert(wanted)
        inside = read_only(wanted[pointed], np.int32)
        self._states.writable()[inside] = INDEXED
        self._partial += self._triangles.insert(self.store.view(), self.store.attributes, inside)
        self._indexed += len(inside)
        self._version = object()
        if self._triangles.wasteful:
            self._build_anew()

    def _list(self, units: NDArray[np.int32]) -> None:
        self._states.writable()[units] = np.arange(len(self._always), len(self._always) + len(units))
        self._always.extend(units)

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        gone = np.unique(units)
        states = self._states.view()[gone]
        self._unions.remove(gone[states != ABSENT])
        inside = read_only(gone[states == INDEXED], np.int32)
        self._partial -= self._triangles.remove(self.store.view(), inside)
        self._indexed -= len(inside)
        self._states.writable()[inside] = ABSENT
        listed = read_only(gone[states >= 0], np.int32)
        self._always.resize(drop_listed(listed, self._always.writable(), self._states.writable()))
        self._version = object()
        if self._triangles.wasteful:
            self._build_anew()

    def _build_anew(self) -> None:
        """Triangles without gaps."""
        live = self._live_units()
        self.start()
        self.insert(live)

    def _live_units(self) -> NDArray[np.int32]:
        return np.flatnonzero(self._states.view() != ABSENT).astype(np.int32)

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        output, call = Output(workspace, events, first, self._most_hits), self._union_call(workspace)
        scratch = self.scratch(workspace, call.scratch)
        before = int(scratch.counters[UNPROVEN])
        match_hem(*self._call(read_only_events(events), first, workspace, scratch, call, output.arrays))
        self._count_unproven(scratch, before)
        self._unions.settle(call)
        return output.hits()

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        buffers = EventBuffers(self.store.attributes)
        output = Output(workspace, buffers.events, 0, self._most_hits).arrays

        def matching(call: UnionCall) -> Callable[[int], int]:
            scratch = self.scratch(workspace, call.scratch)
            arguments = self._call(buffers.source, 0, workspace, scratch, call, output)
            match = BatchOfOne(match_hem, buffers, output.work, arguments)

            def match_and_count(count: int) -> int:
                before = int(scratch.counters[UNPROVEN])
                hits = match(count)
                self._count_unproven(scratch, before)
                return hits

            return match_and_count

        match_one = self._unions.one_event(lambda: self._union_call(workspace), matching)
        return OneEventSearch(match_one, buffers, output.units, output.work)

    def _union_call(self, workspace: Workspace) -> UnionCall:
        return self._unions.call(self.store, self._most_hits, self._live_units, workspace)

    def foresee(self, times: int) -> None:
        self._unions.foresee(times)

    @property
    def _most_hits(self) -> int:
        return self._indexed + len(self._always)

    def _call(
        self, source: EncodedEvents, first: int, workspace: Workspace, scratch: ExclusionScratch, unions: UnionCall,
        output: HitOutput,
    ) -> tuple[Any, ...]:  # fmt: skip
        """All that the kernel takes."""
        searched = self.store.view(), self._triangles.view(), unions.arrays, self._extent(unions.size)
        asked = self._always.view(), self._ways, source, first
        return *searched, *asked, self._labels(workspace), scratch, output

    def _count_unproven(self, scratch: ExclusionScratch, before: int) -> None:
        if scratch.counters[UNPROVEN] > before:
            with self._counting:
                self._unproven += int(scratch.counters[UNPROVEN]) - before

    def plan(self, events: EncodedEvents, workspace: Workspace) -> int:
        """Plan the queues of events without matching them; returns how many triangles would be walked."""
        self.check()
        return queue_all(
            self._triangles.view(), self._words, self._indexed, self._decidable, self._ways, read_only_events(events),
            self._labels(workspace), self.scratch(workspace, self._union_call(workspace).scratch),
        )  # fmt: skip

    def _labels(self, workspace: Workspace) -> NDArray[Any]:
        return workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL)

    @property
    def _ways(self) -> Ways:
        own = self.settings
        return Ways(PLANS[own["plan"]], own["collect"], own["passes"], own["share"], float(own["direct_cost"]))

    def _extent(self, union: UnionSize) -> Extent:
        return Extent(self._triangles.stride, self._words, self._most_hits, self._indexed, self._decidable, union)

    @property
    def _decidable(self) -> int:
        """How many triangles leave nothing to verify; -1 if some unit must be verified in any case."""
        return int(np.count_nonzero(self._triangles.totals)) if self._partial == 0 else -1

    @property
    def _words(self) -> int:
        """Words of a bit for each unit."""
        return (len(self._states) + 63) // 64

    def scratch(self, workspace: Workspace, union: UnionScratch) -> ExclusionScratch:
        """Arrays of the workspace, large enough for any event."""
        attributes, largest, words = len(self._triangles.totals), self._triangles.largest, self._words
        masks = 1
        while masks < _MOST_MASKS and 2 * masks * 8 * words <= _MASK_BYTES:
            masks *= 2
        most = max(len(self._states), int(self._triangles.totals.max(initial=0)))
        room = workspace.array
        return ExclusionScratch(
            room("hem.which", attributes, np.int64, None),
            room("hem.rates", attributes, np.float64, None),
            room("hem.costs", attributes, np.float64, None),
            room("hem.order", attributes, np.int64, None),
            room("hem.listed", attributes, np.int64, None),
            room("hem.begins", largest, np.int64, None),
            room("hem.stops", largest, np.int64, None),
            room("hem.edges", largest, np.bool_, None),
            room("hem.left", words, np.uint64, None),
            room("hem.seen", words, np.uint64),
            room("hem.masks", masks * words, np.uint64, None),
            workspace.kept("hem.mask_keys", masks, np.int64, -1, self._version),
            room("hem.candidates", most + 1, np.int32, None),
            room("hem.counters", COUNTERS, np.int64),
            union,
        )

    @property
    def totals(self) -> NDArray[np.int32]:
        """How many points each attribute has."""
        self.check()
        return self._triangles.totals

    def triangle(self, attribute: int) -> TriangleView:
        """The triangle of an attribute as plain data."""
        self.check()
        view = self._triangles.view()
        if not 0 <= attribute < len(view.taus) or not view.totals[attribute]:
            return TriangleView(1, np.empty(0, np.int32), np.empty((0, 2), np.int32))
        first, tau = int(view.firsts[attribute]), int(view.taus[attribute])
        filled = np.flatnonzero(view.counts[first : first + squares(tau)]) + first
        stretches = [slice(view.starts[square], view.starts[square] + view.counts[square]) for square in filled]
        units = np.concatenate([view.pool[stretch] for stretch in stretches])
        return TriangleView(tau, units, np.concatenate([view.bounds.reshape(-1, 2)[part] for part in stretches]))

    # ------------------------------------------------------------------ trust

    @property
    def always_candidates(self) -> int:
        return len(self._always)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._unions.nbytes

    def stats(self) -> dict[str, Any]:
        told = super().stats()
        dimensions = int(np.count_nonzero(self._triangles.totals))
        told |= {
            "dimensions": dimensions,
            "points": self._triangles.points,
            "squares": len(self._triangles.starts),
            "moved_points": self._triangles.moved,
            "unproven_plans": self._unproven,
            "unions": self._unions.stats(),
        }
        if dimensions > MANY_DIMENSIONS:
            told["warning"] = (
                f"{dimensions:,} attributes: 'hem' is made for up to {MANY_DIMENSIONS}, other engines may be faster"
            )
        return told

    def audit(self) -> list[str]:
        """Every live unit is listed, or has each of its points once in the right square, and all counts are right."""
        self.check()
        problems = self.audit_indexed(self._states.view() != ABSENT)
        return problems + audit_triangles(self._triangles, self.store, self._states.view(), self._partial)
