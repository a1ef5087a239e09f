"""Nodes of a BE-Tree: the table that finds them, making and freeing them, units in and out of leaves.

TODS 2013, 4.1: p-, c- and l-nodes, and their directories.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel
from matchwood.engines.betree.layout import (
    ATTRIBUTE,
    CAPACITY,
    CHAIN,
    CLUSTER,
    CLUSTERS,
    COVERED,
    DIRTY,
    ENTRIES,
    EXACT,
    FIRST,
    FLAGS,
    FREE_CLUSTER,
    FREE_PARTITION,
    GONE,
    HEAD,
    HIGH,
    LEFT,
    LEVEL,
    LEVELS,
    LOSS,
    LOW,
    MASK,
    NEXT,
    NONE,
    NOTE,
    NUMBER,
    OTHERS,
    OUTSIDE,
    OWNER,
    PARTITION,
    PARTITIONS,
    PLACE,
    PREVIOUS,
    QUEUE,
    QUEUED,
    REWRITE,
    RIGHT,
    ROOM,
    RULES,
    START,
    SUBSUMED,
    TOP,
    UNCLEAN,
    UNIT_COUNT,
    UP,
    WASTE,
)

_P_NODE = np.uint64(2**63)


@bare_kernel
def partition_key(cluster: Any, attribute: Any) -> Any:
    """Under which a c-node's p-node for an attribute is found."""
    return np.uint64(_P_NODE) | (np.uint64(cluster) << np.uint64(32)) | np.uint64(attribute)


@bare_kernel
def bucket_key(partition: Any, level: Any, number: Any) -> Any:
    """Under which a p-node's bucket is found: the block's number behind a bit that tells the level."""
    code = (np.uint64(1) << np.uint64(31 - level)) | np.uint64(number)
    return (np.uint64(partition) << np.uint64(32)) | code


@bare_kernel
def find(keys: Any, values: Any, key: Any) -> Any:
    """The node of a key, or NONE."""
    mask = np.uint64(len(keys) - 1)
    slot = mix64(key) & mask
    while values[slot] != NONE:
        if keys[slot] == key:
            return np.int64(values[slot])
        slot = (slot + np.uint64(1)) & mask
    return np.int64(NONE)


@bare_kernel
def enter(tree: Any, key: Any, node: Any) -> None:
    """Put a new key into the table, which has a free slot."""
    mask = np.uint64(len(tree.keys) - 1)
    slot = mix64(key) & mask
    while tree.values[slot] != NONE:
        slot = (slot + np.uint64(1)) & mask
    tree.keys[slot], tree.values[slot] = key, node
    tree.state[ENTRIES] += 1


@bare_kernel
def strike(tree: Any, key: Any) -> None:
    """Take a key out of the table; what stood behind it because of it moves up."""
    keys, values, one = tree.keys, tree.values, np.uint64(1)
    mask = np.uint64(len(keys) - 1)
    slot = mix64(key) & mask
    while keys[slot] != key or values[slot] == NONE:
        slot = (slot + one) & mask
    ahead = (slot + one) & mask
    while values[ahead] != NONE:
        wanted = mix64(keys[ahead]) & mask
        if ((ahead - wanted) & mask) >= ((ahead - slot) & mask):
            keys[slot], values[slot] = keys[ahead], values[ahead]
            slot = ahead
        ahead = (ahead + one) & mask
    values[slot] = NONE
    tree.state[ENTRIES] -= 1


@bare_kernel
def enter_all(keys: Any, values: Any, old_keys: Any, old_values: Any) -> None:
    """Enter everything that an old table holds into a larger one."""
    mask = np.uint64(len(keys) - 1)
    for place in range(len(old_keys)):
        if old_values[place] != NONE:
            slot = mix64(old_keys[place]) & mask
            while values[slot] != NONE:
                slot = (slot + np.uint64(1)) & mask
            keys[slot], values[slot] = old_keys[place], old_values[place]


