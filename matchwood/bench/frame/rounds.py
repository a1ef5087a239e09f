"""Rounds of a measurement, each on events of its own, inside a time box.

No event is given twice to what is measured: whatever is kept of it - masks, verdicts, feedback, lines in a cache -
would make the second time cheaper than the first, which is the one that users have. So the median round counts; the
best one would be that of the cheapest events.

A compiled kernel cannot be interrupted. So a few events are matched first; if all of them, at that rate, would not fit
into the time box, as many are matched as do, and the row says so: a timeout is a result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import numpy as np

Result = TypeVar("Result")

BATCHES = 6
"""The events of a measurement are cut into so many batches: the first warms up, the others are rounds."""

LEAST_ROUNDS = 3
MEASURED_SECONDS = 0.5
"""After LEAST_ROUNDS, no further round begins once they have taken this long."""

PROBED = 3
"""Events that tell whether the others fit into the time box."""

_box: ContextVar[float] = ContextVar("time box", default=math.inf)


@contextmanager
def time_box(seconds: float) -> Iterator[None]:
    """Every cell that is measured inside has so many seconds, building included."""
    token = _box.set(seconds)
    try:
        yield
    finally:
        _box.reset(token)


def box_seconds() -> float:
    """The time box of a cell; infinite where nobody has set one."""
    return _box.get()


def drawn(batch: int) -> int:
    """How many distinct events a generator must make, so that the warm-up and every round have a batch of their own."""
    return BATCHES * batch


def warm_events(count: int) -> int:
    """How many of the first of so many events warm up; one that is alone is measured.

    >>> warm_events(600), warm_events(4), warm_events(1)
    (100, 1, 0)
    """
    return min(max(1, count // BATCHES), count - 1)


class Rounds(NamedTuple):
    """What measuring gave: `events` were matched, each once, and took `us` each in the median round.

    `timeout` is the time box, if not all events fitted into it.
    """

    events: int
    warmup_s: float
    us: float
    timeout: float | None = None

    def marks(self) -> dict[str, Any]:
        """What a row says of a cell that did not fit into its time box; nothing otherwise."""
        return {} if self.timeout is None else {"timeout": self.timeout}


class _Course:
    """Events on their way to what is measured, in order, and how many each stretch had and the seconds it took."""

    def __init__(self, match: Callable[[int, int], float]) -> None:
        self.match, self.done = match, 0
        self.taken: list[tuple[int, float]] = []

    def go_on(self, stop: int) -> float:
        seconds = self.match(self.done, stop)
        self.taken.append((stop - self.done, seconds))
        self.done = stop
        return seconds

    def spent(self, since: int = 0) -> float:
        return sum(seconds for _, seconds in self.taken[since:])


def measure_rounds(
    match: Callable[[int, int], float], count: int, enough_s: float = MEASURED_SECONDS, spent_s: float = 0.0
) -> Rounds:
    """Give out `count` events in batches; `match(first, stop)` matches those and returns the seconds it took.

    `spent_s` is what building took of the time box.
    """
    course, left = _Course(match), box_seconds() - spent_s
    fit = _fitting(course, count, left)
    warm = len(course.taken) + 1
    for edge in np.linspace(0, fit, min(BATCHES, fit) + 1).astype(int).tolist():
        if edge > course.done and course.spent() <= left:
            course.go_on(edge)
        if len(course.taken) - warm >= LEAST_ROUNDS and course.spent(warm) >= enough_s:
            break
    late = fit < count or (course.done < count and course.spent() > left)
    warm = min(warm, len(course.taken) - 1)
    rates = [seconds / events for events, seconds in course.taken[warm:]]
    warmup_s = course.spent() - course.spent(warm)
    return Rounds(course.done, warmup_s, 1e6 * float(np.median(rates)), box_seconds() if late else None)


def _fitting(course: _Course, count: int, left: float) -> int:
    """How many events fit into what is left of the time box, as the first ones tell, which are then matched."""
    if left == math.inf or count <= PROBED:
        return count
    for _ in range(2):  # the first time may touch memory, or load machine code
        seconds = course.go_on(min(course.done + PROBED, count))
        if course.spent() + seconds * (count - course.done) / PROBED <= left:
            return count
    return min(count, max(course.done, int((left - course.spent()) * PROBED / max(seconds, 1e-9))))


def timed(action: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds that an action took, and what it returned."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result
