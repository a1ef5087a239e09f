"""Two-phase space cutting: an overfull leaf is clustered, then partitioned (TODS 2013, Algorithms 5 and 6).

The paper's Algorithm 6 halves a bucket at end/2; here it is the midpoint, and the halves share no bound. A predicate
that straddles the cut stays in the parent, which every event that reaches the halves passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.betree._node_kernels import (
    enqueue,
    find,
    forget_cluster,
    link,
    new_partition,
    partition_key,
    unlink,
)
from matchwood.engines.betree._place_kernels import (
    bucket_of,
    count_units,
    draw,
    half_of,
    has_free_equality,
    has_usable,
    hull_of,
    insert_below,
    is_exact,
    locate,
    mark_path,
    take_out,
    usable,
    widen,
)
from matchwood.engines.betree.layout import (
    ALWAYS,
    ATTRIBUTE,
    CAPACITY,
    CLUSTER,
    CLUSTERS,
    CUTS,
    ENTRIES,
    EXACT,
    EXTENDED,
    FLAGS,
    GENERIC,
    GONE,
    HEAD,
    LEVEL,
    NEED_CLUSTERS,
    NEED_PAIRS,
    NEED_PARTITIONS,
    NONE,
    OFFERED,
    OWNER,
    PARTITION,
    PARTITIONS,
    QUEUE,
    QUEUED,
    REINSERTED,
    ROOT,
    SPLIT,
    SPLITS,
    STAMP,
    UNIT_COUNT,
    WHOLE,
)
from matchwood.engines.shared.constraints._word_kernels import FLAG_BITS, constraint_at, hull, stretch

_CELLS = 64
"""Cells of the histogram over an attribute's labels."""

_STRETCH = 2
"""A leaf that no attribute of `min_size` rules can relieve is extended (9); beyond so many times `max_cap`, smaller
groups are taken out as well: a thousand rules that name an attribute each must not be looked at for every event."""


@bare_kernel
def _room(tree: Any, clusters: Any, partitions: Any) -> Any:
    """Whether so many nodes can be made; if not, it is noted how many were wanted."""
    state = tree.state
    entries = clusters + partitions
    enough = (
        len(tree.clusters) // CLUSTER - state[CLUSTERS] >= clusters
        and len(tree.partitions) // PARTITION - state[PARTITIONS] >= partitions
        and 2 * (state[ENTRIES] + entries) <= len(tree.keys)
    )
    if not enough:
        state[NEED_CLUSTERS], state[NEED_PARTITIONS] = clusters, partitions
    return enough


@bare_kernel
def _split(tree: Any, conjunctions: Any, cluster: Any, settings: Any) -> None:
    """Cut a bucket in halves, and move what one of them encloses (Rule 2: before it may be partitioned)."""
    at, nodes = CLUSTER * cluster, tree.clusters
    nodes[at + FLAGS] |= SPLIT
    tree.state[SPLITS] += 1
    attribute = tree.partitions[PARTITION * nodes[at + OWNER] + ATTRIBUTE]
    unit = nodes[at + HEAD]
    while unit != NONE:
        following = tree.after[unit]
        low, high = hull_of(conjunctions, locate(conjunctions, unit, attribute))
        half = half_of(tree, cluster, low, high, settings.max_cap)
        if half != NONE:
            unlink(tree, unit)
            widen(nodes, half, low, high)
            link(tree, unit, half)
        unit = following


@bare_kernel
def _eligible(tree: Any, sets: Any, code: Any, low: Any, high: Any, strict: bool) -> Any:
    """Whether a leaf may be partitioned by this constraint of one of its rules."""
    if tree.marks[code >> FLAG_BITS] == tree.state[STAMP]:
        return False
    return usable(sets, code, low, high) and (not strict or is_exact(code, low, high))


@bare_kernel
def _cells(sets: Any, code: Any, low: Any, high: Any) -> Any:
    """How much of a histogram the interval covers that encloses a constraint."""
    start, stop = hull(sets, code, low, high)
    first, last = start * _CELLS >> 31, (block_end(stop) - 1) * _CELLS >> 31
    return (last - first + 1) / _CELLS


