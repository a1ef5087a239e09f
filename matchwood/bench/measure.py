"""How engines are measured: build, warm-up and steady state apart, inside a time box, and every answer checked.

A compiled kernel cannot be interrupted. So an engine matches a few events first; if all of them, at that rate, would
not fit into the time box, it is measured with as many as do, and its row says so: a timeout is a result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import Structure, Workspace
from matchwood.errors import MatchwoodError

Result = TypeVar("Result")

MEASURED_SECONDS = 0.5
"""An engine matches all events again and again until it has taken this long."""

PROBED = 3
"""Events that tell whether the others fit into the time box."""

_box: ContextVar[float] = ContextVar("time box", default=math.inf)
_NOTHING: NDArray[np.uint64] = np.zeros(0, np.uint64)


class WrongAnswer(MatchwoodError):
    """A benchmark whose answers are wrong, or that measures nothing."""


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


class Measured(NamedTuple):
    """One engine's matching of one batch of events: the hits are units.

    `checksum` is that of all events, `running` that of the first one, the first two, and so on. `timeout` is the time
    box, if the events did not fit into it; `events` are then those that did.
    """

    warmup_s: float
    seconds: float
    events: int
    hits: int
    candidates: int
    checksum: int
    running: NDArray[np.uint64] = _NOTHING
    timeout: float | None = None

    @property
    def us_per_event(self) -> float:
        return 1e6 * self.seconds / self.events

    def marks(self) -> dict[str, Any]:
        """What a row says of a cell that did not fit into its time box; nothing otherwise."""
        return {} if self.timeout is None else {"timeout": self.timeout}


def measure_engine(
    engine: Structure, events: EncodedEvents, at_least_s: float = MEASURED_SECONDS, spent_s: float = 0.0
) -> Measured:
    """Match all events once to warm up, then again until enough time has passed; the best full round counts.

    The best round, because the machine's other work only ever adds time. `spent_s` is what building took of the time
    box.
    """
    workspace, box = Workspace(), box_seconds()
    fit = affordable(lambda count: _plain_round(engine, first_events(events, count), workspace), events.count, spent_s)
    timeout = box if fit < events.count else None
    events = first_events(events, fit)
    warmup, (hits, candidates, running) = timed(lambda: _counted_round(engine, events, workspace))
    best, spent = math.inf, 0.0
    while spent < at_least_s or best == math.inf:
        seconds, _ = timed(lambda: _plain_round(engine, events, workspace))
        best, spent = min(best, seconds), spent + seconds
        if spent_s + warmup + spent > box:
            break
    checksum = int(running[-1]) if len(running) else 0
    return Measured(warmup, best, events.count, hits, candidates, checksum, running, timeout)


def affordable(match: Callable[[int], object], count: int, spent_s: float = 0.0, rounds: int = 2) -> int:
    """How many of `count` events fit into what is left of the time box if each is matched `rounds` times.

    `match(n)` matches the first n events. All of them, or as many as the probed ones predict, and those at least.
    """
    left = box_seconds() - spent_s
    if left == math.inf or count <= PROBED:
        return count
    for _ in range(2):  # the first time may touch memory, or load machine code
        started = time.perf_counter()
        match(PROBED)
        seconds = time.perf_counter() - started
        left -= seconds
        if rounds * seconds * count / PROBED <= left:
            return count
    return min(count, max(PROBED, int(left * PROBED / (rounds * max(seconds, 1e-9)))))


def first_events(events: EncodedEvents, count: int) -> EncodedEvents:
    """The first so many of encoded events: views, read-only as kernels want them."""
    if count >= events.count:
        return events
    stop = int(events.offsets[count])
    return EncodedEvents(events.offsets[: count + 1], events.attributes[:stop], events.labels[:stop])


def _plain_round(engine: Structure, events: EncodedEvents, workspace: Workspace) -> None:
    position = 0
    while position < events.count:
        position += engine.match(events, position, workspace).count


def _counted_round(
    engine: Structure, events: EncodedEvents, workspace: Workspace
) -> tuple[int, int, NDArray[np.uint64]]:
    """The hits, the candidates, and for each event a sum over all (event, unit) pairs so far, whatever their order."""
    hits = candidates = position = 0
    sums = [_NOTHING]
    while position < events.count:
        found = engine.match(events, position, workspace)
        hits += len(found.units)
        candidates += found.work.candidates
        sums.append(_checksums(position, found.offsets, found.units))
        position += found.count
    return hits, candidates, np.cumsum(np.concatenate(sums), dtype=np.uint64)


def _checksums(first: int, offsets: NDArray[np.int64], units: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A sum for each event, from the number `first` on."""
    events = np.repeat(np.arange(first, first + len(offsets) - 1, dtype=np.uint64), np.diff(offsets))
    mixed = (events * np.uint64(0x9E3779B97F4A7C15)) ^ (units.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F))
    mixed ^= mixed >> np.uint64(29)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed * np.uint64(0xBF58476D1CE4E5B9), dtype=np.uint64)))
    return np.asarray(sums[offsets[1:]] - sums[offsets[:-1]])


def check_agreement(results: Mapping[str, Measured]) -> None:
    """All engines gave the same hits, and there were some; one with fewer events is held against the others' first."""
    longest = max(results.values(), key=lambda measured: measured.events)
    for measured in results.values():
        expected = longest.checksum if measured.events == longest.events else int(longest.running[measured.events - 1])
        if measured.checksum != expected:
            counts = ", ".join(f"{name} has {each.hits:,} hits" for name, each in results.items())
            raise WrongAnswer(f"the engines disagree: {counts}")
    for name, measured in results.items():
        if measured.events == longest.events:
            require_hits(measured.hits, name)


def require_hits(hits: int, who: str) -> int:
    """Refuse a run in which nothing matched: it would measure how fast nothing is found."""
    if not hits:
        raise WrongAnswer(f"{who}: no event matched any rule, so nothing was measured")
    return hits


def timed(action: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds that an action took, and what it returned."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result
