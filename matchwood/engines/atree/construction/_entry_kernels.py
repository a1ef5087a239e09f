"""The kernel that puts a batch of expressions into an A-Tree: one call, and all that they are made of in one array.

One expression at a time, most of the time goes into handing arrays over, a third of a microsecond each.

SIGMOD 2021, 4.2, Algorithm 4, a batch at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.encoding.codes import EncodedConjunctions
from matchwood.engines.atree.construction._ahead_kernels import NOWHERE, RING
from matchwood.engines.atree.construction._insert_kernels import FEW, InnerNodes, enter_inner, enter_leaves
from matchwood.engines.atree.construction._make_kernels import Building, BuildScratch
from matchwood.engines.atree.layout import MOST_CANDIDATES, MOST_FLAT, NODE_COUNT, UNBOUNDED

MERGED, NEEDED, MADE, ATTRIBUTES, LEAVES, INTERVALS, INNER, LINKS, REPORTS = 3, 4, 6, 7, 8, 9, 10, 11, 12
"""Places in a report: the last of four counters, room that was missing, leaves made, one more than the largest
attribute; and what a batch consists of, which whoever brings it puts there."""


@kernel
def enter(
    tree: Any, packed: Any, shares: Any, first: int, places: Any,
    unique: bool, reorganise: int, adjust: int, flat: bool, on_demand: bool, report: Any,
) -> int:  # fmt: skip
    """Find or make all nodes of a batch; returns where room was short, to go on from there with `first`.

    It begins with -1. `packed` holds attributes, flags of NULL, pieces, lows, highs and kinds of the leaves, and kinds,
    offsets and links of the inner nodes. `places` gets the node of each leaf and inner node, and behind them whether a
    leaf is new; last in it is the order in which inner nodes come in, which few of them need not bring.
    """
    leaves, pieces, inner, links = report[LEAVES], report[INTERVALS], report[INNER], report[LINKS]
    at = 3 * leaves + 1 + 2 * pieces
    order = places[2 * leaves + inner :]
    if first < 0:
        first, start = 0, 3 * leaves + 1
        source = EncodedConjunctions(
            packed[:0],
            packed[:leaves],
            packed[leaves : 2 * leaves],
            packed[2 * leaves : start],
            packed[start : start + pieces],
            packed[start + pieces : at],
            packed[:0],
        )
        is_new = places[leaves + inner : 2 * leaves + inner]
        places[leaves : leaves + inner] = NOWHERE
        report[MADE] = enter_leaves(tree, source, packed[at : at + leaves], shares, unique, places, is_new)
        report[ATTRIBUTES] = 0
        for leaf in range(leaves):
            report[ATTRIBUTES] = max(report[ATTRIBUTES], source.attributes[leaf] + 1)
        if inner < FEW:
            for node in range(inner):
                order[node] = node
    kinds, at = packed[at + leaves : at + leaves + inner], at + leaves + inner
    offsets, items = packed[at : at + inner + 1], packed[at + inner + 1 : at + inner + 1 + links]
    widest = 0
    for node in range(inner):
        widest = max(widest, offsets[node + 1] - offsets[node])
    # Distinct nodes, of which each child brings at most so many; a parity may bring two new ones a child.
    most = min(widest * (MOST_FLAT + 2), tree.state[NODE_COUNT] + 3 * (inner + 1))
    operands, chosen, members = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(widest + 4, np.int32)
    candidates = MOST_CANDIDATES if reorganise != UNBOUNDED else tree.state[NODE_COUNT] + 3 * (inner + 1)
    covers = np.empty(2 * candidates + RING, np.int32)
    scratch = BuildScratch(operands, chosen, members, covers, report[:NEEDED], report[NEEDED:MADE])
    building = Building(unique, reorganise, adjust, flat, on_demand)
    return enter_inner(tree, InnerNodes(kinds, offsets, items, order, places), first, leaves, scratch, building)
