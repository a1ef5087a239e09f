"""How many observed events fell into each space of one attribute (the event counters of a PS-Tree's leaves).

Counters stand beside the labels of the spaces as they were when somebody last counted. Between two labels an event may
lie anywhere, so a count is spread evenly over the labels of its space: a boundary that comes later shares it,
one that goes adds its two halves up, and neither has to touch a counter. That keeps insertion as cheap as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.errors import CorruptSnapshot

Weights = NDArray[np.float32]


class EventCounters:
    """One weight a space; the first space has BOTTOM_LABEL.

    >>> counters = EventCounters()
    >>> spaces = np.array([BOTTOM_LABEL, 2**29, 2**30], np.int32)
    >>> counters.observe(np.array([0, 0, 2**30], np.int32), spaces)
    >>> counters.between(spaces, np.array([2**29, TOP_LABEL, TOP_LABEL], np.int32)).tolist()
    [2.0, 1.0, 1.0]
    >>> counters.between(spaces[:1], spaces[1:2] // 2).tolist()
    [1.0]
    """

    def __init__(self, saved: Mapping[str, NDArray[Any]] | None = None) -> None:
        self._saved = saved
        self._counts = _NONE

    def _current(self) -> _SpaceCounts:
        """What was saved is taken in when it is first needed."""
        saved = self._saved
        if saved is not None:
            weights = saved["observed"]
            if len(weights):
                _refuse_damaged(weights)
                self._counts = _counts(_with_bottom(saved["labels"]), weights)
            self._saved = None
        return self._counts

    def copy(self) -> EventCounters:
        """Counters that go on by themselves."""
        other = EventCounters()
        other._counts = self._current()
        return other

    def observe(
        self, observed: NDArray[np.int32], labels: NDArray[np.int32], times: NDArray[np.int64] | None = None
    ) -> None:
        """Count labels, given those of all spaces as they are now; a label without a space counts for the one below.

        `times`  how often each of them was observed, if not once
        """
        above = np.bincount(places_in(labels, observed, "right"), times, minlength=len(labels) + 1)
        above[1] += above[0]
        edges, weights, _ = self._current()
        known = len(weights) == len(labels) and bool((edges[:-1] == labels).all())
        counted = (weights if known else self._beside(labels)) + above[1:].astype(np.float32)
        self._counts = _counts(labels, counted) if not known else _SpaceCounts(edges, counted, _below(counted))

    def between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        """The weight of each interval [low, high)."""
        edges, _, below = self._current()
        return np.interp(high, edges, below) - np.interp(low, edges, below)

    def array(self, labels: NDArray[np.int32]) -> Weights:
        """The weights of spaces that have these labels, BOTTOM_LABEL first; nothing if no event was counted."""
        weights = self._beside(labels)
        return weights if weights.any() else weights[:0]

    def _beside(self, labels: NDArray[np.int32]) -> Weights:
        edges, weights, below = self._current()
        if np.array_equal(edges[:-1], labels):
            return weights
        return np.diff(np.interp(_edges(labels), edges, below)).astype(np.float32)

    def relabel(self, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        """Follow labels to their new numbers."""
        if self._current().below[-1] > 0:
            self._counts = _counts(_with_bottom(new), self._beside(_with_bottom(old)))

    def fade(self, factor: float) -> None:
        """Multiply all weights."""
        edges, weights, _ = self._current()
        self._counts = _counts(edges[:-1], weights * np.float32(factor))

    @property
    def nbytes(self) -> int:
        """None while nothing was counted."""
        spaces = len(self._counts.weights)
        return 16 * spaces if spaces > 1 else 0


class CountedAside:
    """The event counters of spaces as they are, to be counted on without touching them; `arrays` may save these."""

    def __init__(self, counters: EventCounters, labels: NDArray[np.int32]) -> None:
        self._counters, self._labels = counters, labels

    def observe(self, labels: NDArray[np.int32], times: NDArray[np.int64] | None = None) -> None:
        self._counters.observe(labels, self._labels, times)

    def observed_between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        return self._counters.between(low, high)

    def fade(self, factor: float) -> None:
        self._counters.fade(factor)

    def array(self) -> NDArray[np.float32]:
        return self._counters.array(self._labels)


class _SpaceCounts(NamedTuple):
    """Replaced as a whole, since an index may be saved while others match: edges of the spaces, the weight of each, and
    that of all spaces below each edge."""

    edges: NDArray[np.int32]
    weights: Weights
    below: NDArray[np.float64]


def _counts(labels: NDArray[np.int32], weights: Weights) -> _SpaceCounts:
    return _SpaceCounts(_edges(labels), weights, _below(weights))


def _below(weights: Weights) -> NDArray[np.float64]:
    below = np.zeros(len(weights) + 1, np.float64)
    np.cumsum(weights, out=below[1:])
    return below


def _edges(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    edges = np.empty(len(labels) + 1, np.int32)
    edges[:-1], edges[-1] = labels, TOP_LABEL
    return edges


def _with_bottom(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.concatenate((np.array([BOTTOM_LABEL], np.int32), labels))


def _refuse_damaged(weights: Weights) -> None:
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise CorruptSnapshot("the event counters of an attribute hold what is no count")


def check_sizes(observed: NDArray[np.int64], boundaries: NDArray[np.int64]) -> None:
    """ValueError unless each attribute has no saved counters, or one a space."""
    if ((observed != 0) & (observed != boundaries + 1)).any():
        raise ValueError("the event counters and the spaces differ in number")


_NONE = _counts(np.array([BOTTOM_LABEL], np.int32), np.zeros(1, np.float32))
