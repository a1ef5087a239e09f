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
WORDS_AT_ONCE = 6
"""The same for words of a word of the summary."""
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
def _list_words(summary: Any, words: Any) -> Any:
    """Write the numbers of the marked words to `words` in order, and clear the summary; returns how many they are.

    Where there may be no room for as many as are written at once, they are written one by one.
    """
    listed = np.uint64(0)
    for upper in range(np.uint64(len(summary))):
        marked, first, at = summary[upper], np.int32(upper << np.uint64(6)), listed
        summary[upper] = 0
        listed += np.uint64(bit_count(marked))
        if at + np.uint64(WORDS_AT_ONCE) <= np.uint64(len(words)):
            for _ in range(WORDS_AT_ONCE):
                words[at] = first + np.int32(lowest_bit(marked))
                marked &= marked - _ONE
                at += _ONE
        while marked != 0:
            words[at] = first + np.int32(lowest_bit(marked))
            marked &= marked - _ONE
            at += _ONE
    return listed


@bare_kernel
def walk_bits(bits: Any, summary: Any, words: Any, most: Any, added: Any, out: Any, filled: Any) -> Any:
    """Write the marked rows, of which there are at most so many, to out[filled:] in order, and clear them.

    Returns where they would end, room or not. To each row `added` is added. There is room in `words` for one number for
    each word of the bit set.
    """
    count, roomy = _list_words(summary, words), filled + most + AT_ONCE <= len(out)
    for place in range(count):
        word = np.uint64(words[place])
        first = added + np.int64(word << np.uint64(6))
        filled = (
            _write_rows(first, bits[word], out, filled) if roomy else _write_fitting(first, bits[word], out, filled)
        )
        bits[word] = 0
    return filled


@bare_kernel
def _write_rows(first: Any, word: Any, out: Any, filled: Any) -> Any:
    """Write first + each bit's number to out[filled:], where there is room for AT_ONCE more; returns where they end."""
    at = np.uint64(filled)
    end = at + np.uint64(bit_count(word))
    for _ in range(AT_ONCE):
        out[at] = first + lowest_bit(word)
        word &= word - _ONE
        at += _ONE
    while word != 0:
        out[at] = first + lowest_bit(word)
        word &= word - _ONE
        at += _ONE
    return np.int64(end)


@bare_kernel
def _write_fitting(first: Any, word: Any, out: Any, filled: Any) -> Any:
    """The same as far as there is room; returns where they would end."""
    while word != 0:
        if filled < len(out):
            out[filled] = first + lowest_bit(word)
        word &= word - _ONE
        filled += 1
    return np.int64(filled)


@bare_kernel
def put_in_order(listed: Any, count: Any, bits: Any, before: Any, out: Any) -> Any:
    """Write listed[:count], which are marked in the bit set alone, to `out` in order, each once, and clear the bit set.

    Each row is written where the bits below its own say. Returns how many they are.
    """
    seen: Any = np.uint32(0)
    for word in range(np.uint64(len(bits))):
        before[word] = seen
        seen += np.uint32(bit_count(bits[word]))
    for i in range(np.uint64(count)):
        row = np.uint32(listed[i])
        at = np.uint64(row >> np.uint32(6))
        below = bits[at] & ((_ONE << (np.uint64(row) & _LOW)) - _ONE)
        out[np.uint64(before[at]) + np.uint64(bit_count(below))] = row
    for cleared in range(np.uint64(len(bits))):
        bits[cleared] = 0
    return np.int64(seen)
