"""Kernels of shared runs: constraints of one attribute that have the same intervals have them once in the side array.

A *run* is the intervals of a constraint that has several. Lists of values come from few catalogues: of two million such
constraints in a million Ads rules, one in sixty has a run of its own, and all runs would take as much as the records.

`runs` is a hash table with open addressing, linear steps and a power of two in size. An entry is the position of a
record that has the run, or NO_RECORD. It grows only while runs are found in it: of BEGen's lists of values, most occur
once, and entering them all would take more than it saves. It is not saved: runs that are not in it are written again,
and nothing else changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import combine64, mix64
from matchwood.core.jit import bare_kernel
from matchwood.engines.shared._record_kernels import SEVERAL, WIDTH, attribute_of

NO_RECORD = -1
_MOST_RECORDS = 2**31

FIRST_RUNS = 4096
"""So many runs are entered in any case; more than these as long as half as many have been found."""


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
def share_run(runs: Any, records: Any, position: int, intervals: Any, before: int, end: int) -> int:
    """Let the record at a position, whose run was written to `before` : `end`, have that of an earlier one if it can.

    Returns how many intervals are then in use.
    """
    at = WIDTH * position
    if not _has_run(records, at):
        return end
    known = runs[_slot_of_run(runs, records, intervals, at)]
    if known == NO_RECORD:
        return end
    records[at + 1], records[at + 2] = records[WIDTH * known + 1], records[WIDTH * known + 2]
    return before


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
