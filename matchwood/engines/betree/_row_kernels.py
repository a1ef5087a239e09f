"""The rows of leaves, as matching reads them: those of a leaf lie side by side in a pool.

A row begins with a Bloom filter of its unit's attributes, if there are any (6.2). Without two-dimensional blocks (6.1)
the unit follows, and its constraints are read from the store. In blocks it is one test, and where the *residual* of the
row lies; the rows of a leaf come first, and then their residuals (docs/protocols.md).

With plain evaluation the test is an attribute, a low label and a width, and residuals are those of `_residual_kernels`.
Else it is a bit of the bitmap's result, and a residual is its unit, a count, and so many references: bits of the
result, or -1 - number of predicates that are evaluated lazily. A constraint that is exactly a bucket on the way to the
leaf is left out, and the others are ordered by the share of events that they should let through.

TODS 2013, 6.1: two-dimensional leaf blocks; 6.2: Bloom filters of attributes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.engines.betree._place_kernels import constraint_of
from matchwood.engines.betree._residual_kernels import RESIDUAL_START, residual_size, residual_sizes, write_residual
from matchwood.engines.betree.layout import (
    ATTRIBUTE,
    CLUSTER,
    CLUSTERS,
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
    REWRITE,
    ROOM,
    STAMP,
    START,
    UNCLEAN,
    UNIT_COUNT,
    WASTE,
)
from matchwood.engines.shared._access_kernels import covered, estimated_share
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    code_at,
    constraint_at,
    hull,
    stretch,
)

ALWAYS_LOW, ALWAYS_WIDTH = -1, -(2**31) + 1
"""A test that every label passes, and NULL_LABEL: the width is 2**31 + 1, taken as unsigned."""

LEAF_START = 3
"""Before the rows of a leaf stand how many there is room for, where the next residual goes, and how many there are."""

TEST, BIT, BARE = 4, 2, 1
"""Integers of a row behind its Bloom filter: test and residual, bit and residual, unit."""

_MOST_SORTED = 64
"""Constraints of a unit that are ordered; those of a longer one stay as they are."""

_NULLS = np.float32(2.0)
"""What a constraint that accepts NULL lets through: it comes last, and is never the first test."""


@bare_kernel
def attribute_bit(attribute: Any, bits: Any) -> Any:
    """The bit of an attribute in a Bloom filter: its number's four bytes hashed as in sdbm (21)."""
    hashed = np.uint32(0)
    for shift in range(0, 32, 8):
        byte = (np.uint32(attribute) >> np.uint32(shift)) & np.uint32(255)
        hashed = np.uint32(byte + (hashed << np.uint32(6)) + (hashed << np.uint32(16)) - hashed)
    return np.uint64(1) << np.uint64(hashed % np.uint32(bits))


