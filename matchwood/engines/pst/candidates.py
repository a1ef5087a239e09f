"""Lists of candidates: for every space of an access predicate, and every combination of spaces, the units to verify.

VLDB 2018, Algorithms 4 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import (
    Column,
    Growable,
    State,
    Table,
    pooled,
    pooled_full,
    require,
    require_offsets,
    require_range,
)
from matchwood.engines.pst._candidate_kernels import (
    TEST_WIDTH,
    GrowingLists,
    NewCandidates,
    check_candidates,
    fill_candidates,
    place_first_tests,
    plan_tests,
    residual_room,
)
from matchwood.engines.pst._packed_kernels import PACKED_TEST_WIDTH
from matchwood.engines.pst._packing_kernels import check_packed
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
from matchwood.engines.pst._unit_list_kernels import check_units, name_units
from matchwood.engines.pst.packing import packed_lists, packed_postings
from matchwood.engines.shared._posting_kernels import EMPTY, plan_room
from matchwood.engines.shared.access import SelectivityOrder
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only
from matchwood.errors import LimitExceeded

_SMALLEST_TABLE = 64
_FILTER_SHARE = 16
"""Slots of the table of combinations for each 64-bit word of their filter."""

_MOST_WORDS = 2**31 - 1


class CandidateLists(NamedTuple):
    """The arrays that kernels read.

    `table`           open addressing over the hash of a space's key; the number of its list, or -1
    `combined_table`  the same for combinations of spaces; both are at most half full
    `combined_filter` a bit for each combination among 8 to 16 times as many: small enough for the caches, it
                      answers for nearly all combinations of an event's spaces that do not exist
    `keys`            the key of each list, as `_space_list_kernels` describes
    `starts`, `counts`  list l has the first tests starts[l] : starts[l] + counts[l]
    `first_tests`, `residuals`  the candidates, as docs/protocols.md shows; or units alone, and no residuals, where
                      they do not lie side by side
    `packed_tests`, `packed_starts`, `packed_residuals`  and those that are packed: list l has the packed tests
                      packed_starts[l] : packed_starts[l + 1], as `_packed_kernels` describes
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
    first_tests: NDArray[np.int32]
    residuals: NDArray[np.int32]
    packed_tests: NDArray[np.uint16]
    packed_starts: NDArray[np.int64]
    packed_residuals: NDArray[np.uint16]
    levels: NDArray[np.uint32]
    next_attributes: NDArray[np.uint64]
    next_levels: NDArray[np.uint32]


