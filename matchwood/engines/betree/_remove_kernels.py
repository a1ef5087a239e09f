"""Units out of a BE-Tree, and what underflows then (4.2, 4.3): p-nodes with too few rules are dissolved, buckets
merged.

The paper's deletion algorithm is in an appendix that is not at hand; this one follows from the invariance. Two halves
are merged into their parent together, and only if they are leaf buckets and the parent is open (Rule 3): so every
rule still is in the smallest bucket that encloses it.

TODS 2013, 7.2, deletion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.betree._cut_kernels import fitting_capacity
from matchwood.engines.betree._node_kernels import detach_cluster, free_partition, link, unlink
from matchwood.engines.betree._place_kernels import count_in, count_units, take_out, widen
from matchwood.engines.betree.layout import (
    ALWAYS,
    CAPACITY,
    CHAIN,
    CLUSTER,
    COVERED,
    DISSOLVED,
    EXACT,
    FIRST,
    FLAGS,
    HEAD,
    HIGH,
    LEFT,
    LOW,
    MERGES,
    NONE,
    OUTSIDE,
    OWNER,
    PARTITION,
    PLACE,
    RIGHT,
    ROOT,
    RULES,
    SPLIT,
    SUBSUMED,
    TOP,
    UNIT_COUNT,
    UP,
)


@bare_kernel
def _first_below(tree: Any, partition: Any) -> Any:
    """A bucket of a p-node; NONE if it has none left."""
    at = PARTITION * partition
    if tree.partitions[at + CHAIN] != NONE:
        return np.int64(tree.partitions[at + CHAIN])
    return np.int64(tree.partitions[at + TOP])


@bare_kernel
def _deepest(tree: Any, cluster: Any) -> Any:
    """Down from a c-node to one that has neither p-nodes nor halves below it."""
    nodes = tree.clusters
    while True:
        at = CLUSTER * cluster
        below = np.int64(NONE)
        if nodes[at + FIRST] != NONE:
            below = _first_below(tree, nodes[at + FIRST])
            if below == NONE:
                free_partition(tree, nodes[at + FIRST])
                continue
        elif nodes[at + FLAGS] & EXACT == 0:
            below = np.int64(nodes[at + LEFT] if nodes[at + LEFT] != NONE else nodes[at + RIGHT])
        if below == NONE:
            return np.int64(cluster)
        cluster = below


@bare_kernel
def dissolve(tree: Any, partition: Any, displaced: Any, count: Any) -> Any:
    """Free a p-node and all below it; its units are written behind the first `count` of `displaced`."""
    nodes, at = tree.clusters, PARTITION * partition
    rules, subsumed = tree.partitions[at + RULES], tree.partitions[at + SUBSUMED]
    count_in(tree, tree.partitions[at + PLACE], -rules, -subsumed, -tree.partitions[at + COVERED])
    while True:
        bucket = _first_below(tree, partition)
        if bucket == NONE:
            break
        bucket = _deepest(tree, bucket)
        unit = nodes[CLUSTER * bucket + HEAD]
        while unit != NONE:
            displaced[count] = unit
            count += 1
            tree.homes[unit] = OUTSIDE
            unit = tree.after[unit]
        detach_cluster(tree, bucket)
    free_partition(tree, partition)
    tree.state[DISSOLVED] += 1
    return count


@bare_kernel
def _underflowing(tree: Any, cluster: Any, settings: Any) -> Any:
    """The uppermost p-node above a c-node that has too few rules; NONE if all have enough."""
    found, owner = np.int64(NONE), tree.clusters[CLUSTER * cluster + OWNER]
    while owner != NONE:
        if tree.partitions[PARTITION * owner + RULES] < settings.min_size:
            found = np.int64(owner)
        owner = tree.clusters[CLUSTER * tree.partitions[PARTITION * owner + PLACE] + OWNER]
    return found


@bare_kernel
def _is_leaf_bucket(nodes: Any, cluster: Any) -> Any:
    """Whether a half is not there, or neither cut nor partitioned."""
    if cluster == NONE:
        return True
    return nodes[CLUSTER * cluster + FLAGS] & SPLIT == 0 and nodes[CLUSTER * cluster + FIRST] == NONE


@bare_kernel
def _pull_up(tree: Any, half: Any, cluster: Any) -> None:
    """Move all units of a half into its parent, and free it."""
    nodes = tree.clusters
    widen(nodes, cluster, nodes[CLUSTER * half + LOW], nodes[CLUSTER * half + HIGH])
    unit = nodes[CLUSTER * half + HEAD]
    while unit != NONE:
        following = tree.after[unit]
        unlink(tree, unit)
        link(tree, unit, cluster)
        unit = following
    detach_cluster(tree, half)


@bare_kernel
def _merge(tree: Any, cluster: Any, settings: Any) -> Any:
    """Undo the cut of an open bucket whose halves hold little; whether that was so."""
    at, nodes = CLUSTER * cluster, tree.clusters
    if nodes[at + FLAGS] & SPLIT == 0 or nodes[at + FIRST] != NONE:
        return False
    left, right = nodes[at + LEFT], nodes[at + RIGHT]
    if not _is_leaf_bucket(nodes, left) or not _is_leaf_bucket(nodes, right):
        return False
    total = nodes[at + UNIT_COUNT]
    total += nodes[CLUSTER * left + UNIT_COUNT] if left != NONE else 0
    total += nodes[CLUSTER * right + UNIT_COUNT] if right != NONE else 0
    if total > settings.max_cap // 2:
        return False
    if left != NONE:
        _pull_up(tree, left, cluster)
    if right != NONE:
        _pull_up(tree, right, cluster)
    nodes[at + FLAGS] &= ~SPLIT
    tree.state[MERGES] += 1
    return True


@bare_kernel
def tidy(tree: Any, cluster: Any, settings: Any) -> None:
    """After a c-node lost rules: shrink its leaf, merge what underflows, free what is empty, and so on upwards."""
    nodes = tree.clusters
    while cluster != NONE and cluster != ROOT and cluster != ALWAYS:
        at = CLUSTER * cluster
        if nodes[at + UNIT_COUNT] + 2 * settings.max_cap <= nodes[at + CAPACITY]:
            nodes[at + CAPACITY] = fitting_capacity(nodes[at + UNIT_COUNT], settings.max_cap)
        _merge(tree, cluster, settings)
        exact = nodes[at + FLAGS] & EXACT != 0
        up = np.int64(NONE) if exact else np.int64(nodes[at + UP])
        childless = exact or (nodes[at + LEFT] == NONE and nodes[at + RIGHT] == NONE)
        if nodes[at + UNIT_COUNT] == 0 and nodes[at + FIRST] == NONE and childless:
            detach_cluster(tree, cluster)
        elif nodes[at + FLAGS] & SPLIT != 0:
            return
        cluster = up


@bare_kernel
def settle_loss(tree: Any, cluster: Any, merging: bool, settings: Any, displaced: Any, count: Any) -> Any:
    """After a c-node lost rules: dissolve the p-nodes above with too few, and tidy up; returns how many are displaced.

    What is left of a p-node is displaced; with `merging` it goes to the leaf above instead.
    """
    while True:
        partition = _underflowing(tree, cluster, settings)
        if partition == NONE:
            break
        cluster = np.int64(tree.partitions[PARTITION * partition + PLACE])
        end = dissolve(tree, partition, displaced, count)
        if merging:
            count_units(tree, cluster, end - count)
            for position in range(count, end):
                link(tree, displaced[position], cluster)
        else:
            count = end
    tidy(tree, cluster, settings)
    return count


@bare_kernel
def remove_units(tree: Any, units: Any, merging: bool, settings: Any, displaced: Any) -> Any:
    """Remove units; returns how many others are displaced, to be inserted again."""
    count = 0
    for unit in units:
        cluster = np.int64(tree.homes[unit])
        if cluster != OUTSIDE:
            take_out(tree, unit)
            count = settle_loss(tree, cluster, merging, settings, displaced, count)
    return count
