"""Kernels of `ConjunctionStore`: conjunctions by the numbers of their leaves, each distinct one once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.shared.constraints._record_kernels import piece_count, record_at, unpack
from matchwood.engines.shared.constraints._tagged_table_kernels import (
    EMPTY,
    TOMBSTONE,
    bury,
    enter,
    first_slot,
    next_slot,
    tag_of,
)

HASHED = 32
"""Conjunctions, or leaves, that are hashed one after the other before they are looked up: a hash is a chain of
products, of which a processor follows several at a time, and slots are asked for before their turn."""


class IncomingRows(NamedTuple):
    """Conjunctions that are to be stored: the i-th has leaf_of[offsets[i] : offsets[i + 1]], numbers of their own.

    `found`   for each of these numbers the leaf of the store
    `hashes`  of the next HASHED conjunctions
    """

    offsets: NDArray[np.int64]
    leaf_of: NDArray[np.int32]
    found: NDArray[np.int32]
    hashes: NDArray[np.uint64]


class GrowingStore(NamedTuple):
    """What conjunctions are added to, with room for them: the arrays of `ConjunctionStore` by their names."""

    offsets: NDArray[np.int32]
    leaves: NDArray[np.int32]
    uses: NDArray[np.int32]
    tags: NDArray[np.uint8]
    table: NDArray[np.int32]


_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@bare_kernel
def _and_leaf(accumulated: Any, leaf: Any) -> Any:
    """Fold one more leaf into what becomes a hash: numbers of leaves are dense, so one product each is enough."""
    return accumulated * _FACTOR + np.uint64(leaf)


@bare_kernel
def hash_unit(offsets: Any, leaves: Any, unit: Any) -> Any:
    """A hash of the leaves of a unit."""
    first, last = offsets[unit], offsets[unit + 1]
    accumulated = np.uint64(last - first + 1)
    for position in range(first, last):
        accumulated = _and_leaf(accumulated, leaves[position])
    return mix64(accumulated)


@bare_kernel
def look_up(tags: Any, table: Any, hashed: Any, offsets: Any, leaves: Any, unit: Any) -> Any:
    """The slot of the unit that has the same leaves as `unit`, or the free slot where it belongs, as -1 - slot."""
    start, count = offsets[unit], offsets[unit + 1] - offsets[unit]
    slot, tag, free = first_slot(tags, hashed), tag_of(hashed), np.int64(-1)
    while tags[slot] != np.uint8(EMPTY):
        if tags[slot] == tag:
            other, step = offsets[table[slot]], 0
            if offsets[table[slot] + 1] - other == count:
                while step < count and leaves[other + step] == leaves[start + step]:
                    step += 1
                if step == count:
                    return np.int64(slot)
        elif tags[slot] == np.uint8(TOMBSTONE) and free < 0:
            free = np.int64(slot)
        slot = next_slot(tags, slot)
    return -1 - (free if free >= 0 else np.int64(slot))


@bare_kernel
def _hash_rows(source: IncomingRows, place: int, tags: Any, table: Any) -> None:
    """Hash some conjunctions from `place` on, as `hash_unit` does."""
    for conjunction in range(place, min(place + HASHED, len(source.offsets) - 1)):
        first, last = source.offsets[conjunction], source.offsets[conjunction + 1]
        accumulated = np.uint64(last - first + 1)
        for constraint in range(first, last):
            accumulated = _and_leaf(accumulated, source.found[source.leaf_of[constraint]])
        hashed = mix64(accumulated)
        source.hashes[conjunction - place] = hashed
        slot = np.int64(first_slot(tags, hashed))
        prefetch(tags, slot)
        prefetch(table, slot)


@bare_kernel
def add_all(source: IncomingRows, store: GrowingStore, used: Any, units: Any, is_new: Any) -> None:
    """Find or append each conjunction of `source`, counting one use.

    A conjunction is written behind the last one, looked up there, and kept only if it is new. `used` holds the number
    of units and of constraints, and how many tombstones were taken over.
    """
    offsets, leaves, uses, tags, table = store.offsets, store.leaves, store.uses, store.tags, store.table
    hashed = 0
    for conjunction in range(len(source.offsets) - 1):
        if conjunction == hashed:
            _hash_rows(source, conjunction, tags, table)
            hashed += HASHED
        unit, constraints = used[0], used[1]
        for constraint in range(source.offsets[conjunction], source.offsets[conjunction + 1]):
            leaves[constraints] = source.found[source.leaf_of[constraint]]
            constraints += 1
        offsets[unit + 1] = constraints
        hashed_to = source.hashes[conjunction + HASHED - hashed]
        slot = look_up(tags, table, hashed_to, offsets, leaves, unit)
        is_new[conjunction] = slot < 0
        if slot < 0:
            used[2] += tags[-1 - slot] == np.uint8(TOMBSTONE)
            tags[-1 - slot], table[-1 - slot] = tag_of(hashed_to), unit
            used[0], used[1] = unit + 1, constraints
        else:
            unit = table[slot]
        uses[unit] += 1
        units[conjunction] = unit


@bare_kernel
def enter_units(tags: Any, table: Any, offsets: Any, leaves: Any, alive: Any, hashes: Any) -> None:
    """Enter all live units, which differ, into an empty table; as many at a time as `hashes` has room for."""
    for first in range(0, len(alive), len(hashes)):
        last = min(first + len(hashes), len(alive))
        for unit in range(first, last):
            hashed = hash_unit(offsets, leaves, unit)
            hashes[unit - first] = hashed
            prefetch(tags, np.int64(first_slot(tags, hashed)))
            prefetch(table, np.int64(first_slot(tags, hashed)))
        for unit in range(first, last):
            if alive[unit]:
                enter(tags, table, hashes[unit - first], unit)


@bare_kernel
def bury_units(tags: Any, table: Any, offsets: Any, leaves: Any, units: Any) -> None:
    """Put a tombstone in the slot of each unit; units that are not in the table are passed over."""
    for unit in units:
        bury(tags, table, hash_unit(offsets, leaves, unit), unit)


@bare_kernel
def find_units(tags: Any, table: Any, offsets: Any, leaves: Any, units: Any, found: Any) -> None:
    """Which unit the table finds for the contents of each of `units`; -1 for none."""
    for place in range(len(units)):
        slot = look_up(tags, table, hash_unit(offsets, leaves, units[place]), offsets, leaves, units[place])
        found[place] = table[slot] if slot >= 0 else -1


@bare_kernel
def count_pieces(offsets: Any, leaves: Any, records: Any, units: Any) -> int:
    """The number of intervals of all these units."""
    total = 0
    for unit in units:
        for position in range(offsets[unit], offsets[unit + 1]):
            total += piece_count(records, record_at(leaves, position))
    return total


@bare_kernel
def unpack_all(offsets: Any, leaves: Any, records: Any, intervals: Any, units: Any, target: Any) -> None:
    """Write the conjunctions of `units` into `target`, whose arrays have just the room."""
    constraint = 0
    for place in range(len(units)):
        for position in range(offsets[units[place]], offsets[units[place] + 1]):
            unpack(records, intervals, record_at(leaves, position), target, constraint)
            constraint += 1
        target.offsets[place + 1] = constraint
