"""From the units that matched an event to the rules: sorted, distinct rows.

A rule may have several units that match, so rows repeat. A few of them are sorted by insertion;
more are marked in a bit set over all rows, which a second bit set of its non-zero words lets one
walk without touching the rest: each row costs two writes and one read, whatever the order.
Marking and walking hardly branch, since which words are empty and how many bits a word has is anybody's guess to the
processor: a test for each word and each bit takes twice as long.
All numbers are checked as they are followed, so a table can be mapped from a file without reading it first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.bits import bit_count, lowest_bit
from matchwood.core.jit import kernel
from matchwood.core.pinned import readable, writable

DAMAGED = -1
_AT_ONCE = 2
"""So many rows of a word are written whether it has them or not; more are rare, unless an event has most of all."""
_MANY = 4
"""With so many times fewer units than words of the bit set it pays to know which words are empty."""
_ONE, _LOW = np.uint64(1), np.uint64(63)


class LinkedHits(NamedTuple):
    """Hits of one kind from the first event on, and the links from its units to rows, as `links.py` describes them."""

    offsets: NDArray[np.int64]
    units: NDArray[np.int32]
    heads: NDArray[np.int32]
    chain: NDArray[np.int32]


@kernel
def _mark(row: Any, bits: Any, summary: Any) -> Any:
    word = np.uint64(row) >> np.uint64(6)
    summary[word >> np.uint64(6)] |= _ONE << (word & _LOW)
    bits[word] |= _ONE << (np.uint64(row) & _LOW)


@kernel
def _gather(
    units: Any, start: Any, stop: Any, heads: Any, chain: Any, rows: Any, few: Any, seen: Any, bits: Any, summary: Any
) -> Any:
    """Put the rows of units[start:stop] into `few` while it has room, then into the bit set; returns how many."""
    for i in range(np.uint64(start), np.uint64(stop)):
        unit = np.uint64(units[i])  # one below 0 is beyond all
        if unit >= np.uint64(len(heads)):
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
def _mark_chain(node: Any, chain: Any, rows: Any, bits: Any) -> Any:
    """Mark the rows of a unit that several use; returns how many, or DAMAGED."""
    seen = np.int64(0)
    while node >= 0:
        if 2 * node + 1 >= len(chain):
            return np.int64(DAMAGED)
        row, following = np.int64(chain[2 * node]), np.int64(chain[2 * node + 1])
        if row < 0 or row >= rows or following >= node:
            return np.int64(DAMAGED)
        bits[row >> 6] |= _ONE << (np.uint64(row) & _LOW)
        seen, node = seen + 1, following
    return seen


@kernel
def _mark_all(units: Any, start: Any, stop: Any, heads: Any, chain: Any, rows: Any, bits: Any) -> Any:
    """Mark the rows of units[start:stop] in the bit set alone; returns how many, or DAMAGED."""
    seen = np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        unit = np.uint64(units[i])
        if unit >= np.uint64(len(heads)):
            return np.int64(DAMAGED)
        row = np.int64(heads[unit])
        if row >= 0:
            if row >= rows:
                return np.int64(DAMAGED)
            bits[np.uint64(row) >> np.uint64(6)] |= _ONE << (np.uint64(row) & _LOW)
            seen += 1
        elif row < -1:
            more = _mark_chain(np.int64(-2) - row, chain, rows, bits)
            if more == DAMAGED:
                return np.int64(DAMAGED)
            seen += more
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
            word = upper * 64 + lowest_bit(marked)
            marked &= marked - _ONE
            filled = _write_rows(word * 64, bits[word], out, filled)
            bits[word] = 0
    return filled


@kernel
def _write_rows(first: Any, word: Any, out: Any, filled: Any) -> Any:
    """Write first + each bit's number to out[filled:]; returns where they would end, room or not."""
    end = filled + bit_count(word)
    if filled + _AT_ONCE <= len(out):
        for _ in range(_AT_ONCE):
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
def _walk_all(bits: Any, out: Any, filled: Any) -> Any:
    """The same as `_walk_bits`, word after word, where out has room for all rows and _AT_ONCE more."""
    end, first = np.uint64(filled), np.uint64(0)
    for place in range(np.uint64(len(bits))):
        word, at = bits[place], end
        bits[place] = 0
        end += np.uint64(bit_count(word))
        for _ in range(_AT_ONCE):
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
def _walk_each(bits: Any, out: Any, filled: Any) -> Any:
    """The same where there may not be so much room."""
    for place in range(len(bits)):
        filled = _write_rows(place * 64, bits[place], out, filled)
        bits[place] = 0
    return filled


@kernel
def _seen_of(event: Any, many: Any, rows: Any, sides: Any, few: Any, bits: Any, summary: Any) -> Any:
    """Gather the rows of one event from all sides; returns how many, or DAMAGED."""
    seen = np.int64(0)
    for side in sides:
        if seen != DAMAGED and len(side.offsets) > event + 1:
            start, stop = side.offsets[event], side.offsets[event + 1]
            if many:
                more = _mark_all(side.units, start, stop, side.heads, side.chain, rows, bits)
                seen = np.int64(DAMAGED) if more == DAMAGED else seen + more
            else:
                seen = np.int64(
                    _gather(side.units, start, stop, side.heads, side.chain, rows, few, seen, bits, summary)
                )
    return seen


@kernel
def collect(count: Any, rows: Any, sides: Any, few: Any, bits: Any, summary: Any, ends: Any, out: Any) -> Any:
    """The rows of the events 0 … count - 1, as far as out has room; ends[i] is where those of event i end in out.

    The sides are always as many, some of them empty. Their offsets begin with the first event's. Returns how many
    events were covered, and the room that the next one would have needed in out; (DAMAGED, 0) when a number leads
    outside.
    """
    filled = np.int64(0)
    for event in range(count):
        hits = np.int64(0)
        for side in sides:
            if len(side.offsets) > event + 1:
                hits += side.offsets[event + 1] - side.offsets[event]
        many = _MANY * hits >= len(bits)
        seen = _seen_of(event, many, rows, sides, few, bits, summary)
        if seen == DAMAGED:
            return np.int64(DAMAGED), np.int64(0)
        if many:
            roomy = filled + seen + _AT_ONCE <= len(out)
            end = _walk_all(bits, out, filled) if roomy else _walk_each(bits, out, filled)
        elif seen <= len(few):
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


@kernel
def collect_one(table: Any, rows: Any, hits: Any) -> Any:
    """How many rows one event has, written to the pinned output, which has room for all; or DAMAGED.

    The table has offsets, units, heads and chain of its hits, then few, bits and summary, ends and the output.
    """
    writable(table, 0, np.int64)[1] = hits
    side = LinkedHits(
        readable(table, 0, np.int64), readable(table, 1, np.int32), readable(table, 2, np.int32),
        readable(table, 3, np.int32),
    )  # fmt: skip
    none = LinkedHits(side.offsets[:0], side.units[:0], side.heads[:0], side.chain[:0])
    few, bits, summary = writable(table, 4, np.int64), writable(table, 5, np.uint64), writable(table, 6, np.uint64)
    ends, out = writable(table, 7, np.int64), writable(table, 8, np.int32)
    done, _ = collect(np.int64(1), rows, (side, none, none), few, bits, summary, ends, out)
    return done if done == DAMAGED else ends[0]
