"""Kernels that find the leaf of a constraint: each distinct record of a store once, whatever conjunctions have it.

Rules are written by few hands, and lists of values come from few catalogues. In a million rules of Ads, 8 constraints
each, one record in a hundred differs from all before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.shared.constraints._record_kernels import WIDTH, hash_record, pack, same_record
from matchwood.engines.shared.constraints._tagged_table_kernels import EMPTY, enter, first_slot, next_slot, tag_of


class GrowingLeaves(NamedTuple):
    """What leaves are added to, with room for them: the arrays of `ConjunctionStore` by their names."""

    records: NDArray[np.int32]
    intervals: NDArray[np.int32]
    leaf_tags: NDArray[np.uint8]
    leaf_table: NDArray[np.int32]


@bare_kernel
def leaf_like(leaves: GrowingLeaves, hashed: Any, at: Any) -> Any:
    """The leaf that says the same as the record at `at`, or -1 - the slot where it belongs."""
    tags, table, tag = leaves.leaf_tags, leaves.leaf_table, tag_of(hashed)
    slot = first_slot(tags, hashed)
    while tags[slot] != np.uint8(EMPTY):
        if tags[slot] == tag and same_record(leaves.records, leaves.intervals, WIDTH * np.int64(table[slot]), at):
            return np.int64(table[slot])
        slot = next_slot(tags, slot)
    return -1 - np.int64(slot)


@bare_kernel
def find_leaves(
    source: Any, leaf_of: Any, place: int, most: int, leaves: GrowingLeaves, used: Any, found: Any
) -> int:  # fmt: skip
    """The leaf of each constraint that leaf_of[place:] names, new ones included; returns the first place not done.

    Constraints get their numbers in the order in which conjunctions name them, so that the records of one that shares
    few of them lie side by side. One is written behind the last record, looked up there, and kept only if it is new. It
    stops when the table has `most` leaves. `used` holds how many leaves and intervals there are, and how many of the
    leaves the table has; `found` has -1 for each constraint that was not met yet.
    """
    for position in range(place, len(leaf_of)):
        constraint = leaf_of[position]
        if found[constraint] >= 0:
            continue
        if used[2] >= most:
            return position
        leaf, at = used[0], WIDTH * np.int64(used[0])
        pieces = pack(source, constraint, leaves.records, leaf, leaves.intervals, used[1])
        hashed = hash_record(leaves.records, leaves.intervals, at)
        known = leaf_like(leaves, hashed, at)
        if known < 0:
            leaves.leaf_tags[-1 - known], leaves.leaf_table[-1 - known] = tag_of(hashed), leaf
            used[0], used[1], used[2] = leaf + 1, pieces, used[2] + 1
            known = leaf
        found[constraint] = known
    return len(leaf_of)


@bare_kernel
def mark_leaves(offsets: Any, leaves: Any, alive: Any, marked: Any) -> None:
    """Mark the leaves that units have which are alive."""
    for unit in range(len(alive)):
        if alive[unit]:
            for position in range(offsets[unit], offsets[unit + 1]):
                marked[leaves[position]] = True


@bare_kernel
def enter_leaves(records: Any, intervals: Any, marked: Any, tags: Any, table: Any, hashes: Any) -> None:
    """Enter the leaves that are marked, which differ, into an empty table, as many at a time as `hashes` takes."""
    for first in range(0, len(marked), len(hashes)):
        last = min(first + len(hashes), len(marked))
        for leaf in range(first, last):
            hashed = hash_record(records, intervals, WIDTH * np.int64(leaf))
            hashes[leaf - first] = hashed
            prefetch(tags, np.int64(first_slot(tags, hashed)))
            prefetch(table, np.int64(first_slot(tags, hashed)))
        for leaf in range(first, last):
            if marked[leaf]:
                enter(tags, table, hashes[leaf - first], leaf)


@bare_kernel
def count_lost_leaves(marked: Any, leaves: GrowingLeaves) -> int:
    """How many leaves that are marked the table does not find by what they say."""
    lost = 0
    for leaf in range(len(marked)):
        if marked[leaf]:
            at = WIDTH * np.int64(leaf)
            lost += leaf_like(leaves, hash_record(leaves.records, leaves.intervals, at), at) != leaf
    return lost
