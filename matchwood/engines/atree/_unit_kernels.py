"""Small kernels of `ATree`: units for roots, chains of leaves that accept NULL, shares from the leaves up.

SIGMOD 2021, 4.1: r-nodes, and the predicates that an event leaves undefined (3.2).
"""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import kernel
from matchwood.engines.atree._link_kernels import choose_access
from matchwood.engines.atree._node_kernels import share_of
from matchwood.engines.atree.layout import (
    ACCEPTS_NULL,
    FIRST,
    FLAG_BITS,
    KIND,
    KIND_MASK,
    ROOM,
    SIZE,
    UNIT,
    WIDTH,
)


@kernel
def assign_units(
    nodes: Any, roots: Any, places: Any, count: int, always: int, node_of: Any, held: Any, units: Any
) -> Any:
    """The unit of each root, a new one where it has none, and one use more for it; `held` counts uses from one on.

    Returns how many units there are then, and the one that is true of every event, which has no node, or -1.
    """
    for place in range(len(roots)):
        unit = always
        if roots[place] >= 0:
            node = places[roots[place]]
            unit = nodes[WIDTH * node + UNIT]
        if unit < 0:
            unit = count
            count += 1
            held[unit] = 1
            if roots[place] >= 0:
                nodes[WIDTH * node + UNIT] = unit
                node_of[unit] = node
            else:
                always = unit
        held[unit] += 1
        units[place] = unit
    return count, always


@kernel
def chain_nulls(nodes: Any, leaves: Any, heads: Any, chain: Any, links: int, attributes: Any, count: int) -> Any:
    """Put leaves that accept NULL into the chains of their attributes; returns how many links and attributes now."""
    for leaf in leaves:
        code = nodes[WIDTH * leaf + ROOM]
        if code & ACCEPTS_NULL == 0:
            continue
        attribute = code >> FLAG_BITS
        if heads[attribute] < 0:
            attributes[count] = attribute
            count += 1
        chain[2 * links], chain[2 * links + 1] = leaf, heads[attribute]
        heads[attribute] = links
        links += 1
    return links, count


@kernel
def spread_shares(tree: Any, inner: Any, on_demand: bool) -> None:
    """The shares of inner nodes, which come by level, from those of the leaves; and their access children anew."""
    nodes, children = tree.nodes, tree.children
    for node in inner:
        at = WIDTH * node
        first, size = nodes[at + FIRST], nodes[at + SIZE]
        kind = nodes[at + KIND] & KIND_MASK
        tree.shares[node] = share_of(kind, tree.shares, children[first : first + size], size)
        choose_access(tree, node, on_demand)
