"""Kernel of `kindex` that ranks units one by one: those whose bounds rose since their clusters were laid out.

VLDB 2009, ours, beside section 5: bounds that rise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.kindex._match_kernels import LIVE
from matchwood.engines.kindex._top_kernels import (
    CANDIDATES,
    DAMAGED,
    MATCHED,
    SKIPPED_UNITS,
    VERIFIED,
    collect,
    flush,
)
from matchwood.engines.kindex.layout import BoundedUnits, TopHeaps, TopScratch
from matchwood.engines.shared._bound_kernels import unit_bound
from matchwood.engines.shared._scoring_kernels import begin_event, end_event
from matchwood.engines.shared._verification_kernels import clear, constraint_holds, scatter
from matchwood.engines.shared.bounds import SLACK
from matchwood.engines.shared.constraints._word_kernels import ALTERNATIVE, has, stretch


@bare_kernel
def clauses_true(places: Any, words: Any, sets: Any, bits: Any, unit: Any, labels: Any) -> bool:
    """Whether each clause of a unit has a constraint that holds of the scattered labels."""
    first, last = stretch(places, words, unit)
    holds = True
    for position in range(first, last):
        word = words[position]
        if position == first or not has(word, ALTERNATIVE):
            if not holds:
                return False
            holds = False
        if not holds:
            holds = constraint_holds(word, sets, bits, labels)
    return holds


@bare_kernel
def top_units(
    wanted: Any, bounded: BoundedUnits, events: Any, first: int, context: Any, scratch: TopScratch, heaps: TopHeaps
) -> None:
    """Offer the rules of the units `wanted` to the best of each event, before any run is searched."""
    conjunctions, bounds, alive = bounded
    labels, rows, n = scratch.labels, scratch.rows, heaps.n
    scores, filled, work = heaps.scores, heaps.filled, heaps.work
    places, words, sets, bits = conjunctions
    weights = context.scratch.weights
    for place in range(len(filled)):
        event, start, size = first + place, np.int64(place) * n, filled[place]
        begin_event(context, event)
        scatter(events, event, labels)
        most = 0.0
        for weight in weights:
            most = max(most, weight)
        for unit in wanted:
            if alive[unit] != LIVE or work[DAMAGED] != 0:
                continue
            work[CANDIDATES] += 1
            work[VERIFIED] += 1
            if not clauses_true(places, words, sets, bits, unit, labels):
                continue
            work[MATCHED] += 1
            bound = unit_bound(conjunctions, bounds, unit, labels, weights, context.names, most)
            if size == n and (bound + bounds.constants[unit]) * SLACK < scores[start]:
                work[SKIPPED_UNITS] += 1
                continue
            pending, size = collect(context, unit, bound, scratch, heaps, heaps.stamp + place, 0, start, size)
            size = flush(context, rows, pending, heaps, start, size)
        clear(events, event, labels)
        end_event(context, event)
        filled[place] = size
