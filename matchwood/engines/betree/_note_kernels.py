"""What matching tells the nodes of a BE-Tree (section 5): who was reached, and what false candidates cost there.

A call counts by node, whatever the number of its events, and hands whole numbers over at its end: the same events
tell the same, one by one or in one batch. Reaching a node is a lookup, and costs no evaluation; a candidate that fails
the first test of its row has cost one, and one that fails later as many as it has predicates, in the order of the
store, up to the first that fails; those that are exactly a bucket on the way are not evaluated again. What a Bloom
filter keeps out costs none.

TODS 2013, 5.1: Loss, (11) to (13).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.betree._place_kernels import way_to
from matchwood.engines.betree.layout import (
    ATTRIBUTE,
    CHANGED,
    CLUSTER,
    EXACT,
    FIRST,
    FLAGS,
    LEAF_SPENT,
    NEXT,
    NONE,
    NOTE,
    OWNER,
    PARTITION,
    PLACE,
    RULES,
    SEEN,
    SPENT,
    UNIT_COUNT,
    WAITING,
)
from matchwood.engines.shared.constraints._word_kernels import FLAG_BITS, constraint_at, passes, stretch

REACHED, EVALUATIONS, HITS, LEAF = range(4)
"""Of a leaf in one call: events that reached it, evaluations for its false candidates, hits; how many numbers."""

COVERED, COVERED_FALSE, DISCARDED, TOLD = range(4)
"""What a tree was told since it was built: candidates, once for each predicate on the way to them that a bucket covers;
the false ones among these; evaluations for false candidates; how many numbers there are."""


@bare_kernel
def _is_subsumed(clusters: Any, partitions: Any, cluster: Any, attribute: Any) -> Any:
    """Whether a bucket on the way to a c-node is exactly the predicate of an attribute."""
    owner = clusters[CLUSTER * cluster + OWNER]
    while owner != NONE:
        if partitions[PARTITION * owner + ATTRIBUTE] == attribute:
            return clusters[CLUSTER * cluster + FLAGS] & EXACT != 0
        cluster = np.int64(partitions[PARTITION * owner + PLACE])
        owner = clusters[CLUSTER * cluster + OWNER]
    return False


@bare_kernel
def spent_on(conjunctions: Any, clusters: Any, partitions: Any, cluster: Any, unit: Any, labels: Any) -> Any:
    """The evaluations that a candidate of a leaf takes until one of its predicates fails; 0 if none does."""
    places, words, sets, bits = conjunctions
    first, last = stretch(places, words, unit)
    count = 0
    for position in range(first, last):
        code, low, high = constraint_at(words, sets, bits, position)
        attribute = code >> FLAG_BITS
        if not passes(code, low, high, labels[attribute], sets):
            return count + 1
        count += not _is_subsumed(clusters, partitions, cluster, attribute)
    return 0


@bare_kernel
def note_partition(noted: Any, partition: Any, end: Any) -> Any:
    """Note that an event reached a p-node; returns the new end of `reached`."""
    if noted.partitions[partition] == 0:
        noted.reached[end] = -1 - partition
        end += 1
    noted.partitions[partition] += 1
    return end


@bare_kernel
def note_leaf(noted: Any, cluster: Any, failed: Any, end: Any) -> Any:
    """Note that an event reached a c-node, and how many candidates failed their first test; returns the new end of
    `reached`."""
    at = LEAF * np.int64(cluster)
    if noted.leaves[at + REACHED] == 0:
        noted.reached[end] = cluster
        end += 1
    noted.leaves[at + REACHED] += 1
    noted.leaves[at + EVALUATIONS] += failed
    return end


@bare_kernel
def _wait_if_over(notes: Any, node: Any, code: Any, rules: Any, window: float, due: Any) -> None:
    """Let a node wait to be ranked if its window is over: so many operations as this share of the rules below it.

    A window without an event goes on: there is nothing to judge by.
    """
    at = NOTE * node
    if window <= 0.0 or notes[at + WAITING] != 0 or notes[at + SEEN] == 0 or due[0] + 1 >= len(due):
        return
    if notes[at + SEEN] + notes[at + CHANGED] >= window * rules:
        notes[at + WAITING] = 1
        due[0] += 1
        due[due[0]] = code


@bare_kernel
def rules_below(tree: Any, cluster: Any) -> Any:
    """How many units are in the leaf of a c-node, and below its p-nodes."""
    count, partition = np.int64(tree.clusters[CLUSTER * cluster + UNIT_COUNT]), tree.clusters[CLUSTER * cluster + FIRST]
    while partition != NONE:
        count += tree.partitions[PARTITION * partition + RULES]
        partition = tree.partitions[PARTITION * partition + NEXT]
    return count


@bare_kernel
def _spend(tree: Any, cluster: Any, spent: Any) -> None:
    """Count evaluations in for a c-node, and for all nodes above."""
    tree.cluster_notes[NOTE * cluster + SPENT] += spent
    owner = tree.clusters[CLUSTER * cluster + OWNER]
    while owner != NONE and spent > 0:
        place = np.int64(tree.partitions[PARTITION * owner + PLACE])
        tree.partition_notes[NOTE * owner + SPENT] += spent
        tree.cluster_notes[NOTE * place + SPENT] += spent
        owner = tree.clusters[CLUSTER * place + OWNER]


@bare_kernel
def fold_notes(tree: Any, noted: Any, count: Any, window: float, told: Any) -> None:
    """Add what one call noted of `count` nodes, and clear that; nodes whose windows are over wait from now on."""
    for place in range(count):
        code = np.int64(noted.reached[place])
        if code < 0:
            tree.partition_notes[NOTE * (-1 - code) + SEEN] += noted.partitions[-1 - code]
            noted.partitions[-1 - code] = 0
            continue
        at = LEAF * code
        reached, spent, hits = noted.leaves[at + REACHED], noted.leaves[at + EVALUATIONS], noted.leaves[at + HITS]
        noted.leaves[at + REACHED] = noted.leaves[at + EVALUATIONS] = noted.leaves[at + HITS] = 0
        tree.cluster_notes[NOTE * code + SEEN] += reached
        tree.cluster_notes[NOTE * code + LEAF_SPENT] += spent
        _spend(tree, code, spent)
        _, covered = way_to(tree.clusters, tree.partitions, code)
        candidates = reached * tree.clusters[CLUSTER * code + UNIT_COUNT]
        told[COVERED] += covered * candidates
        told[COVERED_FALSE] += covered * (candidates - hits)
        told[DISCARDED] += spent
    for place in range(count):
        wait_if_over(tree, np.int64(noted.reached[place]), window)


@bare_kernel
def wait_if_over(tree: Any, code: Any, window: float) -> None:
    """The same for a node by its code in `due`."""
    if code < 0:
        rules = tree.partitions[PARTITION * (-1 - code) + RULES]
        _wait_if_over(tree.partition_notes, -1 - code, code, rules, window, tree.due)
    else:
        _wait_if_over(tree.cluster_notes, code, code, rules_below(tree, code), window, tree.due)


@bare_kernel
def note_changes(tree: Any, units: Any, window: float) -> None:
    """Count units that came, or are to go, as changes of all nodes on the ways to them."""
    for unit in units:
        cluster = np.int64(tree.homes[unit])
        while cluster != NONE:
            tree.cluster_notes[NOTE * cluster + CHANGED] += 1
            wait_if_over(tree, cluster, window)
            owner = np.int64(tree.clusters[CLUSTER * cluster + OWNER])
            cluster = np.int64(NONE)
            if owner != NONE:
                tree.partition_notes[NOTE * owner + CHANGED] += 1
                wait_if_over(tree, -1 - owner, window)
                cluster = np.int64(tree.partitions[PARTITION * owner + PLACE])
