"""One event after the other, shown to both groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import PairBytes
from matchwood.engines.shared.one_event import OneEventSearch

_EVENTS = 0


class GroupedSearch(OneEventSearch):
    """Both groups made ready: the hits of one are written behind those of the other, which has room for all.

    `numbers`  of the units of the second, in the store of all
    """

    __slots__ = ("_numbers", "_often", "_seldom")

    def __init__(self, seldom: OneEventSearch, often: OneEventSearch, numbers: NDArray[np.int32]) -> None:
        self._seldom, self._often, self._numbers = seldom, often, numbers
        self.units, self.work = seldom.units, np.zeros_like(seldom.work)

    def hits(self, pairs: PairBytes) -> int | None:
        found, more = self._seldom.hits(pairs), self._often.hits(pairs)
        if found is None or more is None:
            return None
        self._numbers.take(self._often.units[:more], out=self.units[found : found + more], mode="clip")
        np.add(self._seldom.work, self._often.work, out=self.work)
        self.work[_EVENTS] = 1
        return found + more
