"""Hash tables that number what they meet: spans of bytes, and 64-bit integers. Open addressing, linear steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64, quick_hash, same_bytes
from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch

EMPTY = -1

_AHEAD = 8
"""How many integers before its turn what is held in the slot of one is asked for, and twice as many before, the slot:
in a table of a million, both lie anywhere in memory."""

_IN_CACHE = 2**16
"""Slots of a table that the processor's caches hold."""


@bare_kernel
def intern_spans(
    data: Any, starts: Any, lengths: Any, first: int, slots: Any, hashes: Any, ends: Any, held: Any, count: int,
    numbers: Any, asked: Any,
) -> Any:  # fmt: skip
    """Number the spans from `first` on; returns how far it came before room ran out, and how many are known then.

    `ends`   where the bytes of each known span end in `held`; those of span n begin at ends[n]
    `asked`  gets the hash of each span, so that slots are asked for before their turn
    """
    mask, last = np.uint64(len(slots) - 1), len(starts) - 1
    for span in range(first, len(starts)):
        asked[span] = quick_hash(data, starts[span], starts[span] + lengths[span])
    for span in range(first, len(starts)):
        prefetch(slots, asked[min(span + 3 * _AHEAD, last)] & mask)
        later = slots[asked[min(span + 2 * _AHEAD, last)] & mask]
        prefetch(hashes, later)
        prefetch(ends, later)
        later = slots[asked[min(span + _AHEAD, last)] & mask]
        if later != EMPTY:
            prefetch(held, ends[later])
        start, length = starts[span], lengths[span]
        mixed = asked[span]
        slot = mixed & mask
        while slots[slot] != EMPTY:
            other = slots[slot]
            if (
                hashes[other] == mixed
                and ends[other + 1] - ends[other] == length
                and same_bytes(held, ends[other], data, start, length)
            ):
                break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == EMPTY:
            if 2 * (count + 1) > len(slots) or count + 2 > len(ends) or ends[count] + length > len(held):
                return span, count
            for place in range(length):
                held[ends[count] + place] = data[start + place]
            hashes[count] = mixed
            ends[count + 1] = ends[count] + length
            slots[slot] = count
            count += 1
        numbers[span] = slots[slot]
    return len(starts), count


@bare_kernel
def intern_integers(values: Any, first: int, slots: Any, held: Any, count: int, numbers: Any) -> Any:
    """The same for integers."""
    mask, last = np.uint64(len(slots) - 1), len(values) - 1
    for place in range(first, len(values)):
        if len(slots) > _IN_CACHE:
            prefetch(slots, mix64(np.uint64(values[min(place + 2 * _AHEAD, last)])) & mask)
            prefetch(held, slots[mix64(np.uint64(values[min(place + _AHEAD, last)])) & mask])
        value = values[place]
        slot = mix64(np.uint64(value)) & mask
        while slots[slot] != EMPTY and held[slots[slot]] != value:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == EMPTY:
            if 2 * (count + 1) > len(slots) or count + 1 > len(held):
                return place, count
            held[count] = value
            slots[slot] = count
            count += 1
        numbers[place] = slots[slot]
    return len(values), count


@bare_kernel
def enter_hashes(slots: Any, hashes: Any, count: int) -> None:
    """Enter so many distinct elements into an empty table by their hashes."""
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        slot = hashes[number] & mask
        while slots[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@bare_kernel
def enter_integers(slots: Any, held: Any, count: int) -> None:
    """Enter so many distinct integers into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        slot = mix64(np.uint64(held[number])) & mask
        while slots[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@bare_kernel
def find_firsts(numbers: Any, known: int, firsts: Any) -> None:
    """Where each number from `known` on first comes, all of them, if they were given as they came."""
    count = 0
    for place in range(len(numbers)):
        if count < len(firsts) and numbers[place] == known + count:
            firsts[count] = place
            count += 1
