"""Compiled changes of a PS-Tree: boundaries that split a space, and that let two spaces become one.

`_lookup_kernels.py` describes the rows. `state` holds how many rows are in use, what was freed, and how far the pool is
filled; callers make sure that there is room for what a key may need: a node, a leaf, and the bytes of its rest. A
`tree` is what `rows.Writing` has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.encoding.spaces.pstree._lookup_kernels import (
    BITS,
    CHILD,
    DEPTH,
    EQUAL,
    GREATER,
    LABEL,
    LENGTH,
    LESS,
    NEXT,
    PREV,
    RECENT,
    REFERENCES,
    element_of,
    find_leaf,
    is_boundary,
    leaf_word,
    path_mask,
    shared_elements,
    word_of,
)

NODES, FREE_NODE, LEAVES, FREE_LEAF, POOL, WASTE, LIVE = 0, 1, 2, 3, 4, 5, 6
"""Places in `state`: rows of nodes in use, the first that was freed (its EQUAL leads to the next), the same of leaves
(NEXT), bytes of the pool in use, those of keys that are gone, and live boundaries."""

STATE_SIZE = 7


@kernel
def _new_leaf(
    leaves: Any, leaf_words: Any, pool: Any, state: Any, head: Any, data: Any, start: Any, length: Any
) -> Any:
    leaf = state[FREE_LEAF]
    if leaf:
        state[FREE_LEAF] = leaves[leaf, NEXT]
    else:
        leaf = state[LEAVES]
        state[LEAVES] = leaf + 1
    leaf_words[leaf, 0] = head
    leaf_words[leaf, 1] = np.uint64(state[POOL] - 8)
    leaves[leaf, LENGTH] = length
    for index in range(8, length):
        pool[state[POOL] + index - 8] = data[start + index]
    state[POOL] += max(length - 8, 0)
    state[LIVE] += 1
    return leaf


@kernel
def _new_node(nodes: Any, node_words: Any, state: Any, depth: Any, word: Any) -> Any:
    node = state[FREE_NODE]
    if node:
        state[FREE_NODE] = nodes[node, EQUAL]
    else:
        node = state[NODES]
        state[NODES] = node + 1
    nodes[node, :] = 0
    node_words[node, 0] = word & path_mask(depth)
    nodes[node, DEPTH] = depth
    return node


@kernel
def _hang(nodes: Any, node: Any, element: Any, child: Any) -> None:
    nodes[node, CHILD + element] = child
    nodes[node, BITS] |= 1 << element


@kernel
def _part(
    nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any, state: Any,
    child: Any, depth: Any, leaf: Any, before: Any,
) -> Any:  # fmt: skip
    """A new node where the path of a new leaf parts from that of a child; `before` is the leaf before the new one."""
    last = (depth - 1) >> 4
    node = _new_node(nodes, node_words, state, depth, leaf_word(leaves, leaf_words, pool, leaf, last))
    other = np.int64(nodes[child, GREATER]) if child > 0 else -child
    index = depth >> 4
    if child < 0 and 2 * leaves[other, LENGTH] == depth:
        nodes[node, EQUAL] = other
    else:
        _hang(nodes, node, element_of(leaf_word(leaves, leaf_words, pool, other, index), depth), child)
    if 2 * leaves[leaf, LENGTH] == depth:
        nodes[node, EQUAL] = leaf
    else:
        _hang(nodes, node, element_of(leaf_word(leaves, leaf_words, pool, leaf, index), depth), -leaf)
    if before == other:
        nodes[node, LESS] = nodes[child, LESS] if child > 0 else leaves[other, PREV]
        nodes[node, GREATER] = leaf
    else:
        nodes[node, LESS] = before
        nodes[node, GREATER] = other
    return node


@kernel
def _attach(
    nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any, state: Any, leaf: Any, before: Any
) -> None:
    """Hang a new leaf into the tree, and lead to it every g on its path that led to the one before it."""
    head, start = leaf_words[leaf, 0], np.int64(leaf_words[leaf, 1])
    length = np.int64(leaves[leaf, LENGTH])
    node = np.int64(0)
    while True:
        if nodes[node, GREATER] == before:
            nodes[node, GREATER] = leaf
        depth = np.int64(nodes[node, DEPTH])
        if 2 * length == depth:
            nodes[node, EQUAL] = leaf
            return
        element = element_of(word_of(head, pool, start, length, depth >> 4), depth)
        child = np.int64(nodes[node, CHILD + element])
        if child == 0:
            _hang(nodes, node, element, -leaf)
            return
        other = np.int64(nodes[child, GREATER]) if child > 0 else -child
        shared = shared_elements(leaves, leaf_words, pool, other, head, pool, start, length, depth >> 4)
        if child < 0 or shared < nodes[child, DEPTH]:
            parted = _part(nodes, node_words, leaves, leaf_words, pool, state, child, shared, leaf, before)
            nodes[node, CHILD + element] = parted
            return
        node = child


@kernel
def _lead_less(
    nodes: Any, leaves: Any, leaf_words: Any, pool: Any, leaf: Any, old: Any, new: Any, together: Any
) -> None:
    """On the path to a leaf, make every l that leads to `old` lead to `new`.

    `together` tells that `new` hangs in the tree too: where it lies below a node itself, l stays as it is.
    """
    head, start, length = leaf_words[leaf, 0], np.int64(leaf_words[leaf, 1]), np.int64(leaves[leaf, LENGTH])
    new_head, new_start = leaf_words[new, 0], np.int64(leaf_words[new, 1])
    new_length = np.int64(leaves[new, LENGTH])
    child = np.int64(0)
    while True:
        node = child
        if not together and nodes[node, LESS] == old:
            nodes[node, LESS] = new
        depth = np.int64(nodes[node, DEPTH])
        if 2 * length == depth:
            return
        element = element_of(word_of(head, pool, start, length, depth >> 4), depth)
        if together:
            together = 2 * new_length > depth and element == element_of(
                word_of(new_head, pool, new_start, new_length, depth >> 4), depth
            )
        child = np.int64(nodes[node, CHILD + element])
        if child <= 0:
            return


@bare_kernel
def add_key(tree: Any, head: Any, data: Any, start: Any, length: Any, count: Any, label: Any) -> Any:
    """Refer to a boundary `count` times more, and split the space where it was missing (Partition, Alg. 2).

    Returns the leaf; a new one, which has the given label, is returned as a negative number.
    """
    nodes, node_words, leaves, leaf_words, pool, state = tree
    head = np.uint64(head)
    before = np.int64(find_leaf(nodes, node_words, leaves, leaf_words, pool, head, data, start, length))
    if is_boundary(leaves, leaf_words, pool, before, head, data, start, length):
        leaves[before, REFERENCES] += count
        return before
    leaf = _new_leaf(leaves, leaf_words, pool, state, head, data, start, length)
    following = np.int64(leaves[before, NEXT])
    leaves[leaf, LABEL], leaves[leaf, REFERENCES], leaves[leaf, RECENT] = label, count, 1
    leaves[leaf, PREV], leaves[leaf, NEXT] = before, following
    leaves[before, NEXT] = leaf
    _attach(nodes, node_words, leaves, leaf_words, pool, state, leaf, before)
    if following:
        leaves[following, PREV] = leaf
        _lead_less(nodes, leaves, leaf_words, pool, following, before, leaf, True)
    return -leaf


@bare_kernel
def add_keys(tree: Any, heads: Any, data: Any, starts: Any, lengths: Any, counts: Any, labels: Any) -> None:
    """The same for a column of keys."""
    for position in range(len(heads)):
        start, length = starts[position], lengths[position]
        add_key(tree, heads[position], data, start, length, counts[position], labels[position])


@bare_kernel
def plant_keys(tree: Any, heads: Any, data: Any, starts: Any, lengths: Any, counts: Any, labels: Any) -> Any:
    """Boundaries in order into an empty tree, each after the last; returns how many, which ends where order does."""
    nodes, node_words, leaves, leaf_words, pool, state = tree
    before = np.int64(0)
    for position in range(len(heads)):
        head, start, length = heads[position], starts[position], lengths[position]
        if before:
            shared = shared_elements(leaves, leaf_words, pool, before, head, data, start, length, 0)
            if shared == 2 * length:
                return position
            index = shared >> 4
            own = leaf_word(leaves, leaf_words, pool, before, index)
            if shared < 2 * leaves[before, LENGTH] and own > word_of(head, data, start, length, index):
                return position
        leaf = _new_leaf(leaves, leaf_words, pool, state, head, data, start, length)
        leaves[leaf, LABEL], leaves[leaf, REFERENCES], leaves[leaf, PREV] = labels[position], counts[position], before
        leaves[before, NEXT] = leaf
        _attach(nodes, node_words, leaves, leaf_words, pool, state, leaf, before)
        before = leaf
    return len(heads)


@kernel
def _detach(nodes: Any, leaves: Any, leaf_words: Any, pool: Any, state: Any, leaf: Any) -> None:
    """Take a leaf out of the tree, and the node above it if that is needed no more."""
    head, start, length = leaf_words[leaf, 0], np.int64(leaf_words[leaf, 1]), np.int64(leaves[leaf, LENGTH])
    before = leaves[leaf, PREV]
    node = holder = np.int64(0)
    slot = element = np.int64(-1)
    while True:
        if nodes[node, GREATER] == leaf:
            nodes[node, GREATER] = before
        depth = np.int64(nodes[node, DEPTH])
        if 2 * length == depth:
            nodes[node, EQUAL] = 0
            break
        element = element_of(word_of(head, pool, start, length, depth >> 4), depth)
        child = np.int64(nodes[node, CHILD + element])
        if child < 0:
            nodes[node, CHILD + element] = 0
            nodes[node, BITS] &= ~(1 << element)
            break
        holder, slot, node = node, element, child
    bits = nodes[node, BITS]
    if node == 0 or (bits & (bits - 1)) != 0 or (bits != 0 and nodes[node, EQUAL] != 0):
        return
    remaining = -np.int64(nodes[node, EQUAL])
    for place in range(16):
        if bits == 1 << place:
            remaining = np.int64(nodes[node, CHILD + place])
    nodes[holder, CHILD + slot] = remaining
    nodes[node, EQUAL] = state[FREE_NODE]
    state[FREE_NODE] = node


@kernel
def remove_leaf(nodes: Any, leaves: Any, leaf_words: Any, pool: Any, state: Any, leaf: Any) -> None:
    """Let the space of a boundary and the one before it become one (4.4)."""
    before, following = np.int64(leaves[leaf, PREV]), np.int64(leaves[leaf, NEXT])
    _detach(nodes, leaves, leaf_words, pool, state, leaf)
    leaves[before, NEXT] = following
    if following:
        leaves[following, PREV] = before
        _lead_less(nodes, leaves, leaf_words, pool, following, leaf, before, False)
    state[WASTE] += max(leaves[leaf, LENGTH] - 8, 0)
    leaves[leaf, :] = 0
    leaves[leaf, NEXT] = state[FREE_LEAF]
    state[FREE_LEAF] = leaf
    state[LIVE] -= 1


@kernel
def release_leaves(
    nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any, state: Any, released: Any
) -> Any:
    """Count a reference less for each leaf given; returns how many boundaries disappeared."""
    gone = 0
    for leaf in released:
        leaves[leaf, REFERENCES] -= 1
        if leaves[leaf, REFERENCES] == 0:
            remove_leaf(nodes, leaves, leaf_words, pool, state, leaf)
            gone += 1
    return gone
