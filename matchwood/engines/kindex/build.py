"""Building a run of the K-index: units by size, lists by key, entries by list, all at once.

VLDB 2009, sections 3 and 4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.engines.kindex._build_kernels import (
    assign_lists,
    compress,
    describe_units,
    enter_keys,
    fill_lists,
    plan_blocks,
    rarest_attributes,
)
from matchwood.engines.kindex.layout import BLOCK, EMPTY, RunArrays
from matchwood.engines.kindex.options import Layout
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only

SMALLEST_TABLE = 16


class UnitShapes(NamedTuple):
    """Of some units the size K, the number of postings, and that of clauses (0 for a plain conjunction)."""

    sizes: NDArray[np.int32]
    postings: NDArray[np.int64]
    clauses: NDArray[np.int32]


class _Lists(NamedTuple):
    """All lists, by key and K-index: the distinct keys, where the lists of each begin; of each list its K-index, its
    first entry, and its place by the order in which the lists were made."""

    keys: NDArray[np.uint64]
    key_offsets: NDArray[np.int32]
    indexes: NDArray[np.int64]
    offsets: NDArray[np.int64]
    ranks: NDArray[np.int64]


class _Blocks(NamedTuple):
    block_offsets: NDArray[np.int64]
    bases: NDArray[np.int32]
    places: NDArray[np.int64]
    data: NDArray[np.uint8]


def shapes_of(conjunctions: Conjunctions, units: NDArray[np.int32]) -> UnitShapes:
    """What must be known of units before they can be laid out."""
    count = len(units)
    shapes = UnitShapes(np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int32))
    describe_units(conjunctions, read_only(units, np.int32), *shapes)
    return shapes


def run_arrays(
    conjunctions: Conjunctions,
    attributes: int,
    units: NDArray[np.int32],
    of_clauses: bool,
    layout: Layout,
) -> RunArrays:
    """A run over these units, without lists if it is `direct`; `attributes` is how many there can be."""
    shapes = shapes_of(conjunctions, units)
    rarest = np.full(len(units), EMPTY, np.int32)
    if layout.shortcuts and not of_clauses:
        rarest_attributes(conjunctions, read_only(units, np.int32), np.zeros(attributes, np.int64), rarest)
    order = np.lexsort((units, rarest, shapes.sizes))
    groups = _groups(shapes.sizes[order], rarest[order])
    units, postings = read_only(units[order], np.int32), read_only(shapes.postings[order], np.int64)
    if layout.direct:
        # Clusters take the place of lists: a run whose units have no postings.
        postings, posted = np.zeros_like(postings), units[:0]
    else:
        posted = units
    sizes, first, indexes = np.unique(shapes.sizes[order], return_index=True, return_inverse=True)
    total, most = int(postings.sum()), int(postings.max(initial=0))
    list_of, marks = np.empty(total, np.int32), np.empty(total, np.int32)
    made = assign_lists(conjunctions, posted, read_only(indexes.ravel(), np.int64), most, list_of, marks)
    lists = _ordered(*made)
    entries, clauses = np.empty(total, np.int32), np.empty(total if of_clauses else 0, np.int32)
    weak = np.zeros(len(lists.ranks), np.int64)
    fill_lists(postings, list_of, marks, lists.ranks, lists.offsets[:-1].copy(), entries, clauses, weak)
    table, levels = key_table(lists.keys, attributes)
    blocks = _blocks(entries, lists.offsets) if layout.compressed else _NO_BLOCKS
    uncompressed = entries[:0] if layout.compressed else entries
    return RunArrays(
        units, sizes, np.append(first, len(units)), *groups, table, lists.keys, lists.key_offsets,
        lists.indexes << 1 | weak, lists.offsets, uncompressed, clauses, levels, *blocks,  # type: ignore[arg-type]
    )  # fmt: skip


def _groups(sizes: NDArray[np.int32], rarest: NDArray[np.int32]) -> tuple[Any, Any, Any]:
    """Of units in their order: where the groups of each size begin, and of each group its attribute and first unit."""
    starts = np.flatnonzero((np.diff(sizes, prepend=-1) != 0) | (np.diff(rarest, prepend=-2) != 0))
    starts = starts[rarest[starts] != EMPTY]
    bounds = np.append(np.unique(sizes), np.int32(np.iinfo(np.int32).max))
    return places_in(sizes[starts], bounds), rarest[starts], starts


def _ordered(keys: NDArray[np.uint64], parts: NDArray[np.int64], counts: NDArray[np.int64]) -> _Lists:
    order = np.lexsort((parts, keys))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    distinct, first = np.unique(keys[order], return_index=True)
    offsets = np.concatenate(([0], np.cumsum(counts[order])))
    return _Lists(distinct, np.append(first, len(order)).astype(np.int32), parts[order] >> 32, offsets, ranks)


def key_table(keys: NDArray[np.uint64], attributes: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Where to find keys, and the levels that each attribute has."""
    size = SMALLEST_TABLE
    while size < 2 * len(keys):
        size *= 2
    table, levels = np.full(size, EMPTY, np.int32), np.zeros(attributes, np.uint32)
    enter_keys(table, read_only(keys, np.uint64), levels)
    return table, levels


_NO_BLOCKS = _Blocks(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint8))


def _blocks(entries: NDArray[np.int32], offsets: NDArray[np.int64]) -> _Blocks:
    """The entries of every list in blocks, each entry as what it is above the first one of its block."""
    counts = (np.diff(offsets) + BLOCK - 1) // BLOCK
    block_offsets = np.concatenate(([0], np.cumsum(counts)))
    bases, places = np.empty(int(block_offsets[-1]), np.int32), np.empty(int(block_offsets[-1]), np.int64)
    data = np.empty(plan_blocks(entries, offsets, block_offsets, bases, places), np.uint8)
    compress(entries, offsets, block_offsets, bases, places, data)
    return _Blocks(block_offsets, bases, places, data)
