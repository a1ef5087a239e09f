"""A few hundred of the events that were matched last, as codes: what engines are tried on, and a small history."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding import EncodedEvents

MOST_EVENTS = 1_024
MOST_A_CALL = 256
SKIPPED = 64
"""Once there are enough events, one call in so many leaves some."""


class EventSample:
    """The last few hundred events, a few of each call, so that they come from several batches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget all events: their codes mean something else now."""
        with self._lock:
            self._parts: list[EncodedEvents] = []
            self.events = self._calls = 0

    def passes_over(self) -> bool:
        """Whether the next call leaves nothing; it then counts as made."""
        if self.events < MOST_EVENTS or not (self._calls + 1) % SKIPPED:
            return False
        self._calls += 1
        return True

    def observe(self, events: EncodedEvents) -> None:
        """Keep some of these events."""
        self._calls += 1
        if self.events >= MOST_EVENTS and self._calls % SKIPPED:
            return
        count = len(events.offsets) - 1
        if not count:
            return
        part = _read_only(EncodedEvents(*map(np.array, events))) if count == 1 else _spread(events, count)
        with self._lock:
            self._parts.append(part)
            self.events += part.count
            while self.events - self._parts[0].count >= MOST_EVENTS:
                self.events -= self._parts.pop(0).count

    def frozen(self) -> EncodedEvents:
        """All events of the sample."""
        with self._lock:
            return joined(self._parts)


class SampleShares:
    """What a sample tells of events, in the words of `engines.base.History`; it never changes."""

    def __init__(self, sample: EncodedEvents) -> None:
        order = np.lexsort((sample.labels, sample.attributes))
        self._keys = _keys(sample.attributes[order], sample.labels[order])
        self.events = sample.count

    def shares(
        self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """For each label interval of an attribute, the share of the events whose value lies in it."""
        above = places_in(self._keys, _keys(attributes, high))
        return (above - places_in(self._keys, _keys(attributes, low))) / max(1, self.events)


def _spread(events: EncodedEvents, count: int) -> EncodedEvents:
    """Some of many events, at even distances."""
    return taken(events, np.linspace(0, count - 1, min(count, MOST_A_CALL)).astype(np.int64))


def _keys(attributes: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.int64]:
    return (attributes.astype(np.int64) << 32) + labels


def taken(events: EncodedEvents, chosen: NDArray[np.int64]) -> EncodedEvents:
    """Some events, copied."""
    starts, lengths = events.offsets[chosen], np.diff(events.offsets)[chosen]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    places = np.repeat(starts - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
    return _read_only(EncodedEvents(offsets.astype(np.int64), events.attributes[places], events.labels[places]))


def joined(parts: list[EncodedEvents]) -> EncodedEvents:
    """Several batches of events as one."""
    counts = [np.diff(part.offsets) for part in parts]
    offsets = np.concatenate(([0], np.cumsum(np.concatenate([np.empty(0, np.int64), *counts]))))
    attributes = np.concatenate([np.empty(0, np.int32), *(part.attributes for part in parts)])
    labels = np.concatenate([np.empty(0, np.int32), *(part.labels for part in parts)])
    return _read_only(EncodedEvents(offsets.astype(np.int64), attributes, labels))


def _read_only(events: EncodedEvents) -> EncodedEvents:
    for array in events:
        array.flags.writeable = False
    return events
