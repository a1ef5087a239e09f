"""Kernels that keep the nodes of an A-Tree: the table that finds them by what they say, links, levels.

SIGMOD 2021, 4.1 and 4.2.1: one node for each distinct expression, found by its id in the expression-to-node table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import combine64, mix64
from matchwood.core.jit import wide_kernel
from matchwood.engines.atree.layout import (
    AND,
    CHILD_END,
    CHILD_WASTE,
    DEAD,
    EMPTY,
    FAN,
    FIRST,
    FREE,
    ID_MASK,
    KIND,
    KIND_BITS,
    KIND_MASK,
    LEAF,
    LIVE,
    NODE_COUNT,
    NOT,
    OR,
    PARENTS,
    PREDICATE,
    ROOM,
    SEVERAL,
    SIZE,
    STAMP,
    TOMBSTONE,
    TOMBSTONES,
    TOP,
    UNIT,
    WIDTH,
    XNOR,
    XOR,
)

_SALT = 0x9E3779B97F4A7C15

_OPERAND_BITS = 30


@wide_kernel
def kind_of(nodes: Any, node: Any) -> Any:
    return nodes[WIDTH * node + KIND] & KIND_MASK


@wide_kernel
def level_of(nodes: Any, node: Any) -> Any:
    return nodes[WIDTH * node + KIND] >> KIND_BITS


@wide_kernel
def is_leaf(kind: Any) -> Any:
    return kind in (LEAF, PREDICATE)


@wide_kernel
def part_kind(kind: Any) -> Any:
    """The kind of the nodes that may stand for several operands of a node at once; DEAD, which none has, for NOT.

    The parity of some operands is an operand of the parity of all of them, also where that is negated.
    """
    if kind == XNOR:
        return XOR
    return DEAD if kind == NOT else kind


@wide_kernel
def is_parity(kind: Any) -> Any:
    return kind in (XOR, XNOR)


@wide_kernel
def next_stamp(tree: Any) -> Any:
    """A number that no stamp has, nor the three after it (docs/protocols.md)."""
    state = tree.state
    if state[STAMP] > 2**31 - 16:
        tree.stamps[:] = 0
        state[STAMP] = 0
    state[STAMP] += 4
    return np.int32(state[STAMP])


# ---------------------------------------------------------------------- what a node says


@wide_kernel
def leaf_hash(kind: Any, code: Any, low: Any, high: Any, intervals: Any) -> Any:
    """A hash of what a leaf says, wherever its intervals lie."""
    accumulated = combine64(mix64(np.uint64(kind)), np.uint64(code))
    if code & SEVERAL == 0:
        return combine64(accumulated, (np.uint64(low) << np.uint64(32)) | np.uint64(high))
    for place in range(2 * low, 2 * high):
        accumulated = combine64(accumulated, np.uint64(intervals[place]))
    return accumulated


@wide_kernel
def same_leaf(nodes: Any, node: int, kind: Any, code: Any, low: Any, high: Any, intervals: Any) -> Any:
    """Whether a node is a leaf that says this."""
    at = WIDTH * node
    if nodes[at + KIND] & KIND_MASK != kind or nodes[at + ROOM] != code:
        return False
    first, last = nodes[at + FIRST], nodes[at + SIZE]
    if code & SEVERAL == 0:
        return first == low and last == high
    if last - first != high - low:
        return False
    step, end = 0, 2 * (high - low)
    while step < end and intervals[2 * first + step] == intervals[2 * low + step]:
        step += 1
    return step == end


@wide_kernel
def inner_id(tree: Any, kind: Any, operands: Any, count: int) -> Any:
    """The id of an inner node: that of its operands in any order.

    AND adds the ids of its operands, OR multiplies them (odd ones, so that none is lost), the others work bit by bit.
    """
    ids = tree.ids
    total = np.uint64(1 if kind == OR else 0)
    for place in range(count):
        each = ids[operands[place]]
        if kind == AND:
            total += each
        elif kind == OR:
            total *= each | np.uint64(1)
        else:
            total ^= each
    if kind != AND and kind != OR and kind != XOR:
        total = ~total
    mixed = mix64(total + np.uint64(_SALT) * np.uint64(kind))
    return mixed & np.uint64(tree.state[ID_MASK])


@wide_kernel
def sketch_of(tree: Any, kind: Any, operands: Any, count: int) -> Any:
    """A bit for each operand, and one for the kind: a node whose bits another lacks is no part of it.

    A sketch of four bytes rules out most nodes that would have to be read for that, with all of their children. 0 tells
    nothing: that of parities, and of nodes with a child of their own kind that stands for too many operands.
    """
    if kind != AND and kind != OR:
        return np.uint32(0)
    sketch = np.uint32(1) << np.uint32(_OPERAND_BITS + (kind == OR))
    for place in range(count):
        node = operands[place]
        if kind_of(tree.nodes, node) == kind:
            return np.uint32(0)
        bit = ((tree.ids[node] >> np.uint64(32)) * np.uint64(_OPERAND_BITS)) >> np.uint64(32)
        sketch |= np.uint32(1) << np.uint32(bit)
    return np.uint32(sketch)


@wide_kernel
def find_leaf(tree: Any, kind: Any, code: Any, low: Any, high: Any) -> Any:
    """The leaf that says this, or -1 - the slot where it belongs."""
    table, nodes, intervals = tree.table, tree.nodes, tree.intervals
    mask = np.uint64(len(table) - 1)
    slot = leaf_hash(kind, code, low, high, intervals) & np.uint64(tree.state[ID_MASK]) & mask
    free = np.int64(-1)
    while table[slot] != EMPTY:
        other = table[slot]
        if other == TOMBSTONE:
            if free < 0:
                free = np.int64(slot)
        elif same_leaf(nodes, other, kind, code, low, high, intervals):
            return np.int64(other)
        slot = (slot + np.uint64(1)) & mask
    return -1 - (free if free >= 0 else np.int64(slot))


@wide_kernel
def says_the_same(tree: Any, node: int, count: int, stamp: Any) -> bool:
    """Whether a node has exactly the `count` operands that are stamped, children that stand for several read as these.

    Changes the stamps: operands that were met get the next one, nodes between them and `node` the one after that.
    """
    nodes, children, stamps, stack = tree.nodes, tree.children, tree.stamps, tree.stack
    part, once = part_kind(kind_of(nodes, node)), is_parity(kind_of(nodes, node))
    met, waiting = 0, 1
    stack[0] = node
    while waiting > 0:
        waiting -= 1
        at = WIDTH * stack[waiting]
        for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
            child = children[place]
            if stamps[child] == stamp:
                stamps[child] = stamp + 1
                met += 1
            elif stamps[child] == stamp + 1 or stamps[child] == stamp + 2:
                if once:
                    return False
            else:
                if kind_of(nodes, child) != part:
                    return False
                stamps[child] = stamp + 2
                stack[waiting] = child
                waiting += 1
    return met == count


@wide_kernel
def find_inner(tree: Any, kind: Any, key: Any, operands: Any, count: int, stamp: Any) -> Any:
    """The node with these operands, which are stamped, or -1 - the slot where it belongs.

    After it they have the stamp that was given last.
    """
    table, nodes, ids, stamps = tree.table, tree.nodes, tree.ids, tree.stamps
    mask = np.uint64(len(table) - 1)
    slot = key & mask
    free = np.int64(-1)
    while table[slot] != EMPTY:
        other = table[slot]
        if other == TOMBSTONE:
            if free < 0:
                free = np.int64(slot)
        elif ids[other] == key and kind_of(nodes, other) == kind:
            if says_the_same(tree, other, count, stamp):
                return np.int64(other)
            stamp = next_stamp(tree)
            for place in range(count):
                stamps[operands[place]] = stamp
        slot = (slot + np.uint64(1)) & mask
    return -1 - (free if free >= 0 else np.int64(slot))


@wide_kernel
def slot_start(tree: Any, node: Any) -> Any:
    """Where the search for a node begins in the table."""
    nodes, at = tree.nodes, WIDTH * node
    kind = nodes[at + KIND] & KIND_MASK
    if not is_leaf(kind):
        return tree.ids[node]
    hashed = leaf_hash(kind, nodes[at + ROOM], nodes[at + FIRST], nodes[at + SIZE], tree.intervals)
    return hashed & np.uint64(tree.state[ID_MASK])


@wide_kernel
def enter_table(tree: Any, slot: Any, node: Any) -> None:
    """Put a node into the slot that a search returned."""
    if tree.table[slot] == TOMBSTONE:
        tree.state[TOMBSTONES] -= 1
    tree.table[slot] = node


@wide_kernel
def leave_table(tree: Any, node: Any) -> None:
    """Take a node out of the table, if it is there."""
    table = tree.table
    mask = np.uint64(len(table) - 1)
    slot = slot_start(tree, node) & mask
    while table[slot] != EMPTY:
        if table[slot] == node:
            table[slot] = TOMBSTONE
            tree.state[TOMBSTONES] += 1
            return
        slot = (slot + np.uint64(1)) & mask


@wide_kernel
def fill_table(tree: Any) -> None:
    """Enter all live nodes, which differ, into an empty table."""
    table, nodes = tree.table, tree.nodes
    mask = np.uint64(len(table) - 1)
    for node in range(tree.state[NODE_COUNT]):
        if kind_of(nodes, node) == DEAD:
            continue
        slot = slot_start(tree, node) & mask
        while table[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = node


# ---------------------------------------------------------------------- nodes by themselves


@wide_kernel
def new_node(tree: Any, kind: Any, level: Any) -> Any:
    """A node without links; inner ones take the number of one that went."""
    nodes, state = tree.nodes, tree.state
    node = state[FREE]
    if node < 0 or is_leaf(kind):
        node = state[NODE_COUNT]
        state[NODE_COUNT] += 1
    else:
        state[FREE] = nodes[WIDTH * node + FIRST]
    nodes[WIDTH * node : WIDTH * node + WIDTH] = 0
    nodes[WIDTH * node + KIND] = kind | (level << KIND_BITS)
    nodes[WIDTH * node + UNIT] = -1
    tree.rooms[node] = 0
    tree.stamps[node] = 0
    tree.sketches[node] = 0
    state[LIVE] += 1
    state[TOP] = max(state[TOP], level)
    return node


@wide_kernel
def is_told(kind: Any, on_demand: bool, first: bool) -> Any:
    """Whether a parent of a kind is active in the list of a child, which may be its first."""
    return kind != AND or not on_demand or first


@wide_kernel
def share_of(kind: Any, shares: Any, operands: Any, count: int) -> Any:
    """The share of events of which a node is true, if its operands had nothing to do with each other."""
    if kind == AND:
        share = np.float32(1)
        for place in range(count):
            share *= shares[operands[place]]
        return max(share, np.float32(1e-30))
    if kind == OR:
        missed = np.float32(1)
        for place in range(count):
            missed *= np.float32(1) - shares[operands[place]]
        return np.float32(1) - missed
    if kind == NOT:
        return np.float32(1) - shares[operands[0]]
    return np.float32(0.5)


# ---------------------------------------------------------------------- levels


@wide_kernel
def _level_from_children(tree: Any, node: Any) -> Any:
    nodes, children, at = tree.nodes, tree.children, WIDTH * node
    level = 0
    for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
        level = max(level, level_of(nodes, children[place]))
    return level + 1


@wide_kernel
def correct_levels(tree: Any, node: Any) -> None:
    """Set the level of a node by its children, and that of all above it, first come, first served."""
    nodes, parents, stamps, queue = tree.nodes, tree.parents, tree.stamps, tree.stack
    stamp = next_stamp(tree)
    head, waiting = 0, 1
    queue[0] = node
    stamps[node] = stamp
    while waiting > 0:
        node = queue[head]
        head = (head + 1) % len(queue)
        waiting -= 1
        stamps[node] = 0
        level, at = _level_from_children(tree, node), WIDTH * node
        if level == level_of(nodes, node):
            continue
        nodes[at + KIND] = kind_of(nodes, node) | (level << KIND_BITS)
        tree.state[TOP] = max(tree.state[TOP], level)
        for place in range(nodes[at + PARENTS], nodes[at + PARENTS] + nodes[at + FAN]):
            parent = parents[place]
            if stamps[parent] != stamp:
                stamps[parent] = stamp
                queue[(head + waiting) % len(queue)] = parent
                waiting += 1


@wide_kernel
def free_children(tree: Any, node: Any) -> None:
    """Give the room for a node's children up."""
    at = WIDTH * node
    if tree.nodes[at + FIRST] + tree.nodes[at + ROOM] == tree.state[CHILD_END]:
        tree.state[CHILD_END] = tree.nodes[at + FIRST]
    else:
        tree.state[CHILD_WASTE] += tree.nodes[at + ROOM]
