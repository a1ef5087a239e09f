"""The best rules by the K-index: bounds of its lists, and what a call needs to prune by them.

VLDB 2009, section 5.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines.base import Work
from matchwood.engines.kindex._cluster_kernels import low_promises, promise_of_units
from matchwood.engines.kindex._cluster_match_kernels import top_direct
from matchwood.engines.kindex._risen_kernels import top_units
from matchwood.engines.kindex._top_kernels import (
    CANDIDATES,
    DAMAGED,
    MATCHED,
    PASSED_RULES,
    POSTINGS,
    SCORED,
    SKIPPED_INDEXES,
    SKIPPED_LISTS,
    SKIPPED_UNITS,
    VERIFIED,
    raise_bounds,
    settle_all,
    top_run,
)
from matchwood.engines.kindex.layout import AccessArrays, BoundedUnits, RunBounds, TopHeaps, TopScratch
from matchwood.engines.kindex.run import Run
from matchwood.engines.shared.bounds import BoundTable
from matchwood.engines.shared.scoring import AHEAD, Ranked, ScoringContext, TopQuery
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only
from matchwood.engines.shared.workspace import Workspace
from matchwood.errors import CorruptSnapshot, InvalidArgument

_ROOM = 1 << 20

PATIENCE = 16
"""Looks at single units, for each unit of their runs, before these are laid out anew. Estimated, not measured: both are
exact, and a wrong guess costs a layout too soon, or that many looks."""


def bounds_of(run: Run, store: ConjunctionStore, table: BoundTable) -> RunBounds:
    """The bounds of a run, made when somebody first ranks by it; two threads that do so make the same."""
    found: RunBounds | None = run.bounds
    if found is None:
        indexes = len(run.arrays.sizes)
        found = RunBounds(np.zeros(len(run.arrays.list_sizes)), np.zeros(indexes), np.zeros(indexes))
        raise_bounds(run.arrays, store.view(), table.view(), run.arrays.units, found)
        run.bounds = found
    return found


def ranked_access(run: Run, store: ConjunctionStore, table: BoundTable) -> AccessArrays:
    """The clusters of a direct run in the order of what units promise."""
    if not run.ranked:
        run.cluster(store, table.view())
    assert run.access is not None
    return run.access


def raise_runs(runs: Iterable[Run], store: ConjunctionStore, table: BoundTable, units: NDArray[np.int32]) -> None:
    """Let the posting lists of all runs promise at least what these units do by now."""
    for run in runs:
        if run.bounds is not None:
            raise_bounds(run.arrays, store.view(), table.view(), read_only(units, np.int32), run.bounds)


def low_entries(run: Run, store: ConjunctionStore, table: BoundTable, risen: NDArray[np.int32]) -> int:
    """How many entries of a run's clusters promise less than their units, but for those that have risen since."""
    if run.access is None or not run.ranked:
        return 0
    every, units = np.zeros(store.count), run.arrays.units
    promised = np.empty(len(units))
    promise_of_units(store.view(), table.view(), units, promised)
    every[units] = promised
    every[risen] = 0.0
    return int(low_promises(run.access.stream, run.access.promises, every))


class Risen:
    """Units that promise more by now than their clusters say.

    They are looked at one by one before the clusters are, so that it does not matter what these promise of them. What
    that costs is counted: once it would have paid for laying their runs out anew, that is done. So a bound that rises
    costs in proportion to the units that rose, and a search never more than twice what it would with all in order.
    """

    def __init__(self) -> None:
        self.units = np.empty(0, np.int32)
        self._looks = 0

    def add(self, units: NDArray[np.int32]) -> None:
        self.units = np.union1d(self.units, units).astype(np.int32)

    def settle(self, runs: list[Run], search: TopSearch, events: int) -> None:
        """Lay out anew the runs that have such units if looking at each for so many more events is dearer."""
        if not len(self.units):
            return
        self._looks += events * len(self.units)
        held = [run for run in runs if np.isin(self.units, run.arrays.units).any()]
        if self._looks > PATIENCE * sum(run.size for run in held):
            for run in held:
                run.cluster(search.store, search.table.view())
            # Last: whoever finds no units here finds the runs in order.
            self.units, self._looks = np.empty(0, np.int32), 0


