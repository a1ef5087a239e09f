"""Kernels that gather the operands of a new inner node of an A-Tree, and cancel what a parity has twice.

SIGMOD 2021, 4.2, Algorithm 4: the operands of a node; xor and xnor of equal operands are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import wide_kernel
from matchwood.engines.atree._node_kernels import kind_of, next_stamp
from matchwood.engines.atree.construction._make_kernels import NO_ROOM, Building, BuildScratch, find_or_make
from matchwood.engines.atree.layout import AND, FIRST, MOST_FLAT, NOT, OR, SIZE, WIDTH, XNOR


@wide_kernel
def gather(
    tree: Any, kind: Any, items: Any, places: Any, before: int, flat: bool, between: Any, stamp: Any, operands: Any
) -> int:
    """The distinct operands of a node, those of a child of its own kind instead of it; they are stamped.

    A child with too many stays one operand. Of an item below `before`, a leaf, the node is not looked at: that would be
    a line of memory more for each operand. Nodes on the way down have the stamp `between`, which has nothing to do
    with those of operands: whoever reads these has to look below such nodes.
    """
    nodes, children, stamps, stack = tree.nodes, tree.children, tree.stamps, tree.stack
    count = 0
    for item in items:
        child = places[item]
        if item < before or not flat or kind_of(nodes, child) != kind or (kind != AND and kind != OR):
            if stamps[child] != stamp:
                stamps[child] = stamp
                operands[count] = child
                count += 1
            continue
        start, waiting = count, 1
        stack[0] = child
        while waiting > 0 and count - start <= MOST_FLAT:
            waiting -= 1
            at = WIDTH * stack[waiting]
            for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
                below = children[place]
                if stamps[below] == stamp or stamps[below] == between:
                    continue
                if kind_of(nodes, below) == kind:
                    stamps[below] = between
                    stack[waiting] = below
                    waiting += 1
                elif count - start <= MOST_FLAT:
                    stamps[below] = stamp
                    operands[count] = below
                    count += 1
        if count - start > MOST_FLAT:
            for place in range(start, count):
                stamps[operands[place]] = 0
            count = start
            stamps[child] = stamp
            operands[count] = child
            count += 1
    return count


@wide_kernel
def _contradiction(tree: Any, node: Any, pair: Any, scratch: BuildScratch, building: Building) -> Any:
    """The node that says `node and not node`: FALSE, unless the node is unknown. `pair` is scratch for four."""
    operands, stamp = scratch.operands, next_stamp(tree)
    operands[0], tree.stamps[node] = node, stamp
    negated = find_or_make(tree, NOT, operands, 1, stamp, scratch, building)
    if negated == NO_ROOM:
        return negated
    pair[0], pair[1], pair[2], pair[3] = node, negated, 0, 1
    between, stamp = next_stamp(tree), next_stamp(tree)
    count = gather(tree, AND, pair[2:4], pair[:2], 0, building.flat, between, stamp, operands)
    return find_or_make(tree, AND, operands, count, stamp, scratch, building)


@wide_kernel
def _pair_off(tree: Any, members: Any, count: int) -> tuple[int, int]:
    """Leave each member once, as -1 - node where its count is even; returns how many, and how many of those."""
    stamps, stamp, kept, even = tree.stamps, next_stamp(tree), 0, 0
    for place in range(count):
        node = members[place]
        if stamps[node] == stamp:
            stamps[node] = stamp + 1
        else:
            if stamps[node] != stamp + 1:
                members[kept] = node
                kept += 1
            stamps[node] = stamp
    for place in range(kept):
        if stamps[members[place]] == stamp + 1:
            members[place] = -1 - members[place]
            even += 1
    return kept, even


@wide_kernel
def cancelled_parity(tree: Any, kind: Any, items: Any, places: Any, scratch: BuildScratch, building: Building) -> Any:
    """The node of a parity whose items turned out to be the same node in part, or NO_ROOM.

    Only here is it known: `a and (b and c)` and `(a and b) and c` differ until nests are flattened, and two constraints
    may come to the same labels. What comes twice is FALSE unless it is unknown, so it may not just be dropped: its
    contradiction stands for it, which may again be what another item is.
    """
    members = scratch.members
    count, even, pair = len(items), 1, members[len(items) : len(items) + 4]
    for place in range(count):
        members[place] = places[items[place]]
    while even > 0:
        count, even = _pair_off(tree, members, count)
        for place in range(count):
            if members[place] < 0:
                found = _contradiction(tree, -1 - members[place], pair, scratch, building)
                if found == NO_ROOM:
                    return found
                members[place] = found
    if count == 1 and kind != XNOR:
        return np.int64(members[0])
    stamp = next_stamp(tree)
    for place in range(count):
        tree.stamps[members[place]] = stamp
    return find_or_make(tree, NOT if count == 1 else kind, members, count, stamp, scratch, building)
