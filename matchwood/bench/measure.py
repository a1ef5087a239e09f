"""How engines are measured: build, warm-up and steady state apart, and every answer checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import Engine, Workspace
from matchwood.errors import MatchwoodError


class Measured(NamedTuple):
    """One engine's matching of one batch of events."""

    warmup_s: float
    seconds: float
    events: int
    hits: int
    candidates: int
    checksum: int


def measure_engine(engine: Engine, events: EncodedEvents, at_least_s: float = 0.5) -> Measured:
    """Match all events once to warm up, then again until enough time has passed; the best full round counts.

    The best round, because the machine's other work only ever adds time.
    """
    workspace = Workspace()
    started = time.perf_counter()
    hits, candidates, checksum = _round(engine, events, workspace)
    warmup = time.perf_counter() - started
    best, spent = float("inf"), 0.0
    while spent < at_least_s:
        seconds = _timed_round(engine, events, workspace)
        best, spent = min(best, seconds), spent + seconds
    return Measured(warmup, best, events.count, hits, candidates, checksum)


def _timed_round(engine: Engine, events: EncodedEvents, workspace: Workspace) -> float:
    started = time.perf_counter()
    position = 0
    while position < events.count:
        position += engine.match(events, position, workspace).count
    return time.perf_counter() - started


def _round(engine: Engine, events: EncodedEvents, workspace: Workspace) -> tuple[int, int, int]:
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


class WrongAnswer(MatchwoodError):
    """A benchmark whose engines do not agree, or that measures nothing."""


def check_agreement(results: dict[str, Measured]) -> None:
    """All engines gave the same hits, and there were some."""
    checksums = {measured.checksum for measured in results.values()}
    if len(checksums) > 1:
        raise WrongAnswer(f"the engines disagree: {({name: found.hits for name, found in results.items()})}")
    if any(measured.hits == 0 for measured in results.values()):
        raise WrongAnswer("no event matched any rule: this would measure nothing")


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that an action took, and what it returned."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result
