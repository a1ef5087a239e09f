"""Kernels of hash tables that find numbers by what those stand for: open addressing, linear steps, any size.

A slot has 32 bits: the number in the lower ones, as many as the table was made for, and some bits of a hash in those
above, its *tag*. So a step looks at four bytes, and what a number stands for is seldom compared in vain. Tables may be
four fifths full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel

EMPTY, TOMBSTONE = 2**32 - 1, 2**32 - 2
"""Slots without a number: no tag has all bits."""

SMALLEST = 16
LEAST_BITS = 8

_ONE = np.uint64(1)
_LOW = 2**32 - 1


@bare_kernel
def slot_for(hashed: Any, number: Any, bits: Any) -> Any:
    """The slot of a number, below two to the power of `bits`, that is found by a hash."""
    shift = np.uint64(bits)
    tag, highest = (np.uint64(hashed) & np.uint64(_LOW)) >> shift, np.uint64(_LOW) >> shift
    return np.uint32((np.uint64(0) if tag == highest else tag) << shift | np.uint64(number))


@bare_kernel
def has_tag(slot: Any, wanted: Any, bits: Any) -> Any:
    """Whether a slot, which may be EMPTY or a TOMBSTONE, has the tag of another one."""
    return (np.uint64(slot) ^ np.uint64(wanted)) >> np.uint64(bits) == 0


@bare_kernel
def number_in(slot: Any, bits: Any) -> Any:
    """The number in a slot that has one."""
    return np.int64(np.uint64(slot) & ((_ONE << np.uint64(bits)) - _ONE))


@bare_kernel
def first_slot(slots: Any, hashed: Any) -> Any:
    """Where the search for a hash begins."""
    return ((np.uint64(hashed) >> np.uint64(32)) * np.uint64(len(slots))) >> np.uint64(32)


@bare_kernel
def next_slot(slots: Any, place: Any) -> Any:
    """The place behind another one."""
    behind = place + _ONE
    return behind if behind < np.uint64(len(slots)) else np.uint64(0)


@bare_kernel
def enter(slots: Any, hashed: Any, number: Any, bits: Any) -> None:
    """Put a number that is not there into the first empty slot; there must be one."""
    place = first_slot(slots, hashed)
    while slots[place] != np.uint32(EMPTY):
        place = next_slot(slots, place)
    slots[place] = slot_for(hashed, number, bits)


@bare_kernel
def bury(slots: Any, hashed: Any, number: Any, bits: Any) -> None:
    """Put a tombstone into the slot of a number; one that is not there is passed over."""
    place, wanted = first_slot(slots, hashed), slot_for(hashed, number, bits)
    while slots[place] != np.uint32(EMPTY):
        if slots[place] == wanted:
            slots[place] = np.uint32(TOMBSTONE)
            return
        place = next_slot(slots, place)
