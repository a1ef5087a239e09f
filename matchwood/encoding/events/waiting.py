"""Sampled events that have not been counted yet, as pairs of attribute and label."""

from __future__ import annotations

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
