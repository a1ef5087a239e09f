"""An append-only heap of strings: what the table of rules keeps texts, string ids and weights in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.errors import CorruptSnapshot, LimitExceeded
from matchwood.rules._heap_kernels import gather
from matchwood.rules.strings import LONGEST, Utf8, encode_one

GARBAGE_FLOOR = 1 << 20
"""Garbage below this many bytes is not worth collecting before the table is compacted."""


class ByteHeap:
    """One string a row, as UTF-8 bytes in one array. A replaced string stays behind as garbage.

    >>> heap = ByteHeap()
    >>> heap.append("age > 5"), heap.append("vip")
    (0, 1)
    >>> heap.replace(0, "age > 18")
    >>> heap.text(0), heap.garbage
    ('age > 18', 7)
    """

    def __init__(self, rows: int = 0) -> None:
        self._data = Growable(np.uint8)
        self._start = Growable(np.int64)
        self._length = Growable(np.int32)
        self.garbage = 0
        self.extend_empty(rows)

    def __len__(self) -> int:
        return len(self._start)

    @property
    def nbytes(self) -> int:
        return self._data.nbytes + self._start.nbytes + self._length.nbytes

    def view(self) -> Utf8:
        """All rows, read-only."""
        return Utf8(self._data.view(), self._start.view(), self._length.view())

    def append(self, text: str) -> int:
        """Add one row; returns its number."""
        encoded = encode_one(text)
        self._start.append(len(self._data))
        self._data.extend(np.frombuffer(encoded, np.uint8))
        return self._length.append(len(encoded))

    def extend(self, added: Utf8) -> None:
        """Add many rows."""
        self._start.extend(added.starts + len(self._data))
        self._length.extend(added.lengths)
        self._data.extend(added.data)

    def extend_empty(self, rows: int) -> None:
        """Add rows that hold the empty string."""
        self._start.resize(len(self._start) + rows)
        self._length.resize(len(self._length) + rows)

    def replace(self, row: int, text: str) -> None:
        """Give a row another string."""
        encoded = encode_one(text)
        self.garbage += int(self._length.view()[row])
        self._start.writable()[row] = len(self._data)
        self._length.writable()[row] = len(encoded)
        self._data.extend(np.frombuffer(encoded, np.uint8))
        self._collect_if_worth_it()

    def replace_many(self, rows: NDArray[np.int32], added: Utf8) -> None:
        """Give distinct rows other strings."""
        self.garbage += int(self._length.view()[rows].sum(dtype=np.int64))
        self._start.writable()[rows] = added.starts + len(self._data)
        self._length.writable()[rows] = added.lengths
        self._data.extend(added.data)
        self._collect_if_worth_it()

    def clear(self, rows: NDArray[np.int32]) -> None:
        """Make these distinct rows empty."""
        self.garbage += int(self._length.view()[rows].sum(dtype=np.int64))
        self._length.writable()[rows] = 0
        self._collect_if_worth_it()

    def text(self, row: int) -> str:
        """The string of one row."""
        start, length, data = int(self._start.view()[row]), int(self._length.view()[row]), self._data.view()
        if start < 0 or length < 0 or start + length > len(data):
            raise _damaged(row)
        try:
            return data[start : start + length].tobytes().decode()
        except UnicodeDecodeError:
            raise _garbled(f"the string of row {row}") from None

    def texts(self, rows: NDArray[Any]) -> list[str]:
        """The strings of many rows."""
        try:
            return self.take(rows).to_pylist()  # type: ignore[no-any-return]
        except UnicodeDecodeError:
            raise _garbled("a string") from None

    def take(self, rows: NDArray[Any]) -> pa.StringArray:
        """The strings of many rows, as Arrow's `string`."""
        targets = self._targets(rows)
        if targets[-1] > LONGEST:
            raise LimitExceeded(f"the strings of {len(rows)} rows exceed the 2 GiB of one Arrow array: take fewer rows")
        buffers = [None, pa.py_buffer(targets.astype(np.int32)), pa.py_buffer(self._gathered(rows, targets))]
        return pa.Array.from_buffers(pa.string(), len(rows), buffers)

    def keep(self, rows: NDArray[Any]) -> None:
        """Drop all other rows and all garbage; the kept rows are numbered anew, in the order given."""
        targets = self._targets(rows)
        if targets[-1] > len(self._data):
            raise CorruptSnapshot("the strings of a heap overlap: the snapshot is damaged")
        self._data = Growable(np.uint8, self._gathered(rows, targets))
        self._start, self._length = Growable(np.int64, targets[:-1]), Growable(np.int32, np.diff(targets))
        self.garbage = 0

    def _targets(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Where each row's string would begin, were they side by side, and where the last one would end."""
        targets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.maximum(self._length.view()[rows], 0), out=targets[1:])
        return targets

    def _gathered(self, rows: NDArray[Any], targets: NDArray[np.int64]) -> NDArray[np.uint8]:
        out = np.empty(targets[-1], np.uint8)
        outside = gather(*self.view(), np.ascontiguousarray(rows, np.int32), targets, out)
        if outside >= 0:
            raise _damaged(int(rows[outside]))
        return out

    def _collect_if_worth_it(self) -> None:
        if self.garbage > GARBAGE_FLOOR and self.garbage * 2 > len(self._data):
            self.keep(np.arange(len(self), dtype=np.int32))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"data": self._data.view(), "start": self._start.view(), "length": self._length.view()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], garbage: int) -> None:
        """Take over saved arrays, read-only maps of files included."""
        self._data = Growable(np.uint8, arrays["data"])
        self._start = Growable(np.int64, arrays["start"])
        self._length = Growable(np.int32, arrays["length"])
        self.garbage = garbage
        if len(self._start) != len(self._length):
            raise CorruptSnapshot(f"a heap has {len(self._start)} starts but {len(self._length)} lengths")

    def check(self, name: str) -> None:
        """Raise CorruptSnapshot unless every row lies within the data."""
        data, starts, lengths = self.view()
        if len(starts) != len(lengths):
            raise CorruptSnapshot(f"{name}: {len(starts)} starts but {len(lengths)} lengths")
        outside = (starts < 0) | (lengths < 0) | (starts > len(data) - lengths.astype(np.int64))
        if outside.any():
            raise CorruptSnapshot(f"{name}: row {int(outside.argmax())} lies outside the {len(data)} bytes of text")

    def audit(self, name: str) -> list[str]:
        """Every broken invariant in words."""
        data, _, lengths = self.view()
        used = int(lengths.sum(dtype=np.int64)) + self.garbage
        return [] if used == len(data) else [f"{name}: {len(data)} bytes, but rows and garbage account for {used}"]


def _garbled(what: str) -> CorruptSnapshot:
    return CorruptSnapshot(f"{what} is not UTF-8: the snapshot is damaged")


def _damaged(row: int) -> CorruptSnapshot:
    return CorruptSnapshot(f"the string of row {row} lies outside its file: the snapshot is damaged")
