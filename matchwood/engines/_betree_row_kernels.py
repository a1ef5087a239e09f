"""The rows of leaves, as matching reads them: one for each unit, side by side in a pool.

A leaf's rows are all equally wide, and their width stands before them. A row begins with its unit, as -1 - unit if
the rest of it does not tell everything; a Bloom filter of its attributes follows, if there are any (6.2). In
two-dimensional blocks (6.1) the constraints come next: with plain evaluation as tests (attribute, low, width), the
narrowest first, else as references to predicates: a bit of the bitmap's result, or -1 - number of one that is
evaluated lazily. A constraint that is exactly a bucket on the way to the leaf is left out. Rows that are shorter are
filled with tests that always hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.engines._betree_layout import (
    ATTRIBUTE,
    CLUSTER,
    CLUSTERS,
    COUNT,
    DIRTY,
    EXACT,
    FLAGS,
    GONE,
    HEAD,
    NONE,
    OWNER,
    PARTITION,
    PLACE,
    POOL,
    ROOM,
    STAMP,
    START,
    UNCLEAN,
    WASTE,
)
from matchwood.engines._betree_place_kernels import hull
from matchwood.engines._record_kernels import ACCEPTS_NULL, FLAG_BITS, SEVERAL, WIDTH

MOST_INLINE = 12
"""Constraints in a row at most: the rest is verified from the store."""

TEST = 3
ALWAYS_LOW, ALWAYS_WIDTH = -1, -(2**31) + 1
"""A test that every label passes, and NULL_LABEL: the width is 2**31 + 1, taken as unsigned."""


@kernel
def attribute_bit(attribute: Any, bits: int) -> Any:
    """The bit of an attribute in a Bloom filter: its number's four bytes hashed as in sdbm (21)."""
    hashed = np.uint32(0)
    for shift in range(0, 32, 8):
        byte = (np.uint32(attribute) >> np.uint32(shift)) & np.uint32(255)
        hashed = np.uint32(byte + (hashed << np.uint32(6)) + (hashed << np.uint32(16)) - hashed)
    return np.uint64(1) << np.uint64(hashed % np.uint32(bits))


@kernel
def unit_filter(conjunctions: Any, unit: int, bits: int) -> Any:
    """The Bloom filter of the attributes that an event must have for a unit to hold."""
    found = np.uint64(0)
    for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
        code = conjunctions.records[WIDTH * position]
        if code & ACCEPTS_NULL == 0:
            found |= attribute_bit(code >> FLAG_BITS, bits)
    return found


@kernel
def _mark_subsumed(tree: Any, cluster: int) -> None:
    """Mark the attributes whose constraints are exactly a bucket on the way to a leaf."""
    tree.state[STAMP] += 1
    nodes, owner = tree.clusters, tree.clusters[CLUSTER * cluster + OWNER]
    while owner != NONE:
        if nodes[CLUSTER * cluster + FLAGS] & EXACT != 0:
            tree.marks[tree.partitions[PARTITION * owner + ATTRIBUTE]] = tree.state[STAMP]
        cluster = tree.partitions[PARTITION * owner + PLACE]
        owner = nodes[CLUSTER * cluster + OWNER]


@kernel
def _relevant(tree: Any, conjunctions: Any, unit: int) -> int:
    """How many constraints of a unit are not marked."""
    count = 0
    for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
        count += tree.marks[conjunctions.records[WIDTH * position] >> FLAG_BITS] != tree.state[STAMP]
    return count


@kernel
def _row_width(tree: Any, conjunctions: Any, cluster: int, form: Any) -> int:
    """How wide the rows of a leaf must be."""
    prefix, most = 1 + (form.bloom_bits + 31) // 32, 0
    if not form.blocks:
        return prefix
    _mark_subsumed(tree, cluster)
    unit = tree.clusters[CLUSTER * cluster + HEAD]
    while unit != NONE:
        most = max(most, _relevant(tree, conjunctions, unit))
        unit = tree.after[unit]
    return prefix + min(most, MOST_INLINE) * (TEST if form.kind == 0 else 1)


@kernel
def _room_for(integers: Any) -> Any:
    """Room for rows, and for a quarter more."""
    return integers + integers // 4


@kernel
def plan_rows(tree: Any, conjunctions: Any, form: Any) -> int:
    """How many integers the pool must have for the rows that are out of date."""
    nodes, needed = tree.clusters, tree.state[POOL]
    for place in range(tree.state[UNCLEAN]):
        cluster = tree.unclean[place]
        at = CLUSTER * cluster
        if nodes[at + FLAGS] & GONE == 0:
            wanted = 1 + np.int64(nodes[at + COUNT]) * _row_width(tree, conjunctions, cluster, form)
            needed += _room_for(wanted) if wanted > nodes[at + ROOM] else 0
    return needed


