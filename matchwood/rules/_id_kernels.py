"""The hash table from ids to rows: open addressing with linear probing over one array.

A slot holds 31 bits of its id's hash above the 32 bits of its row. The upper bits of the hash are
also where probing begins, so a table grows without looking at any id, and an id is compared only when
all 31 bits agree: almost always the right one. Nothing here trusts the array: rows and strings are
checked before they are read and probing ends after one round, so a damaged table finds nothing
instead of reading outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import hash_bytes, same_bytes
from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch

EMPTY = -1
TOMBSTONE = -2

_AHEAD = 8
"""How many ids before its turn the slot of one is asked for: in a table of a million, it lies anywhere in memory."""

_IN_CACHE = 2**16
"""Slots of a table that the processor's caches hold."""


@bare_kernel
def _bounds(keys: Any, row: Any) -> Any:
    """Where the row's id begins and ends in its data; (0, -1) when it lies outside."""
    if keys.width > 0:
        start = np.int64(row) * keys.width
        stop = start + keys.width
    elif row < len(keys.starts):
        start = keys.starts[row]
        stop = start + keys.lengths[row]
    else:
        return np.int64(0), np.int64(-1)
    if start < 0 or stop < start or stop > len(keys.data):
        return np.int64(0), np.int64(-1)
    return start, stop


@bare_kernel
def _fragment(data: Any, start: Any, stop: Any) -> Any:
    """The upper 31 bits of the id's hash."""
    return np.int64(hash_bytes(data, start, stop) >> np.uint64(33))


@bare_kernel
def _probe(slots: Any, bits: Any, stored: Any, data: Any, start: Any, stop: Any, fragment: Any) -> Any:
    """The id's row, or -1, and the slot where it stands or may be put (-1 when the table is full)."""
    mask = len(slots) - 1
    position = fragment >> np.int64(31 - bits)
    room = np.int64(-1)
    for _ in range(len(slots)):
        slot = slots[position]
        if slot == EMPTY:
            return np.int64(-1), position if room < 0 else room
        if slot == TOMBSTONE:
            room = position if room < 0 else room
        elif slot >> np.int64(32) == fragment:
            row = slot & np.int64(0xFFFFFFFF)
            known_start, known_stop = _bounds(stored, row)
            length = stop - start
            if known_stop - known_start == length and same_bytes(stored.data, known_start, data, start, length):
                return row, position
        position = (position + 1) & mask
    return np.int64(-1), room


@bare_kernel
def _ask_ahead(slots: Any, bits: Any, keys: Any, row: Any) -> None:
    """Ask for the slot of an id that comes a little later, if there is one."""
    start, stop = _bounds(keys, row + _AHEAD)
    if start < stop:
        prefetch(slots, _fragment(keys.data, start, stop) >> np.int64(31 - bits))


@bare_kernel
def find_many(slots: Any, bits: Any, stored: Any, wanted: Any, out: Any) -> Any:
    """The row of each wanted id into out, -1 where there is none."""
    for i in range(len(out)):
        if len(slots) > _IN_CACHE:
            _ask_ahead(slots, bits, wanted, i)
        start, stop = _bounds(wanted, i)
        fragment = _fragment(wanted.data, start, stop)
        out[i] = _probe(slots, bits, stored, wanted.data, start, stop, fragment)[0]


@bare_kernel
def claim_many(slots: Any, bits: Any, stored: Any, first: Any, out: Any) -> Any:
    """Enter the stored rows first, first + 1, …; out tells each one's row, or the earlier one with the same id.

    Returns how many empty slots and how many tombstones were filled.
    """
    from_empty, from_tombstone = 0, 0
    for i in range(len(out)):
        if len(slots) > _IN_CACHE:
            _ask_ahead(slots, bits, stored, first + i)
        start, stop = _bounds(stored, first + i)
        fragment = _fragment(stored.data, start, stop)
        row, position = _probe(slots, bits, stored, stored.data, start, stop, fragment)
        if row < 0:
            row = np.int64(first + i)
            if slots[position] == EMPTY:
                from_empty += 1
            else:
                from_tombstone += 1
            slots[position] = (fragment << np.int64(32)) | row
        out[i] = row
    return from_empty, from_tombstone


@bare_kernel
def increase(integers: Any) -> bool:
    """Whether each integer is greater than the one before."""
    place = 1
    while place < len(integers) and integers[place - 1] < integers[place]:
        place += 1
    return place >= len(integers)


@bare_kernel
def drop_many(slots: Any, bits: Any, stored: Any, rows: Any) -> Any:
    """Put a tombstone in the slot of each row; returns how many were found."""
    found = 0
    for i in range(len(rows)):
        start, stop = _bounds(stored, rows[i])
        fragment = _fragment(stored.data, start, stop)
        row, position = _probe(slots, bits, stored, stored.data, start, stop, fragment)
        if row == rows[i]:
            slots[position] = TOMBSTONE
            found += 1
    return found


@bare_kernel
def rehash(slots: Any, grown: Any, bits: Any) -> Any:
    """Enter every row of a table into an empty, larger one."""
    mask = len(grown) - 1
    for i in range(len(slots)):
        slot = slots[i]
        if slot >= 0:
            position = (slot >> np.int64(32)) >> np.int64(31 - bits)
            while grown[position] != EMPTY:
                position = (position + 1) & mask
            grown[position] = slot
