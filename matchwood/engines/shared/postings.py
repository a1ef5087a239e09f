"""Posting lists: for every dyadic block of every attribute, the units with a constraint that the block is part of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, State, Table, pooled, require, require_range
from matchwood.encoding import LEVELS
from matchwood.engines.shared._posting_kernels import (
    EMPTY,
    MetConstraints,
    PostedConstraints,
    append_units,
    assign_lists,
    count_gains,
    count_postings,
    enter_keys,
    plan_room,
    write_keys,
)
from matchwood.engines.shared.constraints._word_kernels import UNKNOWN
from matchwood.engines.shared.constraints.words import constraint_counts
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only

_SMALLEST_TABLE = 64

_LEAST_MET, _MOST_MET = 16, 2**14
"""Places for constraints that were met: as many as stay in the caches."""


class PostingLists(NamedTuple):
    """The arrays that kernels read.

    `table`   open addressing over the hash of a key; the number of its list, or -1
    `keys`    the key of each list: attribute, then dyadic block, as `key_of` makes it
    `starts`, `counts`  list l is pool[starts[l] : starts[l] + counts[l]]
    `pool`    units, list by list, with gaps where lists may grow or have moved away
    `levels`  for each attribute, a bit for every level that has a list
    """

    table: NDArray[np.int32]
    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    pool: NDArray[np.int32]
    levels: NDArray[np.uint32]


class Postings(State):
    """Lists of units by (attribute, level, block), one contiguous stretch each.

    A list that outgrows its room moves to the end of the pool and gets twice as much, so appending costs the same
    whatever there is, and matching reads one stretch a list whether it was built at once or bit by bit.
    Lists made in bulk take just the room that they need. Nothing is ever taken out: whoever owns the lists
    builds them anew when too much of them is stale.
    """

    _table = Table(_SMALLEST_TABLE, below="keys")
    _keys = Column(np.uint64)
    _starts = Column(np.int64, length="keys", most="pool")
    _counts = Column(np.int32, length="keys", most="pool")
    _pool = Column(np.int32, below="units")
    _levels = Column(np.uint32, longest="attributes")
    _capacities = Column(np.int32, length="keys")
    _added = Column(np.int32, length="keys", saved=False)

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        super().start()
        self._total = 0

    def invariants(self) -> None:
        view, capacities = self.view(), self._capacities.view()
        require(bool((view.counts <= capacities).all()), "a list is longer than its room")
        require(bool((view.starts + capacities <= len(view.pool)).all()), "a list reaches out of the pool")
        require_range(view.keys >> np.uint64(32), 0, max(1, len(view.levels)), "keys")
        self._total = int(view.counts.sum(dtype=np.int64))

    @property
    def total(self) -> int:
        """Postings in all lists, those of stale units included."""
        return self._total

    @property
    def lists(self) -> int:
        return len(self._keys)

    @property
    def pool_size(self) -> int:
        """Places in the pool: postings, room to grow, and what moved lists left behind."""
        return len(self._pool)

    def view(self) -> PostingLists:
        """The arrays for kernels."""
        return self.view_as(PostingLists)

    # ------------------------------------------------------------------ changes

    def sizes(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many postings each of these units has."""
        return _counted(conjunctions, read_only(units, np.int32), _none_met(len(units)))

    def post(
        self,
        conjunctions: Conjunctions,
        attributes: int,
        units: NDArray[np.int32],
        names: NDArray[np.int32] | None = None,
    ) -> None:
        """Append units to the lists of all their constraints; `attributes` is how many there can be.

        With `names`, those stand in the lists in the place of the units' own numbers.
        """
        wanted, met = read_only(units, np.int32), _none_met(len(units))
        sizes = _counted(conjunctions, wanted, met)
        self._levels.resize(max(attributes, len(self._levels)))
        posted = self._assigned(conjunctions, wanted, sizes, met)
        counts, capacities, added = self._counts.writable(), self._capacities.writable(), self._added.writable()
        count_gains(posted, added)
        used = len(self._pool)
        self._pool.resize(used + int(plan_room(posted.lists, counts, capacities, added)))
        append_units(
            wanted if names is None else read_only(names, np.int32), posted, self._starts.writable(), counts,
            capacities, added, self._pool.writable(), used,
        )  # fmt: skip
        self._total += int(sizes.sum())

    def _assigned(
        self, conjunctions: Conjunctions, units: NDArray[np.int32], sizes: NDArray[np.int64], met: MetConstraints
    ) -> PostedConstraints:
        """The lists of every constraint of the units; makes those that are missing, and room for them."""
        posted, left = _room_for(conjunctions, units, sizes), int(sizes.sum())
        progress = np.array([0, 0, 0, self.lists], dtype=np.int64)
        while progress[0] < len(units):
            self._reserve(int(progress[3]), int(sizes[progress[0]]), left - int(posted.ends[progress[2]]))
            assign_lists(
                conjunctions, units, sizes, progress, met, posted, self._table.writable(), self._keys.writable(),
                self._levels.writable(),
            )  # fmt: skip
        _, position, number, count = progress.tolist()
        for column in (self._keys, self._added, self._starts, self._counts, self._capacities):
            column.resize(count)
        lists = posted.lists[: posted.ends[number]]
        return PostedConstraints(
            posted.sizes, posted.numbers[:position], posted.ends[: number + 1], lists, posted.uses[:number]
        )

    def _reserve(self, count: int, least: int, most: int) -> None:
        """Room for at least so many lists beyond `count`, at most so many; the table may be half full, and doubles."""
        if 2 * (count + least) > len(self._table):
            self._keys.resize(count)
            self._enlarge_table(4 * (count + least))
        room = min(count + most, len(self._table) // 2)
        self._keys.resize(room)

    def _enlarge_table(self, least: int) -> None:
        size = len(self._table)
        while size < least:
            size *= 2
        table = np.full(size, EMPTY, dtype=np.int32)
        enter_keys(table, self._keys.view())
        self._table = Growable(np.int32, table)

    # ------------------------------------------------------------------ trust

    def audit(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> list[str]:
        """Whether these units, and of others only stale ones, stand once in the list of each of their blocks."""
        return self._audit_lists() + self._audit_postings(conjunctions, units)

    def _audit_lists(self) -> list[str]:
        view, problems = self.view(), []
        entered = np.sort(view.table[view.table != EMPTY])
        if not np.array_equal(entered, np.arange(self.lists)):
            problems.append("the table does not hold every list once")
        order = np.argsort(view.starts, kind="stable")
        ends = (view.starts + self._capacities.view())[order]
        if (ends[:-1] > view.starts[order][1:]).any():
            problems.append("two lists overlap in the pool")
        levels = LEVELS - np.frexp((view.keys & np.uint64(2**32 - 1)).astype(np.float64))[1]
        attributes = (view.keys >> np.uint64(32)).astype(np.int64)
        if ((view.levels[attributes] >> levels.astype(np.uint32)) & np.uint32(1) == 0).any():
            problems.append("a list's level is not marked as in use")
        if self._total != int(view.counts.sum(dtype=np.int64)):
            problems.append(f"{self._total} postings are counted, {int(view.counts.sum())} are there")
        return problems

    def _audit_postings(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> list[str]:
        wanted = self._expected(conjunctions, units)
        view = self.view()
        list_of = np.repeat(np.arange(self.lists), view.counts)
        within = np.arange(len(list_of)) - np.repeat(np.cumsum(view.counts) - view.counts, view.counts)
        posted = view.pool[view.starts[list_of] + within]
        ours = np.isin(posted, units)
        there = np.stack((view.keys[list_of][ours], posted[ours].astype(np.uint64)))
        if wanted.shape != there.shape or not np.array_equal(_ordered(wanted), _ordered(there)):
            return [f"{wanted.shape[1]} postings should be in the lists, {there.shape[1]} are, and they differ"]
        return []

    def _expected(self, conjunctions: Conjunctions, units: NDArray[np.int32]) -> NDArray[np.uint64]:
        sizes = self.sizes(conjunctions, units)
        keys = np.empty(int(sizes.sum()), dtype=np.uint64)
        owners = np.empty(len(keys), dtype=np.int32)
        write_keys(conjunctions, read_only(units, np.int32), int(sizes.max(initial=0)), keys, owners)
        return np.stack((keys, owners.astype(np.uint64)))


def _ordered(pairs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return pairs[:, np.lexsort(pairs[::-1])]


def _none_met(units: int) -> MetConstraints:
    """Places for some of the constraints of so many units."""
    places = _LEAST_MET
    while places < min(units, _MOST_MET):
        places *= 2
    return MetConstraints(np.full(places, UNKNOWN, np.uint32), *(np.empty(places, np.int32) for _ in range(2)))


def _counted(conjunctions: Conjunctions, units: NDArray[np.int32], met: MetConstraints) -> NDArray[np.int64]:
    """How many postings each of these units has."""
    sizes = pooled(len(units), np.int64)
    count_postings(conjunctions, units, met, sizes)
    return sizes


def _room_for(conjunctions: Conjunctions, units: NDArray[np.int32], sizes: NDArray[np.int64]) -> PostedConstraints:
    """Room for the constraints of these units if all of them differ; what is not needed is not touched."""
    constraints = int(constraint_counts(conjunctions.places, conjunctions.words, units).sum())
    posted = PostedConstraints(
        pooled(len(units), np.uint8),
        pooled(constraints, np.int32),
        pooled(constraints + 1, np.int64),
        pooled(int(sizes.sum()), np.int32),
        pooled(constraints, np.int32),
    )
    posted.ends[0] = 0
    return posted