@kernel
def _write_tests(tree: Any, conjunctions: Any, unit: int, pool: Any, start: int, end: int) -> Any:
    """Write the tests of a unit, the narrowest first; whether they tell everything."""
    records, intervals, whole, filled = conjunctions.records, conjunctions.intervals, True, start
    for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
        at = WIDTH * position
        if tree.marks[records[at] >> FLAG_BITS] == tree.state[STAMP]:
            continue
        whole &= records[at] & (SEVERAL | ACCEPTS_NULL) == 0
        if records[at] & ACCEPTS_NULL != 0:
            continue
        if filled == end:
            whole = False
            continue
        low, high = hull(records, intervals, at)
        back = filled
        while back > start and np.uint32(pool[back - 1]) > np.uint32(high - low):
            pool[back], pool[back + 1], pool[back + 2] = pool[back - 3], pool[back - 2], pool[back - 1]
            back -= TEST
        pool[back], pool[back + 1], pool[back + 2] = records[at] >> FLAG_BITS, low, high - low
        filled += TEST
    for at in range(filled, end, TEST):
        pool[at], pool[at + 1], pool[at + 2] = 0, ALWAYS_LOW, ALWAYS_WIDTH
    return whole


@kernel
def _write_references(tree: Any, conjunctions: Any, known: Any, unit: int, pool: Any, start: int, end: int) -> Any:
    """Write the references of a unit, those to the bitmap first; whether they tell everything."""
    whole, filled = True, start
    for lazy in range(2):
        for position in range(conjunctions.offsets[unit], conjunctions.offsets[unit + 1]):
            attribute = conjunctions.records[WIDTH * position] >> FLAG_BITS
            bit = known.bits[known.ids[position]]
            if tree.marks[attribute] == tree.state[STAMP] or (bit < 0) != (lazy == 1):
                continue
            if filled == end:
                whole = False
                continue
            pool[filled] = bit if bit >= 0 else -1 - known.ids[position]
            filled += 1
    for at in range(filled, end):
        pool[at] = 0
    return whole


@kernel
def lay_out(tree: Any, conjunctions: Any, known: Any, form: Any, pool: Any) -> None:
    """Write the rows of all leaves that are out of date."""
    nodes, state = tree.clusters, tree.state
    words = (form.bloom_bits + 31) // 32
    for place in range(state[UNCLEAN]):
        cluster = tree.unclean[place]
        at = CLUSTER * cluster
        nodes[at + FLAGS] &= ~DIRTY
        if nodes[at + FLAGS] & GONE != 0:
            continue
        width = _row_width(tree, conjunctions, cluster, form)
        wanted = 1 + np.int64(nodes[at + COUNT]) * width
        if wanted > nodes[at + ROOM]:
            state[WASTE] += nodes[at + ROOM]
            nodes[at + START], nodes[at + ROOM] = state[POOL], _room_for(wanted)
            state[POOL] += nodes[at + ROOM]
        row, unit = nodes[at + START] + 1, nodes[at + HEAD]
        pool[row - 1] = width
        while unit != NONE:
            whole, end = not form.blocks, row + width
            if form.bloom_bits > 0:
                bits = unit_filter(conjunctions, unit, form.bloom_bits)
                for word in range(words):
                    part = (bits >> np.uint64(32 * word)) & np.uint64(2**32 - 1)
                    pool[row + 1 + word] = np.int32(np.uint32(part))
            if form.blocks and form.kind == 0:
                whole = _write_tests(tree, conjunctions, unit, pool, row + 1 + words, end)
            elif form.blocks:
                whole = _write_references(tree, conjunctions, known, unit, pool, row + 1 + words, end)
            pool[row] = unit if whole else -1 - unit
            row, unit = end, tree.after[unit]
    state[UNCLEAN] = 0


@kernel
def forget_rows(tree: Any) -> None:
    """Let the rows of all leaves be out of date, and the pool be empty."""
    nodes, state = tree.clusters, tree.state
    state[UNCLEAN] = state[POOL] = state[WASTE] = 0
    for cluster in range(state[CLUSTERS]):
        at = CLUSTER * cluster
        nodes[at + ROOM] = 0
        nodes[at + FLAGS] &= ~DIRTY
        if nodes[at + FLAGS] & GONE == 0:
            nodes[at + FLAGS] |= DIRTY
            tree.unclean[state[UNCLEAN]] = cluster
            state[UNCLEAN] += 1
