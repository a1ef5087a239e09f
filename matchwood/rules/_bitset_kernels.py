"""A bit set over all rows, or all units: numbers are marked in any order, and walked in theirs.

A second bit set of its non-zero words lets one walk a few without touching the rest: each number costs two writes and
one read. Marking and walking hardly branch, since which words are empty and how many bits a word has is anybody's guess
to the processor: a test for each word and each bit takes twice as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import bit_count, lowest_bit
from matchwood.core.jit import kernel

AT_ONCE = 2
"""So many rows of a word are written whether it has them or not; more are rare, unless an event has most of all."""
_ONE, _LOW = np.uint64(1), np.uint64(63)


@kernel
def mark(row: Any, bits: Any, summary: Any) -> Any:
    word = np.uint64(row) >> np.uint64(6)
    summary[word >> np.uint64(6)] |= _ONE << (word & _LOW)
    bits[word] |= _ONE << (np.uint64(row) & _LOW)


@kernel
def walk_bits(bits: Any, summary: Any, out: Any, filled: Any) -> Any:
    """Write the marked rows to out[filled:] in order and clear them; returns where they would end, room or not."""
    for upper in range(len(summary)):
        marked = summary[upper]
        summary[upper] = 0
        while marked != 0:
            word = upper * 64 + lowest_bit(marked)
            marked &= marked - _ONE
            filled = _write_rows(word * 64, bits[word], out, filled)
            bits[word] = 0
    return filled


@kernel
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


@kernel
def walk_all(bits: Any, out: Any, filled: Any) -> Any:
    """The same as `walk_bits`, word after word, where out has room for all rows and AT_ONCE more."""
    end, first = np.uint64(filled), np.uint64(0)
    for place in range(np.uint64(len(bits))):
        word, at = bits[place], end
        bits[place] = 0
        end += np.uint64(bit_count(word))
        for _ in range(AT_ONCE):
            out[at] = first + np.uint64(lowest_bit(word))
            word &= word - _ONE
            at += _ONE
        while at < end:
            out[at] = first + np.uint64(lowest_bit(word))
            word &= word - _ONE
            at += _ONE
        first += np.uint64(64)
    return np.int64(end)


@kernel
def walk_each(bits: Any, out: Any, filled: Any) -> Any:
    """The same where there may not be so much room."""
    for place in range(len(bits)):
        filled = _write_rows(place * 64, bits[place], out, filled)
        bits[place] = 0
    return filled
