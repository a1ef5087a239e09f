"""How engines are measured: build, warm-up and steady state apart, and every answer checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import Structure, Workspace
from matchwood.errors import MatchwoodError

Result = TypeVar("Result")

MEASURED_SECONDS = 0.5
"""An engine matches all events again and again until it has taken this long."""


class WrongAnswer(MatchwoodError):
    """A benchmark whose answers are wrong, or that measures nothing."""


class Measured(NamedTuple):
    """One engine's matching of one batch of events: the hits are units."""

    warmup_s: float
    seconds: float
    events: int
    hits: int
    candidates: int
    checksum: int


def measure_engine(engine: Structure, events: EncodedEvents, at_least_s: float = MEASURED_SECONDS) -> Measured:
    """Match all events once to warm up, then again until enough time has passed; the best full round counts.

    The best round, because the machine's other work only ever adds time.
    """
    workspace = Workspace()
    warmup, (hits, candidates, checksum) = timed(lambda: _counted_round(engine, events, workspace))
    best, spent = float("inf"), 0.0
    while spent < at_least_s:
        seconds, _ = timed(lambda: _plain_round(engine, events, workspace))
        best, spent = min(best, seconds), spent + seconds
    return Measured(warmup, best, events.count, hits, candidates, checksum)


def _plain_round(engine: Structure, events: EncodedEvents, workspace: Workspace) -> None:
    position = 0
    while position < events.count:
        position += engine.match(events, position, workspace).count


def _counted_round(engine: Structure, events: EncodedEvents, workspace: Workspace) -> tuple[int, int, int]:
    """The hits, the candidates, and a sum over (event, unit) pairs that does not depend on their order."""
    hits = candidates = checksum = position = 0
    while position < events.count:
        found = engine.match(events, position, workspace)
        hits += len(found.units)
        candidates += found.work.candidates
        checksum = (checksum + _checksum(position, found.offsets, found.units)) % 2**64
        position += found.count
    return hits, candidates, checksum


def _checksum(first: int, offsets: NDArray[np.int64], units: NDArray[np.int32]) -> int:
    events = np.repeat(np.arange(first, first + len(offsets) - 1, dtype=np.uint64), np.diff(offsets))
    mixed = (events * np.uint64(0x9E3779B97F4A7C15)) ^ (units.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F))
    mixed ^= mixed >> np.uint64(29)
    return int((mixed * np.uint64(0xBF58476D1CE4E5B9)).sum(dtype=np.uint64))


def check_agreement(results: Mapping[str, Measured]) -> None:
    """All engines gave the same hits, and there were some."""
    if len({measured.checksum for measured in results.values()}) > 1:
        counts = ", ".join(f"{name} has {measured.hits:,} hits" for name, measured in results.items())
        raise WrongAnswer(f"the engines disagree: {counts}")
    for name, measured in results.items():
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
