"""Self-adjustment of a BE-Tree (section 5): ranks by gain and loss, and recycling what ranks too low.

TODS 2013, section 5: Rank and Gain (5.1), recycling and reinsertion (5.2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.betree._node_kernels import add_loss, unlink
from matchwood.engines.betree._place_kernels import count_units, gain, rank_of, way_to
from matchwood.engines.betree._remove_kernels import dissolve, settle_loss
from matchwood.engines.betree.layout import (
    ALWAYS,
    ATTRIBUTE,
    CHANGED,
    CLUSTER,
    CLUSTERS,
    FIRST,
    FLAGS,
    GONE,
    HEAD,
    LEAF_SPENT,
    LOSS,
    LOSS_UNIT,
    NEXT,
    NONE,
    NOTE,
    OTHERS,
    PARTITION,
    PARTITIONS,
    PLACE,
    RECYCLED,
    RECYCLED_BUCKETS,
    RECYCLED_LEAVES,
    ROOT,
    RULES,
    SEEN,
    SPENT,
    UNIT_COUNT,
    WAITING,
)


@bare_kernel
def _average(spent: Any, seen: Any) -> Any:
    """Equation 11, in units of LOSS_UNIT: what was spent for nothing, an event that reached the node."""
    return np.int64(spent / LOSS_UNIT / max(1, seen))


@bare_kernel
def _start_window(notes: Any, at: Any) -> None:
    notes[at + SEEN] = notes[at + CHANGED] = notes[at + SPENT] = notes[at + LEAF_SPENT] = notes[at + WAITING] = 0


@bare_kernel
def _judge_cluster(tree: Any, cluster: Any) -> None:
    """End the window of a c-node and its leaf; one without p-nodes is nothing but its leaf, and loses nothing else."""
    at, notes, loss = NOTE * cluster, tree.cluster_notes, np.int64(0)
    leaf = _average(notes[at + LEAF_SPENT], notes[at + SEEN])
    if tree.clusters[CLUSTER * cluster + FIRST] != NONE:
        loss = _average(notes[at + SPENT], notes[at + SEEN])
    add_loss(tree, cluster, loss + leaf - notes[at + LOSS] - notes[at + OTHERS])
    notes[at + LOSS], notes[at + OTHERS] = loss, leaf
    _start_window(notes, at)


@bare_kernel
def _judge_partition(tree: Any, partition: Any) -> None:
    """End the window of a p-node; what its attribute lost a rule is remembered for the leaves that it may be chosen
    for (14)."""
    at, notes, place = NOTE * partition, tree.partition_notes, PARTITION * partition
    loss = _average(notes[at + SPENT], notes[at + SEEN])
    add_loss(tree, np.int64(tree.partitions[place + PLACE]), loss - notes[at + LOSS])
    notes[at + LOSS] = loss
    attribute, rules = tree.partitions[place + ATTRIBUTE], max(1, tree.partitions[place + RULES])
    tree.feedback[attribute] = 0.5 * tree.feedback[attribute] + 0.5 * LOSS_UNIT * loss / rules
    _start_window(notes, at)


@bare_kernel
def await_all(tree: Any) -> None:
    """Let every node that an event reached wait to be ranked, its own window over or not."""
    tree.due[0] = 0
    for cluster in range(tree.state[CLUSTERS]):
        if tree.clusters[CLUSTER * cluster + FLAGS] & GONE == 0 and tree.cluster_notes[NOTE * cluster + SEEN] > 0:
            tree.cluster_notes[NOTE * cluster + WAITING] = 1
            tree.due[0] += 1
            tree.due[tree.due[0]] = cluster
    for partition in range(tree.state[PARTITIONS]):
        there = tree.partitions[PARTITION * partition + PLACE] != NONE
        if there and tree.partition_notes[NOTE * partition + SEEN] > 0:
            tree.partition_notes[NOTE * partition + WAITING] = 1
            tree.due[0] += 1
            tree.due[tree.due[0]] = -1 - partition


@bare_kernel
def _judge(tree: Any) -> Any:
    """End the windows of all nodes that wait, and keep those in `due`: others have taken the numbers of some since."""
    kept = 0
    for place in range(1, tree.due[0] + 1):
        code = tree.due[place]
        if code < 0:
            if tree.partition_notes[NOTE * (-1 - code) + WAITING] == 0:
                continue
            _judge_partition(tree, -1 - code)
        else:
            if tree.cluster_notes[NOTE * code + WAITING] == 0:
                continue
            _judge_cluster(tree, code)
        kept += 1
        tree.due[kept] = code
    tree.due[0] = 0
    return kept


@bare_kernel
def _leaf_rank(tree: Any, cluster: Any, settings: Any) -> Any:
    """Equation 10 of an l-node."""
    count = tree.clusters[CLUSTER * cluster + UNIT_COUNT]
    subsumed, covered = way_to(tree.clusters, tree.partitions, cluster)
    lost = LOSS_UNIT * tree.cluster_notes[NOTE * cluster + OTHERS]
    return gain(count * subsumed, count * covered, settings) - settings.alpha * lost


@bare_kernel
def _cluster_rank(tree: Any, cluster: Any, settings: Any) -> Any:
    """Equation 10 of a c-node: its leaf and its p-nodes are what descends from it."""
    found = _leaf_rank(tree, cluster, settings)
    partition = np.int64(tree.clusters[CLUSTER * cluster + FIRST])
    while partition != NONE:
        found += rank_of(tree, partition, settings)
        partition = np.int64(tree.partitions[PARTITION * partition + NEXT])
    return found - settings.alpha * LOSS_UNIT * tree.cluster_notes[NOTE * cluster + LOSS]


@bare_kernel
def _empty_leaf(tree: Any, cluster: Any, displaced: Any, count: Any) -> Any:
    """Take all units out of a leaf; returns how many are displaced then."""
    nodes, at = tree.clusters, CLUSTER * cluster
    count_units(tree, cluster, -np.int64(nodes[at + UNIT_COUNT]))
    while nodes[at + HEAD] != NONE:
        displaced[count] = nodes[at + HEAD]
        unlink(tree, displaced[count])
        count += 1
    return count


@bare_kernel
def _recycle_partition(tree: Any, partition: Any, theta: float, settings: Any, displaced: Any, count: Any) -> Any:
    cluster = np.int64(tree.partitions[PARTITION * partition + PLACE])
    if cluster == NONE or rank_of(tree, partition, settings) >= theta:
        return count
    tree.state[RECYCLED] += 1
    count = dissolve(tree, partition, displaced, count)
    return settle_loss(tree, cluster, False, settings, displaced, count)


@bare_kernel
def _recycle_cluster(tree: Any, cluster: Any, theta: float, settings: Any, displaced: Any, count: Any) -> Any:
    """Empty a c-node or only its leaf; the root and Z have nowhere else to send their units."""
    at, nodes, before = CLUSTER * cluster, tree.clusters, count
    if nodes[at + FLAGS] & GONE != 0 or cluster in (ROOT, ALWAYS):
        return count
    if nodes[at + FIRST] != NONE and _cluster_rank(tree, cluster, settings) < theta:
        while nodes[at + FIRST] != NONE:
            count = dissolve(tree, np.int64(nodes[at + FIRST]), displaced, count)
        count = _empty_leaf(tree, cluster, displaced, count)
        tree.state[RECYCLED_BUCKETS] += 1
    elif nodes[at + UNIT_COUNT] > 0 and _leaf_rank(tree, cluster, settings) < theta:
        count = _empty_leaf(tree, cluster, displaced, count)
        tree.state[RECYCLED_LEAVES] += 1
    return count if count == before else settle_loss(tree, cluster, False, settings, displaced, count)


@bare_kernel
def recycle(tree: Any, theta: float, settings: Any, displaced: Any) -> Any:
    """End all windows that are over, and empty what ranks below the threshold then (5.2); returns how many units are
    displaced, to be inserted again.

    P-nodes come first: all below them goes with them.
    """
    kept, count = _judge(tree), 0
    for place in range(1, kept + 1):
        if tree.due[place] < 0:
            count = _recycle_partition(tree, -1 - tree.due[place], theta, settings, displaced, count)
    for place in range(1, kept + 1):
        if tree.due[place] >= 0:
            count = _recycle_cluster(tree, tree.due[place], theta, settings, displaced, count)
    return count
