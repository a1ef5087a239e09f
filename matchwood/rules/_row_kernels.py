"""From the units that matched an event to the rules: sorted, distinct rows.

A rule may have several units that match, so rows repeat. A few of them are sorted by insertion;
more are marked in a bit set over all rows, which a second bit set of its non-zero words lets one
walk without touching the rest: each row costs two writes and one read, whatever the order.
Marking and walking hardly branch, since which words are empty and how many bits a word has is anybody's guess to the
processor: a test for each word and each bit takes twice as long.
All numbers are checked as they are followed, so a table can be mapped from a file without reading it first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood._jit import kernel

DAMAGED = -1
_AT_ONCE = 2
"""So many rows of a word are written whether it has them or not; more are rare, unless an event has most of all."""
_ONE = np.uint64(1)
_PAIRS, _FOURS, _EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_EACH_BYTE = np.uint64(0x0101010101010101)
_SPREAD = np.uint64(0x03F79D71B4CB0A89)


def _lowest_table() -> NDArray[np.int64]:
    """The number of the lowest bit, by the upper six bits of that bit times _SPREAD (a de Bruijn sequence)."""
    table = np.zeros(64, np.int64)
    for bit in range(64):
        table[((int(_SPREAD) << bit) & (2**64 - 1)) >> 58] = bit
    return table


_LOWEST = _lowest_table()


@kernel
def _lowest(word: Any) -> Any:
    return _LOWEST[((word ^ (word & (word - _ONE))) * _SPREAD) >> np.uint64(58)]


@kernel
def _bit_count(word: Any) -> Any:
    word -= (word >> _ONE) & _PAIRS
    word = (word & _FOURS) + ((word >> np.uint64(2)) & _FOURS)
    word = (word + (word >> np.uint64(4))) & _EIGHTS
    return np.int64((word * _EACH_BYTE) >> np.uint64(56))


@kernel
def _mark(row: Any, bits: Any, summary: Any) -> Any:
    word = row >> 6
    summary[word >> 6] |= _ONE << np.uint64(word & 63)
    bits[word] |= _ONE << np.uint64(row & 63)


@kernel
def _gather(
    units: Any, start: Any, stop: Any, heads: Any, chain: Any, rows: Any, few: Any, seen: Any, bits: Any, summary: Any
) -> Any:
    """Put the rows of units[start:stop] into `few` while it has room, then into the bit set; returns how many."""
    for i in range(start, stop):
        unit = units[i]
        if unit < 0 or unit >= len(heads):
            return DAMAGED
        row = np.int64(heads[unit])
        node = np.int64(-2) - row  # -1 for a unit that no row uses, below for one that names its only row
        while row != -1:
            following = np.int64(-1)
            if node >= 0:
                if 2 * node + 1 >= len(chain):
                    return DAMAGED
                row, following = np.int64(chain[2 * node]), np.int64(chain[2 * node + 1])
                if following >= node:
                    return DAMAGED
            if row < 0 or row >= rows:
                return DAMAGED
            if seen < len(few):
                few[seen] = row
            else:
                _mark(row, bits, summary)
            seen += 1
            node = following
            if node < 0:
                break
    return seen


@kernel
def _sort_few(few: Any, seen: Any, out: Any, filled: Any) -> Any:
    """Write the distinct rows of few[:seen] to out[filled:] in order; returns where they would end, room or not."""
    for i in range(1, seen):
        row, k = few[i], i
        while k > 0 and few[k - 1] > row:
            few[k] = few[k - 1]
            k -= 1
        few[k] = row
    for i in range(seen):
        if i == 0 or few[i] != few[i - 1]:
            if filled < len(out):
                out[filled] = few[i]
            filled += 1
    return filled


@kernel
def _walk_bits(bits: Any, summary: Any, out: Any, filled: Any) -> Any:
    """Write the marked rows to out[filled:] in order and clear them; returns where they would end, room or not."""
    for upper in range(len(summary)):
        marked = summary[upper]
        summary[upper] = 0
        while marked != 0:
            word = upper * 64 + _lowest(marked)
            marked &= marked - _ONE
            filled = _write_rows(word * 64, bits[word], out, filled)
            bits[word] = 0
    return filled


@kernel
def _write_rows(first: Any, word: Any, out: Any, filled: Any) -> Any:
    """Write first + each bit's number to out[filled:]; returns where they would end, room or not."""
    end = filled + _bit_count(word)
    if filled + _AT_ONCE <= len(out):
        for _ in range(_AT_ONCE):
            out[filled] = first + _lowest(word)
            word &= word - _ONE
            filled += 1
    while filled < end:
        if filled < len(out):
            out[filled] = first + _lowest(word)
        word &= word - _ONE
        filled += 1
    return end


@kernel
def collect(
    count: Any,
    rows: Any,
    offsets: Any,
    units: Any,
    heads: Any,
    chain: Any,
    form_offsets: Any,
    form_units: Any,
    form_heads: Any,
    form_chain: Any,
    few: Any,
    bits: Any,
    summary: Any,
    ends: Any,
    out: Any,
) -> Any:
    """The rows of the events 0 … count - 1, as far as out has room; ends[i] is where those of event i end in out.

    The offsets begin with the first event's. Returns how many events were covered, and the room that the
    next one would have needed in out; (DAMAGED, 0) when a number leads outside.
    """
    filled = np.int64(0)
    for event in range(count):
        seen = _gather(units, offsets[event], offsets[event + 1], heads, chain, rows, few, 0, bits, summary)
        if seen != DAMAGED and len(form_offsets) > event + 1:
            start, stop = form_offsets[event], form_offsets[event + 1]
            seen = _gather(form_units, start, stop, form_heads, form_chain, rows, few, seen, bits, summary)
        if seen == DAMAGED:
            return np.int64(DAMAGED), np.int64(0)
        if seen <= len(few):
            end = _sort_few(few, seen, out, filled)
        else:
            for i in range(len(few)):
                _mark(few[i], bits, summary)
            end = _walk_bits(bits, summary, out, filled)
        if end > len(out):
            return np.int64(event), end - filled
        ends[event] = end
        filled = end
    return np.int64(count), np.int64(0)