class PruningCounters:
    """What ranking did not look at, over all calls of all threads.

    `units`    skipped by the first pruning: their lists could not add up to enough
    `indexes`  K-indexes skipped by the second
    `lists`    skipped where conjunctions are verified one by one: their own units could not score enough
    `rules`    of units that matched, passed over because of their own constant weights
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.units = self.indexes = self.lists = self.rules = 0

    def fold(self, work: list[int]) -> None:
        with self._lock:
            self.units += work[SKIPPED_UNITS]
            self.indexes += work[SKIPPED_INDEXES]
            self.lists += work[SKIPPED_LISTS]
            self.rules += work[PASSED_RULES]

    def as_dict(self) -> dict[str, int]:
        with self._lock:
            return {"units": self.units, "indexes": self.indexes, "lists": self.lists, "rules": self.rules}


class TopSearch(NamedTuple):
    """All that the search for the best rules reads of an engine."""

    store: ConjunctionStore
    table: BoundTable
    states: NDArray[np.uint8]
    counters: PruningCounters
    risen: Risen

    def units(self) -> BoundedUnits:
        """The arrays for kernels."""
        return BoundedUnits(self.store.view(), self.table.view(), self.states)


def top_of_runs(
    runs: list[Run], search: TopSearch, events: EncodedEvents, first: int, query: TopQuery, workspace: Workspace
) -> Ranked:
    """The best rules of the events from `first` on, as many events as the output has room for."""
    if not 0 <= first <= events.count:
        raise InvalidArgument(f"the first event to match must be in 0 to {events.count} (got {first})")
    with query.scoring_context(workspace) as context:
        n = max(1, min(query.n, len(context.programs.starts)))
        count = min(events.count - first, max(1, _ROOM // n))
        best, scores = np.empty(count * n, np.int32), np.empty(count * n, np.float64)
        filled, work = np.zeros(count, np.int64), np.zeros(11, np.int64)
        heaps = TopHeaps(n, _stamps(workspace, count), False, best, scores, filled, work)
        search.risen.settle(runs, search, count)
        apart = read_only(search.risen.units, np.int32)
        if len(apart):
            scratch = _scratch(search, context, workspace)
            top_units(apart, search.units(), events, first, context, scratch, heaps)
        for place, run in enumerate(runs):
            own = heaps._replace(again=place > 0 or len(apart) > 0)
            _offer_run(run, search, events, first, context, workspace, own)
    did = work.tolist()
    search.counters.fold(did)
    if did[DAMAGED]:
        raise CorruptSnapshot("a rule matched that is not true by its text: the snapshot is damaged")
    return _ranked(first, n, best, scores, filled, did)


def _stamps(workspace: Workspace, count: int) -> int:
    """Numbers for `count` events that no event of this workspace had before; the first of them."""
    counter = workspace.array("kindex.stamp", 1, np.int64, 1)
    counter[0] += count
    return int(counter[0]) - count


def _offer_run(
    run: Run, search: TopSearch, events: EncodedEvents, first: int, context: ScoringContext, workspace: Workspace,
    heaps: TopHeaps,
) -> None:  # fmt: skip
    if run.layout.direct:
        access = ranked_access(run, search.store, search.table)
        scratch = _scratch(search, context, workspace, len(access.cluster_offsets))
        top_direct(access, search.units(), events, first, context, run.scratch(workspace), scratch, heaps)
        return
    slots, greatest = len(run.arrays.list_sizes) + 1, int(run.arrays.sizes.max(initial=0)) + 1
    scratch = _scratch(search, context, workspace, slots, greatest)
    top_run(
        run.arrays, search.units(), bounds_of(run, search.store, search.table), run.of_clauses, run.layout.shortcuts,
        events, first, context, run.cursors(workspace), scratch, heaps,
    )  # fmt: skip


def _scratch(
    search: TopSearch, context: ScoringContext, workspace: Workspace, promises: int = 0, chosen: int = 0
) -> TopScratch:
    rows = len(context.programs.starts)
    return TopScratch(
        workspace.array("labels", search.store.attributes, np.int32, NULL_LABEL),
        workspace.array("kindex.promises", promises, np.float64, None),
        workspace.array("kindex.chosen", chosen, np.float64, None),
        workspace.array("kindex.seen", rows, np.int64)[:rows],
        workspace.array("kindex.rows", AHEAD, np.int32),
    )


def _ranked(first: int, n: int, best: Any, scores: Any, filled: NDArray[np.int64], work: list[int]) -> Ranked:
    settle_all(n, best, scores, filled)
    kept = (np.arange(n) < filled[:, None]).ravel()
    offsets = np.concatenate(([0], np.cumsum(filled)))
    done = Work(work[CANDIDATES], work[VERIFIED], work[MATCHED], work[POSTINGS])
    return Ranked(first, offsets, best[kept], scores[kept], done, work[SCORED])
