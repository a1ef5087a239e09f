"""Events that were matched one by one, and wait to be noted together."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from matchwood.core import BeginAgain, giving_up
from matchwood.encoding import EncodedEvents, PairBytes, events_of_pairs
from matchwood.engines import Structure, Work

TOGETHER = 128
"""So many wait at most. Whoever is the last of them notes all, which takes 100 µs, and 60 µs for 16 of them: less than
one event in a hundred waits for it."""

MATCHED = 3


class SingleEvent(NamedTuple):
    """An event, as packed pairs in order, and what the only part's engine did for it, as in `HitOutput`."""

    engine: Structure
    pairs: PairBytes
    work: list[int]
    seconds: float


class SingleEvents:
    """Those that wait; several threads may add theirs at once, and whoever is asked first notes them all."""

    def __init__(self, note_all: Callable[[Sequence[SingleEvent]], None]) -> None:
        self._note_all, self._lock = note_all, threading.Lock()
        self._waiting: deque[SingleEvent] = deque()

    def note(self, engine: Structure, pairs: PairBytes, work: list[int], seconds: float) -> None:
        """Let one more wait."""
        waiting, event = self._waiting, SingleEvent(engine, pairs, work, seconds)
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
    offsets = np.array([0, *accumulate(len(each.pairs) >> 3 for each in singles)], np.int64)
    return events_of_pairs(offsets, b"".join(each.pairs for each in singles))


def work_of(singles: Sequence[SingleEvent]) -> Work:
    """What was done for all."""
    _, *work = map(sum, zip(*(each.work for each in singles), strict=True))
    return Work(*work)
