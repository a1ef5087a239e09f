"""What check and audit of a BE-Tree ask: whether kernels can follow it safely, and whether the invariance holds.

TODS 2013, 4.2 and 4.3: the three rules and the invariance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.betree._node_kernels import bucket_key, find, partition_key
from matchwood.engines.betree._place_kernels import constraint_of, fits_a_half, is_exact, locate, usable, way_to
from matchwood.engines.betree.layout import (
    ALWAYS,
    ATTRIBUTE,
    CAPACITY,
    CHAIN,
    CLUSTER,
    COVERED,
    EXACT,
    FIRST,
    FLAGS,
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
    OWNER,
    PARTITION,
    PLACE,
    PREVIOUS,
    RIGHT,
    ROOT,
    RULES,
    SPLIT,
    SUBSUMED,
    TOP,
    UNIT_COUNT,
    UP,
    WHOLE,
)
from matchwood.engines.shared.constraints._word_kernels import hull

(SAFE, BAD_BUCKET, BAD_LEAF, BAD_PARTITION, BAD_TABLE, BAD_CHAIN) = range(6)
PROBLEMS = (
    "",
    "a bucket is not where its parent says",
    "the units of a leaf are not linked to each other",
    "a p-node is not where its c-node says",
    "the table does not find a node",
    "the buckets in the hash table are not linked to each other",
)


@kernel
def _leaf_problem(tree: Any, cluster: Any) -> Any:
    at, nodes = CLUSTER * cluster, tree.clusters
    count = nodes[at + UNIT_COUNT]
    if count < 0:
        return BAD_LEAF
    unit, before = nodes[at + HEAD], NONE
    for _ in range(count):
        if unit < 0 or unit >= len(tree.homes) or tree.homes[unit] != cluster or tree.before[unit] != before:
            return BAD_LEAF
        before, unit = unit, tree.after[unit]
    return SAFE if unit == NONE else BAD_LEAF


@kernel
def _is_bucket(tree: Any, seen: Any, cluster: Any, owner: Any, up: Any, level: Any, number: Any) -> Any:
    """Whether a c-node that was not reached before is the bucket that it should be; it counts as reached then."""
    if cluster < 0 or cluster >= len(seen) or seen[cluster]:
        return False
    at, nodes = CLUSTER * cluster, tree.clusters
    seen[cluster] = True
    right = nodes[at + LEVEL] == level and nodes[at + NUMBER] == number
    return right and nodes[at + OWNER] == owner and nodes[at + UP] == up and nodes[at + FLAGS] & ~7 == 0


@kernel
def _chain_problem(tree: Any, seen: Any, partition: Any, stack: Any, depth: Any) -> Any:
    """Follow the buckets of a p-node in the hash table; returns the problem and the new depth of the stack."""
    nodes, before = tree.clusters, NONE
    levels = np.uint32(tree.partitions[PARTITION * partition + LEVELS])
    cluster = tree.partitions[PARTITION * partition + CHAIN]
    while cluster != NONE:
        if cluster < 0 or cluster >= len(seen):
            return BAD_CHAIN, depth
        at = CLUSTER * cluster
        level, number = nodes[at + LEVEL], nodes[at + NUMBER]
        if level < 0 or level > 30 or number < 0 or number >> (31 - level) != 0 or nodes[at + FLAGS] & EXACT == 0:
            return BAD_CHAIN, depth
        if (levels >> np.uint32(level)) & np.uint32(1) == 0:
            return BAD_CHAIN, depth
        if not _is_bucket(tree, seen, cluster, partition, before, level, number):
            return BAD_CHAIN, depth
        if find(tree.keys, tree.values, bucket_key(partition, level, number)) != cluster:
            return BAD_TABLE, depth
        stack[depth] = cluster
        depth += 1
        before, cluster = cluster, nodes[at + RIGHT]
    return SAFE, depth


@kernel
def _partitions_problem(
    tree: Any, attributes: Any, seen: Any, seen_partitions: Any, cluster: Any, stack: Any, depth: int
) -> Any:
    """Follow the p-nodes of a c-node; returns the problem and the new depth of the stack."""
    nodes, mask, before = tree.partitions, np.uint32(tree.clusters[CLUSTER * cluster + MASK]), NONE
    partition = tree.clusters[CLUSTER * cluster + FIRST]
    while partition != NONE:
        if partition < 0 or partition >= len(seen_partitions) or seen_partitions[partition]:
            return BAD_PARTITION, depth
        seen_partitions[partition] = True
        at = PARTITION * partition
        attribute, top = nodes[at + ATTRIBUTE], nodes[at + TOP]
        if nodes[at + PLACE] != cluster or nodes[at + PREVIOUS] != before or not 0 <= attribute < attributes:
            return BAD_PARTITION, depth
        if (mask >> np.uint32(attribute & 31)) & np.uint32(1) == 0:
            return BAD_PARTITION, depth
        if find(tree.keys, tree.values, partition_key(cluster, attribute)) != partition:
            return BAD_TABLE, depth
        if top != NONE:
            if not _is_bucket(tree, seen, top, partition, NONE, 31, 0) or tree.clusters[CLUSTER * top + FLAGS] & EXACT:
                return BAD_BUCKET, depth
            stack[depth] = top
            depth += 1
        problem, depth = _chain_problem(tree, seen, partition, stack, depth)
        if problem != SAFE:
            return problem, depth
        before, partition = partition, nodes[at + NEXT]
    return SAFE, depth


@kernel
def check_tree(tree: Any, attributes: Any, seen: Any, seen_partitions: Any, stack: Any) -> Any:
    """Whether every node is reached just once, from its parent, and every unit is in one leaf; the first problem if
    not."""
    nodes, depth, units = tree.clusters, 0, 0
    for always in (ROOT, ALWAYS):
        if not _is_bucket(tree, seen, always, NONE, NONE, 31, 0) or nodes[CLUSTER * always + FLAGS] != WHOLE:
            return BAD_BUCKET
        stack[depth] = always
        depth += 1
    while depth > 0:
        depth -= 1
        cluster = np.int64(stack[depth])
        at = CLUSTER * cluster
        problem = _leaf_problem(tree, cluster)
        if problem != SAFE:
            return problem
        units += nodes[at + UNIT_COUNT]
        if nodes[at + FLAGS] & EXACT == 0:
            for side in range(2):
                half, level, number = nodes[at + LEFT + side], nodes[at + LEVEL] - 1, 2 * nodes[at + NUMBER] + side
                if half == NONE:
                    continue
                if nodes[at + FLAGS] & SPLIT == 0 or level < 0:
                    return BAD_BUCKET
                if not _is_bucket(tree, seen, half, nodes[at + OWNER], cluster, level, number):
                    return BAD_BUCKET
                if nodes[CLUSTER * half + FLAGS] & EXACT != 0:
                    return BAD_BUCKET
                stack[depth] = half
                depth += 1
        problem, depth = _partitions_problem(tree, attributes, seen, seen_partitions, cluster, stack, depth)
        if problem != SAFE:
            return problem
    return SAFE if units == np.count_nonzero(tree.homes >= 0) else BAD_LEAF


(SOUND, PARTITIONED, OVERFULL, NOT_ENCLOSED, NOT_HOME, REPEATED, MISCOUNTED) = range(7)
BROKEN = (
    "",
    "is partitioned, though it could be cut",
    "holds more units than its capacity",
    "does not enclose a rule below it",
    "is not the smallest bucket for a rule below it",
    "repeats an attribute of its path",
    "has a p-node that miscounts what is below it",
)


COUNTED = 4
"""Numbers that are counted anew for each p-node: rules, predicates subsumed and covered, losses below it."""


@kernel
def audit_unit(tree: Any, conjunctions: Any, unit: Any, counted: Any, stamp: Any) -> Any:
    """Whether a unit is in its home bucket all the way up; returns the c-node that is wrong and how, or (NONE,
    SOUND)."""
    nodes = tree.clusters
    cluster = np.int64(tree.homes[unit])
    owner, home = nodes[CLUSTER * cluster + OWNER], cluster
    while owner != NONE:
        at, attribute = CLUSTER * cluster, tree.partitions[PARTITION * owner + ATTRIBUTE]
        level, number = np.int64(nodes[at + LEVEL]), np.int64(nodes[at + NUMBER])
        if tree.marks[attribute] == stamp:
            return cluster, REPEATED
        tree.marks[attribute] = stamp
        position = locate(conjunctions, unit, attribute)
        if position == NONE:
            return cluster, NOT_ENCLOSED
        code, low, high = constraint_of(conjunctions, position)
        if not usable(conjunctions.sets, code, low, high):
            return cluster, NOT_ENCLOSED
        exact = is_exact(code, low, high)
        low, high = hull(conjunctions.sets, code, low, high)
        if low >> level != number or (block_end(high) - 1) >> level != number:
            return cluster, NOT_ENCLOSED
        if low < nodes[at + LOW] or high > nodes[at + HIGH]:
            return cluster, NOT_ENCLOSED
        if nodes[at + FLAGS] & EXACT != 0:
            if not exact or high - low != np.int64(1) << level:
                return cluster, NOT_HOME
        elif nodes[at + FLAGS] & SPLIT != 0 and fits_a_half(low, high, level):
            return cluster, NOT_HOME
        cluster = np.int64(tree.partitions[PARTITION * owner + PLACE])
        owner = nodes[CLUSTER * cluster + OWNER]
    subsumed, covered = way_to(nodes, tree.partitions, home)
    _count_up(tree, home, counted, 0, 1)
    _count_up(tree, home, counted, 1, subsumed)
    _count_up(tree, home, counted, 2, covered)
    return np.int64(NONE), SOUND


@kernel
def _count_up(tree: Any, cluster: Any, counted: Any, which: Any, number: Any) -> None:
    """Add a number for all p-nodes above a c-node."""
    owner = tree.clusters[CLUSTER * cluster + OWNER]
    while owner != NONE:
        counted[which, owner] += number
        owner = tree.clusters[CLUSTER * tree.partitions[PARTITION * owner + PLACE] + OWNER]


@kernel
def _count_losses(tree: Any, seen: Any, seen_partitions: Any, counted: Any) -> None:
    """The losses of all nodes, for each p-node above."""
    for cluster in range(len(seen)):
        if seen[cluster]:
            lost = tree.cluster_notes[NOTE * cluster + LOSS] + tree.cluster_notes[NOTE * cluster + OTHERS]
            _count_up(tree, cluster, counted, 3, lost)
    for partition in range(len(seen_partitions)):
        if seen_partitions[partition]:
            place = np.int64(tree.partitions[PARTITION * partition + PLACE])
            _count_up(tree, place, counted, 3, tree.partition_notes[NOTE * partition + LOSS])


@kernel
def _is_counted(tree: Any, partition: Any, counted: Any) -> Any:
    """Whether a p-node knows what was counted anew."""
    at, nodes = PARTITION * partition, tree.partitions
    right = nodes[at + RULES] == counted[0, partition] and nodes[at + SUBSUMED] == counted[1, partition]
    if len(tree.partition_notes) > 0:
        right = right and tree.partition_notes[NOTE * partition + OTHERS] == counted[3, partition]
    return right and nodes[at + COVERED] == counted[2, partition]


@kernel
def audit_tree(tree: Any, conjunctions: Any, seen: Any, seen_partitions: Any, counted: Any) -> Any:
    """The invariance: every rule in the smallest bucket that encloses it, no open leaf bucket partitioned; and the
    counts.

    Returns the first c-node that breaks it, and how.
    """
    nodes = tree.clusters
    for cluster in range(len(seen)):
        at = CLUSTER * cluster
        if not seen[cluster]:
            continue
        atomic = nodes[at + LEVEL] == 0 or nodes[at + FLAGS] & (EXACT | SPLIT | WHOLE) != 0
        if not atomic and nodes[at + FIRST] != NONE:
            return np.int64(cluster), PARTITIONED
        if nodes[at + UNIT_COUNT] > nodes[at + CAPACITY] and cluster != ALWAYS:
            return np.int64(cluster), OVERFULL
    for unit in range(len(tree.homes)):
        if tree.homes[unit] != NONE:
            cluster, problem = audit_unit(tree, conjunctions, unit, counted, unit + 1)
            if problem != SOUND:
                return cluster, problem
    if len(tree.cluster_notes) > 0:
        _count_losses(tree, seen, seen_partitions, counted)
    for partition in range(len(seen_partitions)):
        if seen_partitions[partition] and not _is_counted(tree, partition, counted):
            return np.int64(tree.partitions[PARTITION * partition + PLACE]), MISCOUNTED
    return np.int64(NONE), SOUND
