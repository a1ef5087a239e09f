"""Kernels that make inner nodes of an A-Tree, each where its operands are not a node already."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import bare_kernel
from matchwood.engines._atree_cover_kernels import cover, self_adjust
from matchwood.engines._atree_layout import (
    CHILD_END,
    COUNT,
    FAN,
    FIRST,
    LIVE,
    MOST_ASKED,
    MOST_CANDIDATES,
    PARENT_END,
    ROOM,
    SIZE,
    STAMP,
    TOMBSTONES,
    WIDTH,
)
from matchwood.engines._atree_node_kernels import (
    enter_table,
    find_inner,
    inner_id,
    is_told,
    level_of,
    link,
    new_node,
    part_kind,
    share_of,
    sketch_of,
)

SPARE = 4 * MOST_ASKED + 64
"""Places that the pool of parents must have beyond what a node's own links need: what adopts it is linked to it."""

NO_ROOM = -1

_SORTED = 64
"""Up to this many children are ordered by how rarely they are true; of more, the first one is chosen."""


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
def find_or_make(
    tree: Any, kind: Any, operands: Any, count: int, stamp: Any, chosen: Any, scratch: Any,
    unique: bool, reorganise: bool, adjust: bool, on_demand: bool, counters: Any, needed: Any,
) -> Any:  # fmt: skip
    """The inner node with these operands, which are stamped; NO_ROOM, with what is `needed`, if a new one has none.

    `counters` counts nodes covered by others, links saved, nodes adopted.
    """
    key = inner_id(tree, kind, operands, count)
    found = find_inner(tree, kind, key, operands, count, stamp) if unique else np.int64(-1)
    if found >= 0:
        return found
    needed[0], needed[1] = count, _parents_needed(tree, operands, count)
    if not _has_room(tree, needed):
        return np.int64(NO_ROOM)
    size, sketch = count, sketch_of(tree, kind, operands, count)
    if reorganise and count > 2:
        found_at = scratch[: 2 * MOST_CANDIDATES]
        size = cover(tree, kind, operands, count, sketch, np.int32(tree.state[STAMP]), chosen, found_at)
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
    if adjust and part_kind(kind) == kind:
        counters[2] += self_adjust(tree, node, on_demand)
    return np.int64(node)
