"""Kernels of `kindex` that read clusters: the units whose access clause holds, each tested at once.

VLDB 2009, ours, in the place of Algorithms 1 and 2: `direct=True`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.encoding.spaces.dyadic import ancestor
from matchwood.engines.kindex._match_kernels import LIVE
from matchwood.engines.kindex._top_kernels import (
    CANDIDATES,
    DAMAGED,
    EVENTS,
    MATCHED,
    POSTINGS,
    SKIPPED_LISTS,
    SKIPPED_UNITS,
    VERIFIED,
    collect,
    flush,
)
from matchwood.engines.kindex.layout import (
    EMPTY,
    FIRST,
    HEADER,
    NEGATED,
    TEST_BITS,
    BoundedUnits,
    DirectScratch,
    TopHeaps,
    TopScratch,
)
from matchwood.engines.shared._bound_kernels import unit_bound
from matchwood.engines.shared._posting_kernels import key_of, slot_of
from matchwood.engines.shared._scoring_kernels import begin_event, end_event
from matchwood.engines.shared._verification_kernels import clear, constraint_holds, scatter
from matchwood.engines.shared.bounds import SLACK
from matchwood.engines.shared.scoring import AHEAD

UNKNOWN, FALSE, TRUE = 0, 1, 2


@bare_kernel
def find_clusters(access: Any, events: Any, event: int, truth: Any, touched: Any, found: Any) -> Any:
    """The predicates of access clauses that hold of an event, told by its keys; they are marked as TRUE.

    Returns how many were `found`; as many are `touched`.
    """
    table, keys, levels, key_offsets, posted = (
        access.table,
        access.keys,
        access.levels,
        access.key_offsets,
        access.posted,
    )
    offsets, attributes, labels, count = events.offsets, events.attributes, events.labels, 0
    for pair in range(offsets[event], offsets[event + 1]):
        attribute, label = attributes[pair], labels[pair]
        left = levels[attribute] if attribute < len(levels) else np.uint32(0)
        level = 0
        while left != 0:
            if left & np.uint32(1) != 0:
                key = table[slot_of(table, keys, key_of(attribute, ancestor(label, level)))]
                if key != EMPTY:
                    for place in range(key_offsets[key], key_offsets[key + 1]):
                        predicate = posted[place]
                        if truth[predicate] == UNKNOWN:
                            truth[predicate] = TRUE
                            found[count] = touched[count] = predicate
                            count += 1
            left >>= np.uint32(1)
            level += 1
    return count


@bare_kernel
def entry_holds(
    stream: Any, at: Any, end: Any, truth: Any, touched: Any, count: Any, predicates: Any, sets: Any, bits: Any,
    labels: Any,
) -> Any:  # fmt: skip
    """Whether all clauses of an entry hold, and how many predicates have been evaluated by now."""
    holds = True
    while at < end:
        test = stream[at]
        at += np.uint64(1)
        if test & FIRST != 0:
            if not holds:
                return False, count
            holds = False
        if not holds:
            predicate = np.uint64(test >> TEST_BITS)
            state = truth[predicate]
            if state == UNKNOWN:
                state = np.uint8(TRUE if constraint_holds(predicates[predicate], sets, bits, labels) else FALSE)
                truth[predicate] = state
                touched[count] = predicate
                count += 1
            holds = (state == TRUE) != (test & NEGATED != 0)
    return holds, count


@bare_kernel
def match_direct(
    access: Any, conjunctions: Any, alive: Any, events: Any, first: int, last: int, worst: int, direct: DirectScratch,
    labels: Any, output: Any,
) -> None:  # fmt: skip
    """What `match_run` finds, in the clusters of the predicates that hold; an event has at most `worst` hits."""
    truth, touched, found = direct
    units, offsets, work = output.units, output.offsets, output.work
    predicates, sets, bits = access.predicates, conjunctions.sets, conjunctions.bits
    stream, cluster_offsets = access.stream, access.cluster_offsets
    used, candidates, postings, always = 0, 0, 0, len(cluster_offsets) - 2
    for event in range(first, last):
        if len(units) - used < worst:
            break
        scatter(events, event, labels)
        clusters = find_clusters(access, events, event, truth, touched, found)
        count = clusters
        for turn in range(clusters + 1):
            cluster = found[turn] if turn < clusters else always
            at, stop = np.uint64(cluster_offsets[cluster]), np.uint64(cluster_offsets[cluster + 1])
            while at < stop:
                unit, end = stream[at], at + np.uint64(stream[at + np.uint64(1)])
                candidates += 1
                holds, count = entry_holds(
                    stream, at + np.uint64(HEADER), end, truth, touched, count, predicates, sets, bits, labels
                )
                if holds and alive[unit] == LIVE and used < len(units):
                    units[used] = unit
                    used += 1
                at = end
        for place in range(count):
            truth[touched[place]] = UNKNOWN
        clear(events, event, labels)
        postings += clusters
        offsets[event - first + 1] = used
        work[0] += 1
    work[1] += candidates
    work[2] += candidates
    work[3] += used
    work[4] += candidates + postings


@bare_kernel
def _sink(promises: Any, clusters: Any, place: Any, count: int) -> None:
    """Let a cluster sink below those that promise more; the one that promises most then stands first."""
    value, cluster = promises[place], clusters[place]
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and promises[child + 1] > promises[child]:
            child += 1
        if promises[child] <= value:
            break
        promises[place], clusters[place] = promises[child], clusters[child]
        place = child
    promises[place], clusters[place] = value, cluster


@bare_kernel
def _by_promise(access: Any, found: Any, clusters: int, promises: Any) -> int:
    """Make the clusters found, and that of the units without an access clause, a heap; returns its size."""
    offsets, count = access.cluster_offsets, clusters
    if offsets[len(offsets) - 2] < offsets[len(offsets) - 1]:
        found[count] = len(offsets) - 2
        count += 1
    for place in range(count):
        promises[place] = access.promises[offsets[found[place]] + 2]
    for place in range(count // 2 - 1, -1, -1):
        _sink(promises, found, place, count)
    return count


@bare_kernel
def top_direct(
    access: Any, bounded: BoundedUnits, events: Any, first: int, context: Any, direct: DirectScratch,
    scratch: TopScratch, heaps: TopHeaps,
) -> None:  # fmt: skip
    """What `top_run` finds, in the clusters of the predicates that hold, by what they promise, until it is too little.

    A promise is for event weights of at most 1; where one is greater, all promises are raised by as much.
    """
    entry_promises, weights = access.promises, context.scratch.weights
    conjunctions, bounds, alive = bounded
    predicates, sets, bits = access.predicates, conjunctions.sets, conjunctions.bits
    stream, cluster_offsets = access.stream, access.cluster_offsets
    truth, touched, found = direct
    labels, promises, rows = scratch.labels, scratch.promises, scratch.rows
    n, scores, filled, work = heaps.n, heaps.scores, heaps.filled, heaps.work
    read = 0
    for event in range(first, first + len(filled)):
        start, size = np.int64(event - first) * n, filled[event - first]
        begin_event(context, event)
        scatter(events, event, labels)
        most = 0.0
        for weight in weights:
            most = max(most, weight)
        raised = max(1.0, most) * SLACK
        clusters = find_clusters(access, events, event, truth, touched, found)
        count, left = clusters, _by_promise(access, found, clusters, promises)
        work[POSTINGS] += clusters
        # The first n tell what is too little; from then on, rules that are scored together cost less.
        pending, batch = 0, min(n, AHEAD)
        while left > 0 and work[DAMAGED] == 0:
            if size == n and promises[0] * raised < scores[start]:
                work[SKIPPED_LISTS] += left
                break
            cluster = found[0]
            left -= 1
            promises[0], found[0] = promises[left], found[left]
            _sink(promises, found, 0, left)
            at, stop = np.uint64(cluster_offsets[cluster]), np.uint64(cluster_offsets[cluster + 1])
            while at < stop and work[DAMAGED] == 0:
                if size == n and entry_promises[at + np.uint64(2)] * raised < scores[start]:
                    work[SKIPPED_LISTS] += 1
                    break
                unit, end = stream[at], at + np.uint64(stream[at + np.uint64(1)])
                read += 1
                holds, count = entry_holds(
                    stream, at + np.uint64(HEADER), end, truth, touched, count, predicates, sets, bits, labels
                )
                at = end
                if holds and alive[unit] == LIVE:
                    work[MATCHED] += 1
                    bound = unit_bound(conjunctions, bounds, unit, labels, weights, context.names, most)
                    if size == n and (bound + bounds.constants[unit]) * SLACK < scores[start]:
                        work[SKIPPED_UNITS] += 1
                    else:
                        stamp = heaps.stamp + event - first
                        pending, size = collect(context, unit, bound, scratch, heaps, stamp, pending, start, size)
                        if pending >= batch:
                            size = flush(context, rows, pending, heaps, start, size)
                            pending, batch = 0, min(AHEAD, 2 * batch)
        size = flush(context, rows, pending, heaps, start, size)
        for place in range(count):
            truth[touched[place]] = UNKNOWN
        clear(events, event, labels)
        end_event(context, event)
        filled[event - first] = size
        work[EVENTS] += 1
    work[CANDIDATES] += read
    work[VERIFIED] += read
    work[POSTINGS] += read
