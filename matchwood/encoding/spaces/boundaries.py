"""Boundaries in sorted arrays: merging, and labels for many new ones at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.spaces import labels as labelling
from matchwood.encoding.spaces.key_columns import KeyColumn


class Boundaries(NamedTuple):
    """Boundaries by position.

    `keys`    increasing
    `labels`  of the live boundary at or before the position
    `counts`  references; 0 for one that is dead
    `recent`  which ones came since labels were last assigned
    """

    keys: KeyColumn
    labels: NDArray[np.int32]
    counts: NDArray[np.int32]
    recent: NDArray[np.bool_]

    @classmethod
    def fresh(cls, keys: KeyColumn, labels: NDArray[np.int32], counts: NDArray[np.int32]) -> Boundaries:
        """Boundaries that have just come."""
        return cls(keys, labels, counts, np.ones(len(keys), np.bool_))

    def take(self, order: NDArray[np.int64]) -> Boundaries:
        """The boundaries at the given positions."""
        return Boundaries(self.keys.take(order), self.labels[order], self.counts[order], self.recent[order])

    def joined(self, other: Boundaries) -> Boundaries:
        """Both, one after the other, not sorted."""
        return Boundaries(
            self.keys.joined(other.keys),
            np.concatenate((self.labels, other.labels)),
            np.concatenate((self.counts, other.counts)),
            np.concatenate((self.recent, other.recent)),
        )

    def labels_for(self, keys: KeyColumn, before: NDArray[np.int64], unit: int) -> NDArray[np.int32] | None:
        """Labels for new keys, `before` telling how many boundaries stand below each; None if there is no room.

        All of these boundaries must be live.
        """
        if not len(self.labels):
            return None
        gaps, first, added = np.unique(before, return_index=True, return_counts=True)
        ends = np.concatenate(([BOTTOM_LABEL], self.labels, [TOP_LABEL])).astype(np.int64)
        scale = keys.scale()
        directions = self._directions(gaps, scale[first], scale[first + added - 1])
        return labelling.spread(ends[gaps], ends[gaps + 1], added, directions, unit, len(self.labels))

    def _directions(
        self, gaps: NDArray[np.int64], lowest: NDArray[np.float64], highest: NDArray[np.float64]
    ) -> NDArray[np.int8]:
        """From which side each gap seems to fill, its new keys lying between two places on the keys' scale."""
        outer = np.concatenate(([-math.inf], self.keys.scale(), [math.inf]))
        low, high = outer[gaps], outer[gaps + 1]
        recent = np.concatenate(([False], self.recent, [False])).astype(np.int8)
        directions: NDArray[np.int8] = recent[gaps] - recent[gaps + 1]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            directions[(highest - low) / (high - low) < labelling.NEAR] = labelling.UPWARD
            directions[(lowest - low) / (high - low) > 1 - labelling.NEAR] = labelling.DOWNWARD
        directions[gaps == 0] = labelling.DOWNWARD
        directions[gaps == len(self.labels)] = labelling.UPWARD
        return directions
