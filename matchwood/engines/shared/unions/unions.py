"""The unions of some units: which attributes have cells, how many, and where they are cut.

Everything here is derived from the store, and never saved.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, State
from matchwood.engines._scan_kernels import count_attributes
from matchwood.engines.shared.store import Conjunctions, ConjunctionStore
from matchwood.engines.shared.unions._build_kernels import (
    ENTRY,
    count_boundaries,
    count_entries,
    sweep,
    write_boundaries,
    write_units,
)
from matchwood.engines.shared.unions._unite_kernels import ENTRY_COST, HIT, ROWS_OF_A_PAIR, WORD
from matchwood.engines.shared.unions.layout import UnionArrays
from matchwood.engines.shared.views import read_only

LEAST_UNITS = 2_048
"""Fewer are matched in microseconds anyway."""

COMMON = 64
"""An attribute has cells if at least one in so many units constrains it: a row takes a word for 64 units, whether they
do or not."""

ROWS = 256
"""Rows for each constraint of an average unit, which is 32 bytes for every constraint."""

MOST_BYTES = 2**28
"""What all rows may take together; what they leave to entries takes 24 bytes for a constraint."""

_WORDS = 8
"""Rows are whole cache lines."""

_SAMPLED = 2**14
"""Boundaries of an attribute that its cells are cut by, about."""


class UnionPlan(NamedTuple):
    """Which attributes have cells, and how many rows there may be for these and the tree.

    `counts`   of the constraints on each of the attributes
    `words`    of a row
    """

    attributes: NDArray[np.int32]
    counts: NDArray[np.int64]
    words: int
    rows: int

    @property
    def constraints(self) -> int:
        return int(self.counts.sum())

    @property
    def cells(self) -> int:
        """Rows that the tree leaves."""
        return self.rows - 2 * len(self.attributes)


def plan_unions(store: ConjunctionStore, units: NDArray[np.int32]) -> UnionPlan:
    """The attributes that most units constrain, as many as there is room for."""
    frequency = np.zeros(store.attributes, np.int64)
    count_attributes(store.view(), read_only(units, np.int32), frequency)
    words = _WORDS * math.ceil(store.count / (64 * _WORDS))
    rows = int(ROWS * frequency.sum() / max(1, len(units)))
    rows = min(max(rows, 4 * _WORDS), MOST_BYTES // (8 * max(1, words)))
    common = np.flatnonzero((frequency > 0) & (COMMON * frequency >= len(units)))
    # Each takes two rows of the tree, and at least as many for its cells are to be left.
    kept = np.sort(common[np.argsort(-frequency[common], kind="stable")][: rows // 4])
    return UnionPlan(kept.astype(np.int32), frequency[kept], words, rows)


def union_us(units: float, constraints: float, attributes: float, pairs: float, hits: float) -> float:
    """Microseconds that unions should take for an event: of so many units with so many constraints each, on so many
    attributes, of which an event has `pairs`. inf where they would not tell all attributes apart."""
    rows = ROWS * constraints
    if units < LEAST_UNITS or 4 * attributes > rows:
        return math.inf
    words, entries = units / 64, 2 * units * constraints / (rows - 2 * attributes)
    rows_taken = min(attributes, ROWS_OF_A_PAIR * (pairs + 1))
    return (rows_taken * WORD * words + min(attributes, pairs) * ENTRY_COST * entries + HIT * hits) / 1e3


class _Cells(NamedTuple):
    """Where the labels of each attribute are cut, as in `UnionArrays`."""

    firsts: NDArray[np.int64]
    edge_firsts: NDArray[np.int64]
    edges: NDArray[np.int32]


class Unions(State):
    """Rows of the units that fail, of one moment. What goes since is taken out of `base`, what comes is `fresh`."""

    attributes = Column(np.int32, saved=False)
    firsts = Column(np.int64, saved=False)
    edge_firsts = Column(np.int64, saved=False)
    edges = Column(np.int32, saved=False)
    bits = Column(np.uint64, saved=False)
    fails = Column(np.int32, saved=False)
    entry_starts = Column(np.int64, saved=False)
    entries = Column(np.int32, saved=False)
    base = Column(np.uint64, saved=False)
    loose = Column(np.uint64, saved=False)
    fresh = Column(np.int32, saved=False)

    def __init__(self) -> None:
        self.words = self.units = self.loose_units = 0
        self.start()

    def view(self) -> UnionArrays:
        """The arrays for kernels."""
        return self.view_as(UnionArrays)

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        """These units came."""
        self.fresh.extend(units)

    def remove(self, units: NDArray[np.int32]) -> None:
        """These units, each given once, went."""
        base, fresh = self.base.writable(), self.fresh.view()
        told = units[units < 64 * self.words]
        np.bitwise_and.at(base, told >> 6, ~(np.uint64(1) << (told & 63).astype(np.uint64)))
        if len(fresh):
            self.fresh = Growable(np.int32, fresh[~np.isin(fresh, units)])


def build_unions(conjunctions: Conjunctions, units: NDArray[np.int32], plan: UnionPlan, attributes: int) -> Unions:
    """The unions of these units by a plan; `attributes` is how many there are in all."""
    made, wanted = Unions(), read_only(units, np.int32)
    places = np.full(attributes, -1, np.int32)
    places[plan.attributes] = np.arange(len(plan.attributes))
    places = read_only(places, np.int32)
    cells = _cut(conjunctions, wanted, plan, places)
    rows, words = int(cells.firsts[-1]) + 2 * len(plan.attributes), plan.words
    counts = np.zeros(rows + 1, np.int64)
    count_entries(conjunctions, wanted, places, cells, counts[1:])
    starts = np.cumsum(counts)
    bits, base, loose = (np.zeros(count * words, np.uint64) for count in (rows, 1, 1))
    entries, fails = np.empty(ENTRY * int(starts[-1]), np.int32), np.empty(rows, np.int32)
    places_left = starts[:-1].copy()
    loose_units = write_units(conjunctions, wanted, places, cells, words, bits, places_left, entries, base, loose)
    sweep(cells.firsts, words, bits, fails)
    made.words, made.units, made.loose_units = words, len(units), int(loose_units)
    rest = bits, fails, starts, entries, base, loose, np.empty(0, np.int32)
    arrays: tuple[NDArray[Any], ...] = (plan.attributes, *cells, *rest)
    for name, array in zip(UnionArrays._fields, arrays, strict=True):
        setattr(made, name, Growable(array.dtype, array))
    return made


def _cut(conjunctions: Conjunctions, units: NDArray[np.int32], plan: UnionPlan, places: NDArray[np.int32]) -> _Cells:
    """Cells of about as many boundaries each; every space is one where there is room for that."""
    stride = max(1, 2 * plan.constraints // max(1, _SAMPLED * len(plan.attributes)))
    samples = _boundaries(conjunctions, read_only(units[::stride], np.int32), places, len(plan.attributes))
    wanted = np.array([1 + len(_distinct(sample)) for sample in samples], np.int64)
    granted = shared_out(wanted, plan.counts, plan.cells)
    edges = [_edges(sample, cells) for sample, cells in zip(samples, granted.tolist(), strict=True)]
    edge_firsts = np.cumsum([0, *map(len, edges)], dtype=np.int64)
    firsts = edge_firsts + np.arange(len(edges) + 1)
    joined = np.concatenate([np.empty(0, np.int32), *edges])
    return _Cells(read_only(firsts, np.int64), read_only(edge_firsts, np.int64), read_only(joined, np.int32))


def _boundaries(
    conjunctions: Conjunctions, units: NDArray[np.int32], places: NDArray[np.int32], count: int
) -> list[NDArray[np.int32]]:
    """The ends of the intervals of these units, sorted, for each attribute that has a place."""
    counts = np.zeros(count, np.int64)
    count_boundaries(conjunctions, units, places, counts)
    starts = np.cumsum(counts) - counts
    found = np.empty(int(counts.sum()), np.int32)
    write_boundaries(conjunctions, units, places, starts.copy(), found)
    return [np.sort(found[start : start + size]) for start, size in zip(starts, counts, strict=True)]


def shared_out(wanted: NDArray[np.int64], weights: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Of `total`, to each what it wants or a share by its weight, at least 1; what one leaves goes to the others.

    >>> shared_out(np.array([2, 100, 100]), np.array([10, 10, 20]), 32).tolist()
    [2, 10, 20]
    """
    granted, left, weight = np.empty(len(wanted), np.int64), total, int(weights.sum())
    for place in np.argsort(wanted / weights, kind="stable"):
        granted[place] = max(1, min(wanted[place], left * int(weights[place]) // weight))
        left, weight = left - int(granted[place]), weight - int(weights[place])
    return granted


def _edges(sample: NDArray[np.int32], cells: int) -> NDArray[np.int32]:
    """At most so many cells need one edge fewer; sorted boundaries that come often are edges of their own."""
    distinct = _distinct(sample)
    return distinct if len(distinct) < cells else _distinct(sample[np.arange(1, cells) * len(sample) // cells])


def _distinct(ordered: NDArray[np.int32]) -> NDArray[np.int32]:
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    found: NDArray[np.int32] = ordered[is_first]
    return found
