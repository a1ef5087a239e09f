"""From the units that matched an event to the rules: sorted, distinct rows.

A rule may have several units that match, so rows repeat. A few of them are sorted by insertion; more are marked in a
bit set over all rows (`_bitset_kernels`). Where many match, each row is then written where it belongs, which the number
of bits below its own tells: to walk the words of the bit set takes half as long again, since how many bits a word has
is anybody's guess to the processor.

Units of rules that came in bulk count on as their rows do, but for a few: so most rows are found by a number for each
64 units (`shifts` in `links.py`), and the link itself, which lies anywhere in a large array, is not looked at.
All numbers are checked as they are followed, so a table can be mapped from a file without reading it first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.core.pinned import readable, writable
from matchwood.rules._bitset_kernels import mark, walk_bits, walk_each, write_ranked

DAMAGED = -1
_MANY = 4
"""With so many times fewer units than words of the bit set it pays to know which words are empty."""
_ONE, _LOW = np.uint64(1), np.uint64(63)
_SHIFTED = np.uint32(6)
"""2 to this power units share a shift."""


class LinkedHits(NamedTuple):
    """Hits of one kind from the first event on, and the links from its units to rows, as `links.py` describes them."""

    offsets: NDArray[np.int64]
    units: NDArray[np.int32]
    heads: NDArray[np.int32]
    chain: NDArray[np.int32]
    shifts: NDArray[np.int32]


class RowScratch(NamedTuple):
    """What is written to on the way.

    `few`     rows, to be sorted by insertion
    `bits`    a bit set of rows, and `summary` one of its words; both are empty between two events
    `listed`  the rows that are marked, with room for as many as units can match; `aside` are units
    `before`  how many rows are marked in all words before each
    """

    few: NDArray[np.int64]
    bits: NDArray[np.uint64]
    summary: NDArray[np.uint64]
    listed: NDArray[np.int32]
    aside: NDArray[np.int32]
    before: NDArray[np.uint32]


@bare_kernel
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


@bare_kernel
def _mark_shifted(
    units: Any, start: Any, stop: Any, shifts: Any, known: Any, rows: Any, bits: Any, listed: Any, seen: Any, aside: Any
) -> Any:
    """Mark and list the rows of units[start:stop] that the first `known` shifts tell, and put all other units aside.

    Returns how many rows were seen, and how many units are aside.
    """
    limit, count = np.uint32(rows), np.uint32(known)
    place, left = np.uint64(seen), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        unit = np.uint32(units[i])  # one below 0 is beyond all
        row = limit
        if unit >> _SHIFTED < count:
            row = np.uint32(np.uint32(shifts[np.uint64(unit >> _SHIFTED)]) + unit)
        if row < limit:
            bits[np.uint64(row >> _SHIFTED)] |= _ONE << (np.uint64(row) & _LOW)
            listed[place] = row
            place += _ONE
        else:
            aside[left] = unit
            left += _ONE
    return np.int64(place), np.int64(left)


@bare_kernel
def _mark_direct(aside: Any, count: Any, heads: Any, rows: Any, bits: Any, listed: Any, seen: Any) -> Any:
    """The same for the first units that are aside, if their heads name a row; the others stay there."""
    limit, units = np.uint32(rows), np.uint32(len(heads))
    place, left = np.uint64(seen), np.uint64(0)
    for i in range(np.uint64(count)):
        unit = np.uint32(aside[i])
        row = limit
        if unit < units:
            row = np.uint32(heads[np.uint64(unit)])
        if row < limit:
            bits[np.uint64(row >> _SHIFTED)] |= _ONE << (np.uint64(row) & _LOW)
            listed[place] = row
            place += _ONE
        else:
            aside[left] = unit
            left += _ONE
    return np.int64(place), np.int64(left)


@bare_kernel
def _mark_linked(aside: Any, count: Any, heads: Any, chain: Any, rows: Any, bits: Any, listed: Any, seen: Any) -> Any:
    """The same for all that are aside, however many rows use them; returns how many were seen, or DAMAGED.

    Rows that find no room in the list are marked all the same, and counted.
    """
    for i in range(count):
        unit = np.uint32(aside[i])
        if unit >= len(heads):
            return np.int64(DAMAGED)
        row = np.int64(heads[unit])
        node = np.int64(-2) - row  # -1 for a unit that no row uses, below for one that names its only row
        while row != -1:
            following = np.int64(-1)
            if node >= 0:
                if 2 * node + 1 >= len(chain):
                    return np.int64(DAMAGED)
                row, following = np.int64(chain[2 * node]), np.int64(chain[2 * node + 1])
            if row < 0 or row >= rows or (node >= 0 and following >= node):
                return np.int64(DAMAGED)
            bits[row >> 6] |= _ONE << (np.uint64(row) & _LOW)
            if seen < len(listed):
                listed[seen] = row
            seen += 1
            node = following
            if node < 0:
                break
    return np.int64(seen)


@bare_kernel
def _mark_all(side: Any, event: Any, rows: Any, scratch: Any, seen: Any) -> Any:
    """Mark the rows of an event's units in the bit set alone, and list them; returns how many were seen, or DAMAGED.

    One loop does what most units need and no more, and the next what is left: in one loop for all it takes three times
    as long. If the rows of units before have filled the list, only the last loop is right.
    """
    start, stop = side.offsets[event], side.offsets[event + 1]
    _, bits, _, listed, aside, _ = scratch
    roomy = seen + stop - start <= len(listed)
    known = len(side.shifts) if roomy else 0
    seen, left = _mark_shifted(side.units, start, stop, side.shifts, known, rows, bits, listed, seen, aside)
    if roomy:
        seen, left = _mark_direct(aside, left, side.heads, rows, bits, listed, seen)
    return _mark_linked(aside, left, side.heads, side.chain, rows, bits, listed, seen)


@bare_kernel
def _sort_few(few: Any, seen: Any, added: Any, out: Any, filled: Any) -> Any:
    """Write the distinct rows of few[:seen], and `added` to each, to out[filled:] in order; where they would end."""
    for i in range(1, seen):
        row, k = few[i], i
        while k > 0 and few[k - 1] > row:
            few[k] = few[k - 1]
            k -= 1
        few[k] = row
    for i in range(seen):
        if i == 0 or few[i] != few[i - 1]:
            if filled < len(out):
                out[filled] = added + few[i]
            filled += 1
    return filled


@bare_kernel
def _seen_of(event: Any, many: Any, rows: Any, sides: Any, scratch: Any) -> Any:
    """Gather the rows of one event from all sides; returns how many, or DAMAGED."""
    seen = np.int64(0)
    few, bits, summary = scratch.few, scratch.bits, scratch.summary
    for side in sides:
        if seen != DAMAGED and len(side.offsets) > event + 1:
            if many:
                seen = _mark_all(side, event, rows, scratch, seen)
            else:
                start, stop = side.offsets[event], side.offsets[event + 1]
                seen = np.int64(
                    _gather(side.units, start, stop, side.heads, side.chain, rows, few, seen, bits, summary)
                )
    return seen


@bare_kernel
def _hits_of(event: Any, sides: Any) -> Any:
    """How many hits an event has on all sides."""
    hits = np.int64(0)
    for side in sides:
        if len(side.offsets) > event + 1:
            hits += side.offsets[event + 1] - side.offsets[event]
    return hits


@bare_kernel
def collect(count: Any, rows: Any, sides: Any, scratch: Any, added: Any, ends: Any, out: Any) -> Any:
    """The rows of the events 0 … count - 1, as far as out has room; ends[i] is where those of event i end in out.

    To each row `added` is added, which makes it the rule's id where ids count on as rows do.

    The sides are always as many, some of them empty. Their offsets begin with the first event's. Returns how many
    events were covered, and the room that the next one would have needed in out; (DAMAGED, 0) when a number leads
    outside.
    """
    few, bits, summary, listed, _, before = scratch
    filled = np.int64(0)
    for event in range(count):
        hits = _hits_of(event, sides)
        many = _MANY * hits >= len(bits) and hits <= len(listed)
        seen = _seen_of(event, many, rows, sides, scratch)
        if seen == DAMAGED:
            return np.int64(DAMAGED), np.int64(0)
        if many and seen <= len(listed):
            end = write_ranked(listed, seen, bits, before, added, out, filled)
        elif many:
            end = walk_each(bits, added, out, filled)
        elif seen <= len(few):
            end = _sort_few(few, seen, added, out, filled)
        else:
            for i in range(len(few)):
                mark(few[i], bits, summary)
            end = walk_bits(bits, summary, added, out, filled)
        if end > len(out):
            return np.int64(event), end - filled
        ends[event] = end
        filled = end
    return np.int64(count), np.int64(0)


@bare_kernel
def collect_one(table: Any, rows: Any, hits: Any) -> Any:
    """How many rows one event has, written to the pinned output, which has room for all; or DAMAGED.

    The table has offsets, units, heads, chain and shifts of its hits; then what `RowScratch` has, ends and the output;
    and then the ids of all rows and room for those of the event, where ids are numbers.
    """
    writable(table, 0, np.int64)[1] = hits
    side = LinkedHits(
        readable(table, 0, np.int64), readable(table, 1, np.int32), readable(table, 2, np.int32),
        readable(table, 3, np.int32), readable(table, 4, np.int32),
    )  # fmt: skip
    none = LinkedHits(side.offsets[:0], side.units[:0], side.heads[:0], side.chain[:0], side.shifts[:0])
    scratch = RowScratch(
        writable(table, 5, np.int64), writable(table, 6, np.uint64), writable(table, 7, np.uint64),
        writable(table, 8, np.int32), writable(table, 9, np.int32), writable(table, 10, np.uint32),
    )  # fmt: skip
    ends, out = writable(table, 11, np.int64), writable(table, 12, np.int32)
    done, _ = collect(np.int64(1), rows, (side, none, none), scratch, np.int64(0), ends, out)
    if done == DAMAGED:
        return done
    ids, found = readable(table, 13, np.int64), writable(table, 14, np.int64)
    if len(found) > 0:
        for place in range(np.uint64(ends[0])):
            # Rows are below their number, and as many ids there are.
            found[place] = ids[np.uint64(out[place])]
    return ends[0]
