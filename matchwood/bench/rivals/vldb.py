"""The rivals of VLDB 2009 over the same store of units: Propagation, PSCAN, and a scan of conjunctions of clauses.

Propagation (Le Subscribe) clusters every conjunction on its most selective predicate, told from a sample of events, and
evaluates only the clusters whose predicate holds; each distinct predicate is evaluated once an event. PSCAN evaluates
the units that some posting list of the event's keys holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.rivals._vldb_kernels import count_true, match_clauses, match_propagation, read_codes
from matchwood.core import places_in
from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines import ConjunctionStore, Hits, Layout, Output, Run, Workspace, read_only
from matchwood.engines.shared.constraints._word_kernels import ACCEPTS_NULL, FLAG_BITS, PAYLOAD, SET


class Clusters(NamedTuple):
    """Distinct predicates and the conjunctions clustered on them; conjunctions without an IN predicate come last.

    `words`              of each predicate what its words in the store have in common
    `predicate_offsets`, `predicates`  by attribute: its predicates
    `cluster_offsets`, `clustered`     by predicate: the conjunctions clustered on it
    `test_offsets`, `tests`            by conjunction: its predicates
    `initial`, `truth`   whether each predicate holds for NULL, and for the event at hand
    """

    words: NDArray[np.uint32]
    predicate_offsets: NDArray[np.int64]
    predicates: NDArray[np.int64]
    cluster_offsets: NDArray[np.int64]
    clustered: NDArray[np.int32]
    test_offsets: NDArray[np.int32]
    tests: NDArray[np.int64]
    initial: NDArray[np.bool_]
    truth: NDArray[np.bool_]


class Propagation:
    """Le Subscribe's Propagation over conjunctions; one thread at a time."""

    uses_event_statistics = False

    def __init__(self, store: ConjunctionStore, sample: EncodedEvents) -> None:
        self.store = store
        self.clusters = _clusters(store, sample)

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        output, conjunctions = Output(workspace, events, first, self.store.count), self.store.view()
        match_propagation(
            self.clusters, conjunctions.sets, conjunctions.bits, events, first, output.units, output.offsets,
            output.work,
        )  # fmt: skip
        return output.hits()

    def stats(self) -> dict[str, Any]:
        return {"bytes_index": sum(array.nbytes for array in self.clusters)}


def _clusters(store: ConjunctionStore, sample: EncodedEvents) -> Clusters:
    places, words, sets, bits = store.view()
    offsets = np.concatenate(([0], np.cumsum(store.sizes(np.arange(store.count, dtype=np.int32))))).astype(np.int32)
    positions = np.arange(offsets[-1]) + np.repeat(places - offsets[:-1], np.diff(offsets))
    predicates, tests = np.unique(words[positions] & np.uint32(SET | PAYLOAD), return_inverse=True)
    known = read_only(predicates, np.uint32), sets, bits
    counts, codes = np.zeros(len(predicates), np.int64), np.empty(len(predicates), np.int32)
    labels = np.full(store.attributes, NULL_LABEL, np.int32)
    count_true(sample, *known, labels, counts)
    read_codes(*known, codes)
    initial, attributes = codes & ACCEPTS_NULL != 0, codes >> FLAG_BITS
    access = _access(offsets, tests, np.where(initial, np.iinfo(np.int64).max, counts), len(predicates))
    by_attribute, by_access = np.argsort(attributes, kind="stable"), np.argsort(access, kind="stable")
    return Clusters(
        predicates,
        places_in(attributes[by_attribute], np.arange(store.attributes + 1, dtype=attributes.dtype)),
        by_attribute,
        places_in(access[by_access], np.arange(len(predicates) + 2, dtype=access.dtype)),
        by_access.astype(np.int32),
        offsets,
        tests.astype(np.int64),
        initial,
        initial.copy(),
    )


def _access(
    offsets: NDArray[np.int32], tests: NDArray[np.int64], cost: NDArray[np.int64], nothing: int
) -> NDArray[np.int64]:
    """Of each conjunction the predicate that the fewest events satisfy; `nothing` if it has only not-in ones."""
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((cost[tests], owners))
    access = np.full(len(offsets) - 1, nothing, np.int64)
    filled = np.flatnonzero(np.diff(offsets))
    access[filled] = tests[order][offsets[filled]]
    return np.where(cost[np.minimum(access, nothing - 1)] == np.iinfo(np.int64).max, nothing, access)


class ClauseScan:
    """Every unit evaluated, or with `pruned` (PSCAN) those in the posting lists of the event's keys."""

    uses_event_statistics = False

    def __init__(self, store: ConjunctionStore, pruned: bool) -> None:
        self.store, self._pruned = store, pruned
        self._run = Run.build(store, store.live_units(), True, Layout())
        # A scan takes the units in the order in which they lie in memory.
        units = self._run.arrays.units if pruned else read_only(store.live_units(), np.int32)
        self._arrays = self._run.arrays._replace(units=units)
        self._stamps = np.zeros(self._run.size + 1, np.int64)

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        output = Output(workspace, events, first, self._run.size)
        match_clauses(
            self._arrays, self.store.view(), not self._pruned, events, first, self._run.cursors(workspace),
            workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL), self._stamps,
            output.units, output.offsets, output.work,
        )  # fmt: skip
        return output.hits()

    def stats(self) -> dict[str, Any]:
        return {"bytes_index": self._run.nbytes if self._pruned else 0}
