"""Kernels of hash tables that find numbers by what those stand for: open addressing, linear steps, any size.

A slot is a *tag* of eight bits and a number of 32: five bytes, where hashes of 64 bits that are kept beside the numbers
took 29 for each of them. A tag is EMPTY, TOMBSTONE, or some bits of a hash, so a step looks at one byte, and what a
number stands for is compared once in 250 steps in vain. Tables may be four fifths full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel

EMPTY, TOMBSTONE, _TAGS = 0, 1, 2
"""Tags of slots without a number, and the first that others have."""

SMALLEST = 16

_ONE = np.uint64(1)


@bare_kernel
def tag_of(hashed: Any) -> Any:
    """The tag of what has this hash."""
    tag = np.uint8(hashed)
    return tag if tag >= np.uint8(_TAGS) else np.uint8(tag + np.uint8(128))


@bare_kernel
def first_slot(tags: Any, hashed: Any) -> Any:
    """The slot at which the search for a hash begins."""
    return ((hashed >> np.uint64(32)) * np.uint64(len(tags))) >> np.uint64(32)


@bare_kernel
def next_slot(tags: Any, slot: Any) -> Any:
    """The slot behind another one."""
    behind = slot + _ONE
    return behind if behind < np.uint64(len(tags)) else np.uint64(0)


@bare_kernel
def enter(tags: Any, numbers: Any, hashed: Any, number: Any) -> None:
    """Put a number that is not there into the first empty slot; there must be one."""
    slot = first_slot(tags, hashed)
    while tags[slot] != np.uint8(EMPTY):
        slot = next_slot(tags, slot)
    tags[slot], numbers[slot] = tag_of(hashed), number


@bare_kernel
def bury(tags: Any, numbers: Any, hashed: Any, number: Any) -> None:
    """Put a tombstone into the slot of a number; one that is not there is passed over."""
    slot, tag = first_slot(tags, hashed), tag_of(hashed)
    while tags[slot] != np.uint8(EMPTY):
        if tags[slot] == tag and numbers[slot] == number:
            tags[slot] = TOMBSTONE
            return
        slot = next_slot(tags, slot)
