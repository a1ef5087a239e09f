"""The unions of some units: which attributes have cells, and how many; and what changes once they are built.

Everything here is derived from the store, and never saved.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, State
from matchwood.engines._scan_kernels import count_attributes
from matchwood.engines.shared.store import ConjunctionStore
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


def union_us(
    units: float, constraints: float, attributes: float, pairs: float, hits: float, least: float = LEAST_UNITS
) -> float:
    """Microseconds that unions should take for an event: of so many units with so many constraints each, on so many
    attributes, of which an event has `pairs`. inf where they would not tell all attributes apart, and of fewer than
    the `least` units."""
    rows = ROWS * constraints
    if units < least or 4 * attributes > rows:
        return math.inf
    words, entries = units / 64, 2 * units * constraints / (rows - 2 * attributes)
    rows_taken = min(attributes, ROWS_OF_A_PAIR * (pairs + 1))
    return (rows_taken * WORD * words + min(attributes, pairs) * ENTRY_COST * entries + HIT * hits) / 1e3


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
