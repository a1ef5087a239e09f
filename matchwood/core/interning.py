"""Numbers for what comes again and again: the same bytes, or the same integer, have the same number."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.core._interning_kernels import (
    EMPTY,
    enter_hashes,
    enter_integers,
    find_firsts,
    intern_integers,
    intern_spans,
)
from matchwood.core.arrays import pooled, pooled_full

_SMALLEST = 1_024


def _grown(array: NDArray[Any], room: int) -> NDArray[Any]:
    larger = pooled(max(room, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


def _firsts(numbers: NDArray[np.int32], known: int, count: int) -> NDArray[np.int64]:
    firsts = np.empty(count - known, np.int64)
    find_firsts(numbers, known, firsts)
    return firsts


class SpanNumbers:
    """Distinct spans of bytes, numbered as they come.

    >>> known = SpanNumbers()
    >>> data = np.frombuffer(b"age city age", np.uint8)
    >>> known.of(data, np.array([0, 4, 9]), np.array([3, 4, 3])).tolist(), known.texts(0)
    ([0, 1, 0], ['age', 'city'])
    """

    def __init__(self) -> None:
        self.count = 0
        self._slots = np.full(_SMALLEST, EMPTY, np.int32)
        self._hashes = np.empty(_SMALLEST, np.uint64)
        self._ends = np.zeros(_SMALLEST, np.int64)
        self._held = np.empty(16 * _SMALLEST, np.uint8)

    def of(self, data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int32]) -> NDArray[np.int32]:
        """The number of each span; new ones get the next."""
        numbers, asked = pooled(len(starts), np.int32), pooled(len(starts), np.uint64)
        done = 0
        while True:
            done, self.count = intern_spans(
                data, starts, lengths, done, self._slots, self._hashes, self._ends, self._held, self.count, numbers,
                asked,
            )  # fmt: skip
            if done == len(starts):
                return numbers
            self._make_room(int(lengths[done]))

    def _make_room(self, length: int) -> None:
        self._held = _grown(self._held, len(self._held) + length)
        self._ends, self._hashes = _grown(self._ends, 0), _grown(self._hashes, 0)
        self._slots = pooled_full(2 * len(self._slots), EMPTY, np.int32)
        enter_hashes(self._slots, self._hashes, self.count)

    def firsts(self, numbers: NDArray[np.int32], known: int) -> NDArray[np.int64]:
        """Where each number from `known` on stands first among those that `of` has just given."""
        return _firsts(numbers, known, self.count)

    def spans(self, numbers: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The bytes of all spans, and where those of some begin and end among them."""
        return self._held, self._ends[numbers], self._ends[numbers + 1]

    def column(self, numbers: NDArray[Any]) -> pa.Array:
        """Some of the spans, as an Arrow column of texts."""
        buffers = [None, pa.py_buffer(self._ends), pa.py_buffer(self._held)]
        every = pa.Array.from_buffers(pa.large_string(), self.count, buffers)
        return every.take(pa.array(numbers))

    def texts(self, first: int) -> list[str]:
        """The spans from a number on, as texts."""
        ends = self._ends[first : self.count + 1].tolist()
        data = self._held[ends[0] : ends[-1]].tobytes()
        return [data[start - ends[0] : stop - ends[0]].decode() for start, stop in pairwise(ends)]


class IntegerNumbers:
    """Distinct integers, numbered as they come.

    >>> IntegerNumbers().of(np.array([7, 3, 7])).tolist()
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self.count = 0
        self._slots = np.full(_SMALLEST, EMPTY, np.int32)
        self._held = np.empty(_SMALLEST, np.int64)

    def of(self, values: NDArray[np.int64]) -> NDArray[np.int32]:
        """The number of each integer; new ones get the next."""
        numbers = pooled(len(values), np.int32)
        done = 0
        while True:
            done, self.count = intern_integers(values, done, self._slots, self._held, self.count, numbers)
            if done == len(values):
                return numbers
            self._held = _grown(self._held, 0)
            self._slots = pooled_full(2 * len(self._slots), EMPTY, np.int32)
            enter_integers(self._slots, self._held, self.count)

    def values(self, first: int) -> NDArray[np.int64]:
        """The integers from a number on."""
        values: NDArray[np.int64] = self._held[first : self.count]
        return values

    def firsts(self, numbers: NDArray[np.int32], known: int) -> NDArray[np.int64]:
        """Where each number from `known` on stands first among those that `of` has just given.

        Numbers are given as they come, so one pass finds them: sorting what is new took a thirtieth of a bulk load.

        >>> known = IntegerNumbers()
        >>> known.of(np.array([7, 3])).tolist(), known.firsts(known.of(np.array([3, 9, 7, 9, 5])), 2).tolist()
        ([0, 1], [1, 4])
        """
        return _firsts(numbers, known, self.count)
