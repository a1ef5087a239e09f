"""The ledger of a matcher: all that is remembered of past events, and the one place where a batch of them is noted.

    statistics  what events were like, by space (`encoding/events/statistics.py`): engines lay rules out by it; saved
    sample      a few hundred of the last events as codes: trials run on them, and `stats()["health"]` counts hits
    work        what all calls did: `stats()["matching"]`
    watch       whether an engine looks at too much for what it finds, and should `reconsider`
    clock       what the first part's engine has cost, against what a trial of others would

They differ in how long they remember: the statistics fade, and follow attributes and labels; the sample is dropped when
codes mean something else; the work only grows. Saving reads the statistics, and changes none of the five.

Events that were matched one by one wait (`singles.py`), since noting each would take as long as finding its codes. All
who read the ledger see them noted, and they are before any code comes to mean something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from matchwood.encoding import EncodedEvents
from matchwood.engines import Structure, Work
from matchwood.matching.ledger.clock import MatchingClock
from matchwood.matching.ledger.counters import Watch, WorkCounters
from matchwood.matching.ledger.sample import EventSample
from matchwood.matching.ledger.singles import MATCHED, SingleEvent, SingleEvents, codes_of, work_of

if TYPE_CHECKING:
    from matchwood.encoding import EventStatistics


EngineCall: TypeAlias = tuple[Structure, int, Work, int, float]
"""What the engine of a part did: for how many events, how many rules it scored, and the seconds that it took."""


class Ledger:
    """Past events; several threads may note theirs at once."""

    def __init__(self, statistics: EventStatistics) -> None:
        self._statistics, self._sample = statistics, EventSample()
        self._work, self._watch, self._clock = WorkCounters(), Watch(), MatchingClock()
        self._warm = False
        """Whether the engine at work has matched before: the first call may have to load or compile its kernels."""
        self._singles = SingleEvents(self._note_together)
        self.note_one = self._singles.note

    @property
    def statistics(self) -> EventStatistics:
        self.settle()
        return self._statistics

    @property
    def sample(self) -> EventSample:
        self.settle()
        return self._sample

    @property
    def work(self) -> WorkCounters:
        self.settle()
        return self._work

    @property
    def watch(self) -> Watch:
        self.settle()
        return self._watch

    @property
    def clock(self) -> MatchingClock:
        self.settle()
        return self._clock

    @property
    def wasteful(self) -> bool:
        """Whether the watch was due when events were last noted."""
        return self._watch.due

    @property
    def costly(self) -> bool:
        """Whether the clock was due when events were last noted."""
        return self._clock.due

    def note(self, events: EncodedEvents, first: int, calls: Sequence[EngineCall]) -> None:
        """Note what the engines of all parts, the first part's first, did for the events from `first` on.

        A chunk that is matched in several pieces is remembered with the first of them.
        """
        self.settle()
        if not first:
            self._statistics.observe(events)
            self._sample.observe(events)
        for number, (engine, count, work, scored, seconds) in enumerate(calls):
            self._work.fold(0 if number else count, work, scored)
            if engine.uses_event_statistics:
                self._watch.fold(count, work)
            if not number:
                if self._warm:
                    self._clock.fold(count, work.matched, seconds)
                self._warm = True

    def settle(self) -> None:
        """Note all single events that wait; before any code comes to mean something else."""
        self._singles.settle()

    def _note_together(self, singles: Sequence[SingleEvent]) -> None:
        """Note events that were matched one by one, by the only part's engine. The first may have been a slow one."""
        counted, sampled = not self._statistics.passes_over(), not self._sample.passes_over()
        if counted or sampled:
            events = codes_of(singles)
            if counted:
                self._statistics.observe(events)
            if sampled:
                self._sample.observe(events)
        work, (engine, *_) = work_of(singles), singles[-1]
        self._work.fold(len(singles), work)
        if engine.uses_event_statistics:
            self._watch.fold(len(singles), work)
        timed = singles if self._warm else singles[1:]
        matched, seconds = sum(work[MATCHED] for _, _, work, _ in timed), sum(seconds for *_, seconds in timed)
        self._clock.fold(len(timed), matched, seconds, calls=len(timed))
        self._warm = True

    def begin_engine(self) -> None:
        """Another engine is at work from now on."""
        self.settle()
        self._warm = False

    def forget_codes(self) -> None:
        """Codes mean something else now. The statistics follow them by themselves."""
        self.settle()
        self._sample.clear()