@bare_kernel
def new_cluster(tree: Any, owner: Any, up: Any, level: Any, number: Any, flags: Any, capacity: Any) -> Any:
    """A c-node without rules; there must be room for one more."""
    state, nodes = tree.state, tree.clusters
    cluster = state[FREE_CLUSTER]
    if cluster != NONE:
        state[FREE_CLUSTER] = nodes[CLUSTER * cluster + LEFT]
        flags |= nodes[CLUSTER * cluster + FLAGS] & (QUEUED | DIRTY)
    else:
        cluster = state[CLUSTERS]
        state[CLUSTERS] += 1
    at = CLUSTER * cluster
    nodes[at + OWNER], nodes[at + UP], nodes[at + LEVEL], nodes[at + NUMBER] = owner, up, level, number
    nodes[at + FLAGS], nodes[at + LEFT], nodes[at + RIGHT], nodes[at + HEAD] = flags, NONE, NONE, NONE
    nodes[at + UNIT_COUNT], nodes[at + CAPACITY], nodes[at + LOW], nodes[at + HIGH] = 0, capacity, 2**31 - 1, 0
    nodes[at + START], nodes[at + ROOM], nodes[at + FIRST], nodes[at + MASK] = 0, 0, NONE, 0
    forget(tree.cluster_notes, cluster)
    return cluster


@bare_kernel
def forget(notes: Any, node: Any) -> None:
    """Forget what matching told of a node: a new one must not begin with what the last of its number lost."""
    if len(notes) > 0:
        notes[NOTE * node : NOTE * (node + 1)] = 0


@bare_kernel
def add_loss(tree: Any, cluster: Any, loss: Any) -> None:
    """Count a loss in for all p-nodes above a c-node."""
    owner = tree.clusters[CLUSTER * cluster + OWNER]
    while loss != 0 and owner != NONE:
        tree.partition_notes[NOTE * owner + OTHERS] += loss
        owner = tree.clusters[CLUSTER * tree.partitions[PARTITION * owner + PLACE] + OWNER]


@bare_kernel
def forget_cluster(tree: Any, cluster: Any) -> None:
    """Forget what matching told of a c-node and its leaf, and count its losses out above."""
    if len(tree.cluster_notes) > 0:
        at = NOTE * cluster
        add_loss(tree, cluster, -tree.cluster_notes[at + LOSS] - tree.cluster_notes[at + OTHERS])
        forget(tree.cluster_notes, cluster)


@bare_kernel
def free_cluster(tree: Any, cluster: Any) -> None:
    """Give a c-node back that nothing leads to any more."""
    at, nodes = CLUSTER * cluster, tree.clusters
    forget_cluster(tree, cluster)
    tree.state[WASTE] += nodes[at + ROOM]
    nodes[at + FLAGS] = (nodes[at + FLAGS] & (QUEUED | DIRTY)) | GONE
    nodes[at + UNIT_COUNT], nodes[at + ROOM], nodes[at + HEAD] = 0, 0, NONE
    nodes[at + LEFT] = tree.state[FREE_CLUSTER]
    tree.state[FREE_CLUSTER] = cluster


@bare_kernel
def new_partition(tree: Any, cluster: Any, attribute: Any) -> Any:
    """A p-node without buckets; there must be room for one more."""
    state, nodes, parents = tree.state, tree.partitions, tree.clusters
    partition = state[FREE_PARTITION]
    if partition != NONE:
        state[FREE_PARTITION] = nodes[PARTITION * partition + NEXT]
    else:
        partition = state[PARTITIONS]
        state[PARTITIONS] += 1
    at, first = PARTITION * partition, parents[CLUSTER * cluster + FIRST]
    nodes[at + PLACE], nodes[at + ATTRIBUTE], nodes[at + LEVELS] = cluster, attribute, 0
    nodes[at + TOP], nodes[at + CHAIN], nodes[at + RULES], nodes[at + SUBSUMED] = NONE, NONE, 0, 0
    nodes[at + NEXT], nodes[at + PREVIOUS], nodes[at + COVERED] = first, NONE, 0
    forget(tree.partition_notes, partition)
    if first != NONE:
        nodes[PARTITION * first + PREVIOUS] = partition
    parents[CLUSTER * cluster + FIRST] = partition
    parents[CLUSTER * cluster + MASK] |= np.int32(np.uint32(1) << np.uint32(attribute & 31))
    enter(tree, partition_key(cluster, attribute), partition)
    return partition


