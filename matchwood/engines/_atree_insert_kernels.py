"""Kernels that put leaves and inner nodes into an A-Tree, each distinct one once."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._hashing import mix64
from matchwood._jit import bare_kernel
from matchwood.engines._atree_ahead_kernels import forget_ahead, look_ahead
from matchwood.engines._atree_cover_kernels import cover, self_adjust
from matchwood.engines._atree_layout import (
    AND,
    CHILD_END,
    COUNT,
    FAN,
    FIRST,
    INTERVALS,
    LIVE,
    MOST_ASKED,
    MOST_CANDIDATES,
    MOST_FLAT,
    OR,
    PARENT_END,
    ROOM,
    SIZE,
    STAMP,
    TOKENS,
    TOMBSTONES,
    WIDTH,
)
from matchwood.engines._atree_node_kernels import (
    enter_table,
    find_inner,
    find_leaf,
    inner_id,
    is_told,
    kind_of,
    level_of,
    link,
    new_node,
    next_stamp,
    part_kind,
    share_of,
    sketch_of,
)
from matchwood.engines._record_kernels import pack

SPARE = 4 * MOST_ASKED + 64
"""Places that the pool of parents must have beyond what a node's own links need: what adopts it is linked to it."""

FEW = 64
"""Nodes of a batch below which neither their order matters nor looking ahead is worth while."""

WHOLE = float(1 << 31)
NULL_SHARE = 0.5

_SORTED = 64
"""Up to this many children are ordered by how rarely they are true; of more, the first one is chosen."""


@bare_kernel
def _estimate(source: Any, place: int) -> Any:
    """The share of events that a constraint is expected to be true of while nothing is known of them.

    Labels are spread over the boundaries that rules have, so the width of its intervals stands for the number of spaces
    that are accepted. An attribute is taken to be missing half of the time.
    """
    share = NULL_SHARE if source.accepts_null[place] else 0.0
    for piece in range(source.pieces[place], source.pieces[place + 1]):
        share += (np.float64(source.high[piece]) - source.low[piece]) / WHOLE
    return np.float32(min(max(share, 1e-9), 1.0))


@bare_kernel
def enter_leaves(
    tree: Any, source: Any, kinds: Any, shares: Any, unique: bool, record: Any, places: Any, is_new: Any
) -> int:
    """Find or make the leaf of every constraint of `source`; there is room for all of them. Returns how many are new.

    `shares` may be empty: then they are estimated. `record` is scratch for one.
    """
    made = 0
    nodes, state = tree.nodes, tree.state
    for place in range(len(source.attributes)):
        end = pack(source, place, record, 0, tree.intervals, state[INTERVALS])
        found = find_leaf(tree, kinds[place], record[0], record[1], record[2]) if unique else np.int64(-1)
        is_new[place] = found < 0
        if found < 0:
            state[INTERVALS] = end
            leaf = new_node(tree, kinds[place], 1)
            at = WIDTH * leaf
            nodes[at + ROOM], nodes[at + FIRST], nodes[at + SIZE] = record[0], record[1], record[2]
            tree.shares[leaf] = shares[place] if len(shares) > 0 else _estimate(source, place)
            made += 1
            # Not made of what the leaf says: labels may change, and all ids above would have to.
            tree.ids[leaf] = mix64(np.uint64(state[TOKENS]))
            state[TOKENS] += 1
            if unique:
                enter_table(tree, -1 - found, leaf)
            found = np.int64(leaf)
        places[place] = found
    return made


