"""The statistics of events as they are saved: with all counted that still wait, and nothing changed for that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from matchwood.encoding.events.statistics import Counted, CountersBeside, EventStatistics
from matchwood.encoding.spaces.event_counters import CountedAside

if TYPE_CHECKING:
    from matchwood.encoding.vocabulary import Vocabulary


class CountedStatistics(EventStatistics):
    """A copy in which no event waits; `aside` has the counters of spaces that events were counted in."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.aside: dict[int, CountedAside] = {}
        vocabulary.event_statistics.share_with(self)

    def _counters(self, number: int) -> Counted:
        if number not in self.aside:
            spaces = self._vocabulary.spaces.get(number)
            if spaces is None:
                return self._beside.setdefault(number, CountersBeside())
            self.aside[number] = spaces.counted_aside()
        return self.aside[number]

    def _all_counters(self) -> Iterator[Counted]:
        return (self._counters(number) for number, _ in self._vocabulary.spaces)