@bare_kernel
def free_partition(tree: Any, partition: Any) -> None:
    """Take a p-node without buckets out of its c-node."""
    at, nodes, parents = PARTITION * partition, tree.partitions, tree.clusters
    cluster, before, after = nodes[at + PLACE], nodes[at + PREVIOUS], nodes[at + NEXT]
    if len(tree.partition_notes) > 0:
        add_loss(tree, cluster, -tree.partition_notes[NOTE * partition + LOSS])
        forget(tree.partition_notes, partition)
    strike(tree, partition_key(cluster, nodes[at + ATTRIBUTE]))
    if before == NONE:
        parents[CLUSTER * cluster + FIRST] = after
    else:
        nodes[PARTITION * before + NEXT] = after
    if after != NONE:
        nodes[PARTITION * after + PREVIOUS] = before
    mask, other = np.uint32(0), parents[CLUSTER * cluster + FIRST]
    while other != NONE:
        mask |= np.uint32(1) << np.uint32(nodes[PARTITION * other + ATTRIBUTE] & 31)
        other = nodes[PARTITION * other + NEXT]
    parents[CLUSTER * cluster + MASK] = np.int32(mask)
    nodes[at + PLACE], nodes[at + RULES] = NONE, 0
    nodes[at + NEXT] = tree.state[FREE_PARTITION]
    tree.state[FREE_PARTITION] = partition


@bare_kernel
def detach_cluster(tree: Any, cluster: Any) -> None:
    """Take a bucket without rules out of its p-node's directory, and free it."""
    at, nodes = CLUSTER * cluster, tree.clusters
    owner, up = nodes[at + OWNER], nodes[at + UP]
    if nodes[at + FLAGS] & EXACT != 0:
        strike(tree, bucket_key(owner, nodes[at + LEVEL], nodes[at + NUMBER]))
        after = nodes[at + RIGHT]
        if up == NONE:
            tree.partitions[PARTITION * owner + CHAIN] = after
        else:
            nodes[CLUSTER * up + RIGHT] = after
        if after != NONE:
            nodes[CLUSTER * after + UP] = up
    elif up == NONE:
        tree.partitions[PARTITION * owner + TOP] = NONE
    elif nodes[CLUSTER * up + LEFT] == cluster:
        nodes[CLUSTER * up + LEFT] = NONE
    else:
        nodes[CLUSTER * up + RIGHT] = NONE
    free_cluster(tree, cluster)


@bare_kernel
def soil(tree: Any, cluster: Any) -> None:
    """Note that the rows of a leaf are out of date."""
    at = CLUSTER * cluster + FLAGS
    if tree.clusters[at] & DIRTY == 0:
        tree.clusters[at] |= DIRTY
        tree.unclean[tree.state[UNCLEAN]] = cluster
        tree.state[UNCLEAN] += 1


@bare_kernel
def link(tree: Any, unit: Any, cluster: Any) -> None:
    """Put a unit into a leaf; one that is then too full waits to be settled."""
    at, nodes = CLUSTER * cluster, tree.clusters
    head = nodes[at + HEAD]
    tree.after[unit], tree.before[unit], tree.homes[unit] = head, NONE, cluster
    if head != NONE:
        tree.before[head] = unit
    nodes[at + HEAD] = unit
    nodes[at + UNIT_COUNT] += 1
    soil(tree, cluster)
    if nodes[at + UNIT_COUNT] > nodes[at + CAPACITY] and nodes[at + FLAGS] & QUEUED == 0:
        enqueue(tree, cluster)


@bare_kernel
def enqueue(tree: Any, cluster: Any) -> None:
    tree.clusters[CLUSTER * cluster + FLAGS] |= QUEUED
    tree.queue[tree.state[QUEUE]] = cluster
    tree.state[QUEUE] += 1


@bare_kernel
def unlink(tree: Any, unit: Any) -> None:
    """Take a unit out of its leaf."""
    cluster, before, after = tree.homes[unit], tree.before[unit], tree.after[unit]
    if before == NONE:
        tree.clusters[CLUSTER * cluster + HEAD] = after
    else:
        tree.after[before] = after
    if after != NONE:
        tree.before[after] = before
    tree.clusters[CLUSTER * cluster + UNIT_COUNT] -= 1
    tree.clusters[CLUSTER * cluster + FLAGS] |= REWRITE
    tree.homes[unit] = OUTSIDE
    soil(tree, cluster)
