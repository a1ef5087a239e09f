"""How a batch of expressions comes into an A-Tree: packed, ordered, and with as much room as it turns out to need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import EncodedForms
from matchwood.engines._atree_entry_kernels import MADE, NEEDED, enter
from matchwood.engines._atree_insert_kernels import SPARE, measure_heights
from matchwood.engines._views import read_only
from matchwood.engines.atree_leaves import leaf_shares
from matchwood.errors import InvalidArgument

if TYPE_CHECKING:
    from matchwood.engines.atree import ATree

_FEW = 64
"""Batches of fewer inner nodes come in as they are."""

_UNKNOWN: NDArray[np.float32] = read_only(np.empty(0), np.float32)
_TURNS: NDArray[np.int64] = read_only(np.arange(_FEW), np.int64)


def enter_forms(tree: ATree, encoded: EncodedForms) -> NDArray[np.int32]:
    """The node of each leaf and of each inner node of a batch, and behind them whether the leaves are new."""
    source, leaves, inner = encoded.constraints, len(encoded.leaf_kinds), len(encoded.kinds)
    links, settings = len(encoded.children), tree.settings
    packed, (order, adjusts) = _packed(encoded), _order(tree, encoded, leaves)
    known = tree.history is not None and tree.history.events > 0
    shares = read_only(leaf_shares(source, tree.history), np.float32) if known and tree.history else _UNKNOWN
    places = np.empty(2 * leaves + inner, np.int32)
    tree.nodes.reserve(leaves + inner, links, links + SPARE, len(source.low))
    unique, flat, position = settings["unique"], tree.flat, -1
    while True:
        position = enter(
            tree.nodes.tree(), packed, order, shares, position, places, unique,
            unique and flat and settings["reorganise"], unique and flat and adjusts, flat, tree.on_demand, tree.report,
        )  # fmt: skip
        if position == inner:
            return places
        tree.nodes.reserve(0, *tree.report[NEEDED:MADE].tolist())


def _packed(encoded: EncodedForms) -> NDArray[np.int32]:
    """All numbers of a batch, as `_atree_entry_kernels` describes."""
    source = encoded.constraints
    parts = (
        (len(encoded.leaf_kinds), len(source.low), len(encoded.kinds), len(encoded.children)),
        source.attributes, source.accepts_null, source.pieces, source.low, source.high, encoded.leaf_kinds,
        encoded.kinds, encoded.child_offsets, encoded.children,
    )  # fmt: skip
    packed = np.concatenate(parts, dtype=np.int32, casting="same_kind")
    if len(packed) >= 2**31:
        raise InvalidArgument(f"a batch of {len(packed):,} numbers is too large: insert fewer rules at once")
    return packed


def _order(tree: ATree, encoded: EncodedForms, leaves: int) -> tuple[NDArray[np.int64], bool]:
    """The order in which nodes of a batch come in, and whether they may be part of nodes that are there.

    With self-adjustment the order does not matter for what comes of it. So the nodes of a batch come level by
    level, small ones first: each finds all that it is made of, and is looked for in nobody's place.
    """
    inner, adjusts = len(encoded.kinds), bool(tree.settings["self_adjust"])
    if inner < _FEW:
        return _TURNS[:inner], adjusts
    if not adjusts:
        return read_only(np.arange(inner), np.int64), False
    offsets, items = read_only(encoded.child_offsets, np.int64), read_only(encoded.children, np.int32)
    heights = np.zeros(inner, np.int32)
    measure_heights(offsets, items, leaves, heights)
    order = np.lexsort((np.diff(offsets), heights))
    return read_only(order, np.int64), bool(tree.count)
