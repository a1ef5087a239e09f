"""What events were like: a bounded, fading sample of those that were matched, counted by space.

Engines ask it how selective a predicate is before they choose where to file a rule (VLDB 2018, 3.3). The counters
themselves stand beside the spaces (`spaces/event_counters.py`); an attribute that has none, because rules only ask for
its NULL or because it is derived, is counted here. Sampled events wait until there are enough of them to be worth
sorting by attribute.

`observe` may run in many threads and overlaps no change of the rules; all other calls are part of such a change.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from matchwood.core import BeginAgain, Growable, giving_up, grouped
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL, EncodedEvents
from matchwood.encoding.derived.attributes import TRUE_LABEL
from matchwood.encoding.events.waiting import WaitingEvents
from matchwood.encoding.spaces.event_counters import EventCounters

if TYPE_CHECKING:
    from matchwood.encoding.vocabulary import Vocabulary

MOST_A_CALL = 2_048
"""A call that brings more events leaves a regular sample of this size."""

WELL_KNOWN, THINNED, SKIPPED = 8_192, 64, 16
"""From that many events on the picture only has to stay fresh: one call in SKIPPED leaves at most THINNED events."""

WAITING, WAITING_PAIRS = WELL_KNOWN, 1 << 18
"""Sampled events are counted when there are that many, or that many labels of theirs (2 MiB), or somebody asks and they
are an eighth of those counted already. Each counting costs some 20 µs an attribute: with 400 of them, and a thousand
events at a time, that was a third of what a batch from a table took."""

SETTLED = 1_024
"""So many are counted before boundaries come that part the spaces they lie in."""

REMEMBERED = 65_536
"""When more events have been counted, the weight of all of them is halved."""

_BESIDE = np.array([BOTTOM_LABEL, TRUE_LABEL], np.int32)
"""The spaces of attributes that are counted here."""


class Counted(Protocol):
    """Spaces, or counters alone."""

    def observe(self, labels: NDArray[np.int32], times: NDArray[np.int64] | None = None) -> None: ...

    def observed_between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]: ...

    def fade(self, factor: float) -> None: ...


class CountersBeside:
    """The counters of an attribute that has no boundaries."""

    def __init__(self, weights: NDArray[np.float32] | None = None) -> None:
        saved = None if weights is None else {"labels": _BESIDE[1:], "observed": weights}
        self.counters = EventCounters(saved)

    def copy(self) -> CountersBeside:
        other = CountersBeside()
        other.counters = self.counters.copy()
        return other

    def observe(self, labels: NDArray[np.int32], times: NDArray[np.int64] | None = None) -> None:
        self.counters.observe(labels, _BESIDE, times)

    def observed_between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        return self.counters.between(low, high)

    def fade(self, factor: float) -> None:
        self.counters.fade(factor)

    def weights(self) -> NDArray[np.float64]:
        """Of FALSE, or of any value, and of TRUE."""
        return self.counters.between(_BESIDE, np.array([TRUE_LABEL, TOP_LABEL], np.int32))


class EventStatistics:
    """The events that a vocabulary's attributes were seen in."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._lock = threading.Lock()
        self._waiting = WaitingEvents()
        self._calls, self._counted = 0, 0.0
        self._since = Growable(np.float64)
        """By attribute: how many events had been counted when it was first asked for; nan for those never."""
        self._beside: dict[int, CountersBeside] = {}

    @property
    def events(self) -> int:
        """How many events the shares rest on, older ones counting less."""
        return round(self._counted) + self._waiting.count

    # -------------------------------------------------------------- observing

    @property
    def _well_known(self) -> bool:
        return self._counted + self._waiting.count >= WELL_KNOWN

    def passes_over(self) -> bool:
        """Whether the next call with one event leaves nothing; it then counts as made."""
        if not self._well_known or not (self._calls + 1) % SKIPPED:
            return False
        self._calls += 1
        return True

    def observe(self, events: EncodedEvents) -> None:
        """Remember some of these events; their codes must be those of the rules as they are."""
        count, wanted, self._calls = events.count, MOST_A_CALL, self._calls + 1
        if self._well_known:
            wanted = 0 if self._calls % SKIPPED else THINNED
        if not min(count, wanted):
            return
        attributes, labels = _sampled(events, wanted) if count > wanted else events[1:]
        with self._lock, giving_up():
            self._waiting.add(attributes, labels, min(count, wanted))
            try:
                if self._waiting.count >= WAITING or self._waiting.pairs >= WAITING_PAIRS:
                    self._count()
            except BeginAgain:
                self._waiting.take_back(len(labels), min(count, wanted))  # it comes again
                raise

    def before_new_boundaries(self) -> None:
        """Count many that wait: one that is counted lies anywhere in its space, one that waits at its beginning."""
        if self._waiting.count >= SETTLED:
            self.settle()

    def settle(self) -> None:
        """Count all events that wait; before attributes change their numbers or their kinds."""
        with self._lock:
            self._count()

    def _count(self) -> None:
        waiting = self._waiting
        if not waiting.count:
            return
        self._begin_attributes()
        for number, labels, times in waiting.by_attribute():
            self._counters(number).observe(labels, times)
        self._counted += waiting.count
        self._waiting = WaitingEvents()
        if self._counted > REMEMBERED:
            self._fade(0.5)

    def _begin_attributes(self) -> None:
        """An attribute's share is of the events that were asked for it, not of those before its first rule."""
        references = self._vocabulary.table.references.view()
        self._since.resize(len(references), math.nan)
        since = self._since.writable()
        since[references == 0] = math.nan
        since[np.isnan(since) & (references > 0)] = self._counted

    def _counters(self, number: int) -> Counted:
        spaces = self._vocabulary.spaces.get(number)
        return self._beside.setdefault(number, CountersBeside()) if spaces is None else spaces

    def _all_counters(self) -> Iterator[Counted]:
        return (spaces for _, spaces in self._vocabulary.spaces)

    def _fade(self, factor: float) -> None:
        self._counted *= factor
        self._since.writable()[:] *= factor
        for each in (*self._all_counters(), *self._beside.values()):
            each.fade(factor)

    # ----------------------------------------------------------------- asking

    def shares(
        self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """The share of observed events whose value of each attribute lies in the label interval [low, high).

        1.0 for an attribute that no observed event was asked for: nothing is known that speaks for it.
        """
        with self._lock:
            if self._waiting.count * 8 >= self._counted:
                self._count()
            return self._shares(attributes, low, high)

    def _shares(
        self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        found = np.ones(len(attributes), np.float64)
        for number, places in grouped(attributes):
            asked = self._asked(number)
            if asked > 0:
                weights = self._counters(number).observed_between(low[places], high[places])
                found[places] = np.minimum(weights / asked, 1.0)
        return found

    def _asked(self, number: int) -> float:
        """How many of the counted events were asked for an attribute."""
        since = self._since.view().item(number) if number < len(self._since) else math.nan
        return 0.0 if math.isnan(since) else self._counted - since

    # ---------------------------------------------------------------- changes

    def begin(self, number: int) -> None:
        """Forget what is known of an attribute whose spaces are new."""
        self.settle()
        self._beside.pop(number, None)
        if number < len(self._since):
            self._since.writable()[number] = math.nan

    def relabel(self, attribute: int, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        """Follow the labels of an attribute in the events that wait; its spaces follow theirs."""
        self._waiting.relabel(attribute, old, new)

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Follow attributes to new numbers, all events counted before; -1 for what is gone."""
        kept = np.flatnonzero(numbers[: len(self._since)] >= 0)
        since = np.full(int(numbers.max(initial=-1)) + 1, math.nan)
        since[numbers[kept]] = self._since.view()[kept]
        self._since = Growable(np.float64, since)
        beside = {int(numbers[number]): held for number, held in self._beside.items()}
        self._beside = {number: held for number, held in beside.items() if number >= 0}

    # ------------------------------------------------------------------ state

    def share_with(self, other: EventStatistics) -> None:
        """Let other statistics of these attributes go on from here; of the spaces they need counters of their own."""
        with self._lock:
            other._waiting, other._counted = self._waiting.copy(), self._counted
            other._since = Growable(np.float64, np.array(self._since.view()))
            other._beside = {number: held.copy() for number, held in self._beside.items()}
            other._count()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is not beside the spaces, of events that are counted."""
        numbers = sorted(self._beside)
        held = [self._beside[number].weights() for number in numbers]
        return {
            "events": np.array([self._counted], np.float64),
            "since": self._since.view(),
            "beside": np.array(numbers, np.int32),
            "observed": np.array(held, np.float32).reshape(-1),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Take over a saved state, nothing if there is none; ValueError if it is damaged."""
        if not saved:
            return
        events, numbers, weights = saved["events"], saved["beside"], saved["observed"].reshape(-1, 2)
        if len(events) != 1 or not 0 <= events[0] < math.inf or len(weights) != len(numbers):
            raise ValueError("the history of events is not complete")
        self._counted = float(events[0])
        self._since = Growable(np.float64, saved["since"])
        self._beside = {number: CountersBeside(own) for number, own in zip(numbers.tolist(), weights, strict=True)}


def _sampled(events: EncodedEvents, wanted: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The pairs of `wanted` events at even distances."""
    chosen = np.linspace(0, events.count - 1, wanted).astype(np.int64)
    starts, lengths = events.offsets[chosen], np.diff(events.offsets)[chosen]
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(starts, lengths) + within
    return events.attributes[places], events.labels[places]
