"""One event after the other: an engine made ready once, so that a call hands over an event and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Pinned
from matchwood.encoding import EncodedEvents

MOST_PAIRS = 4_096
"""Pairs that an event may have, or as many as there are attributes: one with more goes the way of batches."""


class EventBuffers:
    """Where one event stands for a kernel: its pairs as they come, packed (`encoding/events/single.py`), and apart."""

    def __init__(self, attributes: int) -> None:
        self.room = max(MOST_PAIRS, attributes)
        self.packed = np.empty(self.room, np.int64)
        self.events = EncodedEvents(np.zeros(2, np.int64), *np.empty((2, self.room), np.int32))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """For kernels."""
        return (self.packed, *self.events)


class OneEventSearch:
    """An engine made ready for single events, in the workspace of one thread; it holds until the engine changes.

    `kernel`  called with the table of pinned arrays and the number of pairs, returns the number of hits
    `units`   the hits of the last call, from the first place on
    `work`    what it did, as in `HitOutput`
    """

    __slots__ = ("_buffers", "_kernel", "_pinned", "units", "work")

    def __init__(
        self,
        kernel: Callable[[NDArray[np.int64], int], int],
        buffers: EventBuffers,
        arrays: tuple[NDArray[Any], ...],
        units: NDArray[np.int32],
        work: NDArray[np.int64],
    ) -> None:
        self._kernel, self._buffers = kernel, buffers
        self._pinned = Pinned((*buffers.arrays, *arrays))
        self.units, self.work = units, work

    def hits(self, pairs: list[int]) -> int | None:
        """How many units are true of the event with these packed pairs; None if it has too many pairs."""
        count, buffers = len(pairs), self._buffers
        if count > buffers.room:
            return None
        buffers.packed[:count] = pairs
        return self._kernel(self._pinned.table, count)

    def codes(self) -> EncodedEvents:
        """The event of the last call, in arrays of its own."""
        offsets, attributes, labels = self._buffers.events
        count = offsets[1]
        return EncodedEvents(offsets.copy(), attributes[:count].copy(), labels[:count].copy())
