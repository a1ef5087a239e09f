"""The hash tables behind `ConjunctionStore`, of units and of runs: open addressing, linear steps, sizes powers of two.

A *run* is the intervals of a constraint that has several. Constraints of one attribute that have the same intervals
share one run. Lists of values come from few catalogues: in a million Ads rules, distinct runs take a fortieth of what
the runs of all constraints would, which is more than the records.

An entry of `runs` is the position of a record that has the run, or NO_RECORD. The table grows only while runs are found
in it: of BEGen's lists of values most occur once, and entering them all would take more than it saves. It is not saved:
runs that are not in it are written again, and nothing else changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.hashing import combine64, mix64
from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.shared._record_kernels import (
    SEVERAL,
    WIDTH,
    attribute_of,
    hash_of_count,
    hash_records,
    pack,
    piece_count,
    same_records,
    unpack,
    with_record,
)

EMPTY = -1
TOMBSTONE = -2
NO_RECORD = -1
_MOST_RECORDS = 2**31

AHEAD = 16
"""How many constraints before its turn the record of a leaf is asked for: rules have leaves that lie anywhere."""

HASHED = 32
"""Conjunctions that are hashed one after the other before they are looked up: a hash is a chain of products, of which a
processor follows several at a time, and slots are asked for before their turn."""

FIRST_RUNS = 4096
"""So many runs are entered in any case; more than these as long as half as many have been found."""


class IncomingRows(NamedTuple):
    """Conjunctions by their leaves, as `encoding.EncodedRows` has them, and scratch memory for as many leaves.

    `records`, `intervals`  each leaf as a record
    `run_of`  for each leaf a record of the store that has its run, once one was found
    `hashes`  of the next HASHED conjunctions
    """

    offsets: NDArray[np.int64]
    leaf_of: NDArray[np.int32]
    attributes: NDArray[np.int32]
    accepts_null: NDArray[np.bool_]
    pieces: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    alternatives: NDArray[np.bool_]
    records: NDArray[np.int32]
    intervals: NDArray[np.int32]
    run_of: NDArray[np.int32]
    hashes: NDArray[np.uint64]


class GrowingStore(NamedTuple):
    """What conjunctions are added to, with room for them: the arrays of `ConjunctionStore` by their names."""

    offsets: NDArray[np.int64]
    records: NDArray[np.int32]
    intervals: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    uses: NDArray[np.int32]
    table: NDArray[np.int32]
    runs: NDArray[np.int32]


@bare_kernel
def has_room(runs: Any, used: int, more: int) -> bool:
    """Whether so many more runs leave a quarter of the table empty."""
    return 4 * (used + more) <= 3 * len(runs)


@bare_kernel
def pays(entered: int, found: int) -> bool:
    """Whether it pays to enter more runs: one that is found saves at least 16 bytes, one that is entered takes ten."""
    return bool(entered < FIRST_RUNS or 2 * found >= entered)


@bare_kernel
def _has_run(records: Any, at: int) -> bool:
    return bool(records[at] & SEVERAL != 0 and records[at + 1] < records[at + 2])


@bare_kernel
def _same_run(records: Any, intervals: Any, one: Any, other: Any) -> bool:
    """Whether two records have the same attribute and the same intervals."""
    first, second, count = records[one + 1], records[other + 1], records[one + 2] - records[one + 1]
    if attribute_of(records[one]) != attribute_of(records[other]) or records[other + 2] - second != count:
        return False
    step = 0
    while step < 2 * count and intervals[2 * first + step] == intervals[2 * second + step]:
        step += 1
    return bool(step == 2 * count)


@bare_kernel
def _slot_of_run(runs: Any, records: Any, intervals: Any, at: Any) -> Any:
    """The slot of the run of a record, or the empty one where it belongs."""
    hashed = mix64(np.uint64(attribute_of(records[at])))
    for interval in range(records[at + 1], records[at + 2]):
        low, high = np.uint64(intervals[2 * interval]), np.uint64(intervals[2 * interval + 1])
        hashed = combine64(hashed, (low << np.uint64(32)) | high)
    mask = np.uint64(len(runs) - 1)
    slot = hashed & mask
    while runs[slot] != NO_RECORD and not _same_run(records, intervals, at, WIDTH * np.int64(runs[slot])):
        slot = (slot + np.uint64(1)) & mask
    return slot


@bare_kernel
def _shared_run(runs: Any, records: Any, at: int, intervals: Any) -> Any:
    """The earlier record, if there is one, whose run the record at `at` then has in the place of its own."""
    if not _has_run(records, at):
        return np.int32(NO_RECORD)
    known = runs[_slot_of_run(runs, records, intervals, at)]
    if known != NO_RECORD:
        records[at + 1], records[at + 2] = records[WIDTH * np.int64(known) + 1], records[WIDTH * np.int64(known) + 2]
    return known


@bare_kernel
def enter_runs(runs: Any, records: Any, intervals: Any, start: int, stop: int, written: int) -> int:
    """Enter the runs of the records start : stop that begin at `written` or behind it; returns how many were new."""
    entered = 0
    for position in range(start, min(stop, _MOST_RECORDS)):
        at = WIDTH * position
        if _has_run(records, at) and records[at + 1] >= written:
            slot = _slot_of_run(runs, records, intervals, at)
            entered += runs[slot] == NO_RECORD
            runs[slot] = position
    return entered


@bare_kernel
def enter_again(old: Any, runs: Any, records: Any, intervals: Any) -> None:
    """Enter the runs of a table into an empty one, in which all have room."""
    for position in old:
        if position != NO_RECORD:
            runs[_slot_of_run(runs, records, intervals, WIDTH * np.int64(position))] = position


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
def _pack_leaves(source: IncomingRows) -> None:
    """Write each leaf as a record."""
    used = 0
    for leaf in range(len(source.attributes)):
        used = pack(source, leaf, source.records, leaf, source.intervals, used)
        source.run_of[leaf] = NO_RECORD


@bare_kernel
def _put_leaf(source: IncomingRows, leaf: Any, store: GrowingStore, position: int, used: int) -> Any:
    """Write a leaf as the record at `position` of the store; how many intervals are then in use, and if its run was
    there."""
    records, intervals, at, to = store.records, store.intervals, WIDTH * np.int64(leaf), WIDTH * position
    first, last = source.records[at + 1], source.records[at + 2]
    records[to], records[to + 1], records[to + 2] = source.records[at], first, last
    if records[to] & SEVERAL == 0:
        return used, False
    known = source.run_of[leaf]
    if known != NO_RECORD:
        held = WIDTH * np.int64(known)
        records[to + 1], records[to + 2] = records[held + 1], records[held + 2]
        return used, True
    end = used + last - first
    records[to + 1], records[to + 2] = used, end
    for step in range(2 * (last - first)):
        intervals[2 * used + step] = source.intervals[2 * first + step]
    found = _shared_run(store.runs, records, to, intervals)
    source.run_of[leaf] = found
    return (end, False) if found == NO_RECORD else (used, True)


@bare_kernel
def _hash_rows(source: IncomingRows, place: int, table: Any) -> None:
    """Hash some conjunctions from `place` on, as `hash_records` does, by the records of their leaves."""
    mask = np.uint64(len(table) - 1)
    for conjunction in range(place, min(place + HASHED, len(source.offsets) - 1)):
        first, last = source.offsets[conjunction], source.offsets[conjunction + 1]
        accumulated = hash_of_count(last - first)
        for constraint in range(first, last):
            leaf = np.int64(source.leaf_of[constraint])
            accumulated = with_record(accumulated, source.records, source.intervals, WIDTH * leaf)
        source.hashes[conjunction - place] = accumulated
        prefetch(table, accumulated & mask)


@bare_kernel
def add_all(source: IncomingRows, place: int, store: GrowingStore, used: Any, units: Any, is_new: Any) -> int:
    """Find or append each conjunction of `source` from `place` on, counting one use; returns the first one not done.

    A conjunction is written behind the last one, looked up there, and kept only if it is new. It stops before one for
    whose runs there is no room. `used` holds the number of units, constraints and intervals, of runs entered and found,
    and, last, how many tombstones were taken over.
    """
    offsets, records, intervals = store.offsets, store.records, store.intervals
    hashes, uses, table, runs = store.hashes, store.uses, store.table, store.runs
    leaf_of, final = source.leaf_of, len(source.leaf_of) - 1
    if place == 0:
        _pack_leaves(source)
    hashed = place
    for conjunction in range(place, len(source.offsets) - 1):
        if conjunction == hashed:
            _hash_rows(source, conjunction, table)
            hashed += HASHED
        first, last = source.offsets[conjunction], source.offsets[conjunction + 1]
        if not has_room(runs, used[3], last - first):
            return conjunction
        unit, constraints, pieces = used[0], used[1], used[2]
        for constraint in range(first, last):
            prefetch(source.records, WIDTH * np.int64(leaf_of[min(constraint + AHEAD, final)]))
            pieces, found = _put_leaf(source, leaf_of[constraint], store, constraints, pieces)
            used[4] += found
            constraints += 1
        offsets[unit + 1] = constraints
        hashes[unit] = source.hashes[conjunction + HASHED - hashed]
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
