"""Lists of candidates: for every space of an access predicate, and every combination of spaces, the units to verify.

VLDB 2018, Algorithms 4 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, State, Table, pooled, require, require_range
from matchwood.engines.pst._candidate_kernels import (
    GIVEN_SHIFT,
    TEST_WIDTH,
    GrowingLists,
    all_given,
    place_tests,
    tests_are_safe,
)
from matchwood.engines.pst._space_list_kernels import (
    COMBINED,
    CombinationLimits,
    CombinationLists,
    SpaceLists,
    UnitSpaces,
    assign_combinations,
    assign_spaces,
    count_gains,
    count_spaces,
    enter_lists,
    filter_lists,
    strike_out,
)
from matchwood.engines.shared._posting_kernels import EMPTY, plan_room
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only
from matchwood.errors import LimitExceeded

_SMALLEST_TABLE = 64
_FILTER_SHARE = 16
"""Slots of the table of combinations for each 64-bit word of their filter."""

_MOST_NUMBERS = 2**32 - 1


class CandidateLists(NamedTuple):
    """The arrays that kernels read.

    `table`           open addressing over the hash of a space's key; the number of its list, or -1
    `combined_table`  the same for combinations of spaces; both are at most half full
    `combined_filter` a bit for each combination among 8 to 16 times as many: small enough for the caches, it
                      answers for nearly all combinations of an event's spaces that do not exist
    `keys`            the key of each list, as `_space_list_kernels` describes
    `starts`, `counts`  list l has the tests starts[l] : starts[l] + counts[l]
    `tests`           the candidates, as docs/protocols.md shows; or units alone
    `levels`          for each attribute, a bit for every level that has a space
    `next_attributes`, `next_levels`  for each list, bits for the attributes (modulo 64) and levels of the spaces that
                      lead on to a combination; empty while units have one access predicate
    """

    table: NDArray[np.int32]
    combined_table: NDArray[np.int32]
    combined_filter: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    tests: NDArray[np.uint32]
    levels: NDArray[np.uint32]
    next_attributes: NDArray[np.uint64]
    next_levels: NDArray[np.uint32]


class UnitLists(NamedTuple):
    """The lists of some units: unit i is to come into lists[ends[i] : ends[i + 1]].

    `given`  how many of its constraints give access to it
    """

    given: NDArray[np.uint8]
    ends: NDArray[np.int64]
    lists: NDArray[np.int32]


class Candidates(State):
    """Lists by space and by combination of up to `wanted` spaces, one contiguous stretch of tests each.

    Spaces are named by stable labels, so a new boundary splits a space without changing those of any predicate:
    nothing is ever copied from one list to another, as PSTHash must when its leaves split.

    A list that outgrows its room moves to the end of the tests and gets twice as much. Nothing is ever taken out:
    whoever owns the lists builds them anew when too much of them is stale.

    Unless `tested`, lists hold units alone, of four bytes each.
    """

    table = Table(_SMALLEST_TABLE, below="keys")
    combined_table = Table(_SMALLEST_TABLE, below="keys", when="combining")
    combined_filter = Column(
        np.uint64, initial=np.zeros(_SMALLEST_TABLE // _FILTER_SHARE), length="_filter_words", when="combining"
    )
    keys = Column(np.uint64)
    starts = Column(np.int64, length="keys", most="room")
    counts = Column(np.int32, length="keys", most="room")
    tests = Column(np.uint32)
    levels = Column(np.uint32, longest="attributes")
    next_attributes = Column(np.uint64, length="_led_on", when="combining")
    next_levels = Column(np.uint32, length="_led_on", when="combining")
    capacities = Column(np.int32, length="keys")
    loads = Column(np.int32, length="_led_on", when="combining")
    _added = Column(np.int32, saved=False)

    def __init__(self, wanted: int, most: int = 1, dense: int = 0, tested: bool = True) -> None:
        self._wanted, self._most, self._dense = wanted, most, dense
        self._width = TEST_WIDTH if tested else 1
        self.start()

    def start(self) -> None:
        super().start()
        self._entries = {"table": 0, "combined_table": 0}
        self._total = 0
        self.version = object()
        """Another one whenever a list comes or changes: what matching remembers of lists holds for one of them."""

    @property
    def combining(self) -> bool:
        """Whether there can be combinations: what only they need is saved then."""
        return self._wanted > 1

    @property
    def _filter_words(self) -> int:
        return len(self.combined_table) // _FILTER_SHARE

    @property
    def _led_on(self) -> int:
        """Lists that may lead on to a combination."""
        return self.lists if self.combining else 0

    @property
    def wanted(self) -> int:
        """How many spaces a combination has at most."""
        return self._wanted

    @property
    def total(self) -> int:
        """Candidates in all lists, those of stale units included."""
        return self._total

    @property
    def lists(self) -> int:
        return self.keys.count

    @property
    def room(self) -> int:
        """Places for tests: candidates, room to grow, and what moved lists left behind."""
        return self.tests.count // self._width

    @property
    def tested(self) -> bool:
        """Whether candidates lie in their lists with a test."""
        return self._width == TEST_WIDTH

    def view(self) -> CandidateLists:
        """The arrays for kernels."""
        return self.view_as(CandidateLists)

    def units(self) -> NDArray[np.uint32]:
        """The units of all lists as they lie there; what moved lists left behind too, and zeros for room to grow."""
        return self.tests.view()[self._width - 1 :: self._width]

    # ------------------------------------------------------------------ changes

    def make_room(self, candidates: int) -> None:
        """Have room for so many more; others may look meanwhile."""
        self.tests.make_room(self._width * candidates)

    def sizes(
        self, conjunctions: Conjunctions, units: NDArray[np.int32], given: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        """How many lists each of these units is in."""
        counts = space_counts_of(conjunctions, units, given, self._wanted).reshape(len(units), self._wanted)
        used = np.arange(self._wanted) < given[:, None]
        sizes: NDArray[np.int64] = np.where(used, counts, 1).prod(axis=1) * (given > 0)
        return sizes

    def assign(
        self, conjunctions: Conjunctions, attributes: int, units: NDArray[np.int32], given: NDArray[np.uint8],
        space_counts: NDArray[np.int64],
    ) -> UnitLists:  # fmt: skip
        """Find or make the lists of these units.

        `given` tells how many access predicates each has, which come first: those beyond what it uses are taken off.
        `space_counts` tells how many spaces each of them has, `wanted` numbers a unit.
        """
        self.version = object()
        self._added.resize(self.lists)
        self.levels.resize(max(attributes, self.levels.count))
        if self._wanted == 1:
            sizes, lists = self._spaces(conjunctions, units, given, 1, space_counts)
            count_gains(lists, self._added.writable())
        else:
            sizes, lists = self._combinations(conjunctions, units, given, space_counts)
        ends = np.zeros(len(units) + 1, np.int64)
        np.cumsum(sizes, out=ends[1:])
        return UnitLists(given, ends, lists)

    def _spaces(
        self, conjunctions: Conjunctions, units: NDArray[np.int32], given: NDArray[np.uint8], wanted: int,
        space_counts: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:  # fmt: skip
        """How many spaces every access predicate has, and the list of each."""
        needed = space_counts.reshape(len(units), wanted).sum(axis=1)
        spaces = pooled(int(needed.sum()), np.int32)
        codes = np.empty(int(space_counts.max(initial=0)), dtype=np.int64)
        of_units = UnitSpaces(space_counts, spaces, codes)
        place, used, count = 0, 0, self.lists
        while place < len(units):
            room = self._reserve("table", count, int(needed[place]), len(spaces) - used)
            before = count
            lists = SpaceLists(self.table.writable(), self.keys.writable(), self.levels.writable())
            place, used, count = assign_spaces(
                conjunctions, units, given, wanted, of_units, place, used, lists, count, room
            )
            self._entries["table"] += count - before
        self._resize(count)
        return space_counts, spaces

    def _strike_out(
        self, conjunctions: Conjunctions, units: NDArray[np.int32], given: NDArray[np.uint8],
        space_counts: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Count the units of every space that is the best of one, and take as many predicates as lists are long."""
        best = np.ascontiguousarray(space_counts[:: self._wanted])
        _, spaces = self._spaces(conjunctions, units, np.minimum(given, np.uint8(1)), 1, best)
        count_gains(spaces, self.loads.writable())
        strike_out(given, best, spaces, self.loads.view(), self._dense)

    def _combinations(
        self, conjunctions: Conjunctions, units: NDArray[np.int32], given: NDArray[np.uint8],
        space_counts: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:  # fmt: skip
        """How many lists each unit is in, and which."""
        self._strike_out(conjunctions, units, given, space_counts)
        used = np.arange(self._wanted) < given[:, None]
        space_counts = np.where(used, space_counts.reshape(used.shape), 0).reshape(-1)
        _, spaces = self._spaces(conjunctions, units, given, self._wanted, space_counts)
        products = np.maximum.accumulate(np.cumprod(space_counts.reshape(len(units), self._wanted), axis=1), axis=1)
        sizes, lists = np.zeros(len(units), dtype=np.int64), np.empty(int(products[:, -1].sum()), dtype=np.int32)
        progress = np.array([0, 0, 0, self.lists], dtype=np.int64)
        least, limits = self._wanted * self._most, CombinationLimits(self._wanted, self._most, self._dense)
        while progress[0] < len(units):
            before = int(progress[3])
            room = self._reserve("combined_table", before, least, least + 2 * len(lists))
            self._resize(room)
            columns = self.columns
            combined = CombinationLists._make(columns[name].writable() for name in CombinationLists._fields)
            assign_combinations(given, limits, space_counts, spaces, progress, room, combined, sizes, lists)
            self._entries["combined_table"] += int(progress[3]) - before
        self._resize(int(progress[3]))
        return sizes, lists[: progress[2]]

    def _reserve(self, name: str, count: int, least: int, most: int) -> int:
        """Room for at least so many lists beyond `count`, at most so many; returns how many there may be then.

        A table may be half full. One that is made anew is a quarter full, so that making it is rare.
        """
        table: Growable = getattr(self, name)
        entries, size = self._entries[name], table.count
        if 2 * (entries + least) > size:
            self.keys.resize(count)
            while size < 4 * (entries + least):
                size *= 2
            table = _empty_table(size)
            setattr(self, name, table)
            enter_lists(table.writable(), self.keys.view(), name == "combined_table")
            if name == "combined_table":
                filtered = self.combined_filter = _empty_filter(size)
                filter_lists(filtered.writable(), self.keys.view())
        room = count + min(most, table.count // 2 - entries)
        self.keys.resize(room)
        return room

    def _resize(self, count: int) -> None:
        for column in (self.keys, self.starts, self.counts, self.capacities, self._added):
            column.resize(count)
        if self._wanted > 1:
            for column in (self.next_attributes, self.next_levels, self.loads):
                column.resize(count)

    def put(
        self, units: NDArray[np.int32], order: NDArray[np.int64], found: UnitLists, words: NDArray[np.uint32]
    ) -> None:
        """Put units into the lists that were found for them, in this order, each with the word of its test."""
        lists = found.lists
        columns = (self.starts, self.counts, self.capacities, self._added)
        growing, used = GrowingLists._make(column.writable() for column in columns), self.room
        wanted = self._width * (used + int(plan_room(lists, growing.counts, growing.capacities, growing.added)))
        if wanted > _MOST_NUMBERS:
            raise LimitExceeded("the candidates of one index take more than 16 GB: split the rules over several")
        self.tests.resize(wanted)
        place_tests(units, order, found.ends, lists, words, growing, self.tests.writable(), self._width, used)
        self._added = Growable(np.int32)
        self._total += len(lists)

    # ------------------------------------------------------------------ trust

    def are_given(self, conjunctions: Conjunctions, states: NDArray[np.uint8]) -> bool:
        """Whether something gives access to every unit in the lists, as their states tell, and no test decides more
        than there is."""
        view = self.view()
        return bool(all_given(conjunctions, view.tests, view.starts, view.counts, self._width, states))

    def invariants(self) -> None:
        view, capacities = self.view(), self.capacities.view()
        for name in self._entries:
            self._entries[name] = int(np.count_nonzero(self.columns[name].view() != EMPTY))
        self._check_keys(view)
        require(len(view.tests) % self._width == 0, "a test is cut off")
        require(bool((view.counts <= capacities).all()), "a list is longer than its room")
        require(bool((view.starts + capacities <= self.room).all()), "a list reaches out of the tests")
        extents = [self.extent(name) for name in ("units", "attributes", "rank_bits")]
        sound = tests_are_safe(view.tests, view.starts, view.counts, self._width, *extents)
        require(sound, "a list names a unit or an attribute that is not there")
        self._total = int(view.counts.sum(dtype=np.int64))

    def _check_keys(self, view: CandidateLists) -> None:
        combined = view.keys >= np.uint64(COMBINED)
        spaces, others = view.keys[~combined], view.keys[combined]
        require_range(spaces >> np.uint64(32), 0, max(1, len(view.levels)), "keys")
        parts = (others >> np.uint64(32)) & np.uint64(2**31 - 1)
        require_range(parts, 0, max(1, self.lists), "keys")
        require_range(others & np.uint64(2**32 - 1), 0, max(1, self.lists), "keys")


def given_counts(states: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """How many constraints give access to units, by their states."""
    return states >> np.uint8(GIVEN_SHIFT)


def space_counts_of(
    conjunctions: Conjunctions, units: NDArray[np.int32], given: NDArray[np.uint8], wanted: int
) -> NDArray[np.int64]:
    """How many spaces each access predicate has."""
    space_counts = np.zeros(wanted * len(units), dtype=np.int64)
    count_spaces(conjunctions, read_only(units, np.int32), read_only(given, np.uint8), wanted, space_counts)
    return space_counts


def _empty_table(size: int) -> Growable:
    return Growable.taking(np.full(size, EMPTY, dtype=np.int32))


def _empty_filter(slots: int) -> Growable:
    return Growable.taking(np.zeros(slots // _FILTER_SHARE, dtype=np.uint64))
