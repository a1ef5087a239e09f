"""H-TREE (TPDS 2014): a tree over a few attributes, each of which splits into some cells.

A rule is filed in every leaf that it reaches into, so wide intervals have copies without number; an event looks into
one leaf and verifies what is there. The cells of the original overlap, which spares copies of narrow intervals; how
they do is not in the papers that we have, so ours are disjoint. Work: a node an indexed attribute, and a verification
for every rule of the leaf.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.rivals import _htree_kernels as kernels
from matchwood.bench.rivals.base import RivalMatcher, Table


class HTree(RivalMatcher):
    """`steps`: nodes passed, rules verified, entries looked at to remove one."""

    name: ClassVar[str] = "H-TREE"

    def __init__(self, low: Table, high: Table, span: int, cells: int = 4, indexed: int = 6) -> None:
        self.cells, self.indexed = cells, min(indexed, low.shape[1])
        super().__init__(low, high, span)

    @classmethod
    def expected_copies(cls, low: Table, high: Table, span: int, cells: int = 4, indexed: int = 6) -> int:
        """How many entries all these rules would have."""
        some = slice(0, min(indexed, low.shape[1]))
        reached = (high[:, some].astype(np.int64) * cells // (span + 1)) - (
            low[:, some].astype(np.int64) * cells // (span + 1)
        )
        return int((reached + 1).prod(axis=1).sum())

    def _buckets(self) -> int:
        return int(self.cells**self.indexed)

    def _insert(self, first: int, last: int) -> int:
        return kernels.insert(
            self.lists, self.low, self.high, self.span, self.cells, self.indexed, first, last, self.steps
        )

    def _remove(self, rules: NDArray[np.int64]) -> None:
        kernels.remove(self.lists, self.low, self.high, self.span, self.cells, self.indexed, rules, self.steps)

    def match(self, values: NDArray[np.int64], output: NDArray[np.int32]) -> int:
        return kernels.match(
            self.lists, self.low, self.high, self.span, self.cells, self.indexed, values, output, self.steps
        )
