"""Compiled look-ups in a PS-Tree: the space of a value, of one or of a column.

A key is a row of bytes (`keys.py`), its elements are their halves: four bits, so that an inner node has sixteen
links. Eight bytes make a *word*; a key's first word, its *head*, is kept apart from the rest.

Rows of `nodes`, 32-bit numbers (0 stands for no link; the root is node 0, the space below all boundaries leaf 0):

    0, 1       the word in which the node's path ends, what follows the path zero (as 64 bits: node_words[n, 0])
    DEPTH      how many elements the path has: those that all boundaries below the node begin with
    BITS       which of the sixteen links lead on
    LESS       l: the leaf of values below all boundaries of the node
    EQUAL      e: the leaf that begins at the node's own path, if that is a boundary
    GREATER    g: the leaf of values above all boundaries of the node, which begins at the last of them
    CHILD + d  to a node (positive) or a leaf (negative) whose next element is d

Paths are compressed: a node stands only where boundaries part or end, and a leaf hangs where no other boundary
shares its path any more, so there are fewer nodes than boundaries however long keys are. Elements that are jumped
over are compared with the word in the node, and with the key of the leaf `g` if there is more than one word of them.

Rows of `leaves`, which are spaces in a list:

    0, 1          the head (as 64 bits: leaf_words[n, 0])
    2, 3          where the rest of the key begins in `pool`, less 8 (leaf_words[n, 1])
    LENGTH        of the key in bytes
    LABEL, REFERENCES  of the boundary where the space begins, and the references to it
    PREV, NEXT    the neighbouring spaces
    RECENT        whether it came since labels were last given anew
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel

DEPTH, BITS, LESS, EQUAL, GREATER, CHILD, NODE_WIDTH = 2, 3, 4, 5, 6, 8, 24
LENGTH, LABEL, REFERENCES, PREV, NEXT, RECENT, LEAF_WIDTH = 4, 5, 6, 7, 8, 9, 10


@kernel
def word_of(head: Any, data: Any, start: Any, length: Any, index: Any) -> Any:
    """A word of a key, filled up with zeros; its bytes from the ninth on are data[start + 8 : start + length]."""
    if index == 0:
        return head
    word = np.uint64(0)
    first = start + 8 * index
    stop = start + length
    for position in range(first, first + 8):
        word = (word << np.uint64(8)) | np.uint64(data[position] if position < stop else 0)
    return word


@kernel
def leaf_word(leaves: Any, leaf_words: Any, pool: Any, leaf: Any, index: Any) -> Any:
    """A word of a boundary's key."""
    if index == 0:
        return leaf_words[leaf, 0]
    return word_of(leaf_words[leaf, 0], pool, np.int64(leaf_words[leaf, 1]), leaves[leaf, LENGTH], index)


@kernel
def element_of(word: Any, depth: Any) -> Any:
    """The element at a depth, given the word that it lies in."""
    return np.int64((word >> np.uint64(60 - 4 * (depth & 15))) & np.uint64(15))


@kernel
def path_mask(depth: Any) -> Any:
    """The bits that a path of this depth (above 0) has in its last word."""
    return ~np.uint64(0) << np.uint64(60 - 4 * ((depth - 1) & 15))


@kernel
def greatest_below(bits: Any, element: Any) -> Any:
    """The greatest element below another one that a node has a link for; -1 if there is none."""
    below = bits & ((1 << element) - 1)
    if below == 0:
        return -1
    found = 0
    if below >= 256:
        below >>= 8
        found += 8
    if below >= 16:
        below >>= 4
        found += 4
    if below >= 4:
        below >>= 2
        found += 2
    return found + (1 if below >= 2 else 0)


@kernel
def shared_elements(
    leaves: Any, leaf_words: Any, pool: Any, leaf: Any, head: Any, data: Any, start: Any, length: Any, first: Any
) -> Any:
    """How many elements a key and a boundary's begin with in common, known to be equal before the word `first`."""
    shorter = min(np.int64(length), np.int64(leaves[leaf, LENGTH]))
    for index in range(first, (shorter + 7) >> 3):
        differing = word_of(head, data, start, length, index) ^ leaf_word(leaves, leaf_words, pool, leaf, index)
        if differing != 0:
            shared = 16 * index
            while differing >> np.uint64(60) == 0:
                differing <<= np.uint64(4)
                shared += 1
            return min(shared, 2 * shorter)
    return 2 * shorter


