"""The hash table behind `ConjunctionStore`: open addressing, linear steps, a power of two in size."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared._record_kernels import hash_records, pack, piece_count, same_records, unpack
from matchwood.engines.shared._run_kernels import enter_runs, has_room, pays, share_run

EMPTY = -1
TOMBSTONE = -2


@bare_kernel
def look_up(table: Any, hashes: Any, offsets: Any, records: Any, intervals: Any, unit: int) -> Any:
    """The slot of the unit that says the same as `unit`, or the free slot where it belongs, as -1 - slot."""
    mask = np.uint64(len(table) - 1)
    slot = hashes[unit] & mask
    start, count = offsets[unit], offsets[unit + 1] - offsets[unit]
    free = np.int64(-1)
    while table[slot] != EMPTY:
        other = table[slot]
        if other == TOMBSTONE:
            if free < 0:
                free = np.int64(slot)
        elif (
            hashes[other] == hashes[unit]
            and offsets[other + 1] - offsets[other] == count
            and same_records(records, intervals, offsets[other], start, count)
        ):
            return np.int64(slot)
        slot = (slot + np.uint64(1)) & mask
    return -1 - (free if free >= 0 else np.int64(slot))


@bare_kernel
def add_all(
    source: Any, place: int, offsets: Any, records: Any, intervals: Any, hashes: Any, uses: Any, table: Any, runs: Any,
    used: Any, units: Any, is_new: Any,
) -> int:  # fmt: skip
    """Find or append each conjunction of `source` from `place` on, counting one use; returns the first one not done.

    A conjunction is written behind the last one, looked up there, and kept only if it is new. It stops before one for
    whose runs there is no room. `used` holds the number of units, constraints and intervals, of runs entered and found,
    and, last, how many tombstones were taken over.
    """
    for conjunction in range(place, len(source.offsets) - 1):
        first, last = source.offsets[conjunction], source.offsets[conjunction + 1]
        if not has_room(runs, used[3], last - first):
            return conjunction
        unit, constraints, pieces = used[0], used[1], used[2]
        for constraint in range(first, last):
            end = pack(source, constraint, records, constraints, intervals, pieces)
            pieces = share_run(runs, records, constraints, intervals, pieces, end)
            used[4] += pieces < end
            constraints += 1
        offsets[unit + 1] = constraints
        hashes[unit] = hash_records(records, intervals, offsets[unit], constraints)
        slot = look_up(table, hashes, offsets, records, intervals, unit)
        is_new[conjunction] = slot < 0
        if slot < 0:
            used[5] += table[-1 - slot] == TOMBSTONE
            table[-1 - slot] = unit
            if pays(used[3], used[4]):
                used[3] += enter_runs(runs, records, intervals, used[1], constraints, used[2])
            used[0], used[1], used[2] = unit + 1, constraints, pieces
        else:
            unit = table[slot]
        uses[unit] += 1
        units[conjunction] = unit
    return len(source.offsets) - 1


@bare_kernel
def rehash(offsets: Any, records: Any, intervals: Any, hashes: Any, alive: Any) -> None:
    """Compute the hashes of all live units anew, after their labels changed."""
    for unit in range(len(alive)):
        if alive[unit]:
            hashes[unit] = hash_records(records, intervals, offsets[unit], offsets[unit + 1])


@bare_kernel
def enter_all(table: Any, hashes: Any, alive: Any) -> None:
    """Enter all live units, which differ, into an empty table."""
    mask = np.uint64(len(table) - 1)
    for unit in range(len(alive)):
        if alive[unit]:
            slot = hashes[unit] & mask
            while table[slot] != EMPTY:
                slot = (slot + np.uint64(1)) & mask
            table[slot] = unit


@bare_kernel
def bury_all(table: Any, hashes: Any, units: Any) -> None:
    """Put a tombstone in the slot of each unit; units that are not in the table are passed over."""
    mask = np.uint64(len(table) - 1)
    for unit in units:
        slot = hashes[unit] & mask
        while table[slot] != EMPTY and table[slot] != unit:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] == unit:
            table[slot] = TOMBSTONE


@bare_kernel
def find_all(table: Any, hashes: Any, offsets: Any, records: Any, intervals: Any, units: Any, found: Any) -> None:
    """Which unit the table finds for the contents of each of `units`; -1 for none."""
    for position in range(len(units)):
        unit = units[position]
        slot = look_up(table, hashes, offsets, records, intervals, unit)
        right = hashes[unit] == hash_records(records, intervals, offsets[unit], offsets[unit + 1])
        found[position] = table[slot] if slot >= 0 and right else -1


@bare_kernel
def count_pieces(offsets: Any, records: Any, units: Any) -> int:
    """The number of intervals of all these units."""
    total = 0
    for unit in units:
        for position in range(offsets[unit], offsets[unit + 1]):
            total += piece_count(records, position)
    return total


@bare_kernel
def unpack_all(offsets: Any, records: Any, intervals: Any, units: Any, target: Any) -> None:
    """Write the conjunctions of `units` into `target`, whose arrays have just the room."""
    constraint = 0
    for place in range(len(units)):
        for position in range(offsets[units[place]], offsets[units[place] + 1]):
            unpack(records, intervals, position, target, constraint)
            constraint += 1
        target.offsets[place + 1] = constraint
