"""The ledger of a matcher: all that is remembered of past events, and the one place where a batch of them is noted.

    statistics  what events were like, by space (`encoding/events/statistics.py`): engines lay rules out by it; saved
    sample      a few hundred of the last events as codes: trials run on them, and `stats()["health"]` counts hits
    work        what all calls did: `stats()["matching"]`
    watch       whether an engine looks at too much for what it finds, and should `reconsider`
    clock       what the first part's engine has cost, against what a trial of others would

They differ in how long they remember: the statistics fade, and follow attributes and labels; the sample is dropped when
codes mean something else; the work only grows. Saving reads the statistics, and changes none of the five.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from matchwood.encoding import EncodedEvents
from matchwood.engines import Structure, Work
from matchwood.matching.ledger.clock import MatchingClock
from matchwood.matching.ledger.counters import Watch, WorkCounters
from matchwood.matching.ledger.sample import EventSample

if TYPE_CHECKING:
    from matchwood.encoding import EventStatistics


EngineCall: TypeAlias = tuple[Structure, int, Work, int, float]
"""What the engine of a part did: for how many events, how many rules it scored, and the seconds that it took."""


class Ledger:
    """Past events; several threads may note theirs at once."""

    def __init__(self, statistics: EventStatistics) -> None:
        self.statistics, self.sample = statistics, EventSample()
        self.work, self.watch, self.clock = WorkCounters(), Watch(), MatchingClock()
        self._warm = False
        """Whether the engine at work has matched before: the first call may have to load or compile its kernels."""

    def note(self, events: EncodedEvents, first: int, calls: Sequence[EngineCall]) -> None:
        """Note what the engines of all parts, the first part's first, did for the events from `first` on.

        A chunk that is matched in several pieces is remembered with the first of them.
        """
        if not first:
            self.statistics.observe(events)
            self.sample.observe(events)
        for number, (engine, count, work, scored, seconds) in enumerate(calls):
            self.work.fold(0 if number else count, work, scored)
            if engine.uses_event_statistics:
                self.watch.fold(count, work)
            if not number:
                if self._warm:
                    self.clock.fold(count, work.matched, seconds)
                self._warm = True

    def note_one(self, engine: Structure, codes: Callable[[], EncodedEvents], work: Work, seconds: float) -> None:
        """The same of one event that the only part's engine was asked for; its codes are made where they are wanted."""
        counted, sampled = not self.statistics.passes_over(), not self.sample.passes_over()
        if counted or sampled:
            events = codes()
            if counted:
                self.statistics.observe(events)
            if sampled:
                self.sample.observe(events)
        self.work.fold(1, work)
        if engine.uses_event_statistics:
            self.watch.fold(1, work)
        if self._warm:
            self.clock.fold(1, work.matched, seconds)
        self._warm = True

    def begin_engine(self) -> None:
        """Another engine is at work from now on."""
        self._warm = False

    def forget_codes(self) -> None:
        """Codes mean something else now. The statistics follow them by themselves."""
        self.sample.clear()
