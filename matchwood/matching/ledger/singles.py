"""Events that were matched one by one, and wait to be noted together."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from matchwood.core import BeginAgain, giving_up
from matchwood.encoding import EncodedEvents, PairBytes, events_of_pairs
from matchwood.engines import Structure, Work

TOGETHER = 256
"""So many wait at most. Whoever is the last of them notes all, which takes as long as some events, and half of it for a
sixteenth of them: of all events, one in 256 waits for it. With 128, and whatever else holds up an event now and then,
that was the 99th percentile."""

MATCHED = 3

SingleEvent: TypeAlias = tuple[Structure, PairBytes, list[int], float]
"""The engine of the only part, the event as packed pairs in order, what was done for it, as in `HitOutput`, and the
seconds of that. A plain tuple, which takes a tenth of the time of one with names, and each event makes one."""


class SingleEvents:
    """Those that wait; several threads may add theirs at once, and whoever is asked first notes them all."""

    def __init__(self, note_all: Callable[[Sequence[SingleEvent]], None]) -> None:
        self._note_all, self._lock = note_all, threading.Lock()
        self._waiting: deque[SingleEvent] = deque()

    def note(self, engine: Structure, pairs: PairBytes, work: list[int], seconds: float) -> None:
        """Let one more wait."""
        waiting, event = self._waiting, (engine, pairs, work, seconds)
        waiting.append(event)
        if len(waiting) >= TOGETHER:
            try:
                self.settle()
            except BeginAgain:
                waiting.remove(event)  # it comes again
                raise

    def settle(self) -> None:
        """Note all that wait; they go on waiting if what that needs is not there yet."""
        if self._waiting:
            with self._lock, giving_up():
                taken = [self._waiting.popleft() for _ in range(len(self._waiting))]
                try:
                    if taken:
                        self._note_all(taken)
                except BeginAgain:
                    self._waiting.extendleft(reversed(taken))
                    raise


def codes_of(singles: Sequence[SingleEvent]) -> EncodedEvents:
    """The events as one batch."""
    _, pairs, _, _ = zip(*singles, strict=True)
    offsets = np.array([0, *accumulate(map(len, pairs))], np.int64)
    offsets >>= 3
    return events_of_pairs(offsets, b"".join(pairs))


def work_of(singles: Sequence[SingleEvent]) -> Work:
    """What was done for all."""
    _, *work = map(sum, zip(*(work for _, _, work, _ in singles), strict=True))
    return Work(*work)
