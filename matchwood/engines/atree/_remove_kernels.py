"""Kernels that take nodes out of an A-Tree: what nobody needs any more goes, and hands its children over.

SIGMOD 2021, 4.2.4, Algorithm 5; what the use counts need of Algorithm 3 is kept here.
"""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import wide_kernel
from matchwood.engines.atree._link_kernels import choose_access, exchange_seats, link, move_entry, set_active, unlink
from matchwood.engines.atree._node_kernels import (
    correct_levels,
    free_children,
    is_leaf,
    is_told,
    kind_of,
    leave_table,
    next_stamp,
    part_kind,
)
from matchwood.engines.atree.layout import (
    ACTIVE,
    CHILD_END,
    CHILD_WASTE,
    DEAD,
    EDGES,
    FAN,
    FIRST,
    FREE,
    KIND,
    LIVE,
    MOST_HANDED,
    PARENT_END,
    PARENT_WASTE,
    PARENTS,
    ROOM,
    SIZE,
    STALE_LEAVES,
    UNIT,
    WIDTH,
    XOR,
)

KEEP, GO, HAND_OVER = range(3)


@wide_kernel
def foreign_seat(nodes: Any, parents: Any, node: Any) -> Any:
    """The seat of a parent that is not of a node's own kind, or -1; the first of either side are asked first."""
    at, kind = WIDTH * node, kind_of(nodes, node)
    start, fan, border = nodes[at + PARENTS], nodes[at + FAN], nodes[at + ACTIVE]
    if border < fan and part_kind(kind_of(nodes, parents[start + border])) != kind:
        return border
    for seat in range(fan):
        if part_kind(kind_of(nodes, parents[start + seat])) != kind:
            return seat
    return -1


@wide_kernel
def _ask_first(tree: Any, node: Any) -> None:
    """Bring a parent that keeps a node to where it is asked first: the next parent to go will not ask all others."""
    nodes, at = tree.nodes, WIDTH * node
    if is_leaf(kind_of(nodes, node)) or nodes[at + FAN] * nodes[at + SIZE] > MOST_HANDED:
        return
    seat, border = foreign_seat(nodes, tree.parents, node), nodes[at + ACTIVE]
    if seat >= 0:
        exchange_seats(tree, node, seat, 0 if seat < border else border)


@wide_kernel
def verdict(nodes: Any, parents: Any, node: Any, flat: bool) -> Any:
    """What is to become of a node: it stays while a unit or a parent of another kind needs it.

    Parents of its own kind do not, nor does an XNOR need an XOR: they only have it in the place of its children.
    """
    at = WIDTH * node
    if nodes[at + UNIT] >= 0:
        return KEEP
    if nodes[at + FAN] == 0:
        return GO
    kind = kind_of(nodes, node)
    if not flat or part_kind(kind) != kind or nodes[at + FAN] * nodes[at + SIZE] > MOST_HANDED:
        return KEEP
    return KEEP if foreign_seat(nodes, parents, node) >= 0 else HAND_OVER


@wide_kernel
def _would_repeat(tree: Any, node: Any) -> bool:
    """Whether a parent has a child of the node already: a parity must not have one twice."""
    nodes, children, at = tree.nodes, tree.children, WIDTH * node
    stamp = next_stamp(tree)
    for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
        tree.stamps[children[place]] = stamp
    for place in range(nodes[at + PARENTS], nodes[at + PARENTS] + nodes[at + FAN]):
        above = WIDTH * tree.parents[place]
        for step in range(nodes[above + FIRST], nodes[above + FIRST] + nodes[above + SIZE]):
            if tree.stamps[children[step]] == stamp:
                return True
    return False


@wide_kernel
def _room_needed(tree: Any, node: Any) -> tuple[int, int]:
    """Places that handing over a node may take at the end of the pools of children and of parents."""
    nodes, at = tree.nodes, WIDTH * node
    in_children, in_parents = 0, 0
    for place in range(nodes[at + PARENTS], nodes[at + PARENTS] + nodes[at + FAN]):
        in_children += nodes[WIDTH * tree.parents[place] + SIZE] + nodes[at + SIZE]
    for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
        in_parents += 4 * (nodes[WIDTH * tree.children[place] + FAN] + nodes[at + FAN]) + 4
    return in_children, in_parents


