"""Where a unit belongs in a BE-Tree: the interval of a predicate (Table I), its bucket, the way down from the root.

TODS 2013, 7.2, Algorithms 3 and 4: where an expression goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.betree._node_kernels import bucket_key, enter, find, link, new_cluster, partition_key, unlink
from matchwood.engines.betree.layout import (
    ALWAYS,
    CHAIN,
    CLUSTER,
    CLUSTERS,
    COVERED,
    EXACT,
    EXPLORED,
    FLAGS,
    GENERIC,
    GONE,
    HIGH,
    LEFT,
    LEVEL,
    LEVELS,
    LOSS,
    LOSS_UNIT,
    LOW,
    MASK,
    NONE,
    NOTE,
    OTHERS,
    OWNER,
    PARTITION,
    PARTITIONS,
    PLACE,
    RIGHT,
    ROOT,
    RULES,
    SPECIALISED,
    SPLIT,
    STAMP,
    SUBSUMED,
    TOP,
    UNIT_COUNT,
    UP,
    WHOLE,
)
from matchwood.engines.betree.layout import ATTRIBUTE as ATTRIBUTE_OF
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    SEVERAL,
    attribute_of,
    constraint_at,
    hull,
    stretch,
)


@bare_kernel
def usable(sets: Any, code: Any, low: Any, high: Any) -> Any:
    """Whether the space can be cut by a constraint: an event without a value must fail it."""
    if code & ACCEPTS_NULL != 0:
        return False
    first, last = hull(sets, code, low, high)
    return 0 <= first < last


@bare_kernel
def is_exact(code: Any, low: Any, high: Any) -> Any:
    """Whether a constraint is one block with both ends inside the domain, as equalities are."""
    if code & SEVERAL != 0 or low == BOTTOM_LABEL or high == TOP_LABEL:
        return False
    width = high - low
    return width & (width - 1) == 0 and low & (width - 1) == 0


@bare_kernel
def level_of_width(width: Any) -> Any:
    """The level of the blocks of a width."""
    level = 0
    while width >> level > 1:
        level += 1
    return level


@bare_kernel
def fits_a_half(low: Any, high: Any, level: Any) -> Any:
    """Whether one half of the block of a level that encloses [low, high) encloses it too."""
    if level == 0:
        return False
    return np.int64(low) >> np.int64(level - 1) == (block_end(high) - 1) >> np.int64(level - 1)


@bare_kernel
def locate(conjunctions: Any, unit: Any, attribute: Any) -> Any:
    """The position of a unit's constraint of an attribute; NONE if it has none."""
    places, words, sets, bits = conjunctions
    first, last = stretch(places, words, unit)
    for position in range(first, last):
        if attribute_of(words, sets, bits, position) == attribute:
            return np.int64(position)
    return np.int64(NONE)


@bare_kernel
def constraint_of(conjunctions: Any, position: Any) -> Any:
    """The code and the labels of a constraint, as `constraint_at` tells them."""
    return constraint_at(conjunctions.words, conjunctions.sets, conjunctions.bits, position)


@bare_kernel
def hull_of(conjunctions: Any, position: Any) -> Any:
    """The interval that encloses a constraint."""
    code, low, high = constraint_of(conjunctions, position)
    return hull(conjunctions.sets, code, low, high)


@bare_kernel
def half_of(tree: Any, cluster: Any, low: Any, high: Any, capacity: Any) -> Any:
    """The bucket of the half that encloses an interval, made if need be; NONE if it straddles the cut."""
    at, nodes = CLUSTER * cluster, tree.clusters
    level = nodes[at + LEVEL]
    if not fits_a_half(low, high, level):
        return NONE
    number = np.int64(low) >> np.int64(level - 1)
    side = at + (LEFT if number & 1 == 0 else RIGHT)
    if nodes[side] == NONE:
        nodes[side] = new_cluster(tree, nodes[at + OWNER], cluster, level - 1, number, 0, capacity)
    return nodes[side]


@bare_kernel
def _exact_bucket(tree: Any, partition: Any, low: Any, high: Any, capacity: Any) -> Any:
    """The bucket in the hash table that a block is, made if need be."""
    level = level_of_width(high - low)
    number, at = low >> level, PARTITION * partition
    key = bucket_key(partition, level, number)
    found = find(tree.keys, tree.values, key)
    if found != NONE:
        return found
    cluster = new_cluster(tree, partition, NONE, level, number, EXACT, capacity)
    after = tree.partitions[at + CHAIN]
    tree.clusters[CLUSTER * cluster + RIGHT] = after
    if after != NONE:
        tree.clusters[CLUSTER * after + UP] = cluster
    tree.partitions[at + CHAIN] = cluster
    tree.partitions[at + LEVELS] |= np.int32(1) << level
    enter(tree, key, cluster)
    return cluster