@kernel
def _at_or_before(
    leaves: Any, leaf_words: Any, pool: Any, leaf: Any, head: Any, data: Any, start: Any, length: Any, first: Any
) -> Any:
    """The leaf itself if its boundary is not above the key, else the one before it."""
    if first == 0:
        own = leaf_words[leaf, 0]
        if own != head:
            return leaf if own < head else leaves[leaf, PREV]
    shared = shared_elements(leaves, leaf_words, pool, leaf, head, data, start, length, first)
    if shared == 2 * leaves[leaf, LENGTH]:
        return leaf
    if shared == 2 * length:
        return leaves[leaf, PREV]
    index = shared >> 4
    above = leaf_word(leaves, leaf_words, pool, leaf, index) > word_of(head, data, start, length, index)
    return leaves[leaf, PREV] if above else leaf


@kernel
def _beside(nodes: Any, node: Any, element: Any) -> Any:
    """The leaf for a value that goes on from a node with an element that no boundary has there."""
    nearest = greatest_below(np.int64(nodes[node, BITS]), np.int64(element))
    if nearest < 0:
        return nodes[node, EQUAL] if nodes[node, EQUAL] else nodes[node, LESS]
    child = nodes[node, np.uint64(CHILD + nearest)]
    return nodes[np.uint64(child), GREATER] if child > 0 else -child


@kernel
def find_leaf(
    nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any, head: Any, data: Any, start: Any, length: Any
) -> Any:
    """The leaf whose space holds a key (MatchPair, Alg. 3)."""
    node = np.uint64(0)
    word, place = head, np.int64(0)
    while True:
        depth = np.int64(nodes[node, DEPTH])
        if depth > 0:
            last = (depth - 1) >> 4
            while place < last:
                own = leaf_word(leaves, leaf_words, pool, np.uint64(nodes[node, GREATER]), place)
                if word != own:
                    return np.uint64(nodes[node, GREATER if word > own else LESS])
                place += 1
                word = word_of(head, data, start, length, place)
            path = word & path_mask(depth)
            own = node_words[node, 0]
            if path != own:
                return np.uint64(nodes[node, GREATER if path > own else LESS])
        if 2 * length <= depth:
            # A key that ends on the way to the node lies before all that is below it.
            ends = 2 * length == depth and nodes[node, EQUAL] != 0
            return np.uint64(nodes[node, EQUAL if ends else LESS])
        if place < depth >> 4:
            place += 1
            word = word_of(head, data, start, length, place)
        element = np.uint64(element_of(word, depth))
        child = nodes[node, np.uint64(CHILD) + element]
        if child < 0:
            return np.uint64(
                _at_or_before(leaves, leaf_words, pool, np.uint64(-child), head, data, start, length, place)
            )
        if child == 0:
            return np.uint64(_beside(nodes, node, element))
        node = np.uint64(child)


@kernel
def is_boundary(
    leaves: Any, leaf_words: Any, pool: Any, leaf: Any, head: Any, data: Any, start: Any, length: Any
) -> Any:
    """Whether a leaf begins at a key."""
    if leaf == 0 or leaves[leaf, LENGTH] != length:
        return False
    return shared_elements(leaves, leaf_words, pool, leaf, head, data, start, length, 0) == 2 * length


@kernel
def locate_key(
    nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any, head: Any, data: Any, start: Any, length: Any
) -> Any:
    """The label of the space of one key of any length."""
    leaf = find_leaf(nodes, node_words, leaves, leaf_words, pool, head, data, start, length)
    return np.int64(leaves[leaf, LABEL])


