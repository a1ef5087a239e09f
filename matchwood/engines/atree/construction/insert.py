"""How a batch of expressions comes into an A-Tree: packed, ordered, and with as much room as it turns out to need.

SIGMOD 2021, 4.2, Algorithm 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import EncodedForms
from matchwood.engines.atree.construction._entry_kernels import INNER, INTERVALS, LEAVES, LINKS, MADE, NEEDED, enter
from matchwood.engines.atree.construction._height_kernels import measure_heights, order_by_height
from matchwood.engines.atree.construction._insert_kernels import FEW
from matchwood.engines.atree.construction._make_kernels import SPARE
from matchwood.engines.atree.layout import BOUNDED, OFF, UNBOUNDED
from matchwood.engines.atree.leaves import leaf_shares
from matchwood.engines.shared.views import read_only
from matchwood.errors import InvalidArgument

if TYPE_CHECKING:
    from matchwood.engines.atree.engine import ATree

_LEAST_ROOM = 4096
_LINKS = 8
"""Links of a node for which room is made ahead; those that have more ask for it."""

_UNKNOWN: NDArray[np.float32] = read_only(np.empty(0), np.float32)


def enter_forms(tree: ATree, encoded: EncodedForms) -> NDArray[np.int32]:
    """The node of each leaf and of each inner node of a batch, then whether each leaf is new, and more behind that."""
    source, settings, report = encoded.constraints, tree.settings, tree.report
    leaves, pieces, inner, links = len(encoded.leaf_kinds), len(source.low), len(encoded.kinds), len(encoded.children)
    report[LEAVES], report[INTERVALS], report[INNER], report[LINKS] = leaves, pieces, inner, links
    packed, places = _packed(encoded), np.empty(2 * (leaves + inner), np.int32)
    known = tree.event_statistics is not None and tree.event_statistics.events > 0
    shares = (
        read_only(leaf_shares(source, tree.event_statistics), np.float32)
        if known and tree.event_statistics
        else _UNKNOWN
    )
    adjusts, room = bool(settings["self_adjust"]), inner
    if inner >= FEW:
        adjusts = _put_order(tree, encoded, places[2 * leaves + inner :])
        room = _room(tree, leaves, inner)
        links = min(links, _LINKS * room)
    tree.nodes.reserve(leaves + room, links, links + SPARE, pieces)
    unique, flat, position = settings["unique"], tree.flat, -1
    reach = BOUNDED if settings["bounded"] else UNBOUNDED
    reorganise = reach if unique and flat and settings["reorganise"] else OFF
    adjust = reach if unique and flat and adjusts else OFF
    while True:
        position = enter(
            tree.nodes.tree(), packed, shares, position, places, unique, reorganise, adjust, flat, tree.on_demand,
            report,
        )  # fmt: skip
        if position == inner:
            return places
        room = _room(tree, 0, inner - position)
        children, parents = (max(_LINKS * room, least) for least in report[NEEDED:MADE].tolist())
        tree.nodes.reserve(room, children, parents)


def _room(tree: ATree, leaves: int, inner: int) -> int:
    """Inner nodes that room is made for at once: as many as there are nodes, since few of a batch may be new.

    In 1,392,196 ads, one inner node in 4.5 is. Room for all of them was 400 MB, of which every page is written, and a
    table to find nodes by that no cache can hold.
    """
    return min(inner, max(_LEAST_ROOM, tree.nodes.count + leaves))


def _packed(encoded: EncodedForms) -> NDArray[np.int32]:
    """All numbers of a batch, as `enter` describes."""
    source = encoded.constraints
    parts = (
        source.attributes, source.accepts_null, source.pieces, source.low, source.high, encoded.leaf_kinds,
        encoded.kinds, encoded.child_offsets, encoded.children,
    )  # fmt: skip
    packed = np.concatenate(parts, dtype=np.int32, casting="same_kind")
    if len(packed) >= 2**31:
        raise InvalidArgument(f"a batch of {len(packed):,} numbers is too large: insert fewer rules at once")
    return packed


def _put_order(tree: ATree, encoded: EncodedForms, order: NDArray[np.int32]) -> bool:
    """The order in which nodes of a batch come in; returns whether they may be part of nodes that are there.

    With self-adjustment the order does not matter for what comes of it. So the nodes of a batch come level by
    level, small ones first: each finds all that it is made of, and is looked for in nobody's place.
    """
    if not tree.settings["self_adjust"]:
        order[:] = np.arange(len(order))
        return False
    offsets, items = read_only(encoded.child_offsets, np.int64), read_only(encoded.children, np.int32)
    heights = np.empty(len(order), np.int32)
    highest, widest = measure_heights(offsets, items, len(encoded.leaf_kinds), heights)
    starts = np.empty(max(highest, widest) + 2, np.int64)
    order_by_height(offsets, heights, highest, widest, starts, np.empty(len(order), np.int32), order)
    return bool(tree.count)
