"""The column of ids: one id a row, and the way back from an id to its live row."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.core import Growable, pooled
from matchwood.engines import read_only
from matchwood.errors import CorruptSnapshot, InvalidArgument
from matchwood.rules._hit_kernels import count_on, take_integers
from matchwood.rules._id_kernels import EMPTY, TOMBSTONE, claim_many, drop_many, find_many, increase, rehash
from matchwood.rules.heap import ByteHeap
from matchwood.rules.keys import (
    INT,
    STR,
    Id,
    IdKeys,
    Ids,
    integer_keys,
    key_of,
    keys_of,
    kind_of,
    mixture,
    unwrapped_id,
)
from matchwood.rules.strings import Utf8

SMALLEST_BITS = 4
FULLEST = 0.7
"""The share of slots, tombstones included, at which a table grows: probes stay short, two to six."""

FEW = 16
"""Up to here decoding row by row beats building an Arrow array first."""

KEPT_SHARE = 4
"""What holds for all ids is worked out once one in so many of them is asked for, since it pays then: strings are kept
as Python's, and integers looked at whether they count on."""

_ASTRAY = -1


class IdColumn:
    """Ids of one kind, int64 or str; the first one decides which. Rows only grow.

    >>> ids = IdColumn()
    >>> ids.add_many(["a", "b"]).tolist(), ids.find("b"), ids.find("c")
    ([0, 1], 1, -1)
    """

    def __init__(self) -> None:
        self.kind: str | None = None
        self._integers = Growable(np.int64)
        self._strings = ByteHeap()
        self._keeping = threading.Lock()
        self._asked = self._kept = 0
        self._forget_texts()
        self._counted_on = 0
        """So many ids are known to count on from the first, row by row, as those of an enumeration do; or _ASTRAY."""
        self._greatest = 0, 0
        """So many ids, if they are integers, and the greatest of them: replaced at once, since readers may look."""
        self._filled = 0
        """Slots that are not empty, tombstones included."""
        self._tombstones = 0
        self._reset_slots(SMALLEST_BITS)

    def __len__(self) -> int:
        """The rows, those of removed ids included."""
        return len(self._integers) + len(self._strings)

    @property
    def live(self) -> int:
        return self._filled - self._tombstones

    @property
    def nbytes(self) -> int:
        return self._integers.nbytes + self._strings.nbytes + self._slots.nbytes

    @property
    def arrow_type(self) -> pa.DataType:
        """What `take` returns; a table that never had an id counts as one of strings."""
        return pa.int64() if self.kind == INT else pa.string()

    def keys(self, ids: Ids) -> IdKeys:
        """Ids that may be added to this column; raises InvalidArgument that names the first that may not."""
        wanted = keys_of(ids)
        if self.kind is not None and wanted.size and wanted.kind != self.kind:
            raise mixture(_decoded(wanted, 0), self.kind)
        return wanted

    def checked(self, rule_id: object, beside: Id | None = None) -> Id:
        """One id as the column keeps it; raises InvalidArgument for what may not be added to it, or beside that one."""
        found = unwrapped_id(rule_id)
        kind = self.kind or (beside is not None and kind_of(beside)) or None
        if kind is not None and kind_of(found) != kind:
            raise mixture(found, kind)
        return found

    def find(self, rule_id: object) -> int:
        """The live row of an id, or -1; what can be no id here has no row."""
        try:
            wanted = key_of(rule_id)
        except InvalidArgument:
            return -1
        return int(self._found(wanted)[0]) if wanted.kind == self.kind else -1

    def find_many(self, ids: Ids) -> NDArray[np.int32]:
        """The live row of each id, or -1."""
        wanted = keys_of(ids)
        return self._found(wanted) if wanted.kind == self.kind else np.full(wanted.size, -1, np.int32)

    def _found(self, wanted: IdKeys) -> NDArray[np.int32]:
        if wanted.size > FEW and self._are_beyond(wanted):
            return np.full(wanted.size, -1, np.int32)
        rows = np.empty(wanted.size, np.int32)
        find_many(self._slots.view(), self._bits, self._stored(), wanted, rows)
        return rows

    def _are_beyond(self, wanted: IdKeys) -> bool:
        """Whether ids are integers that increase from above all that were ever here, as those of new rules mostly do:
        they differ, and none has a row."""
        if not self._increase(wanted):
            return False
        integers, (measured, greatest) = self._integers.view(), self._greatest
        if measured < len(integers):
            more = int(integers[measured:].max())
            greatest = max(greatest, more) if measured else more
            self._greatest = len(integers), greatest
        return not len(integers) or int(wanted.integers()[0]) > greatest

    @staticmethod
    def _increase(wanted: IdKeys) -> bool:
        return wanted.kind == INT and bool(increase(wanted.integers()))

    def locate(self, ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For each id its live row or -1, and the position of its first occurrence among the ids given."""
        wanted = self.keys(ids)
        if wanted.size > FEW and self._increase(wanted):
            return self.find_many(wanted), np.arange(wanted.size, dtype=np.int32)
        scratch = np.full(1 << _bits_for(wanted.size), EMPTY, np.int64)
        firsts = np.empty(wanted.size, np.int32)
        claim_many(scratch, _bits_for(wanted.size), wanted, 0, firsts)
        return self.find_many(wanted), firsts

    def add_many(self, ids: Ids) -> NDArray[np.int32]:
        """Add ids that have no live row and differ from each other; returns their rows, or adds none of them."""
        added = self.keys(ids)
        self._refuse_duplicates(added)
        first, rows = len(self), np.empty(added.size, np.int32)
        if added.size:
            self._append(added)
            self._make_room(added.size)
            from_empty, from_tombstone = claim_many(self._slots.writable(), self._bits, self._stored(), first, rows)
            self._filled += from_empty
            self._tombstones -= from_tombstone
        return rows

    def _refuse_duplicates(self, added: IdKeys) -> None:
        rows, firsts = self.locate(added) if added.size > 1 else (self.find_many(added), np.zeros(1, np.int32))
        again = (rows >= 0) | (firsts[: added.size] != np.arange(added.size))
        if again.any():
            position = int(again.argmax())
            where = "is already in the index" if rows[position] >= 0 else "is given twice"
            raise InvalidArgument(f"the id {_decoded(added, position)!r} {where}: an id names one rule")

    def _append(self, added: IdKeys) -> None:
        self.kind = added.kind
        if added.kind == INT:
            self._integers.extend(added.integers())
        else:
            self._strings.extend(Utf8(added.data, added.starts, added.lengths))

    def remove_many(self, rows: NDArray[np.int32]) -> None:
        """Forget the ids of live rows; the rows keep their place."""
        found = drop_many(self._slots.writable(), self._bits, self._stored(), rows)
        self._tombstones += found
        if found != len(rows):
            raise CorruptSnapshot(f"{len(rows) - found} of {len(rows)} removed rows were not in the table of ids")

    def take(self, rows: NDArray[Any]) -> pa.Array:
        """The ids of many rows, as an Arrow array of int64 or string."""
        if self.kind != INT:
            return self._strings.take(rows)
        ids, found = self._integers.view(), pooled(len(rows), np.int64)
        if self._counts_on(ids, len(rows)):
            taken = count_on(ids[0], len(ids), read_only(rows, np.int32), found)
        else:
            taken = take_integers(ids, read_only(rows, np.int32), found)
        if not taken:
            raise IndexError("a row has no id")
        return pa.array(found)

    def counts_on_from(self, asked: int) -> int | None:
        """The first id, if all others are known to count on from there, for one who asks for so many."""
        if self.kind != INT:
            return None
        ids = self._integers.view()
        return int(ids[0]) if self._counts_on(ids, asked) else None

    def _counts_on(self, ids: NDArray[np.int64], asked: int) -> bool:
        """Whether all ids count on from the first; ids that are not known to are looked at if enough are asked for."""
        known, count = self._counted_on, len(ids)
        if _ASTRAY < known < count and KEPT_SHARE * asked >= count - known:
            counted = np.array_equal(ids[known:], np.arange(known, count, dtype=np.int64) + ids[0])
            self._counted_on = known = count if counted else _ASTRAY
        return 0 < count == known

    @property
    def numbers(self) -> NDArray[np.int64] | None:
        """The id of every row, if ids are numbers."""
        return self._integers.view() if self.kind == INT else None

    def to_list(self, rows: NDArray[Any]) -> list[int] | list[str]:
        """The ids of many rows, as Python objects."""
        if self.kind == INT:
            return self._integers.view()[rows].tolist()  # type: ignore[no-any-return]
        if self._kept == len(self._strings) or self._keep_texts(len(rows)):
            return self._texts.view()[rows].tolist()  # type: ignore[no-any-return]
        if len(rows) > FEW:
            return self._strings.texts(rows)
        return [self._strings.text(row) for row in rows.tolist()]

    def _keep_texts(self, asked: int) -> bool:
        """Have all ids as Python's strings, if so many are asked for: decoding one takes longer than finding it."""
        with self._keeping:
            self._asked += asked
            missing = np.arange(self._kept, len(self._strings))
            if KEPT_SHARE * self._asked < len(missing):
                return False
            self._texts.extend(self._strings.texts(missing))
            # Whoever reads them without the lock sees this last.
            self._asked, self._kept = 0, len(self._strings)
            return True

    def _forget_texts(self) -> None:
        """Rows are about to be others; until then a row keeps its id, and the ids that are kept only grow."""
        self._texts = Growable(np.object_)
        self._kept = self._asked = 0

    def keep(self, rows: NDArray[Any]) -> None:
        """Drop all other rows; the kept ones, all live, are numbered anew. An emptied column has no kind."""
        self._forget_texts()
        self._counted_on, self._greatest = 0, (0, 0)
        if self.kind == INT:
            self._integers = Growable(np.int64, self._integers.view()[rows])
        else:
            self._strings.keep(rows)
        self.kind = self.kind if len(rows) else None
        self._reset_slots(_bits_for(len(rows)))
        ignored = np.empty(len(rows), np.int32)
        self._filled, _ = claim_many(self._slots.writable(), self._bits, self._stored(), 0, ignored)

    def _stored(self) -> IdKeys:
        if self.kind == INT:
            return integer_keys(self._integers.view())
        return IdKeys(*self._strings.view(), 0)

    def _reset_slots(self, bits: int) -> None:
        self._slots = Growable(np.int64)
        self._slots.resize(1 << bits, EMPTY)
        self._bits, self._filled, self._tombstones = bits, 0, 0

    def _make_room(self, added: int) -> None:
        if self._filled + added <= FULLEST * len(self._slots):
            return
        old, live = self._slots.view(), self.live
        self._reset_slots(_bits_for(live + added))
        rehash(old, self._slots.writable(), self._bits)
        self._filled = live

    def arrays(self) -> dict[str, NDArray[Any]]:
        named = {f"strings.{name}": array for name, array in self._strings.arrays().items()}
        return {"integers": self._integers.view(), "slots": self._slots.view(), **named}

    def header(self) -> dict[str, Any]:
        return {"kind": self.kind, "filled": self._filled, "tombstones": self._tombstones}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over a saved state; arrays may be read-only maps of files."""
        self._forget_texts()
        self._counted_on, self._greatest = 0, (0, 0)
        self.kind = header["kind"]
        self._filled, self._tombstones = header["filled"], header["tombstones"]
        self._integers, self._slots = Growable(np.int64, arrays["integers"]), Growable(np.int64, arrays["slots"])
        self._bits = len(self._slots).bit_length() - 1
        strings = {name.removeprefix("strings."): array for name, array in arrays.items() if "." in name}
        self._strings.restore(strings, 0)
        self._check_sizes()

    def _check_sizes(self) -> None:
        slots, filled = len(self._slots), self._filled
        if slots < 1 << SMALLEST_BITS or slots & (slots - 1) or slots > 1 << 31:
            raise CorruptSnapshot(f"ids: a hash table cannot have {slots} slots")
        if not 0 <= self._tombstones <= filled < slots:
            raise CorruptSnapshot(f"ids: {slots} slots cannot hold {filled} ids with {self._tombstones} removed")
        if self.kind not in (None, INT, STR) or (self._integers if self.kind != INT else self._strings):
            raise CorruptSnapshot(f"ids: the arrays do not fit ids of kind {self.kind!r}")

    def check(self) -> None:
        """Raise CorruptSnapshot unless all offsets and rows lie within their arrays."""
        self._strings.check("ids")
        slots = self._slots.view()
        filled = slots[slots >= 0]
        if len(filled) != self.live or int((slots == TOMBSTONE).sum()) != self._tombstones or slots.min() < TOMBSTONE:
            raise CorruptSnapshot("ids: the hash table does not hold as many ids as its header says")
        if len(filled) and int((filled & 0xFFFFFFFF).max()) >= len(self):
            raise CorruptSnapshot("ids: the hash table names a row that does not exist")

    def audit(self, live_rows: NDArray[np.int32]) -> list[str]:
        """Every broken invariant in words."""
        problems = self._strings.audit("ids")
        if len(live_rows) != self.live:
            problems.append(f"ids: {len(live_rows)} live rows, but {self.live} ids")
        stored = keys_of(self.take(live_rows))
        astray = self._found(stored) != live_rows if len(live_rows) else np.zeros(0, np.bool_)
        return problems + [f"ids: row {row} is not found by its id" for row in live_rows[astray][:10].tolist()]


def _bits_for(count: int) -> int:
    """The size of a table that holds `count` ids and as many again before it grows, as a power of two."""
    return max(SMALLEST_BITS, int(count / FULLEST * 1.3).bit_length())


def _decoded(keys: IdKeys, position: int) -> Id:
    if keys.width:
        return int(keys.integers()[position])
    start, length = int(keys.starts[position]), int(keys.lengths[position])
    return keys.data[start : start + length].tobytes().decode()
