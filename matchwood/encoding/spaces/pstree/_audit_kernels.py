"""Compiled inspection of a PS-Tree: every link, in one walk through nodes and leaves in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.encoding.spaces.pstree._lookup_kernels import (
    BITS,
    CHILD,
    DEPTH,
    EQUAL,
    GREATER,
    LENGTH,
    LESS,
    NEXT,
    PREV,
    element_of,
    leaf_word,
    path_mask,
)

PROBLEMS = (
    "the list of leaves and the tree are not in the same order",
    "neighbouring leaves do not lead to each other",
    "a node's l does not lead to the space below its boundaries",
    "a node's g does not lead to the space above its boundaries",
    "a node has fewer than two links, or marks others than it has",
    "a link does not stand where the key below it goes on",
    "a node's path is not that of the keys below it",
    "nodes or leaves are lost, or used twice",
)
"""By the number of the bit that `inspect` sets."""


@kernel
def _misplaced(leaves: Any, leaf_words: Any, pool: Any, leaf: Any, depth: Any, slot: Any) -> Any:
    """Whether a leaf that hangs somewhere below `slot` of a node (-1: is its e) has another key."""
    length = 2 * np.int64(leaves[leaf, LENGTH])
    if slot < 0:
        return length != depth
    return length <= depth or element_of(leaf_word(leaves, leaf_words, pool, leaf, depth >> 4), depth) != slot


@kernel
def inspect(nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any, node_count: Any, live: Any) -> Any:
    """A bit for each problem; nothing is trusted, and the walk ends after as many steps as there can be links."""
    found = np.int64(0)
    stack, places = np.zeros(node_count + 1, np.int64), np.full(node_count + 1, -1)
    height, seen_nodes, seen_leaves, last = 1, 1, 0, np.int64(0)
    while height > 0:
        node, slot = stack[height - 1], places[height - 1]
        places[height - 1] += 1
        depth = np.int64(nodes[node, DEPTH])
        if slot == 16:
            if nodes[node, GREATER] != last:
                found |= 8
            height -= 1
            continue
        if slot < 0:
            if nodes[node, LESS] != last:
                found |= 4
            bits, links = 0, np.int64(nodes[node, EQUAL] != 0)
            for place in range(16):
                if nodes[node, CHILD + place]:
                    bits |= 1 << place
                    links += 1
            if bits != nodes[node, BITS] or (node and links < 2):
                found |= 16
        child = -np.int64(nodes[node, EQUAL]) if slot < 0 else np.int64(nodes[node, CHILD + slot])
        if child == 0:
            continue
        if child > 0:
            if height > node_count - 1 or child >= node_count:
                return found | 128
            leaf = np.int64(nodes[child, GREATER])
            below = np.int64(nodes[child, DEPTH])
            if below <= depth:
                found |= 64
            else:
                word = leaf_word(leaves, leaf_words, pool, leaf, (below - 1) >> 4) & path_mask(below)
                if word != node_words[child, 0] or 2 * leaves[leaf, LENGTH] < below:
                    found |= 64
            stack[height], places[height] = child, -1
            height += 1
            seen_nodes += 1
        else:
            leaf = -child
            if leaves[last, NEXT] != leaf:
                found |= 1
            if leaves[leaf, PREV] != last:
                found |= 2
            last = leaf
            seen_leaves += 1
        if _misplaced(leaves, leaf_words, pool, leaf, depth, slot):
            found |= 32
        if seen_leaves > live or seen_nodes > node_count:
            return found | 128
    if seen_leaves != live or leaves[last, NEXT] != 0:
        found |= 128
    return found