@bare_kernel
def _weight(code: Any, low: Any, high: Any, settings: Any) -> Any:
    """What a predicate counts for when an attribute is chosen: 1, or as it would be subsumed or covered (12)."""
    subsumed = settings.directory != GENERIC and is_exact(code, low, high)
    return 2.0 * (1.0 - settings.beta) if subsumed else 2.0 * settings.beta


@bare_kernel
def _member(number: Any) -> Any:
    """A rule of a leaf, and whether only its equalities count: they are negative then."""
    return (-1 - number, True) if number < 0 else (number, False)


@bare_kernel
def _survey(tree: Any, conjunctions: Any, cluster: Any, relaxed: bool, settings: Any, scratch: Any) -> Any:
    """Which rules of a leaf each attribute would take out of it; returns how many attributes there are.

    Equalities come first (Hy-R): while a rule has one that is not used, only those count for it; unless `relaxed`.
    """
    places, words, sets, bits = conjunctions
    nodes, gains, touched, count, kinds = tree.clusters, scratch.gains, scratch.touched, 0, 0
    unit = nodes[CLUSTER * cluster + HEAD]
    while unit != NONE:
        strict = settings.equality_first and not relaxed and has_free_equality(tree, conjunctions, unit)
        scratch.members[count] = -1 - unit if strict else unit
        count += 1
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            code, low, high = constraint_at(words, sets, bits, position)
            if _eligible(tree, sets, code, low, high, strict):
                attribute = code >> FLAG_BITS
                if gains[attribute] == 0:
                    touched[kinds] = attribute
                    scratch.losses[attribute] = scratch.weights[attribute] = 0.0
                    kinds += 1
                gains[attribute] += 1
                if settings.histogram:
                    scratch.losses[attribute] += _cells(sets, code, low, high)
                scratch.weights[attribute] += _weight(code, low, high, settings)
        unit = tree.after[unit]
    start = 0
    for kind in range(kinds):
        scratch.starts[touched[kind]] = start
        start += gains[touched[kind]]
    for member in range(count):
        unit, strict = _member(scratch.members[member])
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            code, low, high = constraint_at(words, sets, bits, position)
            if _eligible(tree, sets, code, low, high, strict):
                attribute = code >> FLAG_BITS
                scratch.pairs[scratch.starts[attribute]] = member
                scratch.starts[attribute] += 1
    for kind in range(kinds):
        scratch.ends[touched[kind]] = scratch.starts[touched[kind]]
        scratch.starts[touched[kind]] -= gains[touched[kind]]
    return kinds


@bare_kernel
def _best(tree: Any, scratch: Any, kinds: Any, least: Any, settings: Any) -> Any:
    """The attribute with the highest rank (14) among those that take at least so many rules; NONE if there is none.

    Its loss is that of a histogram, or optimistically none, until matching tells of one.
    """
    best, highest = np.int64(NONE), -np.inf
    for kind in range(kinds):
        attribute = scratch.touched[kind]
        gain = scratch.gains[attribute]
        if gain < least:
            continue
        loss = scratch.losses[attribute] if settings.histogram else tree.feedback[attribute] * gain
        rank = (1.0 - settings.alpha) * scratch.weights[attribute] - settings.alpha * loss
        if rank > highest or (rank == highest and attribute < best):
            best, highest = np.int64(attribute), rank
    return best