@kernel
def locate_heads(nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, heads: Any) -> Any:
    """The labels of a column of keys that have eight bytes.

    It is `locate_keys` without what they cannot need, and without a call: passing the arrays costs as much as two
    steps down. Positions are unsigned, since Numba looks first whether others are negative.
    """
    found = np.empty(len(heads), np.int32)
    for position in range(len(heads)):
        head, node = heads[position], np.uint64(0)
        while True:
            depth = np.uint64(nodes[node, DEPTH])
            if depth > 0:
                own = node_words[node, 0]
                if depth > 16:
                    # A path of more than eight bytes lies above a key that it begins with.
                    own = leaf_words[np.uint64(nodes[node, GREATER]), 0]
                    leaf = nodes[node, GREATER if head > own else LESS]
                    break
                path = head & (~np.uint64(0) << (np.uint64(64) - np.uint64(4) * depth))
                if path != own:
                    leaf = nodes[node, GREATER if path > own else LESS]
                    break
                if depth == 16:
                    leaf = nodes[node, EQUAL if nodes[node, EQUAL] else LESS]
                    break
            element = (head >> (np.uint64(60) - np.uint64(4) * depth)) & np.uint64(15)
            child = nodes[node, np.uint64(CHILD) + element]
            if child > 0:
                node = np.uint64(child)
                continue
            if child < 0:
                leaf = -child
                own = leaf_words[np.uint64(leaf), 0]
                if own > head or (own == head and leaves[np.uint64(leaf), LENGTH] > 8):
                    leaf = leaves[np.uint64(leaf), PREV]
                break
            nearest = greatest_below(np.int64(nodes[node, BITS]), np.int64(element))
            if nearest < 0:
                leaf = nodes[node, EQUAL if nodes[node, EQUAL] else LESS]
                break
            child = nodes[node, np.uint64(CHILD + nearest)]
            leaf = nodes[np.uint64(child), GREATER] if child > 0 else -child
            break
        found[position] = leaves[np.uint64(leaf), LABEL]
    return found


@kernel
def locate_keys(
    nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any,
    heads: Any, data: Any, starts: Any, lengths: Any,
) -> Any:  # fmt: skip
    """The labels of a column of keys of any length."""
    found = np.empty(len(heads), np.int32)
    for position in range(len(heads)):
        leaf = find_leaf(
            nodes, node_words, leaves, leaf_words, pool, heads[position], data, starts[position], lengths[position]
        )
        found[position] = leaves[leaf, LABEL]
    return found


@kernel
def find_keys(
    nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any,
    heads: Any, data: Any, starts: Any, lengths: Any,
) -> Any:  # fmt: skip
    """The leaves of keys; negative, or 0, where the leaf begins below the key."""
    found = np.empty(len(heads), np.int64)
    for position in range(len(heads)):
        head, start, length = heads[position], starts[position], lengths[position]
        leaf = np.int64(find_leaf(nodes, node_words, leaves, leaf_words, pool, head, data, start, length))
        known = is_boundary(leaves, leaf_words, pool, leaf, head, data, start, length)
        found[position] = leaf if known else -leaf
    return found


@kernel
def find_label(nodes: Any, leaves: Any, label: Any) -> Any:
    """The leaf that has a label, 0 if none does: labels are ordered like keys, so the tree finds them too."""
    node = np.int64(0)
    while True:
        own = nodes[node, EQUAL]
        if own and leaves[own, LABEL] >= label:
            return np.int64(own) if leaves[own, LABEL] == label else np.int64(0)
        following = np.int64(0)
        for element in range(16):
            child = np.int64(nodes[node, CHILD + element])
            if child:
                greatest = np.int64(nodes[child, GREATER]) if child > 0 else -child
                if leaves[greatest, LABEL] >= label:
                    following = child
                    break
        if following <= 0:
            return -following if leaves[-following, LABEL] == label else np.int64(0)
        node = following


@kernel
def in_order(leaves: Any, count: Any) -> Any:
    """The boundaries' leaves from the lowest to the highest, along the list."""
    order = np.empty(count, np.int64)
    leaf = np.int64(leaves[0, NEXT])
    for position in range(count):
        order[position] = leaf
        leaf = np.int64(leaves[leaf, NEXT])
    return order


@kernel
def gather_keys(nodes: Any, node_words: Any, leaves: Any, leaf_words: Any, pool: Any, order: Any) -> Any:
    """The keys of leaves, laid end to end."""
    offsets = np.zeros(len(order) + 1, np.int64)
    for position in range(len(order)):
        offsets[position + 1] = offsets[position] + leaves[order[position], LENGTH]
    data = np.empty(offsets[len(order)], np.uint8)
    for position in range(len(order)):
        leaf = order[position]
        head = leaf_words[leaf, 0]
        start = np.int64(leaf_words[leaf, 1])
        for index in range(leaves[leaf, LENGTH]):
            byte = (head >> np.uint64(56 - 8 * index)) & np.uint64(255) if index < 8 else pool[start + index]
            data[offsets[position] + index] = byte
    return offsets, data
