"""From the units that matched an event to the rules: sorted, distinct rows.

A rule may have several units that match, so rows repeat. A few of them are sorted by insertion; more are marked in a
bit set over all rows (`_bitset_kernels`). Units of rules that came in bulk are in the order of their rows, as long as
each has one row: where many match, units are put in order instead, and their rows then read in passing, which takes a
third less than to look each up where it happens to lie (`_ordered_kernels`).
All numbers are checked as they are followed, so a table can be mapped from a file without reading it first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import kernel
from matchwood.core.pinned import readable, writable
from matchwood.rules._bitset_kernels import AT_ONCE, mark, walk_all, walk_bits, walk_each
from matchwood.rules._ordered_kernels import rows_in_order

DAMAGED = -1
_MANY = 4
"""With so many times fewer units than words of the bit set it pays to know which words are empty."""
_ASTRAY = 8
"""Units are put in order until one event in so many had to be looked at again, because their rows were not."""
_ONE, _LOW = np.uint64(1), np.uint64(63)


class LinkedHits(NamedTuple):
    """Hits of one kind from the first event on, and the links from its units to rows, as `links.py` describes them."""

    offsets: NDArray[np.int64]
    units: NDArray[np.int32]
    heads: NDArray[np.int32]
    chain: NDArray[np.int32]


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
                mark(row, bits, summary)
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
def _hits_of(event: Any, sides: Any) -> Any:
    """How many hits an event has on all sides, and the only side that has some, or the last."""
    hits, found = np.int64(0), 0
    for number in range(len(sides)):
        side = sides[number]
        if len(side.offsets) > event + 1 and side.offsets[event + 1] > side.offsets[event]:
            hits += side.offsets[event + 1] - side.offsets[event]
            found = number
    return hits, found


@kernel
def collect(count: Any, rows: Any, sides: Any, few: Any, bits: Any, summary: Any, ends: Any, out: Any) -> Any:
    """The rows of the events 0 … count - 1, as far as out has room; ends[i] is where those of event i end in out.

    The sides are always as many, some of them empty. Their offsets begin with the first event's. Returns how many
    events were covered, and the room that the next one would have needed in out; (DAMAGED, 0) when a number leads
    outside.
    """
    filled, tried, astray = np.int64(0), 0, 0
    for event in range(count):
        hits, found = _hits_of(event, sides)
        many = _MANY * hits >= len(bits)
        if many and _ASTRAY * astray <= tried + _ASTRAY and filled + hits + AT_ONCE <= len(out):
            side = sides[found]
            if len(side.offsets) > event + 1 and side.offsets[event + 1] - side.offsets[event] == hits:
                end = rows_in_order(side.units, side.offsets[event], hits, side.heads, rows, bits, out, filled)
                tried += 1
                if end >= 0:
                    ends[event] = filled = end
                    continue
                astray += 1
        seen = _seen_of(event, many, rows, sides, few, bits, summary)
        if seen == DAMAGED:
            return np.int64(DAMAGED), np.int64(0)
        if many:
            roomy = filled + seen + AT_ONCE <= len(out)
            end = walk_all(bits, out, filled) if roomy else walk_each(bits, out, filled)
        elif seen <= len(few):
            end = _sort_few(few, seen, out, filled)
        else:
            for i in range(len(few)):
                mark(few[i], bits, summary)
            end = walk_bits(bits, summary, out, filled)
        if end > len(out):
            return np.int64(event), end - filled
        ends[event] = end
        filled = end
    return np.int64(count), np.int64(0)


@kernel
def collect_one(table: Any, rows: Any, hits: Any) -> Any:
    """How many rows one event has, written to the pinned output, which has room for all; or DAMAGED.

    The table has offsets, units, heads and chain of its hits, then few, bits and summary, ends and the output; and then
    the ids of all rows and room for those of the event, where ids are numbers.
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
    if done == DAMAGED:
        return done
    ids, found = readable(table, 9, np.int64), writable(table, 10, np.int64)
    if len(found) > 0:
        for place in range(np.uint64(ends[0])):
            # Rows are below their number, and as many ids there are.
            found[place] = ids[np.uint64(out[place])]
    return ends[0]
