"""What the rivals have in common: a table of intervals, buckets of rules, and counters of what they do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int32]


class BucketLists(NamedTuple):
    """Bucket b holds the entries pool[starts[b] : starts[b] + counts[b]]."""

    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    capacities: NDArray[np.int32]
    pool: NDArray[np.int32]
    used: NDArray[np.int64]


class RivalMatcher(ABC):
    """A matcher over rules whose intervals are known beforehand: rule r matches the values v if
    low[r, a] <= v[a] <= high[r, a] for every attribute a. Values are integers from 0 to `span`.

    `steps` counts what the matcher does, as each rival says.
    """

    name: ClassVar[str]
    exact: ClassVar[bool] = True

    def __init__(self, low: Table, high: Table, span: int) -> None:
        self.low, self.high, self.span = np.ascontiguousarray(low), np.ascontiguousarray(high), span
        self.steps = np.zeros(4, np.int64)
        count = self._buckets()
        self.lists = BucketLists(
            np.zeros(count, np.int64),
            np.zeros(count, np.int32),
            np.zeros(count, np.int32),
            np.empty(1024, np.int32),
            np.zeros(1, np.int64),
        )

    @property
    def attributes(self) -> int:
        return int(self.low.shape[1])

    @abstractmethod
    def _buckets(self) -> int:
        """How many buckets there are."""

    @abstractmethod
    def _insert(self, first: int, last: int) -> int:
        """Insert the rules first : last while the pool has room; returns where it stopped."""

    @abstractmethod
    def _remove(self, rules: NDArray[np.int64]) -> None: ...

    @abstractmethod
    def match(self, values: NDArray[np.int64], output: NDArray[np.int32]) -> int:
        """Write the rules that hold the values to `output`; returns how many."""

    def insert(self, first: int, last: int) -> None:
        """Insert the rules first : last."""
        while (first := int(self._insert(first, last))) < last:
            grown = np.empty(2 * len(self.lists.pool), np.int32)
            grown[: len(self.lists.pool)] = self.lists.pool
            self.lists = self.lists._replace(pool=grown)

    def remove(self, rules: NDArray[np.int64]) -> None:
        """Remove rules that are in."""
        self._remove(rules)

    @property
    def copies(self) -> int:
        """Entries in all buckets."""
        return int(self.lists.counts.sum(dtype=np.int64))

    bytes_shared: ClassVar[int] = 0

    @property
    def bytes_verify(self) -> int:
        """The intervals: all rivals need them to remove a rule, and most to match."""
        return self.low.nbytes + self.high.nbytes

    def stats(self) -> dict[str, Any]:
        """The bytes of the buckets; what is marked while an event is matched is scratch memory."""
        lists = self.lists
        used = lists.pool.itemsize * int(lists.used[0])
        return {"bytes_index": used + lists.starts.nbytes + lists.counts.nbytes + lists.capacities.nbytes}