@wide_kernel
def _bury(tree: Any, node: Any) -> None:
    """Forget a node that has neither parents nor children left. A leaf's number stays taken: postings hold it."""
    nodes, state, at = tree.nodes, tree.state, WIDTH * node
    state[PARENT_WASTE] += tree.rooms[node]
    tree.rooms[node] = 0
    state[LIVE] -= 1
    if is_leaf(kind_of(nodes, node)):
        state[STALE_LEAVES] += 1
    else:
        nodes[at + FIRST] = state[FREE]
        state[FREE] = node
    nodes[at + KIND] = DEAD


@wide_kernel
def _take_children(tree: Any, parent: Any, node: Any, on_demand: bool) -> None:
    """Give a parent the children of a node in its place; those that it has already stay single."""
    nodes, children, state, at = tree.nodes, tree.children, tree.state, WIDTH * parent
    kind, stamp, kept = kind_of(nodes, parent), next_stamp(tree), 0
    first, size = nodes[at + FIRST], nodes[at + SIZE]
    if size + nodes[WIDTH * node + SIZE] > nodes[at + ROOM]:
        state[CHILD_WASTE] += nodes[at + ROOM]
        nodes[at + FIRST], nodes[at + ROOM] = state[CHILD_END], size + nodes[WIDTH * node + SIZE]
        state[CHILD_END] += nodes[at + ROOM]
    target, access = nodes[at + FIRST], children[first]
    for place in range(first, first + size):
        child = children[place]
        tree.stamps[child] = stamp
        if child != node:
            move_entry(tree, place, target + kept)
            kept += 1
    for place in range(nodes[WIDTH * node + FIRST], nodes[WIDTH * node + FIRST] + nodes[WIDTH * node + SIZE]):
        child = children[place]
        if tree.stamps[child] != stamp:
            children[target + kept] = child
            link(tree, parent, target + kept, is_told(kind, on_demand, False))
            kept += 1
    nodes[at + SIZE] = kept
    if access == node:
        set_active(tree, target, is_told(kind, on_demand, True))
    choose_access(tree, parent, on_demand)


@wide_kernel
def _hand_over(tree: Any, node: Any, on_demand: bool) -> None:
    nodes, parents, at = tree.nodes, tree.parents, WIDTH * node
    start, fan = nodes[at + PARENTS], nodes[at + FAN]
    for place in range(start, start + fan):
        _take_children(tree, parents[place], node, on_demand)
    tree.state[EDGES] -= fan
    nodes[at + FAN] = nodes[at + ACTIVE] = 0
    for place in range(start, start + fan):
        correct_levels(tree, parents[place])


@wide_kernel
def _distinct(tree: Any, pending: Any, waiting: int) -> int:
    """Let each node wait once only; returns how many do."""
    stamp, kept = next_stamp(tree), 0
    for place in range(waiting):
        if tree.stamps[pending[place]] != stamp:
            tree.stamps[pending[place]] = stamp
            pending[kept] = pending[place]
            kept += 1
    return kept


@wide_kernel
def remove_nodes(
    tree: Any, pending: Any, waiting: int, flat: bool, on_demand: bool, gone: Any, needed: Any
) -> tuple[int, int]:
    """Look at each pending node, and at the children of those that go; returns the leaves gone, and what still waits.

    Stops when the pools lack room, and tells in `needed` how much. `pending` has room for twice all nodes.
    """
    nodes, children, parents = tree.nodes, tree.children, tree.parents
    found = 0
    while waiting > 0:
        node = pending[waiting - 1]
        at = WIDTH * node
        kind = kind_of(nodes, node)
        fate = KEEP if kind == DEAD else verdict(nodes, parents, node, flat)
        if fate == HAND_OVER and kind == XOR and _would_repeat(tree, node):
            fate = KEEP
        if fate == HAND_OVER:
            needed[0], needed[1] = _room_needed(tree, node)
            if tree.state[CHILD_END] + needed[0] > len(children) or tree.state[PARENT_END] + needed[1] > len(parents):
                return found, waiting
            leave_table(tree, node)
            _hand_over(tree, node, on_demand)
        elif fate == GO:
            leave_table(tree, node)
        waiting -= 1
        if fate == KEEP:
            if kind != DEAD and nodes[at + UNIT] < 0:
                _ask_first(tree, node)
            continue
        if is_leaf(kind):
            gone[found] = node
            found += 1
            _bury(tree, node)
            continue
        for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
            unlink(tree, place)
        if waiting + nodes[at + SIZE] > len(pending):
            waiting = _distinct(tree, pending, waiting)
        for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
            pending[waiting] = children[place]
            waiting += 1
        free_children(tree, node)
        _bury(tree, node)
    needed[:] = 0
    return found, waiting
