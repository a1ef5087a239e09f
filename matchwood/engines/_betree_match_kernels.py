"""Matching with a BE-Tree (TODS 2013, Algorithms 1 and 2), and the rows of its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.engines._betree_layout import (
    ALWAYS,
    CLUSTER,
    CLUSTERS,
    COUNT,
    DIRTY,
    FLAGS,
    GONE,
    HEAD,
    HIGH,
    LEFT,
    LEVELS,
    LOW,
    MASK,
    NONE,
    PARTITION,
    POOL,
    RIGHT,
    ROOM,
    ROOT,
    SPLIT,
    START,
    TOP,
    UNCLEAN,
    WASTE,
)
from matchwood.engines._betree_node_kernels import bucket_key, find, partition_key
from matchwood.engines._verify_kernels import clear, scatter, verify


@kernel
def plan_rows(tree: Any, width: int) -> int:
    """How many integers the pool must have for the rows that are out of date."""
    nodes, needed = tree.clusters, tree.state[POOL]
    for place in range(tree.state[UNCLEAN]):
        at = CLUSTER * tree.unclean[place]
        if nodes[at + FLAGS] & GONE == 0 and width * nodes[at + COUNT] > nodes[at + ROOM]:
            needed += _room_for(width * nodes[at + COUNT])
    return needed


@kernel
def _room_for(integers: Any) -> Any:
    """Room for rows, and for a quarter more."""
    return integers + integers // 4


@kernel
def lay_out(tree: Any, pool: Any) -> None:
    """Write the rows of all leaves that are out of date: the numbers of their units."""
    nodes, state = tree.clusters, tree.state
    for place in range(state[UNCLEAN]):
        at = CLUSTER * tree.unclean[place]
        nodes[at + FLAGS] &= ~DIRTY
        if nodes[at + FLAGS] & GONE != 0:
            continue
        if nodes[at + COUNT] > nodes[at + ROOM]:
            state[WASTE] += nodes[at + ROOM]
            nodes[at + START], nodes[at + ROOM] = state[POOL], _room_for(nodes[at + COUNT])
            state[POOL] += nodes[at + ROOM]
        end, unit = nodes[at + START], nodes[at + HEAD]
        while unit != NONE:
            pool[end] = unit
            end += 1
            unit = tree.after[unit]
    state[UNCLEAN] = 0


@kernel
def forget_rows(tree: Any) -> None:
    """Let the rows of all leaves be out of date, and the pool be empty."""
    nodes, state = tree.clusters, tree.state
    state[UNCLEAN] = state[POOL] = state[WASTE] = 0
    for cluster in range(state[CLUSTERS]):
        at = CLUSTER * cluster
        nodes[at + ROOM] = 0
        if nodes[at + FLAGS] & GONE == 0:
            nodes[at + FLAGS] |= DIRTY
            tree.unclean[state[UNCLEAN]] = cluster
            state[UNCLEAN] += 1
        else:
            nodes[at + FLAGS] &= ~DIRTY


@kernel
def match_tree(
    conjunctions: Any, shape: Any, live: int, events: Any, first: int, labels: Any, stack: Any,
    units: Any, offsets: Any, work: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, while the most that one event can have fits."""
    positions, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    nodes, partitions, keys, values, pool = shape.clusters, shape.partitions, shape.keys, shape.values, shape.pool
    used = 0
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < live:
            break
        scatter(events, event, labels)
        present = np.uint32(0)
        for pair in range(events.offsets[event], events.offsets[event + 1]):
            present |= np.uint32(1) << np.uint32(events.attributes[pair] & 31)
        stack[0], stack[1], depth = ROOT, ALWAYS, 2
        while depth > 0:
            depth -= 1
            cluster = stack[depth]
            at = CLUSTER * cluster
            start, count = nodes[at + START], nodes[at + COUNT]
            work[1] += count
            for row in range(start, start + count):
                unit = pool[row]
                if verify(positions, records, intervals, unit, labels) and used < len(units):
                    units[used] = unit
                    used += 1
            mask = np.uint32(nodes[at + MASK]) & present
            if mask == 0:
                continue
            for pair in range(events.offsets[event], events.offsets[event + 1]):
                attribute = events.attributes[pair]
                if (mask >> np.uint32(attribute & 31)) & np.uint32(1) == 0 or attribute >= len(labels):
                    continue
                partition = find(keys, values, partition_key(cluster, attribute))
                if partition != NONE:
                    depth = _search(nodes, partitions, keys, values, partition, events.labels[pair], stack, depth)
        clear(events, event, labels)
        offsets[event - first + 1] = used
        work[0] += 1
    work[2], work[3] = work[1], used


@kernel
def _search(
    nodes: Any, partitions: Any, keys: Any, values: Any, partition: int, label: int, stack: Any, depth: int
) -> int:
    """Put the buckets of a p-node that enclose a label on the stack; returns its new depth.

    A bucket that is cut is looked at too: it holds what straddles the cut.
    """
    at = PARTITION * partition
    levels, level = np.uint32(partitions[at + LEVELS]), 0
    while levels != 0:
        if levels & np.uint32(1) != 0:
            found = find(keys, values, bucket_key(partition, level, label >> level))
            if found != NONE and depth < len(stack):
                stack[depth] = found
                depth += 1
        levels >>= np.uint32(1)
        level += 1
    cluster, level = np.int64(partitions[at + TOP]), 31
    while cluster != NONE:
        at = CLUSTER * cluster
        if nodes[at + LOW] <= label < nodes[at + HIGH] and depth < len(stack):
            stack[depth] = cluster
            depth += 1
        level -= 1
        if nodes[at + FLAGS] & SPLIT == 0 or level < 0:
            break
        cluster = np.int64(nodes[at + LEFT + ((label >> level) & 1)])
    return depth
