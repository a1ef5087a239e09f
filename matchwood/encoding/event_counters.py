"""How many observed events fell into each space of one attribute (the event counters of a PS-Tree's leaves).

Counters stand beside the labels of the spaces as they were when somebody last counted. Between two labels an event may
lie anywhere, so a count is spread evenly over the labels of its space: a boundary that comes later shares it,
one that goes adds its two halves up, and neither has to touch a counter. That keeps insertion as cheap as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        self._edges = np.array([BOTTOM_LABEL, TOP_LABEL], np.int32)
        self._weights: Weights = np.zeros(1, np.float32)
        self._below: NDArray[np.float64] | None = None
        """The weight of all spaces below each edge, made when it is first asked for."""

    def _restore(self) -> None:
        """Take in what was saved, when counters are first needed."""
        if self._saved is not None:
            weights = self._saved["observed"]
            if len(weights):
                _refuse_damaged(weights)
                self._edges, self._weights = _edges(_with_bottom(self._saved["labels"])), weights
            self._saved = None

    def observe(self, observed: NDArray[np.int32], labels: NDArray[np.int32]) -> None:
        """Count labels, given those of all spaces as they are now; a label without a space counts for the one below."""
        self._weights, self._edges = self._beside(labels), _edges(labels)
        places = np.maximum(labels.searchsorted(observed, "right") - 1, 0)
        self._weights = self._weights + np.bincount(places, minlength=len(labels)).astype(np.float32)
        self._below = None

    def between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        """The weight of each interval [low, high)."""
        return self._up_to(high) - self._up_to(low)

    def array(self, labels: NDArray[np.int32]) -> Weights:
        """The weights of spaces that have these labels, BOTTOM_LABEL first; nothing if no event was counted."""
        weights = self._beside(labels)
        return weights if weights.any() else weights[:0]

    def _beside(self, labels: NDArray[np.int32]) -> Weights:
        self._restore()
        if np.array_equal(self._edges[:-1], labels):
            return self._weights
        return np.diff(self._up_to(_edges(labels))).astype(np.float32)

    def _up_to(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        self._restore()
        below = self._below
        if below is None:
            self._below = below = np.concatenate(([0.0], np.cumsum(self._weights, dtype=np.float64)))
        return np.interp(labels, self._edges, below)

    def relabel(self, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        """Follow labels to their new numbers."""
        self._weights, self._edges = self._beside(_with_bottom(old)), _edges(_with_bottom(new))
        self._below = None

    def fade(self, factor: float) -> None:
        """Multiply all weights."""
        self._restore()
        self._weights, self._below = self._weights * np.float32(factor), None

    @property
    def nbytes(self) -> int:
        """None while nothing was counted."""
        return 12 * len(self._weights) if len(self._weights) > 1 else 0


def _edges(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.append(labels, np.int32(TOP_LABEL))


def _with_bottom(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.concatenate((np.array([BOTTOM_LABEL], np.int32), labels))


def _refuse_damaged(weights: Weights) -> None:
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise CorruptSnapshot("the event counters of an attribute hold what is no count")


def check_sizes(observed: NDArray[np.int64], boundaries: NDArray[np.int64]) -> None:
    """ValueError unless each attribute has no saved counters, or one a space."""
    if ((observed != 0) & (observed != boundaries + 1)).any():
        raise ValueError("the event counters and the spaces differ in number")
