"""Kernels that link nodes of an A-Tree: each link is known at both ends, and each end knows where the other one is.

A link is an *entry* in the list of children of its parent, and a *seat* in the list of parents of its child. `seats`
tells the seat of every entry of the pool, counted from the start of that list, `entries` the entry of every seat. So a
link is undone without a look at the other parents of a predicate, of which there may be a million.

SIGMOD 2021, 4.1: the links between i- and l-nodes; seats are ours, so that deletion (4.2.4) is in constant time a link.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import wide_kernel
from matchwood.engines.atree._node_kernels import kind_of
from matchwood.engines.atree.layout import (
    ACTIVE,
    AND,
    EDGES,
    FAN,
    FIRST,
    PARENT_END,
    PARENT_WASTE,
    PARENTS,
    SIZE,
    WIDTH,
)


class SeatScratch(NamedTuple):
    """What finding all seats needs.

    `offsets`            by child: where its entries are gathered
    `filled`             how many of them there are so far: 0 before
    `grouped`, `owners`  the entries by child, and the parent of each
    `seen`, `seat_of`    by parent: the child at hand, -1 before, and its seat in the list of that child
    """

    offsets: NDArray[np.int64]
    filled: NDArray[np.int32]
    grouped: NDArray[np.int32]
    owners: NDArray[np.int32]
    seen: NDArray[np.int32]
    seat_of: NDArray[np.int32]


@wide_kernel
def _sit(tree: Any, start: Any, seat: Any, parent: Any, entry: Any) -> None:
    """Give a parent a seat in the list that begins at `start`."""
    tree.parents[start + seat] = parent
    tree.entries[start + seat] = entry
    tree.seats[entry] = seat


@wide_kernel
def _change_seat(tree: Any, start: Any, old: Any, new: Any) -> None:
    """Let the parent on the seat `old` have the seat `new`, whose parent has another one or goes."""
    if old != new:
        _sit(tree, start, new, tree.parents[start + old], tree.entries[start + old])


@wide_kernel
def move_entry(tree: Any, old: Any, new: Any) -> None:
    """Let the child at an entry stand at another one, of the same parent."""
    if old != new:
        child, seat = tree.children[old], tree.seats[old]
        tree.children[new], tree.seats[new] = child, seat
        tree.entries[tree.nodes[WIDTH * child + PARENTS] + seat] = new


@wide_kernel
def _enlarge_parents(tree: Any, node: Any) -> None:
    """Move a full list of parents to the end of the pool, with twice the room."""
    nodes, parents, entries, state, at = tree.nodes, tree.parents, tree.entries, tree.state, WIDTH * node
    start, fan, end = nodes[at + PARENTS], nodes[at + FAN], state[PARENT_END]
    for place in range(fan):
        parents[end + place] = parents[start + place]
        entries[end + place] = entries[start + place]
    state[PARENT_WASTE] += tree.rooms[node]
    tree.rooms[node] = max(1, 2 * fan)
    nodes[at + PARENTS] = end
    state[PARENT_END] = end + tree.rooms[node]


@wide_kernel
def link(tree: Any, parent: Any, entry: Any, active: bool) -> None:
    """Make `parent` a parent of the child that stands at an entry of its."""
    nodes, child = tree.nodes, tree.children[entry]
    at = WIDTH * child
    seat = nodes[at + FAN]
    if seat == tree.rooms[child]:
        _enlarge_parents(tree, child)
    start = nodes[at + PARENTS]
    if active:
        _change_seat(tree, start, nodes[at + ACTIVE], seat)
        seat = nodes[at + ACTIVE]
        nodes[at + ACTIVE] += 1
    _sit(tree, start, seat, parent, entry)
    nodes[at + FAN] += 1
    tree.state[EDGES] += 1


@wide_kernel
def unlink(tree: Any, entry: Any) -> None:
    """Undo `link`."""
    nodes, at, seat = tree.nodes, WIDTH * tree.children[entry], tree.seats[entry]
    start = nodes[at + PARENTS]
    if seat < nodes[at + ACTIVE]:
        nodes[at + ACTIVE] -= 1
        _change_seat(tree, start, nodes[at + ACTIVE], seat)
        seat = nodes[at + ACTIVE]
    nodes[at + FAN] -= 1
    _change_seat(tree, start, nodes[at + FAN], seat)
    tree.state[EDGES] -= 1


@wide_kernel
def exchange_seats(tree: Any, child: Any, one: Any, other: Any) -> None:
    """Let two parents of a child, both active or both not, have each other's seat."""
    start = tree.nodes[WIDTH * child + PARENTS]
    parent, entry = tree.parents[start + one], tree.entries[start + one]
    _change_seat(tree, start, other, one)
    _sit(tree, start, other, parent, entry)


@wide_kernel
def set_active(tree: Any, entry: Any, active: bool) -> None:
    """Move the parent of a link to the side of the child's list where it belongs."""
    nodes, child, seat = tree.nodes, tree.children[entry], tree.seats[entry]
    border = nodes[WIDTH * child + ACTIVE]
    if (seat < border) == active:
        return
    exchange_seats(tree, child, seat, border if active else border - 1)
    nodes[WIDTH * child + ACTIVE] += 1 if active else -1


@wide_kernel
def choose_access(tree: Any, node: Any, on_demand: bool) -> None:
    """Bring the child that is true most rarely to the front, and tell the lists of parents."""
    nodes, children, seats, shares, at = tree.nodes, tree.children, tree.seats, tree.shares, WIDTH * node
    first = nodes[at + FIRST]
    best = first
    for place in range(first + 1, first + nodes[at + SIZE]):
        if shares[children[place]] < shares[children[best]]:
            best = place
    if best == first:
        return
    before, seat = children[first], seats[first]
    move_entry(tree, best, first)
    children[best], seats[best] = before, seat
    tree.entries[nodes[WIDTH * before + PARENTS] + seat] = best
    if kind_of(nodes, node) == AND and on_demand:
        set_active(tree, best, False)
        set_active(tree, first, True)


@wide_kernel
def find_seats(
    nodes: Any, children: Any, parents: Any, inner: Any, live: Any, scratch: SeatScratch, seats: Any, entries: Any
) -> bool:
    """Write the seat of every entry and the entry of every seat, which are -1 before.

    Returns whether both ends know the same links.
    """
    offsets, filled, grouped, owners = scratch.offsets, scratch.filled, scratch.grouped, scratch.owners
    seen, seat_of = scratch.seen, scratch.seat_of
    for node in inner:
        at = WIDTH * node
        for entry in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
            child = children[entry]
            if filled[child] == nodes[WIDTH * child + FAN]:
                return False
            place = offsets[child] + filled[child]
            grouped[place], owners[place] = entry, node
            filled[child] += 1
    for child in live:
        at = WIDTH * child
        start, fan = nodes[at + PARENTS], nodes[at + FAN]
        for seat in range(fan):
            seen[parents[start + seat]], seat_of[parents[start + seat]] = child, seat
        if filled[child] != fan:
            return False
        for place in range(offsets[child], offsets[child] + fan):
            seat = seat_of[owners[place]]
            if seen[owners[place]] != child or entries[start + seat] >= 0:
                return False
            seats[grouped[place]], entries[start + seat] = seat, grouped[place]
    return True
