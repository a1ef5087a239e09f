"""Self-adjustment of a BE-Tree (section 5): ranks by gain and loss, and recycling what ranks too low."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import bare_kernel, kernel
from matchwood.engines._betree_layout import (
    ATTRIBUTE,
    CLUSTER,
    CLUSTERS,
    FLAGS,
    GONE,
    NONE,
    OWNER,
    PARTITION,
    PARTITIONS,
    PLACE,
    RECYCLED,
    RULES,
    SUBSUMED,
)
from matchwood.engines._betree_remove_kernels import discount, dissolve, tidy


@kernel
def rank_partitions(tree: Any, discarded: Any, events: Any, settings: Any) -> None:
    """Rank every p-node (10) by what it gains (12, 13) and what it lost over a window of events (11).

    Of the gain only the predicates of its own attribute count: those above are the same for all p-nodes that compete.
    What an attribute lost a rule is remembered for the leaves that it may be chosen for (14).
    """
    nodes, partitions, state = tree.clusters, tree.partitions, tree.state
    losses, rules = np.zeros(state[PARTITIONS]), np.zeros(len(tree.feedback))
    for cluster in range(min(len(discarded), state[CLUSTERS])):
        if discarded[cluster] == 0 or nodes[CLUSTER * cluster + FLAGS] & GONE != 0:
            continue
        owner = nodes[CLUSTER * cluster + OWNER]
        while owner != NONE:
            losses[owner] += discarded[cluster] / max(1, events)
            owner = nodes[CLUSTER * partitions[PARTITION * owner + PLACE] + OWNER]
    tree.feedback[:] *= 0.5
    for partition in range(state[PARTITIONS]):
        at = PARTITION * partition
        if partitions[at + PLACE] != NONE:
            subsumed, count = partitions[at + SUBSUMED], partitions[at + RULES]
            gain = (1.0 - settings.beta) * subsumed + settings.beta * (count - subsumed)
            tree.ranks[partition] = (1.0 - settings.alpha) * gain - settings.alpha * losses[partition]
            rules[partitions[at + ATTRIBUTE]] += count
    for partition in range(state[PARTITIONS]):
        attribute = partitions[PARTITION * partition + ATTRIBUTE]
        if partitions[PARTITION * partition + PLACE] != NONE and rules[attribute] > 0:
            tree.feedback[attribute] += 0.5 * losses[partition] / rules[attribute]


@bare_kernel
def recycle(tree: Any, theta: float, settings: Any, displaced: Any) -> Any:
    """Dissolve every p-node that ranks below the threshold; returns how many units are displaced, to be inserted
    again."""
    count = 0
    for partition in range(tree.state[PARTITIONS]):
        cluster = np.int64(tree.partitions[PARTITION * partition + PLACE])
        if cluster == NONE or tree.ranks[partition] >= theta:
            continue
        end = dissolve(tree, partition, displaced, count)
        discount(tree, cluster, end - count, settings)
        tidy(tree, cluster, settings)
        tree.state[RECYCLED] += 1
        count = end
    return count
