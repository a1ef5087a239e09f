"""How engines are measured: build, warm-up and steady state apart, every event once, and every answer checked.

What a row says of time and of bytes is defined here, once for all engines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.frame.rounds import (
    MEASURED_SECONDS,
    Rounds,
    box_seconds,
    drawn,
    measure_rounds,
    time_box,
    timed,
    warm_events,
)
from matchwood.encoding import EncodedEvents
from matchwood.engines import Structure, Workspace
from matchwood.errors import MatchwoodError

__all__ = [
    "MeasuredMatching",
    "Rounds",
    "WrongAnswer",
    "box_seconds",
    "check_agreement",
    "drawn",
    "first_events",
    "measure_engine",
    "measure_rounds",
    "ratio",
    "require_hits",
    "time_box",
    "timed",
    "timed_codes",
    "times",
]

_NOTHING: NDArray[np.uint64] = np.zeros(0, np.uint64)


class WrongAnswer(MatchwoodError):
    """A benchmark whose answers are wrong, or that measures nothing."""


class MeasuredMatching(NamedTuple):
    """One engine's matching of events whose spaces are known: the hits are units.

    `checksum` is that of all events, `running` that of the first one, the first two, and so on.
    """

    rounds: Rounds
    hits: int
    candidates: int
    checksum: int
    running: NDArray[np.uint64] = _NOTHING

    @property
    def events(self) -> int:
        return self.rounds.events

    @property
    def match_us(self) -> float:
        return self.rounds.us

    def times(self, encode_us: float) -> dict[str, float]:
        return times(encode_us, self.match_us)

    def marks(self) -> dict[str, Any]:
        return self.rounds.marks()


def times(encode_us: float, match_us: float) -> dict[str, float]:
    """What a row says of time: finding an event's spaces, matching it then, and both together.

    >>> times(0.5, 2.0)
    {'encode_us': 0.5, 'match_us': 2.0, 'us_per_event': 2.5}
    """
    return {
        "encode_us": round(encode_us, 3),
        "match_us": round(match_us, 3),
        "us_per_event": round(encode_us + match_us, 3),
    }


def ratio(slow: Mapping[str, Any], fast: Mapping[str, Any]) -> float:
    """How many times as long an event takes in one row as in another, finding its spaces included.

    >>> ratio(times(0.5, 2.0), times(0.5, 0.5))
    2.5
    """
    return round(float(slow["us_per_event"]) / max(float(fast["us_per_event"]), 1e-3), 2)


def measure_engine(
    engine: Structure, events: EncodedEvents, enough_s: float = MEASURED_SECONDS, spent_s: float = 0.0
) -> MeasuredMatching:
    """Match each event once, in rounds; what is found in all of them is summed up for the check."""
    walk = _Walk(engine, events)
    rounds = measure_rounds(walk.match, events.count, enough_s, spent_s)
    running = np.cumsum(np.concatenate(walk.sums), dtype=np.uint64)
    return MeasuredMatching(rounds, walk.hits, walk.candidates, int(running[-1]) if len(running) else 0, running)


class _Walk:
    """An engine on its way through events: what it found so far, and for each event a sum over its units."""

    def __init__(self, engine: Structure, events: EncodedEvents) -> None:
        self.engine, self.events, self.workspace = engine, events, Workspace()
        self.workspace.lends = True  # as a matcher has it: hits are read before the next call
        self.hits = self.candidates = 0
        self.sums = [_NOTHING]

    def match(self, first: int, stop: int) -> float:
        """The seconds of matching alone: hits are summed up while no clock runs."""
        some, position, spent = first_events(self.events, stop), first, 0.0
        while position < stop:
            seconds, found = timed(partial(self.engine.match, some, position, self.workspace))
            spent += seconds
            self.hits += len(found.units)
            self.candidates += found.work.candidates
            self.sums.append(_checksums(position, found.offsets, found.units))
            position += found.count
        return spent


def timed_codes(
    encode: Callable[[int, int], Sequence[EncodedEvents]], count: int
) -> tuple[float, Sequence[EncodedEvents]]:
    """Microseconds to find the spaces of an event, and the codes of all: each is encoded once, and the first warm up.

    `encode(first, stop)` returns the codes of those events, in one piece or several.
    """
    warm = warm_events(count)
    first = encode(0, warm) if warm else []
    seconds, others = timed(lambda: encode(warm, count))
    return 1e6 * seconds / (count - warm), [*first, *others]


def first_events(events: EncodedEvents, count: int) -> EncodedEvents:
    """The first so many of encoded events: views, read-only as kernels want them."""
    if count >= events.count:
        return events
    stop = int(events.offsets[count])
    return EncodedEvents(events.offsets[: count + 1], events.attributes[:stop], events.labels[:stop])


def _checksums(first: int, offsets: NDArray[np.int64], units: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A sum for each event, from the number `first` on."""
    events = np.repeat(np.arange(first, first + len(offsets) - 1, dtype=np.uint64), np.diff(offsets))
    mixed = (events * np.uint64(0x9E3779B97F4A7C15)) ^ (units.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F))
    mixed ^= mixed >> np.uint64(29)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed * np.uint64(0xBF58476D1CE4E5B9), dtype=np.uint64)))
    return np.asarray(sums[offsets[1:]] - sums[offsets[:-1]])


def check_agreement(results: Mapping[str, MeasuredMatching]) -> None:
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
