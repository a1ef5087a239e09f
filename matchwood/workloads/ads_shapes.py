"""The shapes of arbitrary ad rules: which nodes there are, how many predicates each has, and what lies below it.

A rule of depth 3 or more has one operand that is itself an expression, one level lower, and so on down to level 2,
whose operands are predicates. Such expressions are drawn from pools, one for each level and *flavour*: mostly `or`
below an `and`, mostly `and` below an `or`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.ads import LARGEST_RULE, rule_sizes
from matchwood.workloads.shared.arbitrary import zipf_ranks
from matchwood.workloads.shared.draws import offsets_of, weighted
from matchwood.workloads.shared.trees import AND, NOT, OR, XNOR, XOR

DEEPEST = 9
_DEEPER = 0.6
"""The probability of one more level, where a rule has the predicates for it."""

_FLAVOURS = (np.array([OR, NOT, XOR, XNOR], np.int8), np.array([AND, NOT, XOR, XNOR], np.int8))
_SHARES = np.array([0.85, 0.05, 0.05, 0.05])
_OR_ROOTS = 0.001
_POOL_SHARING = 2
"""How many rules of the next depth there are for a member of a pool."""

ALPHA = 0.6

Integers = NDArray[np.int64]


class RuleShapes(NamedTuple):
    """All inner nodes, level by level: those of level k + 2 are levels[k] : levels[k + 1].

    Node n joins `direct[n]` predicates and, where below[n] is not -1, the inner node below[n]. Rule r is the inner node
    root[r], or a single predicate where that is -1.
    """

    junctions: NDArray[np.int8]
    direct: Integers
    below: Integers
    levels: Integers
    root: Integers


class _Columns:
    """The columns of `RuleShapes` as they grow from level 2 up, and the size of each node."""

    def __init__(self) -> None:
        self.junctions, self.direct, self.below = np.zeros(0, np.int8), np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.sizes = np.zeros(0, np.int64)

    def add(self, junctions: NDArray[np.int8], direct: Integers, below: Integers) -> Integers:
        """Append nodes; returns their numbers."""
        first = len(self.sizes)
        self.sizes = np.concatenate((self.sizes, direct + self.size_of(below)))
        self.junctions = np.concatenate((self.junctions, junctions))
        self.direct = np.concatenate((self.direct, direct))
        self.below = np.concatenate((self.below, below))
        return np.arange(first, len(self.sizes))

    def size_of(self, nodes: Integers) -> Integers:
        return np.where(nodes >= 0, self.sizes[nodes], 0) if len(self.sizes) else np.zeros(len(nodes), np.int64)


def draw_shapes(random: np.random.Generator, count: int, mean_size: float) -> RuleShapes:
    """The shapes of `count` rules with `mean_size` predicates on average."""
    sizes = rule_sizes(random, mean_size, count, LARGEST_RULE)
    depths = _depths(random, sizes)
    columns, root, counts = _Columns(), np.full(count, -1, dtype=np.int64), []
    none = np.zeros(0, dtype=np.int64)
    pools = (none, none)
    for level in range(2, int(depths.max()) + 1):
        before, owners = len(columns.sizes), np.flatnonzero(depths == level)
        under = _taken(random, pools[0], len(owners))
        junctions = np.where(random.random(len(owners)) < _OR_ROOTS, OR, AND).astype(np.int8)
        root[owners] = columns.add(junctions, np.maximum(1, sizes[owners] - columns.size_of(under)), under)
        members = max(1, int(np.sum(depths == level + 1)) // _POOL_SHARING)
        pools = (_pool(random, columns, 0, members, pools[1]), _pool(random, columns, 1, members, pools[0]))
        counts.append(len(columns.sizes) - before)
    return RuleShapes(columns.junctions, columns.direct, columns.below, offsets_of(np.array(counts, np.int64)), root)


def _depths(random: np.random.Generator, sizes: Integers) -> Integers:
    """A node of level k has at most 2 k - 1 predicates, so a rule of depth d needs 2 d - 2 of them."""
    most = np.minimum(DEEPEST, (sizes + 2) // 2)
    drawn = 1 + random.geometric(1 - _DEEPER, len(sizes))
    return np.where(sizes == 1, 1, np.clip(drawn, 2, np.maximum(2, most))).astype(np.int64)


def _pool(random: np.random.Generator, columns: _Columns, flavour: int, count: int, lower: Integers) -> Integers:
    """Nodes with one or two predicates beside what lies below; at level 2 nothing does, so there is one more."""
    junctions = _FLAVOURS[flavour][weighted(random, _SHARES, count)]
    direct = np.select([junctions == NOT, junctions >= XOR], [0, 1], 1 + (random.random(count) < 0.4))
    return columns.add(junctions, direct + (0 if len(lower) else 1), _taken(random, lower, count))


def _taken(random: np.random.Generator, pool: Integers, count: int) -> Integers:
    if not len(pool):
        return np.full(count, -1, dtype=np.int64)
    return pool[zipf_ranks(random, count, len(pool), ALPHA)]
