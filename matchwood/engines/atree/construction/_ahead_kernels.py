"""Looking ahead while a batch comes into an A-Tree: what the next nodes will read is asked for before their turn.

A large tree is in no cache, and each node of a batch is looked up by its operands: stamps and ids of those, a slot of
the table, the node that it names, its children. One depends on the other, so all of them are waited for, unless
each is asked for some nodes ahead, when what it depends on has come.

SIGMOD 2021, ours, beside Algorithm 4: memory is asked for before it is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import wide_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.atree._node_kernels import inner_id
from matchwood.engines.atree.layout import FIRST, WIDTH

RING = 16
"""Slots that are remembered: a power of two, more than SLOT."""

ITEMS, PLACES, OPERANDS, SLOT, NODE, CHILDREN = 40, 32, 22, 12, 7, 3
"""How many nodes ahead each is asked for."""

NOWHERE = -1


@wide_kernel
def forget_ahead(slots: Any) -> None:
    """Before a table is looked up that may be another one than before."""
    slots[:RING] = NOWHERE


@wide_kernel
def look_ahead(
    tree: Any, kinds: Any, offsets: Any, items: Any, order: Any, step: int, places: Any, operands: Any, slots: Any
) -> None:
    """Ask for what the nodes after order[step] will read; changes nothing but scratch.

    Children whose place is NOWHERE are not known yet. `operands` is scratch for those of one node.
    """
    nodes, last = tree.nodes, len(order) - 1
    if step + ITEMS <= last:
        prefetch(items, offsets[order[step + ITEMS]])
    if step + PLACES <= last:
        item = order[step + PLACES]
        for place in range(offsets[item], offsets[item + 1]):
            prefetch(places, items[place])
    if step + OPERANDS <= last:
        item = order[step + OPERANDS]
        for place in range(offsets[item], offsets[item + 1]):
            node = places[items[place]]
            prefetch(tree.stamps, node)
            prefetch(tree.ids, node)
            prefetch(nodes, WIDTH * np.int64(node))
    if step + SLOT <= last:
        slot = _slot(tree, kinds, offsets, items, order[step + SLOT], places, operands)
        slots[(step + SLOT) & (RING - 1)] = slot
        prefetch(tree.table, slot)
    slot = slots[(step + NODE) & (RING - 1)]
    if step + NODE <= last and slot != NOWHERE and tree.table[slot] >= 0:
        prefetch(tree.ids, tree.table[slot])
        prefetch(nodes, WIDTH * np.int64(tree.table[slot]))
    slot = slots[(step + CHILDREN) & (RING - 1)]
    if step + CHILDREN <= last and slot != NOWHERE and tree.table[slot] >= 0:
        prefetch(tree.children, nodes[WIDTH * tree.table[slot] + FIRST])


@wide_kernel
def _slot(tree: Any, kinds: Any, offsets: Any, items: Any, item: Any, places: Any, operands: Any) -> Any:
    """Where the search for a node is going to begin, unless operands of its operands are its own; or NOWHERE."""
    first, count = offsets[item], offsets[item + 1] - offsets[item]
    for place in range(count):
        operands[place] = places[items[first + place]]
        if operands[place] == NOWHERE:
            return np.int64(NOWHERE)
    key = inner_id(tree, kinds[item], operands, count)
    return np.int64(key & np.uint64(len(tree.table) - 1))
