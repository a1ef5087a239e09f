"""The store of conjunctions, of constraints or of clauses: each distinct one once, laid out for verification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, Number, pooled_full, require, saved, saved_count
from matchwood.encoding import EncodedConjunctions, EncodedRows
from matchwood.engines.shared._store_kernels import (
    HASHED,
    GrowingStore,
    IncomingRows,
    add_all,
    bury_units,
    enter_units,
    find_units,
)
from matchwood.engines.shared.constraints._leaf_kernels import (
    GrowingLeaves,
    count_lost_leaves,
    enter_leaves,
    find_leaves,
    mark_leaves,
)
from matchwood.engines.shared.constraints._record_kernels import ALTERNATIVE, WIDTH
from matchwood.engines.shared.constraints._tagged_table_kernels import EMPTY, SMALLEST, TOMBSTONE
from matchwood.engines.shared.constraints.records import attribute_count, check_records, relabel, renumber, unpacked
from matchwood.engines.shared.older_store import is_older, older_constraints
from matchwood.engines.shared.units import UnitTable
from matchwood.engines.shared.views import read_only
from matchwood.errors import LimitExceeded

_MOST_CONSTRAINTS = 2**31 - 1
_FULL, _FILLED = 0.8, 0.64
"""Above the first share of its slots a table is made anew; one that is made anew is filled to the second."""


Growing = TypeVar("Growing", bound=tuple[Any, ...])


class Conjunctions(NamedTuple):
    """The arrays that kernels read; unit u has the constraints leaves[offsets[u] : offsets[u + 1]].

    `leaves`     the number of each constraint among the distinct ones: leaf n has the n-th record
    `records`    three integers a leaf, as `_record_kernels` describes
    `intervals`  low and high label in turn, of the leaves that have no interval or several, each its own
    """

    offsets: NDArray[np.int32]
    leaves: NDArray[np.int32]
    records: NDArray[np.int32]
    intervals: NDArray[np.int32]


class Added(NamedTuple):
    """What adding a batch came to: the unit of each conjunction, and which units are new.

    `repeated` holds the conjunctions that the store had already, one for each time they came; None if there were none.
    """

    units: NDArray[np.int32]
    new_units: NDArray[np.int32]
    repeated: EncodedConjunctions | None


class ConjunctionStore(UnitTable):
    """Distinct conjunctions, numbered as units, with the number of rules that use each.

    With `clauses` a unit may be a conjunction of clauses; engines that know plain ones only are not given such a store.
    """

    _offsets = Column(np.int32, initial=[0], length="_ends")
    _leaves = Column(np.int32)
    _records = Column(np.int32)
    _intervals = Column(np.int32)
    _tags = Column(np.uint8, initial=np.full(SMALLEST, EMPTY), length="table")
    _table = Column(np.int32, initial=np.zeros(SMALLEST), below="_any_unit")
    _leaf_tags = Column(np.uint8, initial=np.full(SMALLEST, EMPTY), length="leaf_table")
    _leaf_table = Column(np.int32, initial=np.zeros(SMALLEST), below="_any_leaf")
    _tombstones = Number(0)
    _attributes = Number(0)

    def __init__(self, clauses: bool = False) -> None:
        self.clauses = clauses
        self.start()

    def start(self) -> None:
        super().start()
        self._tombstones = self._attributes = self._found_leaves = 0

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        if is_older(arrays):
            arrays, header = self._renewed(arrays, header)
        super().restore(arrays, header)

    def _renewed(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What was saved before constraints had numbers, as it would be saved by now: units keep their numbers."""
        older = older_constraints(arrays, header, self.clauses)
        made, alive = ConjunctionStore(self.clauses), saved(arrays, "alive", np.bool_)
        require(len(alive) == older.count, "'alive' does not fit the units")
        each = read_only(np.arange(len(older.attributes), dtype=np.int32), np.int32)
        found = read_only(made._find_leaves(older, each), np.int32)
        made._offsets, made._leaves = Growable(np.int32, older.offsets), Growable(np.int32, found)
        made._uses, made._alive = Growable(np.int32, saved(arrays, "uses", np.int32)), Growable(np.bool_, alive)
        made._live, made._attributes = int(np.count_nonzero(alive)), saved_count(header, "attributes")
        made._rebuild_table(made._live)
        made._hash_again()
        return made.arrays(), {**header, **made.header()}

    def invariants(self) -> None:
        super().invariants()
        check_records(*self.view_as(Conjunctions), self._attributes, self.clauses)
        for name in ("tags", "leaf_tags"):
            require(len(self.columns[name]) and not self.columns[name].view().all(), f"{name!r} has no empty slot")
        self._found_leaves = int(np.count_nonzero(self._leaf_tags.view()))
        found = int(np.count_nonzero(self._tags.view() == TOMBSTONE))
        require(self._tombstones == found, "tombstones are miscounted")

    @property
    def _ends(self) -> int:
        return self.count + 1

    @property
    def _any_unit(self) -> int:
        """Slots without a unit have some number: 0 where there is none."""
        return max(1, self.count)

    @property
    def _any_leaf(self) -> int:
        return max(1, self.leaves)

    # ------------------------------------------------------------------ reading

    @property
    def attributes(self) -> int:
        """One more than the largest attribute of any conjunction: the size of a dense array of labels."""
        return self._attributes

    @property
    def leaves(self) -> int:
        """Distinct constraints, those of dead units included."""
        return self._records.count // WIDTH

    @property
    def bytes_verify(self) -> int:
        """The bytes that verification reads."""
        return sum(column.nbytes for column in (self._offsets, self._leaves, self._records, self._intervals))

    @property
    def bytes_shared(self) -> int:
        """The bytes that find equal conjunctions and equal constraints, and count the uses of units."""
        tables = (self._tags, self._table, self._leaf_tags, self._leaf_table)
        return sum(column.nbytes for column in (*tables, self._uses, self._alive))

    def view(self) -> Conjunctions:
        """The arrays for kernels; a restored state is checked before it is handed out for the first time."""
        if not self.sound:
            self.check()
        return self.view_as(Conjunctions)

    def encoded(self, units: NDArray[np.int32]) -> EncodedConjunctions:
        """The conjunctions of these units, as they were added; also of dead ones, until `compact`."""
        return unpacked(*self.view(), units, self.clauses)

    def has_clauses(self) -> bool:
        """Whether some unit, dead ones included, has a clause of several constraints."""
        return self.clauses and bool((self._records.view()[::WIDTH] & ALTERNATIVE).any())

    # ------------------------------------------------------------------ changes

    def add(self, encoded: EncodedConjunctions | EncodedRows) -> Added:
        """Store the conjunctions that are new, and count one use for each, new or not."""
        if not self.sound:
            self.check()
        offsets, leaf_of, leaves = _by_leaf(encoded)
        found = self._find_leaves(leaves, leaf_of)
        count = len(offsets) - 1
        units, is_new = np.empty(count, np.int32), np.empty(count, np.bool_)
        used = np.array([self.count, self._leaves.count, 0], dtype=np.int64)
        before = self._reserve(count, len(leaf_of))
        source = IncomingRows(offsets, leaf_of, read_only(found, np.int32), np.empty(HASHED, np.uint64))
        add_all(source, self._growing(GrowingStore), used, units, is_new)
        units_after, constraints, tombstones = used.tolist()
        self._tombstones -= tombstones
        self._live += units_after - before
        self._attributes = max(self._attributes, attribute_count(leaves.attributes))
        self._resize(units_after, constraints)
        if is_new.all():
            return Added(units, units.copy(), None)
        return Added(units, units[is_new], self.encoded(units[~is_new]))

    def _growing(self, kind: type[Growing]) -> Growing:
        """The columns that a named tuple names, to be written to."""
        columns = self.columns
        return kind._make(columns[name].writable() for name in kind._fields)  # type: ignore[attr-defined, no-any-return]

    def _find_leaves(self, constraints: EncodedConjunctions, leaf_of: NDArray[np.int32]) -> NDArray[np.int32]:
        """The leaf of each constraint that `leaf_of` names; new ones are added."""
        source, found = _read_only_leaves(constraints), pooled_full(len(constraints.attributes), -1, np.int32)
        before = self.leaves
        used = np.array([before, self._intervals.count // 2, self._found_leaves], dtype=np.int64)
        # What is not needed in the end is never touched.
        self._records.resize(WIDTH * (self.leaves + len(found) + 1), None)
        self._intervals.resize(2 * (int(used[1]) + len(constraints.low)), None)
        place = 0
        while place < len(leaf_of):
            most = int(_FULL * self._leaf_table.count)
            if used[2] >= most:
                marked = np.zeros(int(used[0]), np.bool_)
                marked[self._leaf_table.view()[self._leaf_tags.view() != EMPTY]] = True
                self._reenter_leaves(marked, _foreseen(int(used[2]), int(used[0]) - before, place, len(leaf_of)))
                continue
            place = find_leaves(source, leaf_of, place, most, self._growing(GrowingLeaves), used, found)
        count, intervals, self._found_leaves = used.tolist()
        self._records.resize(WIDTH * count, None)
        self._intervals.resize(2 * intervals, None)
        return found

    def _reserve(self, count: int, constraints: int) -> int:
        """Make room for the case that all are new, of which what is not needed is not touched; returns the count."""
        if self._live + self._tombstones + count > _FULL * self._table.count:
            self._rebuild_table(self._live + count)
        before, used = self.count, self._leaves.count
        if used + constraints > _MOST_CONSTRAINTS:
            raise LimitExceeded(
                f"one index takes {_MOST_CONSTRAINTS:,} constraints: split the rules over several shards"
            )
        self._resize(before + count, used + constraints)
        return before

    def _resize(self, units: int, constraints: int) -> None:
        self._uses.resize(units)
        self._alive.resize(units, True)
        # Of what is not needed in the end, pages that are not cleared either are never touched.
        self._offsets.resize(units + 1, None)
        self._leaves.resize(constraints, None)

    def _rebuild_table(self, expected: int) -> None:
        """A table without tombstones, with room for so many units and more, so that rebuilding it is rare."""
        self._tags, self._table = _empty_table(max(expected, self._live + self._live // 4))
        offsets, leaves, _, _ = self.view_as(Conjunctions)
        enter_units(
            self._tags.writable(), self._table.writable(), offsets, leaves, self.alive, np.empty(HASHED, np.uint64)
        )
        self._tombstones = 0

    def _reenter_leaves(self, marked: NDArray[np.bool_], expected: int) -> None:
        """Find the leaves that are marked, and no others, by what they say now."""
        self._leaf_tags, self._leaf_table = _empty_table(expected)
        records, intervals = self._records.view(), self._intervals.view()
        tags, table = self._leaf_tags.writable(), self._leaf_table.writable()
        enter_leaves(records, intervals, marked, tags, table, np.empty(HASHED, np.uint64))
        self._found_leaves = int(np.count_nonzero(marked))

    def _live_leaves(self) -> NDArray[np.bool_]:
        """Which leaves some live unit has."""
        marked, (offsets, leaves, _, _) = np.zeros(self.leaves, np.bool_), self.view_as(Conjunctions)
        mark_leaves(offsets, leaves, self.alive, marked)
        return marked

    def free(self, units: NDArray[np.int32]) -> None:
        """Forget units without uses: they are dead from now on, and their numbers stay taken."""
        if not self.sound:
            self.check()
        offsets, leaves, _, _ = self.view_as(Conjunctions)
        self._bury(units)
        bury_units(self._tags.writable(), self._table.writable(), offsets, leaves, read_only(units, np.int32))
        self._tombstones += len(units)

    def relabel(self, attribute: int, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        """Replace the labels of one attribute wherever they are stored; those not in `old` stay."""
        self.check()
        relabel(self._records, self._intervals, attribute, old, new)
        self._hash_again()

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Give all attributes the numbers[old], which are in the same order; there must be no dead units."""
        self.check()
        self._attributes = renumber(self._records, numbers)
        self._hash_again()

    def _hash_again(self) -> None:
        """Find leaves by what they say now. Those that only dead units have may say the same as others by then."""
        marked = self._live_leaves()
        self._reenter_leaves(marked, len(marked))

    def compact(self) -> NDArray[np.int32]:
        """Give back the room of dead units; returns the new number of each old one, -1 for the dead."""
        remap, uses = self._compacted(), self.uses[self.alive]
        contents = self.encoded(self.live_units())
        self.start()
        self.add(contents)
        self._uses.writable()[:] = uses
        return remap

    def copy(self) -> ConjunctionStore:
        """A store with the same units that shares nothing with this one: for whoever builds while this one changes."""
        copied = ConjunctionStore(self.clauses)
        copied.restore({name: array.copy() for name, array in self.arrays().items()}, self.header())
        copied.sound = self.sound
        return copied

    # ------------------------------------------------------------------ trust

    def audit(self) -> list[str]:
        """Every broken invariant in words; empty when the store is sound."""
        problems = self._audit_units()
        units = self.live_units()
        found = np.empty(len(units), dtype=np.int32)
        offsets, leaves, _, _ = self.view()
        find_units(self._tags.view(), self._table.view(), offsets, leaves, read_only(units, np.int32), found)
        lost = units[found != units]
        if len(lost):
            problems.append(f"unit {lost[0]} is not found by what it says ({len(lost)} such)")
        entries = int(np.count_nonzero(self._tags.view() > TOMBSTONE))
        if entries != len(units):
            problems.append(f"the table has {entries} entries for {len(units)} live units")
        return problems + self._audit_leaves()

    def _audit_leaves(self) -> list[str]:
        lost = count_lost_leaves(self._live_leaves(), self.view_as(GrowingLeaves))
        return [f"{lost} constraints are not found by what they say"] if lost else []


def _empty_table(expected: int) -> tuple[Growable, Growable]:
    """The tags and the numbers of a table with room for so many, and more."""
    size = max(SMALLEST, int(expected / _FILLED) + 1)
    return Growable.taking(np.full(size, EMPTY, np.uint8)), Growable.taking(np.zeros(size, np.int32))


def _foreseen(known: int, fresh: int, done: int, count: int) -> int:
    """How many leaves there will be if as many of all `count` are new as were of those `done`.

    Half as many again as are known at least, and twice as many at most: the first are nearly all new.
    """
    foreseen = known + (count - done) * fresh // max(1, done)
    return min(max(foreseen, known + known // 2), max(2 * known, SMALLEST))


def _by_leaf(encoded: EncodedConjunctions | EncodedRows) -> tuple[NDArray[Any], NDArray[Any], EncodedConjunctions]:
    """Offsets of conjunctions, the numbers of their constraints, and what has these numbers: distinct leaves, or each
    constraint by itself."""
    if isinstance(encoded, EncodedRows):
        leaves, leaf_of = encoded.leaves, encoded.leaf_of
    else:
        leaves, leaf_of = encoded, np.arange(len(encoded.attributes), dtype=np.int32)
    return read_only(encoded.offsets, np.int64), read_only(leaf_of, np.int32), leaves


def _read_only_leaves(leaves: EncodedConjunctions) -> EncodedConjunctions:
    return EncodedConjunctions(
        read_only(leaves.offsets, np.int64),
        read_only(leaves.attributes, np.int32),
        read_only(leaves.accepts_null, np.bool_),
        read_only(leaves.pieces, np.int64),
        read_only(leaves.low, np.int32),
        read_only(leaves.high, np.int32),
        read_only(leaves.alternatives, np.bool_),
    )
