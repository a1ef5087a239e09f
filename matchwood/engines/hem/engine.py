"""HEM: triangles exclude what an attribute's value excludes, in an order that a cost model finds for each event.

Sci. China 2016, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
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

    Work: candidates are the units that the triangles of the plan leave, and those looked at always; verified are all of
    them, or none where triangles decide everything.
    """

    name: ClassVar[str] = "hem"
    options: ClassVar[Mapping[str, Any]] = DEFAULTS
    limits: ClassVar[Mapping[str, tuple[int, int]]] = LIMITS
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = CHOICES
    published: ClassVar[Mapping[str, Any]] = PUBLISHED
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

    def invariants(self) -> None:
        states, always = self._states.view(), self._always.view()
        listed = np.flatnonzero(states >= 0)
        require(len(listed) == len(always) and (always[states[listed]] == listed).all(), "units are listed wrongly")
        self._indexed = int(np.count_nonzero(states == INDEXED))

    @property
    def _constraints(self) -> int:
        """Constraints of the units that the engine knows."""
        return int(self.store.view().offsets[len(self._states)])

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._states.resize(self.store.count, ABSENT)
        wanted = read_only(units[self._states.view()[units] == ABSENT], np.int32)
        pointed = np.empty(len(wanted), np.bool_)
        split_units(self.store.view(), wanted, pointed)
        self._list(wanted[~pointed])
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
        live = np.flatnonzero(self._states.view() != ABSENT).astype(np.int32)
        self.start()
        self.insert(live)

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        output, scratch = Output(workspace, events, first, self._most_hits), self.scratch(workspace)
        before = int(scratch.counters[UNPROVEN])
        match_hem(*self._call(read_only_events(events), first, workspace, scratch, output.arrays))
        self._count_unproven(scratch, before)
        return output.hits()

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        buffers, scratch = EventBuffers(self.store.attributes), self.scratch(workspace)
        output = Output(workspace, buffers.events, 0, self._most_hits).arrays
        arguments = self._call(buffers.source, 0, workspace, scratch, output)
        matching = BatchOfOne(match_hem, buffers, output.work, arguments)

        def match_and_count(count: int) -> int:
            before = int(scratch.counters[UNPROVEN])
            hits = matching(count)
            self._count_unproven(scratch, before)
            return hits

        return OneEventSearch(match_and_count, buffers, output.units, output.work)

    @property
    def _most_hits(self) -> int:
        return self._indexed + len(self._always)

    def _call(
        self, source: EncodedEvents, first: int, workspace: Workspace, scratch: ExclusionScratch, output: HitOutput
    ) -> tuple[Any, ...]:
        """All that the kernel takes."""
        searched = self.store.view(), self._triangles.view(), self._extent, self._always.view(), self._ways
        return *searched, source, first, self._labels(workspace), scratch, output

    def _count_unproven(self, scratch: ExclusionScratch, before: int) -> None:
        if scratch.counters[UNPROVEN] > before:
            with self._counting:
                self._unproven += int(scratch.counters[UNPROVEN]) - before

    def plan(self, events: EncodedEvents, workspace: Workspace) -> int:
        """Plan the queues of events without matching them; returns how many triangles would be walked."""
        self.check()
        return queue_all(
            self._triangles.view(), self._words, self._indexed, self._decidable, self._ways, read_only_events(events),
            self._labels(workspace), self.scratch(workspace),
        )  # fmt: skip

    def _labels(self, workspace: Workspace) -> NDArray[Any]:
        return workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL)

    @property
    def _ways(self) -> Ways:
        own = self.settings
        return Ways(PLANS[own["plan"]], own["collect"], own["passes"], own["share"], float(own["direct_cost"]))

    @property
    def _extent(self) -> Extent:
        live = self._indexed + len(self._always)
        return Extent(self._triangles.stride, self._words, live, self._indexed, self._decidable)

    @property
    def _decidable(self) -> int:
        """How many triangles leave nothing to verify; -1 if some unit must be verified in any case."""
        return int(np.count_nonzero(self._triangles.totals)) if self._partial == 0 else -1

    @property
    def _words(self) -> int:
        """Words of a bit for each unit."""
        return (len(self._states) + 63) // 64

    def scratch(self, workspace: Workspace) -> ExclusionScratch:
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

    def stats(self) -> dict[str, Any]:
        told = super().stats()
        dimensions = int(np.count_nonzero(self._triangles.totals))
        told |= {
            "dimensions": dimensions,
            "points": self._triangles.points,
            "squares": len(self._triangles.starts),
            "moved_points": self._triangles.moved,
            "unproven_plans": self._unproven,
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
