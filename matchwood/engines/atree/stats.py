"""What an A-Tree tells about itself: nodes, links and sharing by level, and bytes.

SIGMOD 2021, the counts of its section 6: nodes, links and sharing by level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from matchwood.encoding import AND
from matchwood.engines.atree.layout import EDGES, FAN, KIND, KIND_BITS, KIND_MASK, SIZE, STALE_LEAVES, UNIT

if TYPE_CHECKING:
    from matchwood.engines.atree.engine import ATree

MOST_LEVELS = 32
"""Levels that are told one by one; the last entry stands for all above it."""


def stats(tree: ATree) -> dict[str, Any]:
    """Counts and bytes as plain data.

    `bytes_index`, `bytes_verify` and `bytes_shared` are together all that is needed to match and to change: what is
    saved, and what is found again when a tree that was opened is first changed.
    """
    nodes, lists = tree.nodes, tree.leaf_lists
    index = nodes.bytes_of("parents") + sum(array.nbytes for array in lists.arrays().values())
    index += nodes.bytes_links
    return {
        "always_candidates": len(tree.always()) + len(lists.nulls.chain) // 2,
        "bytes_index": index,
        "nodes": nodes.live,
        "edges": int(nodes.state[EDGES]),
        "stale_leaves": int(nodes.state[STALE_LEAVES]),
        "lists": lists.postings.lists,
        "postings": lists.postings.total,
        **_by_level(tree),
        "covered": int(tree.counters[0]),
        "links_saved": int(tree.counters[1]),
        "adopted": int(tree.counters[2]),
    }


def _by_level(tree: ATree) -> dict[str, Any]:
    """Lists with an entry for each level from the first on; sharing is uses over nodes."""
    fields = tree.nodes.fields()
    live = fields[:, KIND] & KIND_MASK > 0
    own = fields[live]
    levels = np.minimum(own[:, KIND] >> KIND_BITS, MOST_LEVELS) - 1
    inner = (own[:, KIND] & KIND_MASK >= AND) & (levels > 0)
    uses = own[:, FAN].astype(np.int64)
    rooted = own[:, UNIT] >= 0
    uses[rooted] += tree.uses[own[rooted, UNIT]]
    height = int(levels.max(initial=-1)) + 1
    counts = np.bincount(levels, minlength=height)
    edges = np.bincount(levels[inner], weights=own[inner, SIZE], minlength=height)
    used = np.bincount(levels, weights=uses, minlength=height)
    return {
        "levels": int(fields[live][:, KIND].max(initial=0) >> KIND_BITS),
        "nodes_by_level": counts.tolist(),
        "edges_by_level": edges.astype(int).tolist(),
        "sharing_by_level": np.round(used / np.maximum(counts, 1), 2).tolist(),
    }
