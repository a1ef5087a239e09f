"""Kernels that put leaves and inner nodes into an A-Tree, each distinct one once.

SIGMOD 2021, 4.2, Algorithm 4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.hashing import mix64
from matchwood.core.jit import wide_kernel
from matchwood.engines.atree._constraint_kernels import write_leaf
from matchwood.engines.atree._node_kernels import (
    enter_table,
    find_leaf,
    is_parity,
    kind_of,
    new_node,
    next_stamp,
    part_kind,
)
from matchwood.engines.atree.construction._ahead_kernels import RING, forget_ahead, look_ahead
from matchwood.engines.atree.construction._make_kernels import NO_ROOM, Building, BuildScratch, find_or_make
from matchwood.engines.atree.construction._operand_kernels import cancelled_parity, gather
from matchwood.engines.atree.layout import AND, FIRST, INTERVALS, OR, ROOM, SIZE, TOKENS, WIDTH

FEW = 64
"""Nodes of a batch below which neither their order matters nor looking ahead is worth while."""

WHOLE = float(1 << 31)
NULL_SHARE = 0.5


class InnerNodes(NamedTuple):
    """The inner nodes of a batch.

    `kinds`, `offsets`, `items`  node i is of kinds[i], over items[offsets[i] : offsets[i + 1]]: leaves, then nodes
    `order`   that in which they come in
    `places`  the node of the tree that each leaf of the batch became, and then each inner node
    """

    kinds: NDArray[np.int32]
    offsets: NDArray[np.int32]
    items: NDArray[np.int32]
    order: NDArray[np.int32]
    places: NDArray[np.int32]


@wide_kernel
def _estimate(source: Any, place: int) -> Any:
    """The share of events that a constraint is expected to be true of while nothing is known of them.

    Labels are spread over the boundaries that rules have, so the width of its intervals stands for the number of spaces
    that are accepted. An attribute is taken to be missing half of the time.
    """
    share = NULL_SHARE if source.accepts_null[place] else 0.0
    for piece in range(source.pieces[place], source.pieces[place + 1]):
        share += (np.float64(source.high[piece]) - source.low[piece]) / WHOLE
    return np.float32(min(max(share, 1e-9), 1.0))


@wide_kernel
def enter_leaves(tree: Any, source: Any, kinds: Any, shares: Any, unique: bool, places: Any, is_new: Any) -> int:
    """Find or make the leaf of every constraint of `source`; there is room for all of them. Returns how many are new.

    `shares` may be empty: then they are estimated.
    """
    made = 0
    nodes, state = tree.nodes, tree.state
    for place in range(len(source.attributes)):
        code, low, high, end = write_leaf(source, place, tree.intervals, state[INTERVALS])
        found = find_leaf(tree, kinds[place], code, low, high) if unique else np.int64(-1)
        is_new[place] = found < 0
        if found < 0:
            state[INTERVALS] = end
            leaf = new_node(tree, kinds[place], 1)
            at = WIDTH * leaf
            nodes[at + ROOM], nodes[at + FIRST], nodes[at + SIZE] = code, low, high
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


@wide_kernel
def enter_inner(
    tree: Any, batch: InnerNodes, first: int, before: int, scratch: BuildScratch, building: Building
) -> int:
    """Algorithm 4: find or make the nodes of the items order[first:], children before parents.

    There are `before` leaves. Returns where room was short.
    """
    kinds, offsets, items, order, places = batch.kinds, batch.offsets, batch.items, batch.order, batch.places
    operands, counters, flat = scratch.operands, scratch.counters, building.flat
    slots, ahead = scratch.covers[len(scratch.covers) - RING :], building.unique and len(order) >= FEW
    forget_ahead(slots)
    for step in range(first, len(order)):
        if ahead:
            look_ahead(tree, kinds, offsets, items, order, step, places, operands, slots)
        item = order[step]
        kind, between, stamp = kinds[item], next_stamp(tree), next_stamp(tree)
        within = items[offsets[item] : offsets[item + 1]]
        count = gather(tree, kind, within, places, before, flat, between, stamp, operands)
        part = part_kind(kind)
        if flat:
            for child in within:
                counters[3] += child >= before and kind_of(tree.nodes, places[child]) == part
        if count == 1 and kind in (AND, OR):
            places[before + item] = operands[0]
            continue
        if count < len(within) and is_parity(kind):
            found = cancelled_parity(tree, kind, within, places, scratch, building)
        else:
            found = find_or_make(tree, kind, operands, count, stamp, scratch, building)
        if found == NO_ROOM:
            return step
        places[before + item] = found
    return len(order)
