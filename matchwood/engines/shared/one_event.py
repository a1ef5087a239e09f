"""One event after the other: an engine made ready once, so that a call hands over an event and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Pinned
from matchwood.encoding import EncodedEvents, PairBytes
from matchwood.engines._one_event_kernels import place_event
from matchwood.engines.shared.views import read_only_events

MOST_PAIRS = 4_096
"""Pairs that an event may have, or as many as there are attributes: one with more goes the way of batches."""

_MATCHED = 3


class EventBuffers:
    """Where one event stands for a kernel: its pairs as they come, packed (`encoding/events/one_event/`), and apart.

    `memory`  that of the packed pairs
    """

    def __init__(self, attributes: int) -> None:
        self.room = max(MOST_PAIRS, attributes)
        self.memory = bytearray(8 * self.room)
        self.packed = np.frombuffer(self.memory, np.int64)
        self.events = EncodedEvents(np.zeros(2, np.int64), *np.empty((2, self.room), np.int32))

    @property
    def source(self) -> EncodedEvents:
        """The event as the only one of a batch, for kernels of batches."""
        return read_only_events(self.events)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """For kernels that find it by where it lies."""
        return (self.packed, *self.events)


class OneEventSearch:
    """An engine made ready for single events, in the workspace of one thread; it holds until the engine changes.

    `match`  called with the number of pairs in the buffers, returns the number of hits
    `units`  the hits of the last call, from the first place on
    `work`   what it did, as in `HitOutput`
    """

    __slots__ = ("_buffers", "_match", "units", "work")

    def __init__(
        self, match: Callable[[int], int], buffers: EventBuffers, units: NDArray[np.int32], work: NDArray[np.int64]
    ) -> None:
        self._match, self._buffers = match, buffers
        self.units, self.work = units, work

    def hits(self, pairs: PairBytes) -> int | None:
        """How many units are true of the event with these packed pairs; None if it has too many pairs."""
        size, buffers = len(pairs), self._buffers
        if size > len(buffers.memory):
            return None
        buffers.memory[:size] = pairs
        return self._match(size >> 3)


class PinnedCall:
    """A kernel that finds all its arrays by where they lie, those of the event first; `others` are passed as such."""

    __slots__ = ("_kernel", "_others", "_pinned")

    def __init__(
        self,
        kernel: Callable[..., int],
        buffers: EventBuffers,
        arrays: tuple[NDArray[Any], ...],
        others: tuple[Any, ...],
    ) -> None:
        self._kernel, self._others, self._pinned = kernel, others, Pinned((*buffers.arrays, *arrays))

    def __call__(self, count: int) -> int:
        return self._kernel(self._pinned.table, count, *self._others)


class BatchOfOne:
    """An engine's kernel for batches, with arguments that stay: the event in the buffers is the only one of its batch.

    Numba takes some 0.3 µs for each array of a call, which is a small part of what it takes to gather them all anew.
    """

    __slots__ = ("_arguments", "_kernel", "_pinned", "_work")

    def __init__(
        self, kernel: Callable[..., None], buffers: EventBuffers, work: NDArray[np.int64], arguments: tuple[Any, ...]
    ) -> None:
        self._kernel, self._arguments, self._work = kernel, arguments, work
        self._pinned = Pinned((*buffers.arrays, work))

    def __call__(self, count: int) -> int:
        place_event(self._pinned.table, count)
        self._kernel(*self._arguments)
        return int(self._work[_MATCHED])

    def search(self, buffers: EventBuffers, units: NDArray[np.int32]) -> OneEventSearch:
        """The engine made ready, where there is no more to do than this call."""
        return OneEventSearch(self, buffers, units, self._work)
