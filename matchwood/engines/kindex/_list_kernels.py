"""Reading a posting list, stored or compressed, and skipping forward in it: `SkipTo` of VLDB 2009."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.kindex.layout import BLOCK, BLOCK_BITS, ListEntries

Z_LIST = -1
"""The list of all units of size 0, which is not stored: its entry at place p is that of unit p, as IN."""


@bare_kernel
def entry_at(lists: ListEntries, which: Any, start: Any, at: Any) -> Any:
    """The entry at a place of a list that begins at `start`."""
    if which < 0:
        return np.int64(2 * at + 1)
    entries, block_offsets, bases, places, data = lists
    if len(entries) > 0:
        return np.int64(entries[np.uint64(at)])
    within = at - start
    block = np.uint64(block_offsets[which] + (within >> BLOCK_BITS))
    width, byte = places[block] & 3, places[block] >> 2
    first = np.uint64(byte + ((within & (BLOCK - 1)) << width))
    above = np.int64(data[first])
    if width > 0:
        above |= np.int64(data[first + np.uint64(1)]) << 8
    if width > 1:
        above |= np.int64(data[first + np.uint64(2)]) << 16 | np.int64(data[first + np.uint64(3)]) << 24
    return np.int64(bases[block]) + above


@bare_kernel
def skip_to(lists: ListEntries, which: Any, start: Any, at: Any, stop: Any, least: Any) -> Any:
    """The first place behind `at` whose entry is at least `least`, that entry, and how many entries were read.

    Doubling steps from where the list stands, then halves: as cheap for the next entry as for one far away.
    """
    low, read = at + 1, 0
    if low >= stop:
        return stop, np.int64(0), read
    found = entry_at(lists, which, start, low)
    read += 1
    if found >= least:
        return low, found, read
    step = 1
    high = low + 1
    found = np.int64(0)
    while high < stop:
        found = entry_at(lists, which, start, high)
        read += 1
        if found >= least:
            break
        low = high
        step *= 2
        high = low + step
    if high >= stop:
        high, found = stop, np.int64(0)
    while high - low > 1:
        middle = (low + high) >> 1
        there = entry_at(lists, which, start, middle)
        read += 1
        if there >= least:
            high, found = middle, there
        else:
            low = middle
    return high, found, read
