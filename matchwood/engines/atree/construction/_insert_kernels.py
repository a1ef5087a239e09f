"""Kernels that put leaves and inner nodes into an A-Tree, each distinct one once."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel
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
from matchwood.engines.atree.construction._make_kernels import NO_ROOM, find_or_make
from matchwood.engines.atree.construction._operand_kernels import cancelled_parity, gather
from matchwood.engines.atree.layout import AND, FIRST, INTERVALS, OR, ROOM, SIZE, TOKENS, WIDTH
from matchwood.engines.shared._record_kernels import pack

FEW = 64
"""Nodes of a batch below which neither their order matters nor looking ahead is worth while."""

WHOLE = float(1 << 31)
NULL_SHARE = 0.5


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
def enter_inner(
    tree: Any, kinds: Any, offsets: Any, items: Any, order: Any, first: int, places: Any, before: int,
    operands: Any, chosen: Any, members: Any, scratch: Any,
    unique: bool, reorganise: int, adjust: int, flat: bool, on_demand: bool, counters: Any, needed: Any,
) -> int:  # fmt: skip
    """Find or make the nodes of the items order[first:], children before parents; returns where room was short.

    `places` tells the node of each leaf of the batch, of which there are `before`, and then of each item. `counters`
    counts nodes covered by others, links saved, nodes adopted, and last children that stand for operands of a node as
    they came: they may be without any use. `needed` tells the room that was missing in the pools of
    children and of parents. `scratch` is for covers, and for what was looked up ahead.
    """
    slots, ahead = scratch[len(scratch) - RING :], unique and len(order) >= FEW
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
            found = cancelled_parity(
                tree, kind, within, places, members, operands, chosen, scratch,
                unique, reorganise, adjust, flat, on_demand, counters, needed,
            )  # fmt: skip
        else:
            found = find_or_make(
                tree, kind, operands, count, stamp, chosen, scratch,
                unique, reorganise, adjust, on_demand, counters, needed,
            )  # fmt: skip
        if found == NO_ROOM:
            return step
        places[before + item] = found
    return len(order)
