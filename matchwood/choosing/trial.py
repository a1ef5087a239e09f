"""Engines held against each other on a sample of events, beside an index that goes on as it is.

A trial has a copy of the store, of one moment, and shares nothing with the index: so it needs no lock, and whatever is
inserted and removed meanwhile is made up for when an engine is taken over (`Trial.catch_up`). At most two engines of a
trial are in memory at a time, the best so far and the one that is being measured, each with a store of its own: engines
lay out what units say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from matchwood.encoding import EncodedEvents
from matchwood.engines import ConjunctionStore, Engine, Structure, Workspace, chosen_class
from matchwood.errors import LimitExceeded
from matchwood.matching import SampleShares, taken

PIECE, PIECES = 32, 8
"""Events that are timed at a time; the best time of each piece counts, since other work only ever adds time."""

LARGE_PIECE, LARGE_PIECES = 256, 4
"""The same where events usually come by the hundred: some engines are then several times faster than with a few."""

MOST_TURN = 0.02
"""Seconds that a piece may take: a writer waits for it. With half of that, engines that take 39 µs an event in large
batches were judged by small ones, in which they may take three times as long."""

ROUNDS = 3
MOST_SECONDS = 0.25
"""An engine is measured for so long; one that has not seen all events by then is judged by those it has seen."""

FORESEEN = 2**15
"""Events for which an engine is to make whatever pays off by then, before it is measured."""

HOPELESS = 4.0
"""An engine that takes so many times as long as the best so far over the first pieces is given up."""


class MeasuredTrial(NamedTuple):
    """The seconds of each piece of the sample, of so many events, as far as they were measured."""

    pieces: tuple[float, ...]
    events: int = PIECE

    def us(self) -> float:
        """Microseconds an event."""
        return 1e6 * sum(self.pieces) / (self.events * max(1, len(self.pieces)))

    def ratio(self, other: MeasuredTrial) -> float:
        """How many times as long as another this takes, over the pieces that both have seen."""
        common = min(len(self.pieces), len(other.pieces))
        return sum(self.pieces[:common]) / max(1e-12, sum(other.pieces[:common]))


class Stopwatch:
    """Times engines on the same events by the time that the processor gave to this thread.

    `batch`  how many events usually come together
    """

    def __init__(self, sample: EncodedEvents, batch: int = 1) -> None:
        large = min(batch, sample.count // 2) >= LARGE_PIECE
        self._events, most = (LARGE_PIECE, LARGE_PIECES) if large else (PIECE, PIECES)
        whole = min(most, sample.count // self._events)
        ends = [(self._events * at, self._events * (at + 1)) for at in range(whole)]
        self._pieces = [taken(sample, np.arange(*end)) for end in ends]
        self._workspace = Workspace()
        self._workspace.lends = True

    def get_ready(self, engine: Structure) -> None:
        """Let an engine see some events, and then again with what it makes for as many as are to come."""
        for piece in self._pieces[:1]:
            match_all(engine)(piece, self._workspace)
            engine.foresee(FORESEEN // self._events)
            match_all(engine)(piece, self._workspace)

    def time(
        self, match: Callable[[EncodedEvents, Workspace], None], best: MeasuredTrial | None = None
    ) -> MeasuredTrial:
        """The best time of each piece in a few rounds; less where that would take too long, or cannot win."""
        found: list[float] = []
        started = thread_time()
        if self._pieces:
            match(self._pieces[0], self._workspace)
        for _ in range(ROUNDS):
            for place, piece in enumerate(self._pieces):
                before = thread_time()
                match(piece, self._workspace)
                seconds = thread_time() - before
                found[place : place + 1] = [min([seconds, *found[place : place + 1]])]
                late = thread_time() - started > MOST_SECONDS
                measured = MeasuredTrial(tuple(found), self._events)
                if late or (best is not None and place == 1 and measured.ratio(best) > HOPELESS):
                    return measured
        return MeasuredTrial(tuple(found), self._events)


def match_all(engine: Structure) -> Callable[[EncodedEvents, Workspace], None]:
    """All hits of a piece."""

    def match(events: EncodedEvents, workspace: Workspace) -> None:
        position = 0
        while position < events.count:
            position += engine.match(events, position, workspace).count

    return match


class Trial:
    """Some engines to build from a copy of a store, and to hold against the one that is at work."""

    def __init__(
        self,
        store: ConjunctionStore,
        sample: EncodedEvents,
        names: Sequence[str],
        options: Mapping[str, Any],
        epoch: int,
        batch: int = 1,
    ) -> None:
        self.store, self.names, self.epoch = store, tuple(names), epoch
        self._options, self._history = options, SampleShares(sample)
        self._stopwatch = Stopwatch(sample, batch)
        self.measured: dict[str, MeasuredTrial] = {}
        self.seconds = 0.0

    def run(self, match_now: Callable[[EncodedEvents, Workspace], None]) -> Engine | None:
        """The best of the engines; None if none could be built. `match_now` matches by the one that is at work."""
        started = thread_time()
        self.now = self._stopwatch.time(match_now)
        best: Engine | None = None
        for name in self.names:
            engine = self.built(name)
            if engine is not None:
                self._stopwatch.get_ready(engine)
                measured = self.measured[name] = self._stopwatch.time(match_all(engine), self._leader(best))
                if best is None or measured.ratio(self.measured[best.name]) < 1:
                    best = engine
            del engine
        self.seconds = thread_time() - started
        return best

    def _leader(self, best: Engine | None) -> MeasuredTrial:
        if best is None or self.measured[best.name].ratio(self.now) > 1:
            return self.now
        return self.measured[best.name]

    def built(self, name: str) -> Engine | None:
        """An engine over a copy of its own; None if it does not take these rules."""
        engine: Engine = chosen_class(name)(self.store.copy(), self._options)
        engine.event_statistics = self._history
        try:
            engine.rebuild()
        except (LimitExceeded, MemoryError):
            return None
        return engine

    def catch_up(self, engine: Engine, store: ConjunctionStore) -> None:
        """Let an engine of the trial, and its store, have what came and went since in the store of the index.

        Unit numbers must mean what they meant; the caller is the only writer of that store. Whoever takes the engine
        lets it take over from the engine's (`ConjunctionStore.take_over`).
        """
        before, alive = self.store.alive, store.alive
        gone = np.flatnonzero(before & ~alive[: len(before)]).astype(np.int32)
        came = len(before) + np.flatnonzero(alive[len(before) :]).astype(np.int32)
        if len(gone):
            engine.remove(gone)
        engine.store.follow(store)
        engine.insert(came.astype(np.int32))
