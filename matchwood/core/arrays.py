"""Arrays that grow at their end, shared by every room that keeps state in NumPy; and memory for what is handed out.

The system clears every page that it hands out, and a bulk load asks for the same arrays chunk after chunk. Of a
million rules the system had a quarter of the time (BEGen: 2.7 of 12 s), for these and for what stays. So a load keeps
them, and arrays that grow have room at once for all that is still to come.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike, NDArray

from matchwood.core.later import Later

_FETCHING = threading.RLock()
_LARGE = 1 << 16

LEAST_KEPT = 1 << 20
"""Bytes of an array that is worth keeping."""

_LOOSEST = 4
"""A block that is so many times larger than what is wanted is kept for something else."""

_SPARE_SHARE = 16
"""One part in so many more than the load is expected to need: chunks are not all alike."""


class BulkMemory:
    """What one load has to itself.

    `times`  how many times as much as now there will be in the end; 1 if nobody knows
    """

    def __init__(self, total: int | None = None) -> None:
        self.times, self._total = 1.0, total
        self._free: list[NDArray[np.uint8]] = []

    def expect(self, done: int) -> None:
        """Arrays that grow next do so for the first `done` rules of all that come into an empty index."""
        known = self._total is not None and 0 < done < self._total
        self.times = (self._total or 0) / done * (1 + 1 / _SPARE_SHARE) if known else 1.0

    def array(self, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """A new array, of no particular content, in a block that comes back when nobody refers to it any more."""
        wanted = count * kind.itemsize
        fits = [place for place, block in enumerate(self._free) if wanted <= len(block) <= _LOOSEST * wanted]
        if fits:
            block = self._free.pop(min(fits, key=lambda place: len(self._free[place])))
        else:
            block = np.frombuffer(pa.allocate_buffer(wanted + wanted // _SPARE_SHARE), np.uint8)
        return np.asarray(_Lent(block, self._free, count, kind))


class _Lent:
    """Whom an array in a block belongs to; the block is free when it goes."""

    __slots__ = ("__array_interface__", "_block", "_free")

    def __init__(
        self, block: NDArray[np.uint8], free: list[NDArray[np.uint8]], count: int, kind: np.dtype[Any]
    ) -> None:
        self._block, self._free = block, free
        self.__array_interface__ = {
            "version": 3,
            "data": (block.__array_interface__["data"][0], False),
            "shape": (count,),
            "typestr": kind.str,
        }

    def __del__(self) -> None:
        self._free.append(self._block)


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
    before, _CURRENT.memory = _CURRENT.memory, BulkMemory(total)
    try:
        yield _CURRENT.memory
    finally:
        _CURRENT.memory = before


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
        return self._buffer[: self.count]

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
        grown = (np.zeros if large else np.empty)(room, dtype=self._buffer.dtype)
        grown[: self.count] = self._buffer[: self.count]
        self._buffer, self._view, self._clean = grown, None, self.count if large else room


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
        return bulk.array(count, kind)
    return np.frombuffer(pa.allocate_buffer(count * kind.itemsize), kind)


def pooled_copy(array: NDArray[Any]) -> NDArray[Any]:
    """A copy, in Arrow's memory pool if it is large."""
    if array.nbytes < _LARGE:
        return array.copy()
    copied = pooled(len(array), array.dtype)
    copied[:] = array
    return copied
