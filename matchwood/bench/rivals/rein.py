"""REIN (INFOCOM 2014): two lists of buckets an attribute, for the lower and the upper ends of intervals.

An event marks all rules that begin behind its value or end before it, attribute by attribute; what is not marked
matches. Work: one mark for every constraint that fails, and a comparison for those in the value's own buckets.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.rivals import _rein_kernels as kernels
from matchwood.bench.rivals.base import RivalMatcher, Table


class Rein(RivalMatcher):
    """`steps`: marks set, rules compared, entries looked at to remove one."""

    name: ClassVar[str] = "REIN"

    def __init__(self, low: Table, high: Table, span: int, buckets: int = 3_000) -> None:
        self.buckets = buckets
        super().__init__(low, high, span)
        self._live = np.zeros((len(low) + 63) // 64, np.uint64)
        self._bits = np.zeros_like(self._live)

    def stats(self) -> dict[str, Any]:
        return {"bytes_index": super().stats()["bytes_index"] + self._live.nbytes}

    def _buckets(self) -> int:
        return 2 * self.attributes * self.buckets

    def _insert(self, first: int, last: int) -> int:
        done = kernels.insert(self.lists, self.low, self.high, self.span, self.buckets, first, last)
        rules = np.arange(first, done)
        np.bitwise_or.at(self._live, rules >> 6, np.uint64(1) << (rules & 63).astype(np.uint64))
        return done

    def _remove(self, rules: NDArray[np.int64]) -> None:
        kernels.remove(self.lists, self.low, self.high, self.span, self.buckets, rules, self.steps)
        np.bitwise_and.at(self._live, rules >> 6, ~(np.uint64(1) << (rules & 63).astype(np.uint64)))

    def match(self, values: NDArray[np.int64], output: NDArray[np.int32]) -> int:
        return kernels.match(
            self.lists, self.low, self.high, self.span, self.buckets, values, self._live, self._bits, output, self.steps
        )
