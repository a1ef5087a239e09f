"""Kernels that make inner nodes of an A-Tree, each where its operands are not a node already.

SIGMOD 2021, 4.2, Algorithm 4, with Algorithms 2 and 3 where they are switched on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import wide_kernel
from matchwood.engines.atree._link_kernels import link
from matchwood.engines.atree._node_kernels import (
    enter_table,
    find_inner,
    inner_id,
    is_told,
    level_of,
    new_node,
    part_kind,
    share_of,
    sketch_of,
)
from matchwood.engines.atree.construction._ahead_kernels import RING
from matchwood.engines.atree.construction._cover_kernels import cover, self_adjust
from matchwood.engines.atree.layout import (
    CHILD_END,
    FAN,
    FIRST,
    LIVE,
    MOST_ASKED,
    NODE_COUNT,
    OFF,
    PARENT_END,
    ROOM,
    SIZE,
    STAMP,
    TOMBSTONES,
    UNBOUNDED,
    WIDTH,
)

_SLACK = 64
SPARE = 4 * MOST_ASKED + _SLACK
"""Places that the pool of parents should have beyond what a node's own links need: what adopts it is linked to it."""

NO_ROOM = -1

_SORTED = 64
"""Up to this many children are ordered by how rarely they are true; of more, the first one is chosen."""


class Building(NamedTuple):
    """How nodes are made, by the options of the tree.

    `unique`      each distinct node once
    `reorganise`, `adjust`  how far Algorithms 2 and 3 look: OFF, BOUNDED or UNBOUNDED
    `flat`        operands of a child of the same kind stand in its place
    `on_demand`   AND nodes are told by their access child alone
    """

    unique: bool
    reorganise: int
    adjust: int
    flat: bool
    on_demand: bool


class BuildScratch(NamedTuple):
    """What making nodes writes to.

    `operands`, `chosen`  the operands of the node at hand, and the children that it gets
    `members`   the items of a parity, and room for four more
    `covers`    for the search for covers, and behind that, RING places for what was looked up ahead
    `counters`  nodes covered by others, links saved, nodes adopted, and last children that stand for operands of a node
                as they came: they may be without any use
    `needed`    the room that was missing in the pools of children and of parents (docs/protocols.md)
    """

    operands: NDArray[np.int32]
    chosen: NDArray[np.int32]
    members: NDArray[np.int32]
    covers: NDArray[np.int32]
    counters: NDArray[np.int64]
    needed: NDArray[np.int64]


@wide_kernel
def _parents_needed(tree: Any, chosen: Any, size: int, adjust: int) -> int:
    """Places that linking one more node to these children may take at the end of the pool of parents.

    With it come the nodes that adopt it: parents of the child that has the fewest. Its list doubles as they come.
    """
    needed, fewest = _SLACK, tree.nodes[WIDTH * chosen[0] + FAN]
    for place in range(size):
        fan = tree.nodes[WIDTH * chosen[place] + FAN]
        fewest = min(fewest, fan)
        if fan == tree.rooms[chosen[place]]:
            needed += 2 * fan + 1
    return int(needed + 4 * (fewest if adjust == UNBOUNDED else min(fewest, MOST_ASKED)))


@wide_kernel
def _has_room(tree: Any, needed: Any) -> Any:
    """Whether there is room for one more node, and for what it needs in the pools of children and of parents."""
    state = tree.state
    return (
        state[NODE_COUNT] < min(len(tree.ids), len(tree.nodes) // WIDTH)
        and 2 * (state[LIVE] + state[TOMBSTONES] + 1) <= len(tree.table)
        and state[CHILD_END] + needed[0] <= len(tree.children)
        and state[PARENT_END] + needed[1] <= len(tree.parents)
    )


@wide_kernel
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


@wide_kernel
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
        link(tree, node, nodes[at + FIRST] + place, is_told(kind, on_demand, place == 0))
    return node


@wide_kernel
def find_or_make(
    tree: Any, kind: Any, operands: Any, count: int, stamp: Any, scratch: BuildScratch, building: Building
) -> Any:
    """The inner node with these operands, which are stamped; NO_ROOM, with what is `needed`, if a new one has none."""
    key = inner_id(tree, kind, operands, count)
    found = find_inner(tree, kind, key, operands, count, stamp) if building.unique else np.int64(-1)
    if found >= 0:
        return found
    chosen, counters, needed = scratch.chosen, scratch.counters, scratch.needed
    size, sketch, adjust = count, sketch_of(tree, kind, operands, count), building.adjust
    if building.reorganise != OFF and count > 2:
        covers, stamped = scratch.covers[: len(scratch.covers) - RING], np.int32(tree.state[STAMP])
        size = cover(tree, kind, operands, count, sketch, stamped, building.reorganise, chosen, covers)
    else:
        for place in range(count):
            chosen[place] = operands[place]
    needed[0], needed[1] = size, _parents_needed(tree, chosen, size, adjust)
    if not _has_room(tree, needed):
        return np.int64(NO_ROOM)
    counters[0] += size < count
    counters[1] += count - size
    share = share_of(kind, tree.shares, operands, count)
    node = _make(tree, kind, chosen, size, building.on_demand)
    tree.shares[node], tree.ids[node], tree.sketches[node] = share, key, sketch
    if building.unique:
        enter_table(tree, -1 - found, node)
    if adjust != OFF and part_kind(kind) == kind:
        counters[2] += self_adjust(tree, node, adjust, building.on_demand)
    return np.int64(node)
