"""Dyadic blocks: any interval of labels as a few aligned blocks, so that no range is ever enumerated.

A block of level L and number N holds the labels from N * 2**L up to (N + 1) * 2**L. Every interval [low, high)
is the disjoint union of at most two blocks a level, 60 in all and mostly far fewer, since labels are round numbers;
from a label on to the end of the domain there is at most one block a level. A label lies in exactly one block
of each level, number `label >> L`: its *ancestors*. So an engine posts an interval under its blocks, and an
event's label looks up the ancestors on those levels that the attribute's postings use.

TOP_LABEL, the end of the domain, counts as 2**31: no space has the label just below that, and the
blocks before it become whole. All functions are compiled and may be called from other kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import highest_bit, lowest_bit
from matchwood.core.jit import kernel
from matchwood.encoding.codes import TOP_LABEL

LEVELS = 32
"""Levels 0 to 31; only the whole domain is a block of level 31."""

MAX_BLOCKS = 60
"""No interval has more blocks."""

_END = TOP_LABEL + 1


@kernel
def block_code(level: Any, number: Any) -> Any:
    """One positive int64 for a block, different for all blocks: its number with a bit in front that tells the level.

    A block's parent has half its code, as in a heap; the whole domain has code 1.
    """
    return (np.int64(1) << np.int64(31 - level)) | np.int64(number)


@kernel
def next_level(low: Any, high: Any) -> Any:
    """The level of the largest block that begins at `low` and ends no later than `high` (low < high).

    Repeating with low + 2**level until `high` is reached walks all blocks in order. Pass `block_end(high)`.
    """
    aligned, fitting = lowest_bit(np.uint64(low)), highest_bit(np.uint64(np.int64(high) - np.int64(low)))
    return min(np.int64(LEVELS - 1), aligned, fitting)


@kernel
def block_end(high: Any) -> Any:
    """Where an interval ends for its blocks: TOP_LABEL counts as 2**31."""
    return np.int64(_END) if high == TOP_LABEL else np.int64(high)


@kernel
def count_blocks(low: Any, high: Any) -> Any:
    """How many blocks the interval [low, high) has; none if it is empty."""
    start, end, count = np.int64(low), block_end(high), 0
    while start < end:
        start += np.int64(1) << next_level(start, end)
        count += 1
    return count


@kernel
def fill_blocks(low: Any, high: Any, codes: Any, position: Any) -> Any:
    """Write the codes of the interval's blocks to codes[position:], in order; returns the position after them."""
    start, end = np.int64(low), block_end(high)
    while start < end:
        level = next_level(start, end)
        codes[position] = block_code(level, start >> level)
        position += 1
        start += np.int64(1) << level
    return position


@kernel
def ancestor(label: Any, level: Any) -> Any:
    """The code of the block of a level that a label lies in."""
    return block_code(level, np.int64(label) >> np.int64(level))


@kernel
def level_of(code: Any) -> Any:
    """The level of the block that has a code."""
    return np.int64(LEVELS - 1) - highest_bit(np.uint64(code))


@kernel
def decompose(low: Any, high: Any) -> Any:
    """The blocks of many intervals: interval i has codes[offsets[i] : offsets[i + 1]]."""
    offsets = np.zeros(len(low) + 1, np.int64)
    for interval in range(len(low)):
        offsets[interval + 1] = offsets[interval] + count_blocks(low[interval], high[interval])
    codes = np.empty(offsets[len(low)], np.int64)
    position = 0
    for interval in range(len(low)):
        position = fill_blocks(low[interval], high[interval], codes, position)
    return offsets, codes