@bare_kernel
def _write_filter(conjunctions: Any, unit: Any, bits: Any, pool: Any, row: Any) -> Any:
    """Write the Bloom filter of the attributes that an event must have for a unit to hold; returns its end."""
    places, words, sets, rank_bits = conjunctions
    first, last = stretch(places, words, unit)
    found = np.uint64(0)
    for position in range(first, last):
        code = code_at(words, sets, rank_bits, position)
        if code & ACCEPTS_NULL == 0:
            found |= attribute_bit(code >> FLAG_BITS, bits)
    for half in range((bits + 31) // 32):
        part = (found >> np.uint64(32 * half)) & np.uint64(2**32 - 1)
        pool[row + half] = np.int32(np.uint32(part))
    return row + (bits + 31) // 32


@bare_kernel
def row_width(form: Any) -> Any:
    """Integers a row, residuals apart."""
    return (form.bloom_bits + 31) // 32 + ((TEST if form.kind == 0 else BIT) if form.blocks else BARE)


@bare_kernel
def _mark_subsumed(tree: Any, cluster: Any) -> None:
    """Mark the attributes whose constraints are exactly a bucket on the way to a leaf."""
    tree.state[STAMP] += 1
    nodes, owner = tree.clusters, tree.clusters[CLUSTER * cluster + OWNER]
    while owner != NONE:
        if nodes[CLUSTER * cluster + FLAGS] & EXACT != 0:
            tree.marks[tree.partitions[PARTITION * owner + ATTRIBUTE]] = tree.state[STAMP]
        cluster = tree.partitions[PARTITION * owner + PLACE]
        owner = nodes[CLUSTER * cluster + OWNER]


@bare_kernel
def _residual_room(tree: Any, conjunctions: Any, unit: Any, plain: bool) -> Any:
    """How many integers the residual of a unit takes at most."""
    places, words, sets, bits = conjunctions
    first, last = stretch(places, words, unit)
    room = np.int64(RESIDUAL_START)
    for position in range(first, last):
        code, _, high = constraint_at(words, sets, bits, position)
        if tree.marks[code >> FLAG_BITS] != tree.state[STAMP]:
            room += residual_size(code, high) if plain else 1
    return room


@bare_kernel
def _residuals_room(tree: Any, conjunctions: Any, cluster: Any, form: Any, count: Any) -> Any:
    """How many integers the residuals of the first units of a leaf take at most."""
    room = np.int64(0)
    if form.blocks:
        _mark_subsumed(tree, cluster)
        unit = tree.clusters[CLUSTER * cluster + HEAD]
        for _ in range(count):
            room += _residual_room(tree, conjunctions, unit, form.kind == 0)
            unit = tree.after[unit]
    return room


@bare_kernel
def most_room(conjunctions: Any, form: Any) -> Any:
    """Integers that the rows and residuals of all units take at most."""
    inner = np.int64(len(conjunctions.words))
    if form.kind == 0:
        inner = residual_sizes(conjunctions.words, conjunctions.sets, conjunctions.bits)
    return len(conjunctions.places) * (row_width(form) + RESIDUAL_START) + inner


@bare_kernel
def _can_grow(tree: Any, conjunctions: Any, cluster: Any, form: Any, pool: Any) -> Any:
    """Whether the rows of a leaf are still right, and have room for the units that came."""
    at, nodes = CLUSTER * np.int64(cluster), tree.clusters
    start, room, count = np.int64(nodes[at + START]), nodes[at + ROOM], nodes[at + UNIT_COUNT]
    if nodes[at + FLAGS] & REWRITE != 0 or room == 0 or count > pool[start]:
        return False
    more = _residuals_room(tree, conjunctions, cluster, form, count - pool[start + 2])
    return pool[start + 1] + more <= start + room


@bare_kernel
def plan_rows(tree: Any, conjunctions: Any, form: Any, pool: Any) -> Any:
    """Find room for the rows that are out of date where they are, or at the end of the pool; returns the new end.

    A leaf that is written anew gets a quarter more than it needs, so that rules that come one by one are appended.
    """
    nodes, state = tree.clusters, tree.state
    for place in range(state[UNCLEAN]):
        at = CLUSTER * np.int64(tree.unclean[place])
        if nodes[at + FLAGS] & GONE != 0 or _can_grow(tree, conjunctions, tree.unclean[place], form, pool):
            continue
        nodes[at + FLAGS] |= REWRITE
        count = np.int64(nodes[at + UNIT_COUNT])
        residuals = _residuals_room(tree, conjunctions, tree.unclean[place], form, count)
        wanted = LEAF_START + (count + count // 4) * row_width(form) + residuals + residuals // 4
        if wanted > nodes[at + ROOM] and count > 0:
            state[WASTE] += nodes[at + ROOM]
            nodes[at + START], nodes[at + ROOM] = state[POOL], wanted
            state[POOL] += wanted
    return state[POOL]


@bare_kernel
def _ordered(tree: Any, conjunctions: Any, presence: Any, unit: Any, order: Any, costs: Any) -> Any:
    """The constraints of a unit that are not marked, as positions within it, the most selective first; how many."""
    places, words, sets, bits = conjunctions
    first, last = stretch(places, words, unit)
    count, kept = last - first, 0
    for position in range(count):
        code, low, high = constraint_at(words, sets, bits, first + position)
        attribute = code >> FLAG_BITS
        if tree.marks[attribute] == tree.state[STAMP]:
            continue
        cost = _NULLS
        if code & ACCEPTS_NULL == 0:
            cost = np.float32(presence[attribute] * estimated_share(sets, code, low, high))
        back = kept
        while back > 0 and costs[back - 1] > cost and count <= _MOST_SORTED:
            order[back], costs[back] = order[back - 1], costs[back - 1]
            back -= 1
        order[back], costs[back] = position, cost
        kept += 1
    return kept


@bare_kernel
def _first_test(conjunctions: Any, unit: Any, order: Any, costs: Any, kept: Any) -> Any:
    """The constraint that a row tests, as a position within its unit; NONE if there is none.

    Of several intervals a row tests what encloses them all, so that counts.
    """
    first, best, least = np.int64(conjunctions.places[unit]), NONE, _NULLS
    for rank in range(kept):
        if costs[rank] >= least:
            continue
        code, low, high = constraint_of(conjunctions, first + order[rank])
        labels, enclosed = covered(conjunctions.sets, code, low, high)
        cost = np.float32(costs[rank] * (max(enclosed, 1) / max(labels, 1)))
        if cost < least:
            best, least = order[rank], cost
    return best


@bare_kernel
def _write_test(conjunctions: Any, unit: Any, test: Any, pool: Any, row: Any) -> None:
    """Write the first test of a row."""
    pool[row], pool[row + 1], pool[row + 2] = 0, ALWAYS_LOW, ALWAYS_WIDTH
    if test != NONE:
        code, low, high = constraint_of(conjunctions, np.int64(conjunctions.places[unit]) + test)
        low, high = hull(conjunctions.sets, code, low, high)
        pool[row], pool[row + 1], pool[row + 2] = code >> FLAG_BITS, low, high - low


@bare_kernel
def _write_references(
    conjunctions: Any, known: Any, unit: Any, order: Any, kept: Any, pool: Any, row: Any, end: int
) -> Any:
    """Write the first bit of a row, and its residual at `end`; returns the new end."""
    first, count = np.int64(conjunctions.places[unit]), 0
    pool[row] = 0
    for rank in range(kept):
        predicate = known.ids[first + order[rank]]
        bit = known.bits[predicate]
        if bit > 0 and pool[row] == 0:
            pool[row] = bit
            continue
        pool[end + RESIDUAL_START + count] = bit if bit >= 0 else -1 - predicate
        count += 1
    pool[row + 1], pool[end], pool[end + 1] = end, unit, count
    return end + RESIDUAL_START + count


@bare_kernel
def _open_leaf(tree: Any, cluster: Any, width: Any, compact: bool, pool: Any) -> Any:
    """Where the next row and the next residual of a leaf go, and how many units from the first on are to be written."""
    at, nodes = CLUSTER * np.int64(cluster), tree.clusters
    start, count = np.int64(nodes[at + START]), np.int64(nodes[at + UNIT_COUNT])
    if not compact and nodes[at + FLAGS] & REWRITE == 0:
        laid = np.int64(pool[start + 2])
        return start + LEAF_START + laid * width, np.int64(pool[start + 1]), count - laid
    if compact:
        start = tree.state[POOL]
        nodes[at + START] = start
    capacity = count if compact else count + count // 4
    pool[start] = capacity
    return start + LEAF_START, start + LEAF_START + capacity * width, count


@kernel
def lay_out(tree: Any, conjunctions: Any, known: Any, form: Any, presence: Any, compact: bool, pool: Any) -> None:
    """Write the rows of all leaves that are out of date: where they were planned, or, if `compact`, one behind the
    other.

    `presence` is the share of events that have an attribute.
    """
    nodes, state, places, words = tree.clusters, tree.state, conjunctions.places, conjunctions.words
    order, costs, kinds = np.empty(64, np.int32), np.empty(64, np.float32), np.empty(64, np.int8)
    width = row_width(form)
    for place in range(state[UNCLEAN]):
        cluster = tree.unclean[place]
        at = CLUSTER * np.int64(cluster)
        if nodes[at + FLAGS] & GONE != 0 or nodes[at + UNIT_COUNT] == 0:
            state[WASTE] += nodes[at + ROOM]
            nodes[at + FLAGS] &= ~(DIRTY | REWRITE)
            nodes[at + ROOM] = 0
            continue
        if form.blocks:
            _mark_subsumed(tree, cluster)
        row, end, more = _open_leaf(tree, cluster, width, compact, pool)
        unit = nodes[at + HEAD]
        for _ in range(more):
            first, last = stretch(places, words, unit)
            count, inner = last - first, row
            row += width
            if form.bloom_bits > 0:
                inner = _write_filter(conjunctions, unit, form.bloom_bits, pool, inner)
            if not form.blocks:
                pool[inner], unit = unit, tree.after[unit]
                continue
            if count > len(order):
                order, costs, kinds = np.empty(count, np.int32), np.empty(count, np.float32), np.empty(count, np.int8)
            kept = _ordered(tree, conjunctions, presence, unit, order, costs)
            if form.kind == 0:
                test = _first_test(conjunctions, unit, order, costs, kept)
                _write_test(conjunctions, unit, test, pool, inner)
                pool[inner + 3] = end
                end = write_residual(conjunctions, unit, order, kept, test, kinds, pool, end)
            else:
                end = _write_references(conjunctions, known, unit, order, kept, pool, inner, end)
            unit = tree.after[unit]
        start = nodes[at + START]
        pool[start + 1], pool[start + 2] = end, nodes[at + UNIT_COUNT]
        nodes[at + FLAGS] &= ~(DIRTY | REWRITE)
        if compact:
            state[POOL], nodes[at + ROOM] = end, end - start
    state[UNCLEAN] = 0


@bare_kernel
def forget_rows(tree: Any) -> None:
    """Let the rows of all leaves be out of date, and the pool be empty."""
    nodes, state = tree.clusters, tree.state
    state[UNCLEAN] = state[POOL] = state[WASTE] = 0
    for cluster in range(state[CLUSTERS]):
        at = CLUSTER * cluster
        nodes[at + ROOM] = 0
        nodes[at + FLAGS] &= ~(DIRTY | REWRITE)
        if nodes[at + FLAGS] & GONE == 0:
            nodes[at + FLAGS] |= DIRTY
            tree.unclean[state[UNCLEAN]] = cluster
            state[UNCLEAN] += 1