class Candidates(State):
    """Lists by space and by combination of up to `wanted` spaces, one contiguous stretch of first tests each.

    What comes first, if it is long lists, is packed; what is added later is not, until all is laid out anew.

    Spaces are named by stable labels, so a new boundary splits a space without changing those of any predicate:
    nothing is ever copied from one list to another, as PSTHash must when its leaves split.

    A list that outgrows its room moves to the end of the first tests and gets twice as much. Nothing is ever taken out:
    whoever owns the lists builds them anew when too much of them is stale.

    Unless `side_by_side`, lists hold units alone, of four bytes each.
    """

    table = Table(_SMALLEST_TABLE, below="keys")
    combined_table = Table(_SMALLEST_TABLE, below="keys", when="combining")
    combined_filter = Column(
        np.uint64, initial=np.zeros(_SMALLEST_TABLE // _FILTER_SHARE), length="_filter_words", when="combining"
    )
    keys = Column(np.uint64)
    starts = Column(np.int64, length="keys", most="room")
    counts = Column(np.int32, length="keys", most="room")
    first_tests = Column(np.int32, name="heads")
    residuals = Column(np.int32, name="tails")
    packed_tests = Column(np.uint16)
    packed_starts = Column(np.int64, initial=[0])
    packed_residuals = Column(np.uint16)
    levels = Column(np.uint32, longest="attributes")
    next_attributes = Column(np.uint64, length="_led_on", when="combining")
    next_levels = Column(np.uint32, length="_led_on", when="combining")
    capacities = Column(np.int32, length="keys")
    loads = Column(np.int32, length="_led_on", when="combining")
    _added = Column(np.int32, length="keys", saved=False)

    def __init__(
        self, wanted: int, most: int = 1, dense: int = 0, least_packed: int = 0, side_by_side: bool = True
    ) -> None:
        self._wanted, self._most, self._dense, self._least = wanted, most, dense, least_packed
        self._width = TEST_WIDTH if side_by_side else 1
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
    def packed(self) -> int:
        """How many of them are packed."""
        return self.packed_tests.count // PACKED_TEST_WIDTH

    @property
    def packed_units(self) -> int:
        """How many units are packed, in whatever lists."""
        view = self.view()
        _, units = packed_postings(view.packed_tests, view.packed_starts, view.packed_residuals)
        return len(np.unique(units))

    @property
    def room(self) -> int:
        """Places for first tests: candidates, room to grow, and what moved lists left behind."""
        return self.first_tests.count // self._width

    @property
    def side_by_side(self) -> bool:
        """Whether candidates lie in their lists with their tests."""
        return self._width == TEST_WIDTH

    def view(self) -> CandidateLists:
        """The arrays for kernels."""
        return self.view_as(CandidateLists)

    # ------------------------------------------------------------------ changes

    def sizes(
        self, conjunctions: Conjunctions, units: NDArray[np.int32], access: NDArray[np.uint16]
    ) -> NDArray[np.int64]:
        """How many lists each of these units is in."""
        space_counts = space_counts_of(conjunctions, units, access, self._wanted).reshape(len(units), self._wanted)
        used = access.reshape(-1, self._wanted)[units] != np.uint16(2**16 - 1)
        sizes: NDArray[np.int64] = np.where(used, space_counts, 1).prod(axis=1) * used[:, 0]
        return sizes

    def post(
        self,
        conjunctions: Conjunctions,
        attributes: int,
        units: NDArray[np.int32],
        selectivity: SelectivityOrder,
        access: Growable,
        tests: NDArray[np.int32],
        space_counts: NDArray[np.int64] | None = None,
    ) -> None:
        """Append units to the lists of their access predicates; those beyond what a unit uses are struck out.

        `tests` are the constraints that they are tested for first, as long as nothing is struck out. Whoever chose
        the only access predicate of each may tell how many spaces that has.
        """
        self.version = object()
        self.levels.resize(max(attributes, self.levels.count))
        if self._wanted == 1:
            sizes, lists = self._spaces(conjunctions, units, access.view(), 1, space_counts)
            count_gains(lists, self._added.writable())
        else:
            sizes, lists = self._combinations(conjunctions, units, access)
        if self.side_by_side:
            if self._wanted > 1:
                tests, _ = planned_tests(conjunctions, units, selectivity, access.view(), self._wanted)
            self._append(conjunctions, NewCandidates(units, selectivity, access.view(), tests), sizes, lists)
        else:
            self._append_units(units, sizes, lists)

    def _spaces(
        self,
        conjunctions: Conjunctions,
        units: NDArray[np.int32],
        access: NDArray[np.uint16],
        wanted: int,
        space_counts: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """How many spaces every access predicate has, and the list of each."""
        if space_counts is None:
            space_counts = space_counts_of(conjunctions, units, access, wanted)
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
                conjunctions, units, access, wanted, of_units, place, used, lists, count, room
            )
            self._entries["table"] += count - before
        self._resize(count)
        return space_counts, spaces

    def _strike_out(self, conjunctions: Conjunctions, units: NDArray[np.int32], access: Growable) -> None:
        """Count the units of every space that is the best of one, and take as many predicates as lists are long."""
        best = read_only(access.view()[:: self._wanted], np.uint16)
        space_counts, spaces = self._spaces(conjunctions, units, best, 1)
        count_gains(spaces, self.loads.writable())
        loads = self.loads.view()
        strike_out(units, access.writable(), self._wanted, space_counts, spaces, loads, self._dense)

    def _combinations(
        self, conjunctions: Conjunctions, units: NDArray[np.int32], access: Growable
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """How many lists each unit is in, and which."""
        self._strike_out(conjunctions, units, access)
        space_counts, spaces = self._spaces(conjunctions, units, access.view(), self._wanted)
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
            assign_combinations(
                units, access.writable(), limits, space_counts, spaces, progress, room, combined, sizes, lists
            )
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
        self.packed_starts.resize(count + 1, self.packed)
        if self._wanted > 1:
            for column in (self.next_attributes, self.next_levels, self.loads):
                column.resize(count)

    def _append(
        self, conjunctions: Conjunctions, new: NewCandidates, sizes: NDArray[np.int64], lists: NDArray[np.int32]
    ) -> None:
        total = len(lists)
        if self._least and not self._total and total >= self._least:
            packed = packed_lists(conjunctions, new, self._wanted, sizes, lists, self.lists, self._least)
            _refuse_words(max(len(packed.tests), len(packed.residuals)))
            self.packed_tests, self.packed_residuals = Growable.taking(packed.tests), Growable.taking(packed.residuals)
            self.packed_starts = Growable.taking(packed.starts)
            self._added.writable()[:] -= np.diff(packed.starts)
            sizes, lists = packed.sizes, packed.lists
        first_tests, touched = self._placed(sizes, lists)
        grown = GrowingLists(self.starts.view(), self.counts.view(), self._added.writable())
        residuals = self.residuals
        end, needed = len(residuals), int(residual_room(conjunctions, new, self._wanted, sizes))
        _refuse_words(end + needed)
        residuals.resize(end + needed)
        end = fill_candidates(
            conjunctions, new, self._wanted, sizes, touched, grown, first_tests, residuals.writable(), end,
            pooled_full(len(new.units), -1, np.int64), np.empty(_longest(conjunctions, new.units), dtype=np.int8),
        )  # fmt: skip
        residuals.resize(int(end))
        self._total += total

    def _append_units(self, units: NDArray[np.int32], sizes: NDArray[np.int64], lists: NDArray[np.int32]) -> None:
        first_tests, touched = self._placed(sizes, lists)
        starts, counts = self.starts.view(), self.counts.view()
        name_units(units, touched, starts, counts, self._added.writable(), first_tests)
        self._total += len(lists)

    def _placed(
        self, sizes: NDArray[np.int64], lists: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """First tests with one more for each posting, which holds the place of its unit, and the lists that grew."""
        starts, counts, capacities = self.starts.writable(), self.counts.writable(), self.capacities.writable()
        added, used = self._added.writable(), self.room
        self.first_tests.resize(self._width * (used + int(plan_room(lists, counts, capacities, added))))
        first_tests = self.first_tests.writable()
        place_first_tests(sizes, lists, starts, counts, capacities, added, first_tests, self._width, used)
        touched = np.unique(lists) if len(lists) * 16 < self.lists else np.flatnonzero(added).astype(np.int32)
        return first_tests, touched[np.argsort(starts[touched], kind="stable")]

    # ------------------------------------------------------------------ trust

    def invariants(self) -> None:
        view, capacities = self.view(), self.capacities.view()
        units, attributes = self.extent("units"), self.extent("attributes")
        for name in self._entries:
            self._entries[name] = int(np.count_nonzero(self.columns[name].view() != EMPTY))
        self._check_keys(view)
        require(len(view.first_tests) % self._width == 0, "a first test is cut off")
        require(bool((view.counts <= capacities).all()), "a list is longer than its room")
        require(bool((view.starts + capacities <= self.room).all()), "a list reaches out of the first tests")
        if self.side_by_side:
            columns = view.first_tests, view.residuals, view.starts, view.counts
            sound = check_candidates(*columns, units, attributes, self.extent("intervals"))
            require(sound, "a candidate leads out of the residuals")
        else:
            require(
                check_units(view.first_tests, view.starts, view.counts, units), "a list names a unit that is not there"
            )
        self._check_packed(view, units, attributes)
        self._total = int(view.counts.sum(dtype=np.int64)) + self.packed

    def _check_packed(self, view: CandidateLists, units: int, attributes: int) -> None:
        require(len(view.packed_starts) == self.lists + 1, "'packed_starts' does not fit the lists")
        require(len(view.packed_tests) % PACKED_TEST_WIDTH == 0, "a packed test is cut off")
        require_offsets(view.packed_starts, self.packed, "packed_starts")
        sound = check_packed(view.packed_tests, view.packed_residuals, units, attributes)
        require(sound, "a packed candidate leads out of the residuals")

    def _check_keys(self, view: CandidateLists) -> None:
        combined = view.keys >= np.uint64(COMBINED)
        spaces, others = view.keys[~combined], view.keys[combined]
        require_range(spaces >> np.uint64(32), 0, max(1, len(view.levels)), "keys")
        parts = (others >> np.uint64(32)) & np.uint64(2**31 - 1)
        require_range(parts, 0, max(1, self.lists), "keys")
        require_range(others & np.uint64(2**32 - 1), 0, max(1, self.lists), "keys")


def planned_tests(
    conjunctions: Conjunctions,
    units: NDArray[np.int32],
    selectivity: SelectivityOrder,
    access: NDArray[np.uint16],
    wanted: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The constraint that each unit is tested for first, and the shape of what is left then."""
    tests, shapes = pooled(len(units), np.int32), pooled(len(units), np.int64)
    plan_tests(conjunctions, units, selectivity, access, wanted, tests, shapes)
    return read_only(tests, np.int32), shapes


def space_counts_of(
    conjunctions: Conjunctions, units: NDArray[np.int32], access: NDArray[np.uint16], wanted: int
) -> NDArray[np.int64]:
    """How many spaces each access predicate has."""
    space_counts = np.zeros(wanted * len(units), dtype=np.int64)
    count_spaces(conjunctions, units, access, wanted, space_counts)
    return space_counts


def _refuse_words(count: int) -> None:
    if count > _MOST_WORDS:
        raise LimitExceeded("the candidates of one index take more than 8 GB: split the rules over several")


def _empty_table(size: int) -> Growable:
    return Growable.taking(np.full(size, EMPTY, dtype=np.int32))


def _empty_filter(slots: int) -> Growable:
    return Growable.taking(np.zeros(slots // _FILTER_SHARE, dtype=np.uint64))


def _longest(conjunctions: Conjunctions, units: NDArray[np.int32]) -> int:
    """How many constraints the longest of these units has."""
    return int((conjunctions.offsets[1:][units] - conjunctions.offsets[units]).max(initial=0))