@bare_kernel
def _move(tree: Any, conjunctions: Any, cluster: Any, attribute: Any, settings: Any, scratch: Any) -> None:
    """Move all rules of an attribute to its p-node, which is made if it is not there yet."""
    partition = find(tree.keys, tree.values, partition_key(cluster, attribute))
    if partition == NONE:
        partition = np.int64(new_partition(tree, cluster, attribute))
        tree.state[CUTS] += 1
    places, words, sets, bits = conjunctions
    for place in range(scratch.starts[attribute], scratch.ends[attribute]):
        unit, strict = _member(scratch.members[scratch.pairs[place]])
        if tree.homes[unit] != cluster:
            continue
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            code, low, high = constraint_at(words, sets, bits, position)
            if _eligible(tree, sets, code, low, high, strict):
                scratch.gains[code >> FLAG_BITS] -= 1
                if settings.histogram:
                    scratch.losses[code >> FLAG_BITS] -= _cells(sets, code, low, high)
                scratch.weights[code >> FLAG_BITS] -= _weight(code, low, high, settings)
        take_out(tree, unit)
        bucket = np.int64(bucket_of(tree, conjunctions, locate(conjunctions, unit, attribute), partition, settings))
        count_units(tree, bucket, 1)
        link(tree, unit, bucket)


@bare_kernel
def _enough_pairs(tree: Any, conjunctions: Any, cluster: Any, scratch: Any) -> Any:
    """Whether the scratch memory does for a leaf; if not, it is noted how much would."""
    pairs, unit = np.int64(tree.clusters[CLUSTER * cluster + UNIT_COUNT]), tree.clusters[CLUSTER * cluster + HEAD]
    while unit != NONE:
        first, last = stretch(conjunctions.places, conjunctions.words, unit)
        pairs += last - first
        unit = tree.after[unit]
    if pairs > len(scratch.pairs):
        tree.state[NEED_PAIRS] = pairs
    return pairs <= len(scratch.pairs)


@bare_kernel
def _partition(
    tree: Any, conjunctions: Any, cluster: Any, relaxed: bool, least: Any, settings: Any, scratch: Any
) -> Any:
    """Take rules out of an overfull leaf, attribute by attribute; False if it had to stop for want of room."""
    at, nodes, enough = CLUSTER * cluster, tree.clusters, True
    mark_path(tree, cluster)
    kinds = _survey(tree, conjunctions, cluster, relaxed, settings, scratch)
    while enough and nodes[at + UNIT_COUNT] > nodes[at + CAPACITY]:
        attribute = _best(tree, scratch, kinds, least, settings)
        if attribute == NONE:
            break
        enough = _room(tree, scratch.gains[attribute] + 1, 1)
        if enough:
            _move(tree, conjunctions, cluster, attribute, settings, scratch)
    for kind in range(kinds):
        scratch.gains[scratch.touched[kind]] = 0
    return enough


