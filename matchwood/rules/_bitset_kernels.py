"""A bit set over all rows, or all units: numbers are marked in any order, and walked in theirs.

A second bit set of its non-zero words lets one walk a few without touching the rest: each number costs two writes and
one read. Marking and walking hardly branch, since which words are empty and how many bits a word has is anybody's guess
to the processor: a test for each word and each bit takes twice as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import bit_count, lowest_bit
from matchwood.core.jit import bare_kernel

AT_ONCE = 2
"""So many rows of a word are written whether it has them or not; more are rare, unless an event has most of all."""
_ONE, _LOW = np.uint64(1), np.uint64(63)


@bare_kernel
def mark(row: Any, bits: Any, summary: Any) -> Any:
    word = np.uint64(row) >> np.uint64(6)
    summary[word >> np.uint64(6)] |= _ONE << (word & _LOW)
    bits[word] |= _ONE << (np.uint64(row) & _LOW)


@bare_kernel
def mark_listed(listed: Any, count: Any, bits: Any) -> None:
    """Mark listed[:count] in the bit set alone."""
    for i in range(np.uint64(count)):
        row = np.uint32(listed[i])
        bits[np.uint64(row >> np.uint32(6))] |= _ONE << (np.uint64(row) & _LOW)


@bare_kernel
def walk_bits(bits: Any, summary: Any, added: Any, out: Any, filled: Any) -> Any:
    """Write the marked rows to out[filled:] in order and clear them; returns where they would end, room or not.

    To each row `added` is added.
    """
    for upper in range(len(summary)):
        marked = summary[upper]
        summary[upper] = 0
        while marked != 0:
            word = upper * 64 + lowest_bit(marked)
            marked &= marked - _ONE
            filled = _write_rows(added + word * 64, bits[word], out, filled)
            bits[word] = 0
    return filled


@bare_kernel
def _write_rows(first: Any, word: Any, out: Any, filled: Any) -> Any:
    """Write first + each bit's number to out[filled:]; returns where they would end, room or not."""
    end = filled + bit_count(word)
    if filled + AT_ONCE <= len(out):
        for _ in range(AT_ONCE):
            out[filled] = first + lowest_bit(word)
            word &= word - _ONE
            filled += 1
    while filled < end:
        if filled < len(out):
            out[filled] = first + lowest_bit(word)
        word &= word - _ONE
        filled += 1
    return end


@bare_kernel
def write_ranked(listed: Any, count: Any, bits: Any, before: Any, added: Any, out: Any, filled: Any) -> Any:
    """The same for rows that are also listed, in any order: each is written where the bits below its own say."""
    seen: Any = np.uint32(0)
    for word in range(np.uint64(len(bits))):
        before[word] = seen
        seen += np.uint32(bit_count(bits[word]))
    end = filled + np.int64(seen)
    if end <= len(out):
        for i in range(np.uint64(count)):
            row = np.uint32(listed[i])
            at = np.uint64(row >> np.uint32(6))
            below = bits[at] & ((_ONE << (np.uint64(row) & _LOW)) - _ONE)
            place = np.uint64(filled) + np.uint64(before[at]) + np.uint64(bit_count(below))
            out[place] = added + np.int64(row)
    for cleared in range(np.uint64(len(bits))):
        bits[cleared] = 0
    return end
