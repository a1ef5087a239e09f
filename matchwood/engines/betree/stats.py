"""The shape of a BE-Tree in numbers.

TODS 2013, the counts of its section 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.engines.betree.layout import (
    ALWAYS,
    CAPACITY,
    CLUSTER,
    CLUSTERS,
    CUTS,
    DISSOLVED,
    EXACT,
    EXPLORED,
    EXTENDED,
    FIRST,
    FLAGS,
    GONE,
    MERGES,
    NONE,
    OWNER,
    PARTITION,
    PARTITIONS,
    PLACE,
    RECYCLED,
    RECYCLED_BUCKETS,
    RECYCLED_LEAVES,
    REINSERTED,
    RULES,
    SPLIT,
    SPLITS,
    UNIT_COUNT,
)
from matchwood.engines.betree.nodes import BucketNodes

_DONE = {
    "cuts": CUTS,
    "splits": SPLITS,
    "merges": MERGES,
    "dissolved": DISSOLVED,
    "extended": EXTENDED,
    "recycled_p_nodes": RECYCLED,
    "recycled_c_nodes": RECYCLED_BUCKETS,
    "recycled_l_nodes": RECYCLED_LEAVES,
    "reinserted": REINSERTED,
    "explored": EXPLORED,
}
"""How often: p-nodes were made, buckets halved, halves merged, p-nodes dissolved, leaves extended without a common
attribute, p-, c- and l-nodes recycled, rules reinserted, attributes chosen at random."""


def shape_of(nodes: BucketNodes) -> dict[str, Any]:
    """How many nodes of each kind there are, how full and how deep, and what changes did."""
    state = nodes.columns["state"].view()
    clusters = nodes.columns["clusters"].view()[: CLUSTER * state[CLUSTERS]].reshape(-1, CLUSTER)
    partitions = nodes.columns["partitions"].view()[: PARTITION * state[PARTITIONS]].reshape(-1, PARTITION)
    flags = clusters[:, FLAGS]
    there, used = flags & GONE == 0, partitions[:, PLACE] != NONE
    leaves = clusters[there & (clusters[:, UNIT_COUNT] > 0)][:, UNIT_COUNT]
    return {
        "always_candidates": int(clusters[ALWAYS, UNIT_COUNT]),
        "p_nodes": int(np.count_nonzero(used)),
        "c_nodes": int(np.count_nonzero(there)),
        "l_nodes": len(leaves),
        "hashed_buckets": int(np.count_nonzero(there & (flags & EXACT != 0))),
        "split_buckets": int(np.count_nonzero(there & (flags & SPLIT != 0))),
        "partitioned": int(np.count_nonzero(there & (clusters[:, FIRST] != NONE))),
        "subsumed": _subsumed(clusters, partitions),
        "largest_leaf": int(leaves.max(initial=0)),
        "mean_leaf": float(leaves.mean()) if len(leaves) else 0.0,
        "spare_capacity": int((clusters[there, CAPACITY].astype(np.int64) - clusters[there, UNIT_COUNT]).clip(0).sum()),
        "depth": _depth(clusters, partitions),
        **{name: int(state[place]) for name, place in _DONE.items()},
        "recycled": int(state[[RECYCLED, RECYCLED_BUCKETS, RECYCLED_LEAVES]].sum()),
    }


def _subsumed(clusters: Any, partitions: Any) -> int:
    """Predicates that are exactly a bucket on the way to their rule's leaf: once for each rule below such a bucket."""
    exact = (clusters[:, FLAGS] & (GONE | EXACT)) == EXACT
    below = partitions[(partitions[:, PLACE] != NONE) & exact[partitions[:, PLACE]], RULES]
    return int(clusters[exact, UNIT_COUNT].sum(dtype=np.int64) + below.sum(dtype=np.int64))


def _depth(clusters: Any, partitions: Any) -> int:
    """The most p-nodes on a path."""
    owner, depth = clusters[clusters[:, FLAGS] & GONE == 0][:, OWNER], 0
    owner = np.unique(owner[owner != NONE])
    while len(owner):
        above = clusters[partitions[owner, PLACE], OWNER]
        owner, depth = np.unique(above[above != NONE]), depth + 1
    return depth
