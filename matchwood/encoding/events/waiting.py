"""Sampled events that have not been counted yet, as pairs of attribute and label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.encoding.spaces.labels import translated


class WaitingEvents:
    """They wait in two columns and not call by call: a service brings them one at a time, and new labels reach all.

    `count`  how many events wait
    """

    def __init__(self) -> None:
        self.count = 0
        self._attributes, self._labels = Growable(np.int32), Growable(np.int32)

    @property
    def pairs(self) -> int:
        """How many values these events have."""
        return len(self._labels)

    @property
    def attributes(self) -> NDArray[np.int32]:
        return self._attributes.view()

    @property
    def labels(self) -> NDArray[np.int32]:
        return self._labels.view()

    def add(self, attributes: NDArray[np.int32], labels: NDArray[np.int32], events: int) -> None:
        """Let so many events wait, which have these pairs in any order."""
        self._attributes.extend(attributes)
        self._labels.extend(labels)
        self.count += events

    def take_back(self, pairs: int, events: int) -> None:
        """Forget what was added last."""
        kept = self.pairs - pairs
        self._attributes.resize(kept)
        self._labels.resize(kept)
        self.count -= events

    def by_attribute(self) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.int64]]]:
        """Each attribute, its distinct labels in order, and how often each of them waits.

        Whole pairs are sorted: NumPy has vector instructions for that, and for finding out where each belongs it has
        not, while labels repeat so often that few are left to be looked for.
        """
        keys = (self.attributes.astype(np.int64) << 32) | self.labels
        keys.sort()
        starts = _beginnings(keys)
        numbers, labels = keys[starts] >> 32, (keys[starts] & 0xFFFF_FFFF).astype(np.int32)
        times, begins = np.diff(starts, append=len(keys)), _beginnings(numbers)
        ends = np.append(begins[1:], len(numbers))[: len(begins)]
        for number, start, end in zip(numbers[begins].tolist(), begins.tolist(), ends.tolist(), strict=True):
            yield number, labels[start:end], times[start:end]

    def relabel(self, attribute: int, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        """Follow the labels of an attribute."""
        if self.count:
            own, labels = self.attributes == attribute, self._labels.writable()
            labels[own] = translated(labels[own], old, new)

    def copy(self) -> WaitingEvents:
        """The same events, to go on by themselves."""
        other = WaitingEvents()
        other.add(self.attributes, self.labels, self.count)
        return other


def _beginnings(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each distinct number begins, of some in order."""
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return np.concatenate((np.zeros(min(1, len(ordered)), np.int64), changes))
