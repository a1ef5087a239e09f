"""VLDB 2009: conjunctions (DNF) and conjunctions of clauses (CNF) in inverted lists by size, or in clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column
from matchwood.encoding import EncodedEvents
from matchwood.engines.base import Engine, Hits, Work
from matchwood.engines.kindex._match_kernels import LIVE, merge_hits
from matchwood.engines.kindex.build import shapes_of
from matchwood.engines.kindex.one_event import search_runs
from matchwood.engines.kindex.options import CHOICES, DEFAULTS, PUBLISHED, layout_of
from matchwood.engines.kindex.run import FORMS, Run, RunLists, Runs
from matchwood.engines.kindex.top import PruningCounters, Risen, TopSearch, low_entries, raise_runs, top_of_runs
from matchwood.engines.shared.one_event import OneEventSearch
from matchwood.engines.shared.output import Output
from matchwood.engines.shared.scoring import Ranked, TopQuery
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only_events
from matchwood.engines.shared.workspace import Workspace

STALE = 2

SMALL = 8192
"""Runs of together so many units are merged at once, by the insertion that makes the last: in some 5 ms."""

GROWTH = 4
"""A run is merged with one behind it that is not smaller than by this factor, so runs are few and merges are rare."""

MOST_RUNS = 12


class KIndex(Engine):
    """A main run and a tail of small ones for each form; a run never changes.

    What is inserted becomes a run of the tail, what is removed a tombstone. When the tail or the tombstones have grown,
    `merged` builds a new main run from all that is alive, while others match, and `adopt` puts it in the place of all.

    `form`        `dnf` or `cnf`, or `auto`: for each rule the smaller
    `direct`      whether units stand in clusters, where one clause leads to each and all else is tested at once;
                  otherwise in posting lists, which Algorithms 1 and 2 read
    `compressed`  whether posting lists are compressed
    `shortcuts`   what is added to the two algorithms, as `kindex_options` tells
    `bounds`      what no rule may weigh more than; the façade holds rules against it, and computes bounds by it

    Work: candidates are the units that K lists agree on, or whose access clause holds; verified are those whose other
    clauses were tested, or counted.
    """

    name: ClassVar[str] = "kindex"
    clauses: ClassVar[bool] = True
    ranks: ClassVar[bool] = True
    keeps_positions: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Any]] = DEFAULTS
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = CHOICES
    published: ClassVar[Mapping[str, Any]] = PUBLISHED
    store: ConjunctionStore

    _states = Column(np.uint8, longest="store.count")
    _runs = RunLists()

    def __init__(self, store: ConjunctionStore, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(store, options)
        self.layout = layout_of(self.settings)
        self._pruned = PruningCounters()

    def start(self) -> None:
        super().start()
        self._risen, self._stale = Risen(), 0

    def invariants(self) -> None:
        self._stale = int(np.count_nonzero(self._states.view() == STALE))

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._states.resize(self.store.count)
        states = self._states.view()[units]
        fresh = np.unique(units[states != LIVE])
        again = bool((states == STALE).any())
        self._states.writable()[fresh] = LIVE
        if again:
            # Their old entries are still there, and would count for the new ones.
            self.adopt(self.merged())
            return
        for form, part in self._by_form(fresh).items():
            if len(part):
                self._runs[form] = self._settled((*self._runs[form], self._run(form, part)))

    def _by_form(self, units: NDArray[np.int32]) -> dict[str, NDArray[np.int32]]:
        of_clauses = shapes_of(self.store.view(), units).clauses > 0
        return {"dnf": units[~of_clauses], "cnf": units[of_clauses]}

    def _run(self, form: str, units: NDArray[np.int32]) -> Run:
        bounds = None if self.bounds is None else self.bounds.view()
        return Run.build(self.store, units, form == "cnf", self.layout, bounds)

    def _settled(self, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """Merge the last runs while they are small and of a similar size."""
        while len(runs) > 1 and runs[-2].size <= GROWTH * runs[-1].size and runs[-2].size + runs[-1].size <= SMALL:
            units = np.concatenate([run.arrays.units for run in runs[-2:]])
            alive = self._states.view()[units] == LIVE
            self._forget(units[~alive])
            runs = (*runs[:-2], self._run("cnf" if runs[-1].of_clauses else "dnf", np.sort(units[alive])))
        return runs

    def _forget(self, units: NDArray[np.int32]) -> None:
        """No run holds these removed units any more."""
        self._states.writable()[units] = 0
        self._stale -= len(units)

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        gone = np.unique(units[self._states.view()[units] == LIVE])
        self._states.writable()[gone] = STALE
        self._stale += len(gone)

    def rebuild(self) -> None:
        self.start()
        self._states.resize(self.store.count)
        self._states.writable()[self.store.live_units()] = LIVE
        self.adopt(self.merged())

    @property
    def merge_due(self) -> bool:
        self.check()
        runs = self._runs.values()
        grown = any(sum(run.size for run in each[1:]) > each[0].size // 4 + SMALL for each in runs if each)
        return grown or max(map(len, runs)) > MOST_RUNS or 2 * self._stale > self._size + SMALL

    @property
    def _size(self) -> int:
        return sum(run.size for run in self._all())

    def _all(self) -> Iterator[Run]:
        return (run for runs in self._runs.values() for run in runs)

    def merged(self) -> Runs:
        """One run a form, over all units that are alive."""
        self.check()
        live = np.flatnonzero(self._states.view() == LIVE).astype(np.int32)
        return {form: (self._run(form, part),) if len(part) else () for form, part in self._by_form(live).items()}

    def adopt(self, built: Runs) -> None:
        states = self._states.writable()
        states[states == STALE] = 0
        self._runs, self._stale, self._risen = built, 0, Risen()

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        source, states, last = read_only_events(events), self._states.view(), events.count
        found: Hits | None = None
        for run in self._all():
            more = run.match(self.store, states, source, first, last, workspace)
            found = more if found is None else joined(found, more)
            last = first + found.count
        return _none(workspace, source, first) if found is None else found

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        return search_runs(list(self._all()), self.store, self._states.view(), workspace)

    def top(self, events: EncodedEvents, first: int, query: TopQuery, workspace: Workspace) -> Ranked:
        if self.bounds is None:
            return super().top(events, first, query, workspace)
        self.check()
        search = TopSearch(self.store, self.bounds, self._states.view(), self._pruned, self._risen)
        return top_of_runs(list(self._all()), search, read_only_events(events), first, query, workspace)

    def weigh(self, units: NDArray[np.int32]) -> None:
        if self.bounds is None:
            return
        if self.layout.direct:
            self._risen.add(units)
        else:
            raise_runs(self._all(), self.store, self.bounds, units)

    # ------------------------------------------------------------------ trust

    @property
    def always_candidates(self) -> int:
        zeros = self._zeros()
        return int(np.count_nonzero(self._states.view()[zeros] == LIVE))

    def _zeros(self) -> NDArray[np.int32]:
        """The Z list, removed units included."""
        return np.concatenate([np.empty(0, np.int32), *(run.zeros for run in self._all())])

    def stats(self) -> dict[str, Any]:
        told, runs = super().stats(), list(self._all())
        return {
            **told,
            "lists": sum(run.lists for run in runs),
            "pruned": self._pruned.as_dict(),
            "postings": sum(run.postings for run in runs),
            "risen_units": len(self._risen.units),
            "runs": {form: len(each) for form, each in self._runs.items()},
            "stale_units": self._stale,
            "units_by_size": {form: _by_size(each) for form, each in self._runs.items()},
            "z_list": len(self._zeros()),
        }

    def audit(self) -> list[str]:
        """Every live unit stands in one run of its form, and each run is what its units would be laid out to."""
        self.check()
        problems = self.audit_indexed(self._states.view() == LIVE)
        held = [np.concatenate([np.empty(0, np.int32), *(run.arrays.units for run in self._runs[f])]) for f in FORMS]
        known = np.flatnonzero(self._states.view()).astype(np.int32)
        wanted = self._by_form(known)
        for form, units in zip(FORMS, held, strict=True):
            if not np.array_equal(np.sort(units), wanted[form]):
                problems.append(f"{form}: the runs do not hold each of its units once")
        problems += [problem for run in self._all() for problem in run.audit(self.store)]
        return problems if problems else self._audit_promises()

    def _audit_promises(self) -> list[str]:
        if self.bounds is None:
            return []
        low = sum(low_entries(run, self.store, self.bounds, self._risen.units) for run in self._all())
        return [f"{low} entries of clusters promise less than their units"] if low else []


def joined(first: Hits, second: Hits) -> Hits:
    """The hits of two runs, or of two structures, as far as both reach."""
    count = min(first.count, second.count)
    units = np.empty(int(first.offsets[count] + second.offsets[count]), np.int32)
    offsets = np.zeros(count + 1, np.int64)
    merge_hits(first.offsets, first.units, second.offsets, second.units, count, offsets, units)
    work = [one + other for one, other in zip(first.work, second.work, strict=True)]
    return Hits(first.first, offsets, units, Work(*work)._replace(matched=len(units)))


def _none(workspace: Workspace, events: EncodedEvents, first: int) -> Hits:
    """The answer of an index without runs."""
    output = Output(workspace, events, first, 0)
    output.offsets[:], output.work[0] = 0, events.count - first
    return output.hits()


def _by_size(runs: tuple[Run, ...]) -> dict[str, int]:
    """How many units each K-index holds, by K."""
    counts: dict[str, int] = {}
    for run in runs:
        for size, units in zip(run.arrays.sizes.tolist(), np.diff(run.arrays.size_offsets).tolist(), strict=True):
            counts[str(size)] = counts.get(str(size), 0) + units
    return counts
