"""The store of conjunctions, of constraints or of clauses: each distinct one once, laid out for verification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import MOST_COUNT, Column, Growable, Number, places_in, pooled_full, require, saved_count, widened
from matchwood.encoding import EncodedConjunctions, EncodedRows
from matchwood.engines.shared._store_kernels import (
    HASHED,
    GrowingSets,
    GrowingStore,
    IncomingRows,
    add_all,
    bury_units,
    count_lost_sets,
    enter_sets,
    enter_units,
    find_units,
    find_words,
    lay_out,
    reorder,
    write_rows,
)
from matchwood.engines.shared.constraints._set_kernels import WIDE_PIECE, WIDE_START, count_wide
from matchwood.engines.shared.constraints._slot_kernels import EMPTY, LEAST_BITS, SMALLEST, TOMBSTONE
from matchwood.engines.shared.constraints._word_kernels import ALTERNATIVE, NOWHERE, PAYLOAD_BITS, UNKNOWN
from matchwood.engines.shared.constraints.words import (
    attribute_count,
    attributes_within,
    check_words,
    constraint_counts,
    rank_bits_for,
    unpacked,
)
from matchwood.engines.shared.older_store import is_older, older_constraints
from matchwood.engines.shared.units import UnitTable
from matchwood.engines.shared.views import read_only
from matchwood.errors import CorruptSnapshot, InvalidArgument, LimitExceeded

_MOST_WORDS = 2**31 - 1
SPARE, _WORDS, _SETS = 1_024, 16, 64
"""Units that `make_room` provides for, and words and numbers of sets for each."""
_FULL, _FILLED, _SETTLED = 0.8, 0.64, 0.75
"""Above the first share of its slots a table is made anew. It is filled to the second then, or to the third, if less is
expected to come."""


Growing = TypeVar("Growing", bound=tuple[Any, ...])


class Conjunctions(NamedTuple):
    """What kernels read: unit u has the constraints whose words begin at places[u], up to one that is the last.

    `words`  a constraint each, as `_word_kernels` describes
    `sets`   those that words refer to, as `_set_kernels` does
    `bits`   how many a rank has in words
    """

    places: NDArray[np.int32]
    words: NDArray[np.uint32]
    sets: NDArray[np.uint16]
    bits: int


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

    The constraints of a unit come in the order of their attributes, unless an engine has put them in another
    (`reorder`), and units in the order of their numbers, unless one has laid them out anew (`lay_out`).
    """

    _places = Column(np.int32, length="held", low=NOWHERE)
    _words = Column(np.uint32)
    _sets = Column(np.uint16)
    _slots = Column(np.uint32, initial=np.full(SMALLEST, EMPTY))
    _set_slots = Column(np.uint32, initial=np.full(SMALLEST, EMPTY))
    _tombstones = Number(0)
    _attributes = Number(0)
    _rank_bits = Number(rank_bits_for(1))
    _unit_bits = Number(LEAST_BITS, LEAST_BITS, 31)
    _set_bits = Number(LEAST_BITS, LEAST_BITS, PAYLOAD_BITS)
    _wide_sets = Number(0)

    def __init__(self, clauses: bool = False) -> None:
        self.clauses = clauses
        self.start()

    def start(self) -> None:
        super().start()
        self.arrangement = object()
        """Another one whenever what was stored lies in another way: positions, the order of a unit's constraints, words
        and sets from before mean nothing then."""
        self._tombstones = self._attributes = self._found_sets = self._wide_sets = 0
        self._rank_bits, self._unit_bits, self._set_bits = rank_bits_for(1), LEAST_BITS, LEAST_BITS

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        if is_older(arrays):
            arrays, header = self._renewed(arrays, header)
        super().restore(arrays, header)

    def _renewed(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What was saved when each constraint was a record, as it would be saved by now: units keep their numbers."""
        older, made = older_constraints(arrays, header, self.clauses), ConjunctionStore(self.clauses)
        made._units_from(arrays)
        require(made.count == older.count, "'alive' does not fit the units")
        made._write_anew(older, saved_count(header, "attributes"))
        return made.arrays(), {**header, **made.header()}

    def invariants(self) -> None:
        super().invariants()
        begins = check_words(*self.view_as_conjunctions(), self._attributes, self.clauses)
        self._check_slots("slots", self._unit_bits, self.count)
        found = self._check_slots("set_slots", self._set_bits, len(self._sets))
        require(bool(begins[found].all()), "'set_slots' names what is no set")
        require(not (self._set_slots.view() == TOMBSTONE).any(), "no set is ever taken out of 'set_slots'")
        require(self._wide_sets == count_wide(self._sets.view()), "wide sets are miscounted")
        self._found_sets = len(found)
        tombstones = int(np.count_nonzero(self._slots.view() == TOMBSTONE))
        require(self._tombstones == tombstones, "tombstones are miscounted")

    def _check_slots(self, name: str, bits: int, below: int) -> NDArray[np.uint32]:
        """Refuse a table that names what there is not, or in which a search does not end; returns the numbers in it."""
        slots = self.columns[name].view()
        require(len(slots) % SMALLEST == 0, f"{name!r} is cut off")
        require(bool((slots == EMPTY).any()), f"{name!r} has no empty slot")
        numbers = slots[slots < TOMBSTONE] & np.uint32((1 << bits) - 1)
        require(not len(numbers) or int(numbers.max()) < below, f"{name!r} names what there is not")
        return numbers

    # ------------------------------------------------------------------ reading

    @property
    def attributes(self) -> int:
        """One more than the largest attribute of any conjunction: the size of a dense array of labels."""
        return self._attributes

    @property
    def rank_bits(self) -> int:
        """How many bits a rank has in words."""
        return self._rank_bits

    @property
    def within_words(self) -> bool:
        """Whether words have room for every attribute."""
        return self._attributes <= attributes_within(self._rank_bits)

    @property
    def has_wide_sets(self) -> bool:
        """Whether ranks do not tell all labels of some set apart."""
        return self._wide_sets > 0

    @property
    def constraints(self) -> int:
        """Constraints of all units, dead ones included."""
        return self._words.count

    @property
    def bytes_verify(self) -> int:
        """The bytes that verification reads."""
        return sum(column.nbytes for column in (self._places, self._words, self._sets))

    @property
    def bytes_shared(self) -> int:
        """The bytes that find equal conjunctions and equal sets, and count the uses of units."""
        return sum(column.nbytes for column in (self._slots, self._set_slots, self._held))

    def view(self) -> Conjunctions:
        """The arrays for kernels; a restored state is checked before it is handed out for the first time."""
        if not self.sound:
            self.check()
        return self.view_as_conjunctions()

    def view_as_conjunctions(self) -> Conjunctions:
        return Conjunctions(self._places.view(), self._words.view(), self._sets.view(), self._rank_bits)

    def encoded(self, units: NDArray[np.int32]) -> EncodedConjunctions:
        """The conjunctions of these units, as they were added; also of dead ones, until `compact`."""
        return unpacked(*self.view(), units, self.clauses)

    def as_stored(self, units: NDArray[np.int32]) -> EncodedConjunctions:
        """The same with the constraints of each in the order in which they are stored."""
        return unpacked(*self.view(), units, self.clauses, as_stored=True)

    def sizes(self, units: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many constraints each of these units has."""
        conjunctions = self.view()
        return constraint_counts(conjunctions.places, conjunctions.words, units)

    def has_clauses(self) -> bool:
        """Whether some unit, dead ones included, has a clause of several constraints."""
        return self.clauses and bool((self._words.view() & np.uint32(ALTERNATIVE)).any())

    # ------------------------------------------------------------------ changes

    def make_room(self) -> None:
        """Have room for some more units, whose tables and arrays take long to make anew; others may match meanwhile."""
        if not self.sound:
            return
        if self._crowded(SPARE) or self.count + SPARE >> self._unit_bits:
            self._rebuild_table(self._live + SPARE)
        if self._found_sets + SPARE > _FULL * self._set_slots.count:
            self._enter_sets_anew(self._sets.count, self._found_sets + SPARE)
        for column, each in ((self._held, 1), (self._places, 1), (self._words, _WORDS), (self._sets, _SETS)):
            column.make_room(each * SPARE)

    def add(self, encoded: EncodedConjunctions | EncodedRows) -> Added:
        """Store the conjunctions that are new, and count one use for each, new or not."""
        if not self.sound:
            self.check()
        source, attributes = self._incoming(encoded)
        count, before = len(source.offsets) - 1, self.count
        units, is_new = np.empty(count, np.int32), np.empty(count, np.bool_)
        used = np.array([before, self._words.count, 0], dtype=np.int64)
        self._reserve(count, len(source.leaf_of))
        done = 0
        while done < count:
            held = self._held.writable()
            done = add_all(
                source, done, self._growing(GrowingStore), held, MOST_COUNT[held.dtype], self._unit_bits, self.clauses,
                used, units, is_new,
            )  # fmt: skip
            if done < count:
                self._held = widened(self._held)
        units_after, words, tombstones = used.tolist()
        self._tombstones -= tombstones
        self._live += units_after - before
        self._attributes = max(self._attributes, attributes)
        self._resize(units_after, words)
        if is_new.all():
            return Added(units, units.copy(), None)
        return Added(units, units[is_new], self.encoded(units[~is_new]))

    def _incoming(self, encoded: EncodedConjunctions | EncodedRows) -> tuple[IncomingRows, int]:
        """What is to be stored, each of its distinct constraints as a word; and how many attributes it has."""
        offsets, leaf_of, leaves = _by_leaf(encoded)
        attributes = attribute_count(leaves.attributes)
        if not self.count:
            self._rank_bits = rank_bits_for(attributes)
        found = read_only(self._find_words(leaves, leaf_of), np.uint32)
        return IncomingRows(offsets, leaf_of, found, np.empty(HASHED, np.uint64)), attributes

    def _growing(self, kind: type[Growing]) -> Growing:
        """The columns that a named tuple names, to be written to."""
        columns = self.columns
        return kind._make(columns[name].writable() for name in kind._fields)  # type: ignore[attr-defined, no-any-return]

    def _find_words(self, constraints: EncodedConjunctions, leaf_of: NDArray[np.int32]) -> NDArray[np.uint32]:
        """The word of each constraint that `leaf_of` names; what needs a set gets one."""
        source, found = _read_only_leaves(constraints), pooled_full(len(constraints.attributes), UNKNOWN, np.uint32)
        begin = self._sets.count
        used = np.array([begin, self._found_sets, self._wide_sets], dtype=np.int64)
        most = begin + WIDE_START * len(found) + WIDE_PIECE * len(constraints.low)
        # What is not needed in the end is never touched.
        self._sets.resize(most, None)
        place, before = 0, self._found_sets
        while place < len(leaf_of):
            limits = np.array([int(_FULL * self._set_slots.count), self._set_bits], dtype=np.int64)
            if used[1] >= limits[0] or int(used[0]) >> self._set_bits:
                foreseen = _foreseen(int(used[1]), int(used[1]) - before, place, len(leaf_of))
                self._enter_sets_anew(int(used[0]), foreseen)
                continue
            growing = self._growing(GrowingSets)
            place = find_words(source, leaf_of, place, limits, self._rank_bits, growing, used, found)
        end, self._found_sets, self._wide_sets = used.tolist()
        self._sets.resize(end, None)
        return found

    def _enter_sets_anew(self, end: int, expected: int, filled: float = _FILLED) -> None:
        """Find all sets up to `end` by what they say, in a table which so many fill to a share."""
        self._set_bits = _bits_for(2 * end)
        if self._set_bits > PAYLOAD_BITS:
            raise LimitExceeded("the lists of values of one index take more than 1 GiB: split the rules over several")
        self._set_slots = _empty_slots(expected, filled)
        self._found_sets = enter_sets(self._sets.view(), end, self._set_slots.writable(), self._set_bits)

    def _reserve(self, count: int, constraints: int) -> None:
        """Make room for the case that all are new, of which what is not needed is not touched."""
        before, used = self.count, self._words.count
        if self._crowded(count) or (before + count) >> self._unit_bits:
            self._rebuild_table(self._live + count)
        if used + constraints > _MOST_WORDS:
            raise LimitExceeded(f"one index takes {_MOST_WORDS:,} constraints: split the rules over several shards")
        self._resize(before + count, used + constraints)

    def _crowded(self, more: int) -> bool:
        """Whether the table of units takes so many more only if it is made anew."""
        return self._live + self._tombstones + more > _FULL * self._slots.count

    def _resize(self, units: int, words: int) -> None:
        # Of what is not needed in the end, pages that are not cleared either are never touched.
        self._held.resize(units)
        self._places.resize(units, None)
        self._words.resize(words, None)

    def _rebuild_table(self, expected: int, filled: float = _FILLED) -> None:
        """A table without tombstones, which so many units fill to a share."""
        self._unit_bits = _bits_for(self.count + expected)
        self._slots = _empty_slots(expected, filled)
        slots, held = self._slots.writable(), self._held.view()
        enter_units(
            slots, self._unit_bits, self._places.view(), self._words.view(), held, np.empty(HASHED, np.uint64)
        )  # fmt: skip
        self._tombstones = 0

    def free(self, units: NDArray[np.int32]) -> None:
        """Forget units without uses: they are dead from now on, and their numbers stay taken."""
        if not self.sound:
            self.check()
        self._bury(units)
        places, words = self._places.view(), self._words.view()
        bury_units(self._slots.writable(), self._unit_bits, places, words, read_only(units, np.int32))
        self._tombstones += len(units)

    def relabel(self, attribute: int, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        """Replace the labels of one attribute in live units; those not in `old` stay.

        Dead units keep theirs: their boundaries may be gone, and then one end of an interval would move alone.
        """
        everything = self.encoded(np.arange(self.count, dtype=np.int32))
        order = np.argsort(old, kind="stable")
        alive = np.repeat(self.alive, np.diff(everything.offsets))
        mine = np.repeat(alive & (everything.attributes == attribute), np.diff(everything.pieces))
        low, high = (_relabelled(ends, mine, old[order], new[order]) for ends in (everything.low, everything.high))
        self._write_anew(everything._replace(low=low, high=high), self._attributes)

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Give all attributes the numbers[old], which are in the same order; there must be no dead units."""
        everything = self.encoded(np.arange(self.count, dtype=np.int32))
        moved = np.asarray(numbers, np.int32)[everything.attributes]
        if len(moved) and int(moved.min()) < 0:
            raise InvalidArgument("an attribute that is in use has no new number")
        self._write_anew(everything._replace(attributes=moved), attribute_count(moved))

    def _write_anew(self, everything: EncodedConjunctions, attributes: int) -> None:
        """Let all units, dead ones included, say what this does."""
        self.arrangement = object()
        self._words, self._sets = Growable(np.uint32), Growable(np.uint16)
        self._set_slots, self._found_sets, self._wide_sets = _empty_slots(0), 0, 0
        self._attributes, self._rank_bits, self._set_bits = attributes, rank_bits_for(attributes), LEAST_BITS
        offsets, leaf_of, leaves = _by_leaf(everything)
        found = read_only(self._find_words(leaves, leaf_of), np.uint32)
        self._places = Growable.taking(np.empty(everything.count, np.int32))
        self._words.resize(len(leaf_of), None)
        source = IncomingRows(offsets, leaf_of, found, np.empty(HASHED, np.uint64))
        write_rows(source, self._places.writable(), self._words.writable(), 0)
        self._rebuild_table(self._live)

    def compact(self) -> NDArray[np.int32]:
        """Give back the room of dead units; returns the new number of each old one, -1 for the dead."""
        remap, held = self._compacted(), self._held.view()[self.alive]
        contents = self.encoded(self.live_units())
        self.start()
        self.add(contents)
        self._held = Growable.taking(held)
        return remap

    def copy(self) -> ConjunctionStore:
        """A store with the same units that shares nothing with this one: for whoever builds while this one changes."""
        copied = ConjunctionStore(self.clauses)
        copied.restore({name: array.copy() for name, array in self.arrays().items()}, self.header())
        copied._found_sets, copied.sound = self._found_sets, self.sound
        return copied

    def follow(self, other: ConjunctionStore) -> None:
        """Have the units that came and went since in a store of which this one is a copy, with the same numbers."""
        came = np.arange(self.count, other.count, dtype=np.int32)
        source, attributes = self._incoming(other.encoded(came))
        begin, count = self._words.count, self.count
        self._places.resize(other.count, None)
        self._words.resize(begin + len(source.leaf_of), None)
        write_rows(source, self._places.writable()[count:], self._words.writable(), begin)
        self._held = Growable.taking(other._held.view().copy())
        self._live, self._attributes = other.live, max(self._attributes, attributes)
        self._rebuild_table(self._live)

    def take_over(self, other: ConjunctionStore) -> None:
        """Let everything lie as in a copy that has the same units; that one is not used any more."""
        for name, field in self.declared.items():
            field.put(self, getattr(other, name))
        self._found_sets, self.sound, self.arrangement = other._found_sets, other.sound, other.arrangement

    # ------------------------------------------------------------------ order

    def divide_words(self) -> None:
        """Let words have room for as many attributes as there are by now, and for what that leaves of ranks."""
        if self._rank_bits != rank_bits_for(self._attributes):
            self._write_anew(self.encoded(np.arange(self.count, dtype=np.int32)), self._attributes)

    def to_reorder(self) -> Conjunctions:
        """The arrays for a kernel that changes the order of units' constraints; as in `reorder`."""
        self.arrangement = object()
        return self.view()._replace(words=self._words.writable())

    def reorder(self, units: NDArray[np.int32], starts: NDArray[np.int64], order: NDArray[np.int32]) -> None:
        """Put the constraints of these units in another order: those at the positions order[starts[i]:] of its own."""
        self.arrangement = object()
        room = np.empty(int(self.sizes(units).max(initial=0)), np.uint32)
        reorder(self._places.view(), self._words.writable(), units, starts, order, room)

    def lay_out(self, units: NDArray[np.int32 | np.uint32]) -> None:
        """Let what these units say lie in this order, and then what all others do."""
        self.arrangement = object()
        given, moved = np.full(self.count, -1, np.int8), np.full(self._sets.count, -1, np.int32)
        places, words = np.empty(self.count, np.int32), np.empty(self._words.count, np.uint32)
        sets = np.empty(self._sets.count, np.uint16)
        lay_out(self.view(), read_only(units, np.int32), given, places, words, sets, moved)
        self._places, self._words, self._sets = (Growable.taking(array) for array in (places, words, sets))
        # Sets are found by where they begin, and units by words that name it.
        self._enter_sets_anew(len(sets), self._found_sets, _SETTLED)
        self._rebuild_table(self._live, _SETTLED)

    # ------------------------------------------------------------------ trust

    def audit(self) -> list[str]:
        """Every broken invariant in words; empty when the store is sound."""
        problems = self._audit_units()
        try:
            check_words(*self.view_as_conjunctions(), self._attributes, self.clauses)
        except CorruptSnapshot as refused:
            return [*problems, str(refused)]
        units = self.live_units()
        found = np.empty(len(units), dtype=np.int32)
        places, words, sets, _ = self.view()
        wanted = read_only(units, np.int32)
        find_units(self._slots.view(), self._unit_bits, places, words, self.clauses, wanted, found)
        lost = units[found != units]
        if len(lost):
            problems.append(f"unit {lost[0]} is not found by what it says ({len(lost)} such)")
        entries = int(np.count_nonzero(self._slots.view() < TOMBSTONE))
        if entries != len(units):
            problems.append(f"the table has {entries} entries for {len(units)} live units")
        lost_sets = count_lost_sets(sets, self._set_slots.view(), self._set_bits)
        return [*problems, f"{lost_sets} sets are not found by what they say"] if lost_sets else problems


def _bits_for(count: int) -> int:
    """How many bits numbers below `count` have, and some more."""
    return max(LEAST_BITS, count.bit_length())


def _empty_slots(expected: int, filled: float = _FILLED) -> Growable:
    """The slots of a table which so many fill to a share: whole cache lines of them."""
    lines = int(expected / filled) // SMALLEST + 1
    return Growable.taking(np.full(SMALLEST * lines, EMPTY, np.uint32))


def _foreseen(known: int, fresh: int, done: int, count: int) -> int:
    """How many sets there will be if as many of all `count` are new as were of those `done`.

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


def _relabelled(ends: NDArray[np.int32], mine: NDArray[Any], old: Any, new: Any) -> NDArray[np.int32]:
    """Labels, of which `mine` have the new ones for those in `old`, which increase."""
    if not len(old):
        return ends
    places = np.minimum(places_in(np.asarray(old, np.int32), ends), len(old) - 1)
    return np.where(mine & (old[places] == ends), new[places], ends).astype(np.int32)
