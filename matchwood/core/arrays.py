"""Arrays that grow at their end, shared by every room that keeps state in NumPy; and memory for what is handed out.

The system clears every page that it hands out, and a bulk load asks for the same arrays chunk after chunk. Of a
million rules the system had a quarter of the time (BEGen: 2.7 of 12 s), for these and for what stays. So a load
has one arena for what goes again, and arrays that grow have room at once for all that is still to come.
"""

from __future__ import annotations

import contextlib
import threading
from bisect import insort
from collections.abc import Iterator
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike, NDArray

from matchwood.core.later import Later

_FETCHING = threading.RLock()
_LARGE = 1 << 16

LEAST_KEPT = 1 << 16
"""Bytes of an array that is worth keeping."""

_SPARE_SHARE = 16
"""One part in so many more than the load is expected to need: chunks are not all alike."""


SEGMENT = 1 << 26
"""Bytes that are asked of the system at a time, which NumPy wants in large pages: one fault instead of 512."""

_LINE = 64
"""Arrays begin at the edge of a cache line."""


class Arena:
    """Scratch memory of one load, handed out from the lowest address that is free: segments, and the holes in them.

    What lies lowest was written to before, so that the system need not clear it. Room that nobody writes to costs
    nothing.

    >>> arena = Arena()
    >>> one, two = arena.array(100, np.dtype(np.int8)), arena.array(8, np.dtype(np.int64))
    >>> place = one.__array_interface__["data"][0]
    >>> two.__array_interface__["data"][0] - place
    128
    >>> del one
    >>> arena.array(64, np.dtype(np.int8)).__array_interface__["data"][0] == place
    True
    """

    def __init__(self) -> None:
        self._segments: list[NDArray[np.uint8]] = []
        self._room = 0
        self._holes: list[tuple[int, int]] = []
        """Where each begins and ends, as addresses, in order."""
        self._returned: list[tuple[int, int]] = []
        """What came back since, in whatever thread: to append is one step for Python."""

    @property
    def lent(self) -> int:
        """Bytes that somebody has."""
        self._take_back()
        return self._room - sum(stop - start for start, stop in self._holes)

    def array(self, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """A new array, of no particular content, whose memory is free when nobody refers to it any more."""
        size = -(-max(1, count * kind.itemsize) // _LINE) * _LINE
        self._take_back()
        place = next((at for at, (start, stop) in enumerate(self._holes) if stop - start >= size), None)
        if place is None:
            place = self._add_segment(size)
        start, stop = self._holes.pop(place)
        if start + size < stop:
            self._holes.insert(place, (start + size, stop))
        return np.asarray(_Lent(self, start, start + size, count, kind))

    def _add_segment(self, size: int) -> int:
        """The place of a hole of at least that size."""
        segment = np.empty(max(SEGMENT, size) + _LINE, np.uint8)
        self._segments.append(segment)
        begin = segment.__array_interface__["data"][0]
        start = -(-begin // _LINE) * _LINE
        hole = start, start + (begin + len(segment) - start) // _LINE * _LINE
        insort(self._holes, hole)
        self._room += hole[1] - hole[0]
        return self._holes.index(hole)

    def _take_back(self) -> None:
        """Make holes of what was returned, and one of those that touch."""
        if not self._returned:
            return
        while self._returned:
            insort(self._holes, self._returned.pop())
        merged: list[tuple[int, int]] = []
        for start, stop in self._holes:
            if merged and merged[-1][1] == start:
                merged[-1] = merged[-1][0], stop
            else:
                merged.append((start, stop))
        self._holes = merged

    def give_back(self, start: int, stop: int) -> None:
        """Whoever had these bytes has them no more."""
        self._returned.append((start, stop))


class _Lent:
    """Whom an array belongs to; its memory is free when it goes."""

    __slots__ = ("__array_interface__", "_arena", "_start", "_stop")

    def __init__(self, arena: Arena, start: int, stop: int, count: int, kind: np.dtype[Any]) -> None:
        self._arena, self._start, self._stop = arena, start, stop
        self.__array_interface__ = {"version": 3, "data": (start, False), "shape": (count,), "typestr": kind.str}

    def __del__(self) -> None:
        self._arena.give_back(self._start, self._stop)


class BulkMemory:
    """What one load has to itself.

    `times`  how many times as much as now there will be in the end; 1 if nobody knows
    `arena`  where its scratch arrays are
    """

    def __init__(self, total: int | None = None) -> None:
        self.times, self._total = 1.0, total
        self.arena = Arena()

    def expect(self, done: int) -> None:
        """Arrays that grow next do so for the first `done` rules of all that come into an empty index."""
        known = self._total is not None and 0 < done < self._total
        self.times = (self._total or 0) / done * (1 + 1 / _SPARE_SHARE) if known else 1.0


class _Current(threading.local):
    memory: BulkMemory | None = None


_CURRENT = _Current()


@contextlib.contextmanager
def bulk_memory(total: int | None) -> Iterator[BulkMemory]:
    """Memory for one load of so many rules, if that is known, by this thread, until the end of the block.

    >>> with bulk_memory(4) as memory:
    ...     memory.expect(1)
    ...     round(memory.times, 2)
    4.25
    """
    before, memory = _CURRENT.memory, BulkMemory(total)
    _CURRENT.memory = memory
    try:
        yield memory
    finally:
        # Whoever still knows of the load does not keep what it had.
        _CURRENT.memory, memory.arena = before, Arena()


class Growable:
    """A one-dimensional array with room to grow; begins as a shared, read-only one if given that.

    Readers take `view()`, which is always read-only: a kernel that sees writable arrays on one call and
    read-only ones on the next is compiled twice. An array mapped from a file is copied when it is
    first written to, so files never change. One that is fetched later has no buffer until somebody needs it.

    `count`   how many elements it has; `len` asks the same
    `_clean`  from which element on the buffer is known to be zero: memory that nobody has written to
    """

    __slots__ = ("_buffer", "_clean", "_later", "_view", "count")

    def __init__(self, dtype: DTypeLike, initial: ArrayLike | None = None) -> None:
        self._view: NDArray[Any] | None = None
        self._later = initial if isinstance(initial, Later) and initial.dtype == np.dtype(dtype) else None
        if self._later is not None:
            self.count = self._clean = len(self._later)
            return
        self._buffer: NDArray[Any] = np.asarray([] if initial is None else initial, dtype=dtype)
        self.count = self._clean = len(self._buffer)
        if initial is not None:
            self._buffer = self._buffer.view()
            self._buffer.flags.writeable = False

    @classmethod
    def taking(cls, array: NDArray[Any]) -> Growable:
        """One that takes an array over: whoever made it writes to it no more."""
        made = cls(array.dtype)
        made._buffer, made.count, made._clean = array, len(array), len(array)
        return made

    def __getattr__(self, name: str) -> Any:
        """Python asks for what is not there: a buffer that has not been fetched. One thread fetches it."""
        if name != "_buffer" or self._later is None:
            raise AttributeError(name)
        with _FETCHING:
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                fetched = self._later.fetch().view()
                fetched.flags.writeable = False
                self._buffer = fetched
                return fetched

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """The bytes in use; spare room is not counted."""
        later = self._later
        return self.count * (self._buffer.itemsize if later is None else later.dtype.itemsize)

    def view(self) -> NDArray[Any]:
        """The elements, read-only."""
        view = self._view
        if view is None:
            # Other threads may look at the same time: they must never see one that can still be written to.
            view = self._buffer[: self.count]
            view.flags.writeable = False
            self._view = view
        return view

    def writable(self) -> NDArray[Any]:
        """The elements, to be changed in place."""
        if not self._buffer.flags.writeable:
            self._reserve(self.count)
        # Whoever looked while `make_room` put another buffer in place may have left a view of the one before.
        self._view = None
        return self._buffer[: self.count]

    def make_room(self, spare: int) -> None:
        """Have room for so many more, which are then added without copying; others may look meanwhile."""
        if self.count + spare > len(self._buffer) or not self._buffer.flags.writeable:
            self._reserve(self.count + spare)

    def append(self, value: Any) -> int:
        """Put one value at the end; returns its position."""
        position = self.count
        if position == len(self._buffer) or not self._buffer.flags.writeable:
            self._reserve(position + 1)
        self._buffer[position] = value
        self._clean = max(self._clean, position + 1)
        self.count, self._view = position + 1, None
        return position

    def extend(self, values: ArrayLike) -> None:
        """Put all values at the end."""
        added = np.asarray(values, dtype=self._buffer.dtype)
        start = self.count
        self.resize(start + len(added), None)
        self._buffer[start : start + len(added)] = added

    def resize(self, count: int, fill: Any = 0) -> None:
        """Cut to `count` elements, or fill up to it; with None, whoever asks writes all of them."""
        if count > len(self._buffer) or not self._buffer.flags.writeable:
            self._reserve(count)
        if count > self.count:
            if fill is not None:
                self._buffer[self.count : count if fill else min(count, self._clean)] = fill
            self._clean = max(self._clean, count)
        self.count, self._view = count, None

    def _reserve(self, count: int) -> None:
        room = max(count, 16, len(self._buffer) * 2 if count > len(self._buffer) else len(self._buffer))
        # Large ones come from the system, which clears memory when it is first written to: not before it is needed.
        large = room * self._buffer.itemsize >= _LARGE
        bulk = _CURRENT.memory if large else None
        if bulk is not None and bulk.times > 1:
            # To grow is to copy everything, into pages that have to be cleared first.
            room = max(room, int(count * bulk.times))
        grown, self._clean = self._made(room, large)
        grown[: self.count] = self._buffer[: self.count]
        self._buffer, self._view = grown, None

    def _made(self, room: int, large: bool) -> tuple[NDArray[Any], int]:
        """A new buffer, and from which element on it is zero if the first ones are written to."""
        made: NDArray[Any] = (np.zeros if large else np.empty)(room, dtype=self._buffer.dtype)
        return made, self.count if large else room


class ScratchGrowable(Growable):
    """One that goes when the load does, so that its buffers are scratch memory of that."""

    __slots__ = ()

    def _made(self, room: int, large: bool) -> tuple[NDArray[Any], int]:
        return pooled(room, self._buffer.dtype), room


Side = Literal["left", "right"]


@overload
def places_in(ordered: NDArray[Any], wanted: float, side: Side = "left") -> int: ...
@overload
def places_in(ordered: NDArray[Any], wanted: NDArray[Any], side: Side = "left") -> NDArray[np.int64]: ...
def places_in(ordered: NDArray[Any], wanted: Any, side: Side = "left") -> Any:
    """Where numbers belong in an ordered array: one, or an array of them of the same type.

    The only way to `searchsorted` outside kernels. NumPy brings both sides to one type first, and so copies an ordered
    array of int32 that is asked for a Python int or for int64: 425 µs at 800,000 elements, where the search takes 0.65.

    >>> places_in(np.array([3, 5, 5], np.int32), 5), places_in(np.array([3, 5, 5], np.int32), 5, "right")
    (1, 3)
    """
    if not isinstance(wanted, np.ndarray):
        return int(ordered.searchsorted(ordered.dtype.type(wanted), side))
    if wanted.dtype != ordered.dtype:
        raise TypeError(f"{wanted.dtype} is looked for among {ordered.dtype}: convert one of them first")
    return ordered.searchsorted(wanted, side)


def grouped(numbers: NDArray[Any]) -> list[tuple[int, NDArray[np.int64]]]:
    """The distinct numbers, increasing, and the positions of each.

    >>> [(number, places.tolist()) for number, places in grouped(np.array([7, 3, 7]))]
    [(3, [1]), (7, [0, 2])]
    """
    order = np.argsort(numbers, kind="stable")
    distinct, first = np.unique(numbers[order], return_index=True)
    return list(zip(distinct.tolist(), np.split(order, first[1:]), strict=False))


def runs(numbers: NDArray[Any]) -> Iterator[tuple[int, slice]]:
    """The distinct ones of numbers in order, none negative, and where each stands.

    >>> list(runs(np.array([3, 7, 7])))
    [(3, slice(0, 1, None)), (7, slice(1, 3, None))]
    """
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    bounds = [*starts.tolist(), len(numbers)]
    return zip(numbers[starts].tolist(), map(slice, bounds[:-1], bounds[1:]), strict=True)


def pooled(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """A new array, of no particular content, from Arrow's memory pool; in a bulk load, from what that keeps.

    NumPy asks the system for every large array and gives it back at once, and each of its pages costs a quarter of a
    microsecond when it is first written to: filling 8 MiB took 1.1 ms, and in the pool, which keeps pages, 0.18.
    """
    kind = np.dtype(dtype)
    bulk = _CURRENT.memory if count * kind.itemsize >= LEAST_KEPT else None
    if bulk is not None:
        return bulk.arena.array(count, kind)
    return np.frombuffer(pa.allocate_buffer(count * kind.itemsize), kind)


def pooled_full(count: int, value: Any, dtype: DTypeLike) -> NDArray[Any]:
    """The same, with one value everywhere."""
    made = pooled(count, dtype)
    made[:] = value
    return made


def pooled_copy(array: NDArray[Any]) -> NDArray[Any]:
    """A copy, in Arrow's memory pool if it is large."""
    if array.nbytes < _LARGE:
        return array.copy()
    copied = pooled(len(array), array.dtype)
    copied[:] = array
    return copied