@bare_kernel
def bucket_of(tree: Any, conjunctions: Any, position: Any, partition: Any, settings: Any) -> Any:
    """The smallest bucket of a p-node that encloses a constraint (Rule 1); makes one c-node at most."""
    code, low, high = constraint_of(conjunctions, position)
    exact = is_exact(code, low, high)
    low, high = hull(conjunctions.sets, code, low, high)
    nodes, place = tree.clusters, PARTITION * partition
    if settings.directory != GENERIC and exact:
        cluster = _exact_bucket(tree, partition, low, high, settings.max_cap)
    else:
        cluster = tree.partitions[place + TOP]
        if cluster == NONE:
            flags = WHOLE if settings.directory == SPECIALISED else 0
            cluster = new_cluster(tree, partition, NONE, 31, 0, flags, settings.max_cap)
            tree.partitions[place + TOP] = cluster
        while nodes[CLUSTER * cluster + FLAGS] & SPLIT != 0:
            half = half_of(tree, cluster, low, high, settings.max_cap)
            if half == NONE:
                break
            cluster = half
    widen(nodes, cluster, low, high)
    return cluster


@bare_kernel
def widen(nodes: Any, cluster: Any, low: Any, high: Any) -> None:
    """Let a bucket's interval enclose one more predicate."""
    at = CLUSTER * cluster
    nodes[at + LOW], nodes[at + HIGH] = min(nodes[at + LOW], low), max(nodes[at + HIGH], high)


@bare_kernel
def way_to(clusters: Any, partitions: Any, cluster: Any) -> Any:
    """How many buckets on the way to a c-node, itself included, are exactly a predicate, and how many enclose some."""
    subsumed, covered = np.int64(0), np.int64(0)
    owner = clusters[CLUSTER * cluster + OWNER]
    while owner != NONE:
        exact = clusters[CLUSTER * cluster + FLAGS] & EXACT != 0
        subsumed, covered = subsumed + exact, covered + (not exact)
        cluster = np.int64(partitions[PARTITION * owner + PLACE])
        owner = clusters[CLUSTER * cluster + OWNER]
    return subsumed, covered


@bare_kernel
def count_in(tree: Any, cluster: Any, rules: Any, subsumed: Any, covered: Any) -> None:
    """Count units, and the predicates on the ways to them, in for all p-nodes above a c-node; out if negative."""
    owner, nodes = tree.clusters[CLUSTER * cluster + OWNER], tree.partitions
    while owner != NONE:
        at = PARTITION * owner
        nodes[at + RULES] += rules
        nodes[at + SUBSUMED] += subsumed
        nodes[at + COVERED] += covered
        owner = tree.clusters[CLUSTER * nodes[at + PLACE] + OWNER]


@bare_kernel
def count_units(tree: Any, cluster: Any, count: Any) -> None:
    """Count units into the leaf of a c-node, or out of it if there are less than none."""
    subsumed, covered = way_to(tree.clusters, tree.partitions, cluster)
    count_in(tree, cluster, count, count * subsumed, count * covered)


@bare_kernel
def recount(tree: Any) -> None:
    """Count all units anew, for a tree whose counts nobody vouches for."""
    for partition in range(tree.state[PARTITIONS]):
        at = PARTITION * partition
        tree.partitions[at + RULES] = tree.partitions[at + SUBSUMED] = tree.partitions[at + COVERED] = 0
    for cluster in range(tree.state[CLUSTERS]):
        if tree.clusters[CLUSTER * cluster + FLAGS] & GONE == 0:
            count_units(tree, cluster, np.int64(tree.clusters[CLUSTER * cluster + UNIT_COUNT]))


@bare_kernel
def gain(subsumed: Any, covered: Any, settings: Any) -> Any:
    """Equation 12, weighed against loss."""
    return (1.0 - settings.alpha) * ((1.0 - settings.beta) * subsumed + settings.beta * covered)


@bare_kernel
def rank_of(tree: Any, partition: Any, settings: Any) -> Any:
    """Equation 10: the gains of all leaves below a p-node, without the losses of all nodes there and of its own."""
    at, lost = PARTITION * partition, np.int64(0)
    if len(tree.partition_notes) > 0:
        lost = tree.partition_notes[NOTE * partition + LOSS] + tree.partition_notes[NOTE * partition + OTHERS]
    found = gain(tree.partitions[at + SUBSUMED], tree.partitions[at + COVERED], settings)
    return found - settings.alpha * LOSS_UNIT * lost


