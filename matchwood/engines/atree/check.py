"""What must hold of the arrays of an A-Tree before a kernel may read them.

SIGMOD 2021, ours: what a damaged file could break of the layout.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.core import require, require_range
from matchwood.encoding import LEAF, PREDICATE
from matchwood.engines.atree.constraints import check_constraints
from matchwood.engines.atree.layout import (
    ACTIVE,
    CHILD_END,
    CHILD_WASTE,
    DEAD,
    EDGES,
    EMPTY,
    FAN,
    FIRST,
    FLAG_BITS,
    INTERVALS,
    KIND,
    KIND_BITS,
    KIND_MASK,
    LIVE,
    NODE_COUNT,
    PARENT_END,
    PARENT_WASTE,
    PARENTS,
    ROOM,
    SIZE,
    STALE_LEAVES,
    STAMP,
    TOKENS,
    TOMBSTONE,
    TOMBSTONES,
    TOP,
    UNIT,
    WIDTH,
)
from matchwood.engines.atree.links import places_of
from matchwood.engines.atree.nodes import TreeNodes


def check_restored(
    nodes: TreeNodes, roots: NDArray[np.int32], alive: NDArray[np.bool_], attributes: int, unique: bool
) -> None:
    """Refuse arrays that could lead a kernel out of them, or round in circles."""
    _check_state(nodes)
    check_tree(nodes, roots, alive, attributes, unique)


def check_tree(
    nodes: TreeNodes, roots: NDArray[np.int32], alive: NDArray[np.bool_], attributes: int, unique: bool
) -> None:
    """The same once the arrays have the lengths that they should have."""
    fields = nodes.fields()
    kinds = fields[:, KIND] & KIND_MASK
    require_range(fields[:, KIND], 0, (int(nodes.state[TOP]) + 1) << KIND_BITS, "levels")
    require_range(kinds, DEAD, PREDICATE + 1, "kinds")
    require(int(nodes.state[LIVE]) == int(np.count_nonzero(kinds != DEAD)), "live nodes are miscounted")
    leaves, inner = nodes.leaves(), nodes.inner()
    require(bool((fields[leaves, KIND] >> KIND_BITS == 1).all()), "a leaf is not on the first level")
    used = (int(fields[leaves, ROOM].max(initial=-1)) >> FLAG_BITS) + 1
    require(used <= attributes, "attributes are miscounted")
    check_constraints(nodes, leaves)
    _check_children(nodes, fields, kinds, inner)
    _check_parents(nodes, fields, kinds)
    _check_units(fields, kinds, roots, alive)
    _check_table(nodes, unique)


def _check_state(nodes: TreeNodes) -> None:
    state, columns = nodes.state, nodes.columns
    for place in (NODE_COUNT, LIVE, EDGES, CHILD_END, PARENT_END, CHILD_WASTE, PARENT_WASTE, TOP, TOMBSTONES, TOKENS):
        require(0 <= int(state[place]) < 2**40, f"'state' holds {int(state[place])} at {place}")
    require(
        0 <= int(state[STAMP]) < 2**31 and 0 <= int(state[STALE_LEAVES]) <= int(state[NODE_COUNT]),
        "'state' is out of range",
    )
    require(0 <= int(state[INTERVALS]) < 2**31, "'state' miscounts intervals")
    lengths = {len(columns[name]) for name in ("ids", "shares", "rooms")}
    require(lengths == {int(state[NODE_COUNT])}, "the arrays of nodes differ in length")
    require(len(columns["nodes"]) == WIDTH * int(state[NODE_COUNT]), "a node is cut off")
    require(len(columns["children"]) == int(state[CHILD_END]), "'children' has another length")
    require(len(columns["parents"]) == int(state[PARENT_END]), "'parents' has another length")
    require(len(columns["intervals"]) == 2 * int(state[INTERVALS]), "'intervals' has another length")
    require(int(state[TOP]) < 2**26 and int(state[TOP]) <= int(state[NODE_COUNT]), "the highest level is misjudged")
    require(bool(np.isfinite(columns["shares"].view()).all()), "'shares' holds what is no number")


def _check_lists(first: NDArray[np.int32], count: NDArray[np.int32], room: NDArray[np.int32], pool: int) -> None:
    """Refuse lists that reach out of their pool."""
    require(bool((first >= 0).all() and (count >= 0).all() and (room >= count).all()), "a list has no room")
    require(bool((first.astype(np.int64) + room <= pool).all()), "a list reaches out of its pool")


def _members(first: NDArray[np.int32], count: NDArray[np.int32], pool: NDArray[np.int32]) -> NDArray[np.int32]:
    """The members of all lists, one list after the other."""
    members: NDArray[np.int32] = pool[places_of(first, count)[1]]
    return members


def _check_children(
    nodes: TreeNodes, fields: NDArray[np.int32], kinds: NDArray[np.int32], inner: NDArray[np.int32]
) -> None:
    """Levels fall from parent to child: so there are no circles."""
    pool, own = nodes.columns["children"].view(), fields[inner]
    _check_lists(own[:, FIRST], own[:, SIZE], own[:, ROOM], len(pool))
    require(bool((own[:, SIZE] > 0).all()), "an inner node has no children")
    children = _members(own[:, FIRST], own[:, SIZE], pool)
    require(len(children) == int(nodes.state[EDGES]), "links are miscounted")
    require_range(children, 0, max(1, nodes.count), "children")
    require(bool((kinds[children] != DEAD).all()), "a child is dead")
    levels = fields[:, KIND] >> KIND_BITS
    require(bool((levels[children] < np.repeat(levels[inner], own[:, SIZE])).all()), "a child is not below its parent")


def _check_parents(nodes: TreeNodes, fields: NDArray[np.int32], kinds: NDArray[np.int32]) -> None:
    pool, live = nodes.columns["parents"].view(), np.flatnonzero(kinds != DEAD)
    own, rooms = fields[live], nodes.columns["rooms"].view()[live]
    _check_lists(own[:, PARENTS], own[:, FAN], rooms, len(pool))
    require(bool((own[:, ACTIVE] >= 0).all() and (own[:, ACTIVE] <= own[:, FAN]).all()), "too many parents are active")
    parents = _members(own[:, PARENTS], own[:, FAN], pool)
    require_range(parents, 0, max(1, nodes.count), "parents")
    inner = (kinds != DEAD) & (kinds != LEAF) & (kinds != PREDICATE)
    require(bool(inner[parents].all()), "a parent is no inner node")
    dead = fields[kinds == DEAD]
    require(not dead[:, [FAN, ACTIVE]].any() and bool((dead[:, UNIT] == -1).all()), "a dead node is in use")


def check_links(nodes: TreeNodes) -> None:
    """Refuse links that are known to one of their ends only: they lead to wrong answers, but not out of an array."""
    fields, inner = nodes.fields(), nodes.inner()
    live = np.flatnonzero(fields[:, KIND] & KIND_MASK != DEAD)
    children = _members(fields[inner, FIRST], fields[inner, SIZE], nodes.columns["children"].view())
    parents = _members(fields[live, PARENTS], fields[live, FAN], nodes.columns["parents"].view())
    down = np.repeat(inner.astype(np.int64), fields[inner, SIZE]) << 32 | children
    up = parents.astype(np.int64) << 32 | np.repeat(live, fields[live, FAN])
    require(np.array_equal(np.sort(down), np.sort(up)), "parents and children do not name the same links")


def _check_units(
    fields: NDArray[np.int32], kinds: NDArray[np.int32], roots: NDArray[np.int32], alive: NDArray[np.bool_]
) -> None:
    require_range(roots, -1, max(0, len(fields)), "roots")
    units = fields[:, UNIT]
    require_range(units, -1, len(roots), "units of nodes")
    used = np.flatnonzero(units >= 0)
    require(bool((roots[units[used]] == used).all() and alive[units[used]].all()), "a unit is not that of its root")
    rooted = roots[roots >= 0]
    require(len(used) == len(rooted) and bool((kinds[rooted] != DEAD).all()), "a root is not that of its unit")


def _check_table(nodes: TreeNodes, unique: bool) -> None:
    table = nodes.columns["table"].view()
    require(len(table) >= 16 and len(table) & (len(table) - 1) == 0, "'table' has an odd size")
    require_range(table, TOMBSTONE, nodes.count, "table")
    require(2 * int(np.count_nonzero(table == EMPTY)) >= len(table), "'table' is overfull")
    require(int(nodes.state[TOMBSTONES]) == int(np.count_nonzero(table == TOMBSTONE)), "tombstones are miscounted")
    entered = table[table >= 0]
    require(bool((nodes.kinds()[entered] != DEAD).all()), "the table holds a dead node")
    if unique:
        require(len(entered) == nodes.live and len(np.unique(entered)) == len(entered), "'table' lacks a node")
