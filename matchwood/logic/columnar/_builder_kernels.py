"""The form of one rule, grown as `builder.py` does: every node once, constants and leaves of one attribute folded.

An answer is a node's number, ALWAYS_TRUE, NEVER_TRUE, or LEAF_BASE and a leaf: leaves become nodes as children only.
Numbers differ from those of the builder, the structure does not, and nothing that is made of it depends on numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.logic.columnar._leaf_kernels import (
    CHILDREN,
    FAILED,
    NODES,
    STAMP,
    TOUCHED,
    combined,
    is_empty,
    is_full,
)

AND, OR, LEAF = range(3)
ALWAYS_TRUE, NEVER_TRUE, UNKNOWN = -1, -2, -3
LEAF_BASE = 1 << 40
SMALL_NODE, SMALL_SET = 16, 64
"""As in `builder.py`."""

MOST_NODES, MOST_CHILDREN, MOST_TOUCHED = 2_048, 16_384, 1_000_000
"""Of one rule: beyond, it goes the way of single rules."""


@bare_kernel
def leaf_node(work: Any, leaves: Any, state: Any, leaf: int) -> Any:
    """The node of a leaf."""
    if leaves.stamps[leaf] == state[STAMP]:
        return np.int64(leaves.numbers[leaf])
    made = state[NODES]
    if made >= MOST_NODES:
        state[FAILED] = 1
        return np.int64(0)
    work.kinds[made], work.leaf_of[made] = LEAF, leaf
    work.child_ends[made + 1] = state[CHILDREN]
    work.marks[made] = 0
    leaves.stamps[leaf], leaves.numbers[leaf] = state[STAMP], made
    state[NODES] = made + 1
    return np.int64(made)


@bare_kernel
def _is_small(work: Any, kind: int, node: int) -> Any:
    return work.kinds[node] == kind and work.child_ends[node + 1] - work.child_ends[node] <= SMALL_NODE


@bare_kernel
def _note(work: Any, node: int, mark: int, count: int) -> Any:
    """Put a node among the children, once."""
    if work.marks[node] != mark:
        work.marks[node] = mark
        work.members[count] = node
        count += 1
    return count


@bare_kernel
def by_attribute(leaves: Any, group: Any, count: int) -> None:
    """Bring leaves of one attribute together."""
    for place in range(1, count):
        leaf, at = group[place], place
        while at > 0 and leaves.keys[group[at - 1]] > leaves.keys[leaf]:
            group[at] = group[at - 1]
            at -= 1
        group[at] = leaf


@bare_kernel
def has_repeated(work: Any, leaves: Any, group: Any, count: int) -> Any:
    """Whether two leaves are of one attribute."""
    work.turn[0] += 1
    for place in range(count):
        key = leaves.keys[group[place]]
        if leaves.key_marks[key] == work.turn[0]:
            return True
        leaves.key_marks[key] = work.turn[0]
    return False


@bare_kernel
def _merged(work: Any, leaves: Any, state: Any, ranks: Any, both: int, count: int) -> Any:
    """Fold the leaves of each attribute into one; how many there are then, or -1 if one of them decides it all."""
    by_attribute(leaves, work.leaves, count)
    kept = first = 0
    while first < count:
        stop = first + 1
        total = leaves.ends[work.leaves[first] + 1] - leaves.ends[work.leaves[first]]
        while stop < count and leaves.keys[work.leaves[stop]] == leaves.keys[work.leaves[first]]:
            total += leaves.ends[work.leaves[stop] + 1] - leaves.ends[work.leaves[stop]]
            stop += 1
        leaf = work.leaves[first]
        if stop - first > 1:
            state[TOUCHED] += total
            if state[TOUCHED] > MOST_TOUCHED:
                state[FAILED] = 1
            leaf = combined(leaves, state, ranks, work.leaves, first, stop, both, work.buffers)
            if is_empty(leaves, leaf) or is_full(leaves, leaf):
                return -1
        work.leaves[kept] = leaf
        kept += 1
        first = stop
    return kept


@bare_kernel
def _unabsorbed(work: Any, kind: int, count: int, mark: int) -> Any:
    """Without children that say no more than a sibling; how many are left."""
    kept = 0
    for place in range(count):
        node = work.members[place]
        absorbed = False
        if _is_small(work, 1 - kind, node):
            for child in range(work.child_ends[node], work.child_ends[node + 1]):
                absorbed = absorbed or work.marks[work.children[child]] == mark
        if not absorbed:
            work.members[kept] = node
            kept += 1
    return kept


@bare_kernel
def _node(work: Any, state: Any, kind: int, count: int) -> Any:
    """The node with these children, which are sorted here."""
    for place in range(1, count):
        node, at = work.members[place], place
        while at > 0 and work.members[at - 1] > node:
            work.members[at] = work.members[at - 1]
            at -= 1
        work.members[at] = node
    for known in range(state[NODES]):
        start = work.child_ends[known]
        if work.kinds[known] == kind and work.child_ends[known + 1] - start == count:
            place = 0
            while place < count and work.children[start + place] == work.members[place]:
                place += 1
            if place == count:
                return np.int64(known)
    made, start = state[NODES], state[CHILDREN]
    if made >= MOST_NODES or start + count > MOST_CHILDREN:
        state[FAILED] = 1
        return np.int64(0)
    for place in range(count):
        work.children[start + place] = work.members[place]
    work.kinds[made], work.child_ends[made + 1], work.marks[made] = kind, start + count, 0
    state[NODES], state[CHILDREN] = made + 1, start + count
    return np.int64(made)


@bare_kernel
def junction(work: Any, leaves: Any, state: Any, ranks: Any, kind: int, count: int) -> Any:
    """The AND or OR of the answers work.given[:count], simplified."""
    absorbing, neutral = (NEVER_TRUE, ALWAYS_TRUE) if kind == AND else (ALWAYS_TRUE, NEVER_TRUE)
    work.turn[0] += 1
    mark = work.turn[0]
    held = members = 0
    for place in range(count):
        answer = work.given[place]
        if answer >= LEAF_BASE:
            work.leaves[held] = answer - LEAF_BASE
            held += 1
        elif answer == absorbing:
            return np.int64(absorbing)
        elif answer == neutral:
            continue
        elif _is_small(work, kind, answer):
            for child in range(work.child_ends[answer], work.child_ends[answer + 1]):
                node = work.children[child]
                if work.kinds[node] == LEAF:
                    work.leaves[held] = work.leaf_of[node]
                    held += 1
                else:
                    members = _note(work, node, mark, members)
        else:
            members = _note(work, answer, mark, members)
        if held + SMALL_NODE >= len(work.leaves):
            state[FAILED] = 1
            return np.int64(absorbing)
    if held > 1 and has_repeated(work, leaves, work.leaves, held):
        held = _merged(work, leaves, state, ranks, kind == AND, held)
        if held < 0:
            return np.int64(absorbing)
    if members == 0 and held <= 1:
        return LEAF_BASE + np.int64(work.leaves[0]) if held else np.int64(neutral)
    inner = members
    for place in range(held):
        members = _note(work, leaf_node(work, leaves, state, work.leaves[place]), mark, members)
    if inner:
        members = _unabsorbed(work, kind, members, mark)
    if members == 1:
        only = work.members[0]
        return LEAF_BASE + np.int64(work.leaf_of[only]) if work.kinds[only] == LEAF else np.int64(only)
    return _node(work, state, kind, members)


@bare_kernel
def _pair(work: Any, leaves: Any, state: Any, ranks: Any, kind: int, left: int, right: int) -> Any:
    work.given[0], work.given[1] = left, right
    return junction(work, leaves, state, ranks, kind, 2)


@bare_kernel
def _fold(work: Any, leaves: Any, state: Any, ranks: Any, first: int, count: int, outer: int) -> None:
    """Fold the pairs from `first` on, as a balanced tree, into the first of them."""
    inner, pairs = 1 - outer, work.pairs
    while count > 1:
        half = count // 2
        for place in range(half):
            one, two = first + 2 * place, first + 2 * place + 1
            left, left_not, right, right_not = pairs[one, 0], pairs[one, 1], pairs[two, 0], pairs[two, 1]
            this = _pair(work, leaves, state, ranks, inner, left, right_not)
            that = _pair(work, leaves, state, ranks, inner, left_not, right)
            unequal = _pair(work, leaves, state, ranks, outer, this, that)
            this = _pair(work, leaves, state, ranks, inner, left, right)
            that = _pair(work, leaves, state, ranks, inner, left_not, right_not)
            pairs[first + place, 0] = unequal
            pairs[first + place, 1] = _pair(work, leaves, state, ranks, outer, this, that)
        if count & 1:
            pairs[first + half, 0], pairs[first + half, 1] = pairs[first + count - 1, 0], pairs[first + count - 1, 1]
        count = half + (count & 1)


@bare_kernel
def _attribute_of(leaves: Any, key_ranks: Any, pairs: Any, place: int) -> Any:
    """The rank of the attribute that both answers of a pair are leaves of; otherwise beyond all."""
    if pairs[place, 0] < LEAF_BASE or pairs[place, 1] < LEAF_BASE:
        return np.int64(2**62)
    key = leaves.keys[pairs[place, 0] - LEAF_BASE]
    return np.int64(key_ranks[key]) if key == leaves.keys[pairs[place, 1] - LEAF_BASE] else np.int64(2**62)


@bare_kernel
def parity(work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, count: int, outer: int) -> None:
    """Fold the pairs of answers work.pairs[:count] into the first: leaves of one attribute before all others."""
    pairs = work.pairs
    for place in range(1, count):
        one, two = pairs[place, 0], pairs[place, 1]
        rank, at = _attribute_of(leaves, key_ranks, pairs, place), place
        while at > 0 and _attribute_of(leaves, key_ranks, pairs, at - 1) > rank:
            pairs[at, 0], pairs[at, 1] = pairs[at - 1, 0], pairs[at - 1, 1]
            at -= 1
        pairs[at, 0], pairs[at, 1] = one, two
    first = kept = 0
    while first < count:
        rank, stop = _attribute_of(leaves, key_ranks, pairs, first), first + 1
        while rank < 2**62 and stop < count and _attribute_of(leaves, key_ranks, pairs, stop) == rank:
            stop += 1
        _fold(work, leaves, state, ranks, first, stop - first, outer)
        pairs[kept, 0], pairs[kept, 1] = pairs[first, 0], pairs[first, 1]
        kept += 1
        first = stop
    _fold(work, leaves, state, ranks, 0, kept, outer)