@bare_kernel
def fitting_capacity(count: Any, max_cap: Any) -> Any:
    """Equation 9: the smallest multiple of `max_cap` that does, and at least one of it."""
    return max(1, (count + max_cap - 1) // max_cap) * max_cap


@bare_kernel
def _resize(tree: Any, cluster: Any, settings: Any) -> None:
    """Give a leaf the capacity of Equation 9 after it was partitioned.

    One that is still too full is extended: by an eighth at least, so that a million rules without an attribute in
    common are not surveyed again after every few of them.
    """
    at, nodes = CLUSTER * cluster, tree.clusters
    count, wanted = np.int64(nodes[at + UNIT_COUNT]), np.int64(nodes[at + UNIT_COUNT])
    if count > nodes[at + CAPACITY]:
        wanted += count // 8
        tree.state[EXTENDED] += 1
    nodes[at + CAPACITY] = min(fitting_capacity(wanted, settings.max_cap), 2**31 - 1)


@bare_kernel
def _reinsert(tree: Any, conjunctions: Any, cluster: Any, settings: Any) -> Any:
    """Let some rules of a leaf look for a place again before it is cut (5.2); False for want of room.

    Once for each cut, though it be tried again for want of room after this.
    """
    if tree.clusters[CLUSTER * cluster + FLAGS] & OFFERED != 0:
        return True
    if not _room(tree, tree.clusters[CLUSTER * cluster + UNIT_COUNT] + 2, 1):
        return False
    tree.clusters[CLUSTER * cluster + FLAGS] |= OFFERED
    unit = tree.clusters[CLUSTER * cluster + HEAD]
    while unit != NONE:
        following = tree.after[unit]
        if draw(tree.random) < settings.reinsertion:
            take_out(tree, unit)
            insert_below(tree, conjunctions, unit, settings)
            tree.state[REINSERTED] += 1
        unit = following
    return True


@bare_kernel
def _part(tree: Any, conjunctions: Any, cluster: Any, settings: Any, scratch: Any) -> Any:
    """Partition a leaf while it is too full; False for want of room.

    Other predicates than equalities only once it is stretched, and then groups below `min_size` as well.
    """
    at, nodes = CLUSTER * cluster, tree.clusters
    if nodes[at + UNIT_COUNT] > nodes[at + CAPACITY]:
        relaxed = not settings.equality_first
        if not _partition(tree, conjunctions, cluster, relaxed, settings.min_size, settings, scratch):
            return False
    for least in (settings.min_size, 1):
        if nodes[at + UNIT_COUNT] > _STRETCH * settings.max_cap:
            nodes[at + CAPACITY] = settings.max_cap
            if not _partition(tree, conjunctions, cluster, True, least, settings, scratch):
                return False
    return True


@bare_kernel
def _cut(tree: Any, conjunctions: Any, cluster: Any, settings: Any, scratch: Any) -> Any:
    """One step for an overfull leaf: cut its bucket if that is possible, partition it if not."""
    at, nodes = CLUSTER * cluster, tree.clusters
    if not _room(tree, 2, 1) or not _enough_pairs(tree, conjunctions, cluster, scratch):
        return False
    if settings.reinsertion > 0.0:
        if not _reinsert(tree, conjunctions, cluster, settings):
            return False
        if nodes[at + UNIT_COUNT] <= nodes[at + CAPACITY]:
            return True
    final = cluster == ROOT or nodes[at + LEVEL] == 0 or nodes[at + FLAGS] & (EXACT | SPLIT | WHOLE) != 0
    if not final:
        _split(tree, conjunctions, cluster, settings)
    if not _part(tree, conjunctions, cluster, settings, scratch):
        return False
    _resize(tree, cluster, settings)
    forget_cluster(tree, cluster)
    return True


@bare_kernel
def settle(tree: Any, conjunctions: Any, settings: Any, scratch: Any) -> Any:
    """Cut all overfull leaves; False if it had to stop for want of room, and is to be called again."""
    nodes, state, queue = tree.clusters, tree.state, tree.queue
    while state[QUEUE] > 0:
        cluster = np.int64(queue[state[QUEUE] - 1])
        at = CLUSTER * cluster
        state[QUEUE] -= 1
        nodes[at + FLAGS] &= ~QUEUED
        if nodes[at + FLAGS] & GONE != 0 or nodes[at + UNIT_COUNT] <= nodes[at + CAPACITY] or cluster == ALWAYS:
            nodes[at + FLAGS] &= ~OFFERED
            continue
        if not _cut(tree, conjunctions, cluster, settings, scratch):
            if nodes[at + FLAGS] & QUEUED == 0:
                enqueue(tree, cluster)
            return False
        nodes[at + FLAGS] &= ~OFFERED
    return True


@bare_kernel
def insert_units(tree: Any, conjunctions: Any, units: Any, first: Any, settings: Any, scratch: Any) -> Any:
    """Insert the units from `first` on, one after the other; returns how far it came before it wanted room."""
    if not settle(tree, conjunctions, settings, scratch):
        return first
    for place in range(first, len(units)):
        if not _room(tree, 1, 1):
            return place
        insert_below(tree, conjunctions, units[place], settings)
        if tree.state[QUEUE] > 0 and not settle(tree, conjunctions, settings, scratch):
            return place + 1
    return len(units)


@bare_kernel
def gather_units(tree: Any, conjunctions: Any, units: Any) -> None:
    """Put all units into the leaf of the root, to be cut by the statistics of all of them (BE-B)."""
    for unit in units:
        link(tree, unit, ROOT if has_usable(conjunctions, unit) else ALWAYS)
