"""TAMA (ICDCS 2011): a hierarchy of halved cells an attribute, and a counter a rule.

An interval is filed under the fewest cells that cover it; at its ends the finest level is too coarse, so an event may
find a rule that it does not match, but never misses one. Work: a cell a level and attribute, and a count for every
entry in them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.rivals import _tama_kernels as kernels
from matchwood.bench.rivals.base import RivalMatcher, Table


class Tama(RivalMatcher):
    """`steps`: cells looked at, entries counted, entries looked at to remove one."""

    name: ClassVar[str] = "TAMA"
    exact: ClassVar[bool] = False

    def __init__(self, low: Table, high: Table, span: int, levels: int = 12) -> None:
        self.levels = levels
        super().__init__(low, high, span)
        self._counters = np.zeros(len(low), np.uint8)

    def _buckets(self) -> int:
        return self.attributes << self.levels

    def _insert(self, first: int, last: int) -> int:
        return kernels.insert(self.lists, self.low, self.high, self.span, self.levels, first, last, self.steps)

    def _remove(self, rules: NDArray[np.int64]) -> None:
        kernels.remove(self.lists, self.low, self.high, self.span, self.levels, rules, self.steps)

    def match(self, values: NDArray[np.int64], output: NDArray[np.int32]) -> int:
        return kernels.match(self.lists, self.span, self.levels, values, self._counters, output, self.steps)