@bare_kernel
def take_out(tree: Any, unit: Any) -> None:
    """Take a unit out of its leaf, and out of the counts of all p-nodes above."""
    count_units(tree, np.int64(tree.homes[unit]), -1)
    unlink(tree, unit)


@bare_kernel
def mark_path(tree: Any, cluster: Any) -> None:
    """Mark the attributes that are used above a c-node: none is chosen twice on a path."""
    tree.state[STAMP] += 1
    owner = tree.clusters[CLUSTER * cluster + OWNER]
    while owner != NONE:
        tree.marks[tree.partitions[PARTITION * owner + ATTRIBUTE_OF]] = tree.state[STAMP]
        owner = tree.clusters[CLUSTER * tree.partitions[PARTITION * owner + PLACE] + OWNER]


@bare_kernel
def has_free_equality(tree: Any, conjunctions: Any, unit: Any) -> Any:
    """Whether a unit has an equality on an attribute that is not marked."""
    places, words, sets, bits = conjunctions
    first, last = stretch(places, words, unit)
    for position in range(first, last):
        code, low, high = constraint_at(words, sets, bits, position)
        free = code & ACCEPTS_NULL == 0 and tree.marks[code >> FLAG_BITS] != tree.state[STAMP]
        if free and is_exact(code, low, high):
            return True
    return False


@bare_kernel
def draw(random: Any) -> Any:
    """The next of a sequence of numbers from 0 to 1 that a seed decides."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    return float(mix64(random[0]) >> np.uint64(11)) / 2.0**53


@bare_kernel
def choose_partition(tree: Any, conjunctions: Any, unit: Any, cluster: Any, settings: Any) -> Any:
    """The p-node of a c-node that a unit goes down to, and the position of the constraint that leads there; (NONE,
    NONE) if it stays.

    The one with the highest rank; or, with the probability that is left for exploring, any of those that would do.
    """
    best, leading, seen, highest = np.int64(NONE), np.int64(NONE), 0, -np.inf
    mask = np.uint32(tree.clusters[CLUSTER * cluster + MASK])
    if mask == 0:
        return best, leading
    exploring = settings.exploit < 1.0 and draw(tree.random) >= settings.exploit
    strict = settings.equality_first and has_free_equality(tree, conjunctions, unit)
    places, words, sets, bits = conjunctions
    first, last = stretch(places, words, unit)
    for position in range(first, last):
        attribute = attribute_of(words, sets, bits, position)
        if (mask >> np.uint32(attribute & 31)) & np.uint32(1) == 0 or tree.marks[attribute] == tree.state[STAMP]:
            continue
        code, low, high = constraint_at(words, sets, bits, position)
        if not usable(sets, code, low, high) or (strict and not is_exact(code, low, high)):
            continue
        found = find(tree.keys, tree.values, partition_key(cluster, attribute))
        if found == NONE:
            continue
        seen += 1
        rank = rank_of(tree, found, settings)
        chosen = best == NONE or rank > highest
        if exploring and seen > 1:
            chosen = draw(tree.random) * seen < 1.0
        if chosen:
            best, leading, highest = found, np.int64(position), rank
    tree.state[EXPLORED] += exploring and seen > 1
    return best, leading


@bare_kernel
def has_usable(conjunctions: Any, unit: Any) -> Any:
    """Whether a unit has a constraint by which the space can be cut."""
    places, words, sets, bits = conjunctions
    first, last = stretch(places, words, unit)
    for position in range(first, last):
        code, low, high = constraint_at(words, sets, bits, position)
        if usable(sets, code, low, high):
            return True
    return False


@bare_kernel
def insert_below(tree: Any, conjunctions: Any, unit: Any, settings: Any) -> None:
    """Put a unit where it belongs (Algorithm 3), from the root down; makes one c-node at most."""
    if not has_usable(conjunctions, unit):
        link(tree, unit, ALWAYS)
        return
    cluster = np.int64(ROOT)
    tree.state[STAMP] += 1
    while True:
        partition, position = choose_partition(tree, conjunctions, unit, cluster, settings)
        if partition == NONE:
            break
        tree.marks[tree.partitions[PARTITION * partition + ATTRIBUTE_OF]] = tree.state[STAMP]
        cluster = np.int64(bucket_of(tree, conjunctions, position, partition, settings))
    count_units(tree, cluster, 1)
    link(tree, unit, cluster)
