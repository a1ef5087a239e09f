"""The nodes of a small BE-Tree as plain data, for pictures and tests.

TODS 2013, the trees of its figures.
"""

from __future__ import annotations

from typing import NamedTuple

from matchwood.encoding import TOP_LABEL
from matchwood.engines.betree.engine import BETree
from matchwood.engines.betree.layout import (
    ATTRIBUTE,
    CAPACITY,
    CLUSTER,
    CLUSTERS,
    EXACT,
    FLAGS,
    GONE,
    HEAD,
    LEVEL,
    NONE,
    NUMBER,
    OWNER,
    PARTITION,
    PLACE,
    SPLIT,
    UP,
    BucketTree,
)
from matchwood.errors import InvalidArgument

MOST_VIEWED = 5_000
"""Nodes of the largest tree that is told node by node."""


class Bucket(NamedTuple):
    """A c-node with its leaf.

    `attribute`  whose space it cuts; None for the root (0) and for Z (1)
    `low`, `high`  its block of labels
    `above`      the c-node that it partitions, or whose half it is
    `half`       whether it is a half; else it is a p-node's uppermost bucket, or one in the hash table (`exact`)
    `units`      those in its leaf
    """

    number: int
    attribute: int | None
    low: int
    high: int
    above: int | None
    half: bool
    exact: bool
    split: bool
    capacity: int
    units: tuple[int, ...]


def buckets(engine: BETree) -> list[Bucket]:
    """All c-nodes, by number; InvalidArgument for a large tree."""
    engine.check()
    tree = engine.nodes.tree()
    count = int(tree.state[CLUSTERS])
    if count > MOST_VIEWED:
        raise InvalidArgument(f"a tree of {count:,} nodes is too large to list (at most {MOST_VIEWED:,})")
    return [_bucket(tree, number) for number in range(count) if not tree.clusters[CLUSTER * number + FLAGS] & GONE]


def _bucket(tree: BucketTree, number: int) -> Bucket:
    clusters, partitions = tree.clusters, tree.partitions
    node = clusters[CLUSTER * number : CLUSTER * (number + 1)].tolist()
    exact, owner, level = bool(node[FLAGS] & EXACT), node[OWNER], node[LEVEL]
    half = not exact and node[UP] != NONE
    above = node[UP] if half else None if owner == NONE else int(partitions[PARTITION * owner + PLACE])
    units, unit = [], node[HEAD]
    while unit != NONE:
        units.append(unit)
        unit = int(tree.after[unit])
    return Bucket(
        number,
        None if owner == NONE else int(partitions[PARTITION * owner + ATTRIBUTE]),
        node[NUMBER] << level,
        min(TOP_LABEL, (node[NUMBER] + 1) << level),
        above,
        half,
        exact,
        bool(node[FLAGS] & SPLIT),
        node[CAPACITY],
        tuple(sorted(units)),
    )
