"""The store of conjunctions, of constraints or of clauses: each distinct one once, laid out for verification."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, Number, Table, pooled, require
from matchwood.encoding import EncodedConjunctions, EncodedRows
from matchwood.engines.shared._record_kernels import ALTERNATIVE, WIDTH
from matchwood.engines.shared._store_kernels import (
    EMPTY,
    HASHED,
    NO_RECORD,
    TOMBSTONE,
    GrowingStore,
    IncomingRows,
    add_all,
    bury_all,
    enter_again,
    enter_all,
    find_all,
    rehash,
)
from matchwood.engines.shared.records import attribute_count, check_records, relabel, renumber, unpacked
from matchwood.engines.shared.units import UnitTable
from matchwood.engines.shared.views import read_only

_SMALLEST_TABLE = 16
_NO_RUNS = np.full(_SMALLEST_TABLE, NO_RECORD)


class Conjunctions(NamedTuple):
    """The arrays that kernels read; unit u has the records offsets[u] : offsets[u + 1].

    `records`    three integers a constraint, as `_record_kernels` describes
    `intervals`  low and high label in turn, of the constraints that have no interval or several; constraints of an
                 attribute that have the same ones share them
    """

    offsets: NDArray[np.int64]
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

    _offsets = Column(np.int64, initial=[0], length="_ends")
    _records = Column(np.int32)
    _intervals = Column(np.int32)
    _hashes = Column(np.uint64, length="uses")
    _table = Table(_SMALLEST_TABLE, below="count", low=TOMBSTONE)
    _runs = Column(np.int32, initial=_NO_RUNS, saved=False)
    _tombstones = Number(0)
    _attributes = Number(0)

    def __init__(self, clauses: bool = False) -> None:
        self.clauses = clauses
        self.start()

    def start(self) -> None:
        super().start()
        self._tombstones = self._attributes = self._runs_entered = self._runs_found = 0

    def invariants(self) -> None:
        super().invariants()
        check_records(*self.view_as(Conjunctions), self._attributes, self.clauses)
        found = int(np.count_nonzero(self._table.view() == TOMBSTONE))
        require(self._tombstones == found, "tombstones are miscounted")

    @property
    def _ends(self) -> int:
        return self.count + 1

    # ------------------------------------------------------------------ reading

    @property
    def attributes(self) -> int:
        """One more than the largest attribute of any conjunction: the size of a dense array of labels."""
        return self._attributes

    @property
    def bytes_verify(self) -> int:
        """The bytes that verification reads."""
        return self._offsets.nbytes + self._records.nbytes + self._intervals.nbytes

    @property
    def bytes_shared(self) -> int:
        """The bytes that find equal conjunctions and equal runs, and count the uses of units."""
        tables = self._hashes.nbytes + self._table.nbytes + self._runs.nbytes
        return tables + self._uses.nbytes + self._alive.nbytes

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
        source = _incoming(encoded)
        units, is_new = np.empty(len(source.offsets) - 1, np.int32), np.empty(len(source.offsets) - 1, np.bool_)
        before = self._reserve(source, len(units), _most_intervals(encoded))
        used, place = np.array([*before, self._runs_entered, self._runs_found, 0], dtype=np.int64), 0
        while place < len(units):
            columns = self.columns
            store = GrowingStore._make(columns[name].writable() for name in GrowingStore._fields)
            place = add_all(source, place, store, used, units, is_new)
            if place < len(units):
                self._enlarge_runs(int(used[3]), int(source.offsets[place + 1] - source.offsets[place]))
        count, constraints, intervals, self._runs_entered, self._runs_found, tombstones = used.tolist()
        self._tombstones -= tombstones
        self._live += count - before[0]
        self._attributes = max(self._attributes, attribute_count(source.attributes))
        self._resize(count, constraints, intervals)
        if is_new.all():
            return Added(units, units.copy(), None)
        return Added(units, units[is_new], self.encoded(units[~is_new]))

    def _reserve(self, source: IncomingRows, count: int, intervals: int) -> tuple[int, int, int]:
        """Make room for the case that all are new, with so many intervals aside; returns the units, constraints and
        intervals in use. What is not needed is not touched."""
        if 2 * (self._live + self._tombstones + count) > self._table.count:
            self._rebuild_table(self._live + count)
        before = (self.count, self._records.count // WIDTH, self._intervals.count // 2)
        self._resize(before[0] + count, before[1] + len(source.leaf_of), before[2] + intervals)
        return before

    def _resize(self, units: int, constraints: int, intervals: int) -> None:
        self._uses.resize(units)
        self._alive.resize(units, True)
        # Of what is not needed in the end, pages that are not cleared either are never touched.
        self._offsets.resize(units + 1, None)
        self._hashes.resize(units, None)
        self._records.resize(WIDTH * constraints, None)
        self._intervals.resize(2 * intervals, None)

    def _rebuild_table(self, expected: int) -> None:
        """A table without tombstones, at most a third full, so that rebuilding it is rare."""
        size = _SMALLEST_TABLE
        while size < 3 * expected:
            size *= 2
        table = np.full(size, EMPTY, dtype=np.int32)
        enter_all(table, self._hashes.view(), self.alive)
        self._table, self._tombstones = Growable.taking(table), 0

    def _enlarge_runs(self, used: int, more: int) -> None:
        """Room for so many more runs at least, as `has_room` asks for."""
        size = len(self._runs)
        while 4 * (used + more) > 3 * size:
            size *= 2
        self._reenter_runs(size)

    def _reenter_runs(self, size: int) -> None:
        """The same runs in a new table: a larger one, or after their labels or attributes have changed."""
        runs = np.full(size, NO_RECORD, dtype=np.int32)
        enter_again(self._runs.view(), runs, self._records.view(), self._intervals.view())
        self._runs = Growable.taking(runs)

    def free(self, units: NDArray[np.int32]) -> None:
        """Forget units without uses: they are dead from now on, and their numbers stay taken."""
        if not self.sound:
            self.check()
        self._bury(units)
        bury_all(self._table.writable(), self._hashes.view(), read_only(units, np.int32))
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
        """Find units and runs by what they say now."""
        rehash(*self.view(), self._hashes.writable(), self.alive)
        self._rebuild_table(self.live)
        self._reenter_runs(len(self._runs))

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
        find_all(self._table.view(), self._hashes.view(), *self.view(), read_only(units, np.int32), found)
        lost = units[found != units]
        if len(lost):
            problems.append(f"unit {lost[0]} is not found by what it says ({len(lost)} such)")
        entries = int(np.count_nonzero(self._table.view() >= 0))
        if entries != len(units):
            problems.append(f"the table has {entries} entries for {len(units)} live units")
        return problems


def _incoming(encoded: EncodedConjunctions | EncodedRows) -> IncomingRows:
    """Conjunctions as the kernel takes them: each constraint is a leaf of its own, or one of several that share it."""
    if isinstance(encoded, EncodedRows):
        leaves, leaf_of = encoded.leaves, encoded.leaf_of
    else:
        leaves, leaf_of = encoded, np.arange(len(encoded.attributes), dtype=np.int32)
    return IncomingRows(
        read_only(encoded.offsets, np.int64),
        read_only(leaf_of, np.int32),
        read_only(leaves.attributes, np.int32),
        read_only(leaves.accepts_null, np.bool_),
        read_only(leaves.pieces, np.int64),
        read_only(leaves.low, np.int32),
        read_only(leaves.high, np.int32),
        read_only(leaves.alternatives, np.bool_),
        pooled(WIDTH * len(leaves.attributes), np.int32),
        pooled(2 * len(leaves.low), np.int32),
        pooled(len(leaves.attributes), np.int32),
        np.empty(HASHED, np.uint64),
    )


def _most_intervals(encoded: EncodedConjunctions | EncodedRows) -> int:
    """The intervals of all constraints, if each has its own."""
    if isinstance(encoded, EncodedRows):
        return int(encoded.uses @ np.diff(encoded.leaves.pieces))
    return len(encoded.low)
