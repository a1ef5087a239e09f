"""Distinct predicates: each is evaluated at most once an event, or looked up in a bitmap of its truth by value
(6.1).

TODS 2013, 6.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable, places_in
from matchwood.engines.betree._predicate_kernels import (
    EMPTY,
    UNSEEN,
    attributes_of,
    collect_edges,
    count_edges,
    drop_predicates,
    enter_predicates,
    fill_bitmap,
    number_predicates,
)
from matchwood.engines.shared.constraints.words import constraint_counts
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only

PLAIN, LAZY, BITMAP, HYBRID = range(4)
EVALUATIONS = ("plain", "lazy", "bitmap", "hybrid")

_CHUNK = 2**14
_SMALLEST = 64
_MOST_SPACES = 1024
"""A predicate has a bit for each space of its attribute; attributes with more spaces are evaluated lazily instead."""

_MOST_UNSEEN = 4096
"""In the hybrid, so many predicates, or an eighth of all, may come before the bitmap is made anew with them."""


class Bitmap(NamedTuple):
    """The truth of predicates, ordered by attribute, in *parts* of 64 bits; those of an attribute begin with a part of
    their own.

    `parts`    attribute a has the parts parts[a] : parts[a + 1] of a result; the first bit of all is TRUE
    `edges`, `edge_offsets`  the labels at which the spaces of each attribute begin
    `starts`   where the rows of each attribute begin in `rows`, one for each space
    `nulls`    the result for an event without values
    """

    parts: NDArray[np.int64]
    edges: NDArray[np.int32]
    edge_offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[np.uint64]
    nulls: NDArray[np.uint64]


class NumberedPredicates(NamedTuple):
    """What matching reads: the number of each constraint's predicate, and of each predicate its bit, and its word as
    the store has it, without what tells where that stands."""

    ids: NDArray[np.int32]
    bits: NDArray[np.int32]
    predicates: NDArray[np.uint32]


class Predicates:
    """The predicates of all units of a tree; `kind` is one of the EVALUATIONS."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self._ids = Growable(np.int32)
        self._bits = Growable(np.int32)
        self._predicates = Growable(np.uint32)
        self._counts = Growable(np.int32)
        self._slots = Growable(np.int32, np.full(_SMALLEST, EMPTY))
        self._unseen = self.orphans = self.built = 0
        self.bitmap = _empty_bitmap(0)
        self.version = object()

    @property
    def count(self) -> int:
        """Distinct predicates, orphans included until all are numbered anew."""
        return len(self._predicates)

    @property
    def nbytes(self) -> int:
        columns = (self._ids, self._bits, self._predicates, self._counts, self._slots)
        return sum(column.nbytes for column in columns) + sum(array.nbytes for array in self.bitmap)

    def known(self) -> NumberedPredicates:
        return NumberedPredicates(self._ids.view(), self._bits.view(), self._predicates.view())

    # ------------------------------------------------------------------ changes

    def add(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> None:
        """Number the predicates of more units."""
        if self.kind == PLAIN:
            return
        self._ids.resize(len(conjunctions.words))
        for first in range(0, len(units), _CHUNK):
            self._number(conjunctions, read_only(units[first : first + _CHUNK], np.int32))

    def _number(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> None:
        most, count = int(constraint_counts(conjunctions.places, conjunctions.words, units).sum()), self.count
        if 2 * (count + most) > len(self._slots):
            size = len(self._slots)
            while size < 3 * (count + most):
                size *= 2
            self._slots = Growable(np.int32, np.full(size, EMPTY))
            enter_predicates(self._predicates.view(), self._slots.writable())
        self._predicates.resize(count + most)
        self._counts.resize(count + most)
        columns = self._ids.writable(), self._predicates.writable(), self._counts.writable(), self._slots.writable()
        found = number_predicates(conjunctions, units, *columns, self._bits.view(), count)
        numbered, revived, unseen = map(int, found)
        self._unseen += numbered - count + unseen
        self.orphans -= revived
        self._predicates.resize(numbered)
        self._counts.resize(numbered)
        self._bits.resize(numbered, UNSEEN)

    def drop(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> None:
        """Count the predicates of units that go."""
        if self.kind != PLAIN:
            wanted = read_only(units, np.int32)
            self.orphans += int(drop_predicates(conjunctions, wanted, self._ids.view(), self._counts.writable()))

    def settle(self, conjunctions: Conjunctions, attributes: int, now: bool) -> bool:
        """Make the bitmap anew if it lacks too many predicates, or any `now`; whether it was made: rows must change."""
        waiting = self.kind == HYBRID and not now and self._unseen < max(_MOST_UNSEEN, self.count // 8)
        if self.kind in (PLAIN, LAZY) or not self._unseen or waiting:
            return False
        self._build(conjunctions, attributes)
        return True

    def _build(self, conjunctions: Conjunctions, attributes: int) -> None:
        said, bits = (self._predicates.view(), conjunctions.sets, conjunctions.bits), self._bits.writable()
        owner = np.empty(self.count, np.int32)
        attributes_of(*said, owner)
        order = np.argsort(owner, kind="stable").astype(np.int32)
        order = read_only(order[self._counts.view()[order] > 0], np.int32)
        edges = np.empty(int(count_edges(*said, order)), np.int64)
        collect_edges(*said, order, edges)
        edges = np.unique(np.concatenate((edges, np.arange(attributes, dtype=np.int64) << 32)))
        spaces = np.bincount(edges >> 32, minlength=attributes)
        predicates = np.bincount(owner[order], minlength=attributes)
        predicates[spaces > _MOST_SPACES] = 0
        parts = np.concatenate(([1], 1 + np.cumsum((predicates + 63) // 64)))
        starts = np.concatenate(([0], np.cumsum(np.diff(parts) * spaces)))
        bits[:] = UNSEEN
        bits[order] = EMPTY
        rank = np.arange(len(order)) - places_in(owner[order], owner[order])
        taken = predicates[owner[order]] > 0
        bits[order[taken]] = (64 * parts[owner[order]] + rank)[taken]
        offsets = places_in(edges, np.arange(attributes + 1, dtype=np.int64) << 32)
        labels = (edges & (2**32 - 1)).astype(np.int32)
        rows, nulls = np.zeros(starts[-1], np.uint64), np.zeros(parts[-1], np.uint64)
        nulls[0] = 1
        bitmap = Bitmap(
            parts.astype(np.int64), labels, offsets.astype(np.int64), starts[:-1].astype(np.int64), rows, nulls
        )
        fill_bitmap(*said, order, self._bits.view(), bitmap)
        self.bitmap = Bitmap(*(read_only(array, array.dtype) for array in bitmap))
        self._unseen, self.built, self.version = 0, self.built + 1, object()


def _empty_bitmap(attributes: int) -> Bitmap:
    """No predicate has a bit; that of TRUE is there."""
    zero = read_only(np.zeros(attributes, np.int64), np.int64)
    parts = read_only(np.ones(attributes + 1, np.int64), np.int64)
    offsets = read_only(np.zeros(attributes + 1, np.int64), np.int64)
    nulls = read_only(np.ones(1, np.uint64), np.uint64)
    nothing = read_only(np.empty(0, np.uint64), np.uint64)
    return Bitmap(parts, read_only(np.empty(0, np.int32), np.int32), offsets, zero, nothing, nulls)
