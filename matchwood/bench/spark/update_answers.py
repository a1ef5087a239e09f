"""What events must match after some rules of many were replaced, without building an index of all of them each time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.index import Index


class UpdateAnswers:
    """The hits of some events among `texts`, rules numbered from 0: of all as they were, and after replacements.

    Pairs of an event and a rule are numbers, event × rules + rule, in order: a million rules have millions of hits.
    """

    def __init__(self, texts: pa.Array, events: pa.Table) -> None:
        self._events, self.count = events, len(texts)
        self._before = self._matched(np.arange(self.count), texts)

    def after(self, rows: NDArray[np.int64], texts: pa.Array) -> NDArray[np.int64]:
        """When some rules have other texts: the hits of all others, and those of an index of the new ones."""
        stayed = self._before[~np.isin(self._before % self.count, rows)]
        return np.sort(np.concatenate([stayed, self._matched(rows, texts)]))

    def found(self, lists: pa.ListArray) -> NDArray[np.int64]:
        """A list of rules for each event, as pairs."""
        rules = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
        lengths = np.diff(lists.offsets.to_numpy())
        return np.sort(np.repeat(np.arange(len(lists)), lengths) * self.count + rules)

    def _matched(self, rows: NDArray[np.int64], texts: pa.Array) -> NDArray[np.int64]:
        index = Index()
        index.insert_many(pa.table({"id": rows, "expression": texts}))
        hits = index.match_many(self._events)
        event, rule = (hits[name].to_numpy().astype(np.int64) for name in ("event", "rule"))
        return np.sort(event * self.count + rule)