@bare_kernel
def _operands(
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


@bare_kernel
def _parents_needed(tree: Any, operands: Any, count: int) -> int:
    """Places that linking one more node to these operands may take at the end of the pool of parents."""
    needed = SPARE
    for place in range(count):
        fan = tree.nodes[WIDTH * operands[place] + FAN]
        if fan == tree.rooms[operands[place]]:
            needed += 2 * fan + 1
    return needed


@bare_kernel
def _has_room(tree: Any, needed: Any) -> Any:
    """Whether there is room for one more node, and for what it needs in the pools of children and of parents."""
    state = tree.state
    return (
        state[COUNT] < min(len(tree.ids), len(tree.nodes) // WIDTH)
        and 2 * (state[LIVE] + state[TOMBSTONES] + 1) <= len(tree.table)
        and state[CHILD_END] + needed[0] <= len(tree.children)
        and state[PARENT_END] + needed[1] <= len(tree.parents)
    )


@bare_kernel
def _order(shares: Any, chosen: Any, size: int) -> None:
    """The rarest child first; the others after it, the rarer the earlier, so that an AND fails soon."""
    if size > _SORTED:
        best = 0
        for place in range(1, size):
            if shares[chosen[place]] < shares[chosen[best]]:
                best = place
        chosen[0], chosen[best] = chosen[best], chosen[0]
        return
    for place in range(1, size):
        child, before = chosen[place], place
        while before > 0 and shares[child] < shares[chosen[before - 1]]:
            chosen[before] = chosen[before - 1]
            before -= 1
        chosen[before] = child


@bare_kernel
def _make(tree: Any, kind: Any, chosen: Any, size: int, on_demand: bool) -> Any:
    """A new inner node with these children."""
    nodes, children, state = tree.nodes, tree.children, tree.state
    _order(tree.shares, chosen, size)
    level = 0
    for place in range(size):
        level = max(level, level_of(nodes, chosen[place]))
    node = new_node(tree, kind, level + 1)
    at = WIDTH * node
    nodes[at + FIRST], nodes[at + SIZE], nodes[at + ROOM] = state[CHILD_END], size, size
    state[CHILD_END] += size
    for place in range(size):
        children[nodes[at + FIRST] + place] = chosen[place]
        link(tree, node, chosen[place], is_told(kind, on_demand, place == 0))
    return node


@bare_kernel
def enter_inner(
    tree: Any, kinds: Any, offsets: Any, items: Any, order: Any, first: int, places: Any, before: int,
    operands: Any, chosen: Any, scratch: Any,
    unique: bool, reorganise: bool, adjust: bool, flat: bool, on_demand: bool, counters: Any, needed: Any,
) -> int:  # fmt: skip
    """Find or make the nodes of the items order[first:], children before parents; returns where room was short.

    `places` tells the node of each leaf of the batch, of which there are `before`, and then of each item. `counters`
    counts nodes covered by others, links saved, nodes adopted, and last children that stand for operands of a node as
    they came: they may be without any use. `needed` tells the room that was missing in the pools of
    children and of parents.
    """
    state, slots, ahead = tree.state, scratch[2 * MOST_CANDIDATES :], unique and len(order) >= FEW
    forget_ahead(slots)
    for step in range(first, len(order)):
        if ahead:
            look_ahead(tree, kinds, offsets, items, order, step, places, operands, slots)
        item = order[step]
        kind, between, stamp = kinds[item], next_stamp(tree), next_stamp(tree)
        within = items[offsets[item] : offsets[item + 1]]
        count = _operands(tree, kind, within, places, before, flat, between, stamp, operands)
        part = part_kind(kind)
        if flat:
            for child in within:
                counters[3] += child >= before and kind_of(tree.nodes, places[child]) == part
        if count == 1 and kind in (AND, OR):
            places[before + item] = operands[0]
            continue
        key = inner_id(tree, kind, operands, count)
        found = find_inner(tree, kind, key, operands, count, stamp) if unique else np.int64(-1)
        if found < 0:
            needed[0], needed[1] = count, _parents_needed(tree, operands, count)
            if not _has_room(tree, needed):
                return step
            size, sketch = count, sketch_of(tree, kind, operands, count)
            if reorganise and count > 2:
                found_at = scratch[: 2 * MOST_CANDIDATES]
                size = cover(tree, kind, operands, count, sketch, np.int32(state[STAMP]), chosen, found_at)
                counters[0] += size < count
                counters[1] += count - size
            else:
                for place in range(count):
                    chosen[place] = operands[place]
            share = share_of(kind, tree.shares, operands, count)
            node = _make(tree, kind, chosen, size, on_demand)
            tree.shares[node], tree.ids[node], tree.sketches[node] = share, key, sketch
            if unique:
                enter_table(tree, -1 - found, node)
            if adjust and part == kind:
                counters[2] += self_adjust(tree, node, on_demand)
            found = np.int64(node)
        places[before + item] = found
    return len(order)
