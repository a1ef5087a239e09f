"""From the units that matched an event to the rules: sorted, distinct rows.

The rows of an event's units are listed first, and a rule may be among them several times. A few are sorted by
insertion. More are marked in a bit set (`_bitset_kernels`), which is walked; where many of all rows match, each goes
where it belongs, which the number of bits below its own tells; and where few of very many do, `_order_kernels` spread
them over buckets.

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
from matchwood.rules._bitset_kernels import mark, mark_listed, put_in_order, walk_bits
from matchwood.rules._hit_kernels import STREAMED, write_ordered
from matchwood.rules._order_kernels import sort_few, spread, write_distinct
from matchwood.rules._stream_kernels import end_streams, first_run

DAMAGED = -1
_FEW = 24
"""So many rows are sorted by insertion alone."""
_MANY = 4
"""With so many times fewer rows than words of the bit set it takes longer to count the bits of all words."""
_SOME = 1
"""With so many times fewer rows than words of its summary it takes longer to look at all of those."""
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

    `bits`    a bit set of rows, and `summary` one of its words; both are empty between two events
    `listed`  the rows of an event, with room for as many as there are links; `aside` are units, or rows in order
    `before`  how many rows are marked in all words before each, or are in all buckets before each; or marked words
    """

    bits: NDArray[np.uint64]
    summary: NDArray[np.uint64]
    listed: NDArray[np.int32]
    aside: NDArray[np.int32]
    before: NDArray[np.uint32]


@bare_kernel
def _list_shifted(
    units: Any, start: Any, stop: Any, shifts: Any, known: Any, rows: Any, listed: Any, seen: Any, aside: Any
) -> Any:
    """List the rows of units[start:stop] that the first `known` shifts tell, and put all other units aside.

    Returns how many rows are listed, and how many units are aside.
    """
    limit, count = np.uint32(rows), np.uint32(known)
    place, left = np.uint64(seen), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        unit = np.uint32(units[i])  # one below 0 is beyond all
        row = limit
        if unit >> _SHIFTED < count:
            row = np.uint32(np.uint32(shifts[np.uint64(unit >> _SHIFTED)]) + unit)
        if row < limit:
            listed[place] = row
            place += _ONE
        else:
            aside[left] = unit
            left += _ONE
    return np.int64(place), np.int64(left)


@bare_kernel
def _list_direct(aside: Any, count: Any, heads: Any, rows: Any, listed: Any, seen: Any) -> Any:
    """The same for the first units that are aside, if their heads name a row; the others stay there."""
    limit, units = np.uint32(rows), np.uint32(len(heads))
    place, left = np.uint64(seen), np.uint64(0)
    for i in range(np.uint64(count)):
        unit = np.uint32(aside[i])
        row = limit
        if unit < units:
            row = np.uint32(heads[np.uint64(unit)])
        if row < limit:
            listed[place] = row
            place += _ONE
        else:
            aside[left] = unit
            left += _ONE
    return np.int64(place), np.int64(left)


@bare_kernel
def _follow(
    units: Any, start: Any, stop: Any, heads: Any, chain: Any, rows: Any, scratch: Any, seen: Any, marking: bool
) -> Any:
    """List, or mark, the rows of units[start:stop], however many use each; returns how many were seen, or DAMAGED.

    Rows that find no room in the list are counted.
    """
    listed = scratch.listed
    for i in range(start, stop):
        unit = np.uint32(units[i])  # one below 0 is beyond all
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
            if marking:
                mark(row, scratch.bits, scratch.summary)
            elif seen < len(listed):
                listed[seen] = row
            seen += 1
            node = following
            if node < 0:
                break
    return np.int64(seen)


@bare_kernel
def _list_side(side: Any, event: Any, rows: Any, scratch: Any, seen: Any) -> Any:
    """List the rows of an event's units; returns how many were seen, listed or not, or DAMAGED.

    One loop does what most units need and no more, and the next what is left: in one loop for all it takes three times
    as long. If there may be no room for all of them, only the last loop is right.
    """
    start, stop = side.offsets[event], side.offsets[event + 1]
    listed, aside = scratch.listed, scratch.aside
    if stop - start > len(aside) or seen + stop - start > len(listed):
        return _follow(side.units, start, stop, side.heads, side.chain, rows, scratch, seen, False)
    seen, left = _list_shifted(
        side.units, start, stop, side.shifts, len(side.shifts), rows, listed, seen, aside
    )  # fmt: skip
    if left > 0:
        seen, left = _list_direct(aside, left, side.heads, rows, listed, seen)
    if left > 0:
        seen = _follow(aside, np.int64(0), left, side.heads, side.chain, rows, scratch, seen, False)
    return seen


@bare_kernel
def _list_rows(event: Any, rows: Any, sides: Any, scratch: Any) -> Any:
    """List the rows of one event from all sides; returns how many there are, listed or not, or DAMAGED."""
    seen = np.int64(0)
    for side in sides:
        if seen != DAMAGED and len(side.offsets) > event + 1:
            seen = _list_side(side, event, rows, scratch, seen)
    return seen


@bare_kernel
def _mark_rows(event: Any, rows: Any, sides: Any, scratch: Any) -> None:
    """Mark the rows of one event, of which there were too many for the list."""
    for side in sides:
        if len(side.offsets) > event + 1:
            start, stop = side.offsets[event], side.offsets[event + 1]
            _follow(side.units, start, stop, side.heads, side.chain, rows, scratch, np.int64(0), True)


@bare_kernel
def _put_in_order(seen: Any, scratch: Any) -> Any:
    """Put the rows of an event, of which so many are listed, aside in order, each once; returns how many they are.

    Not into the output at once: each of its cache lines would be waited for, in any order.
    """
    bits, summary, listed, aside, before = scratch
    if _MANY * seen >= len(bits):
        mark_listed(listed, seen, bits)
        return put_in_order(listed, seen, bits, before, aside)
    for place in range(np.uint64(seen)):
        mark(np.uint32(listed[place]), bits, summary)
    return walk_bits(bits, summary, before, seen, np.int64(0), aside, np.int64(0))


@bare_kernel
def _write_in_order(
    event: Any, rows: Any, sides: Any, seen: Any, scratch: Any, added: Any, out: Any, filled: Any, begin: Any
) -> Any:  # fmt: skip
    """Write the rows of an event, of which so many were seen and not few, to out[filled:] in order, each once.

    Returns where they would end, room or not; `begin` is that of `write_ordered`.
    """
    bits, summary, listed, aside, before = scratch
    if seen > len(listed):
        _mark_rows(event, rows, sides, scratch)
        return walk_bits(bits, summary, before, seen, added, out, filled)
    if _SOME * seen < len(summary) and spread(listed, seen, aside, before):
        return write_distinct(aside, seen, added, out, filled)
    return write_ordered(aside, _put_in_order(seen, scratch), added, out, filled, begin)


@bare_kernel
def _collect_all(count: Any, rows: Any, sides: Any, scratch: Any, added: Any, ends: Any, out: Any, begin: Any) -> Any:
    """What `collect` does; `begin` is that of `write_ordered`."""
    filled, listed = np.int64(0), scratch.listed
    for event in range(count):
        seen = _list_rows(event, rows, sides, scratch)
        if seen == DAMAGED:
            return np.int64(DAMAGED), np.int64(0)
        if seen <= min(_FEW, len(listed)):
            sort_few(listed, seen)
            end = write_distinct(listed, seen, added, out, filled)
        else:
            end = _write_in_order(event, rows, sides, seen, scratch, added, out, filled, begin)
        if end > len(out):
            return np.int64(event), end - filled
        ends[event] = end
        filled = end
    return np.int64(count), np.int64(0)


@bare_kernel
def collect(count: Any, rows: Any, sides: Any, scratch: Any, added: Any, ends: Any, out: Any) -> Any:
    """The rows of the events 0 … count - 1, as far as out has room; ends[i] is where those of event i end in out.

    To each row `added` is added, which makes it the rule's id where ids count on as rows do.

    The sides are always as many, some of them empty. Their offsets begin with the first event's. Returns how many
    events were covered, and the room that the next one would have needed in out; (DAMAGED, 0) when a number leads
    outside.
    """
    # Rows are read again in a moment, to look up ids; ids are what the caller gets.
    begin = first_run(out) if out.itemsize == 8 and len(out) >= STREAMED else np.int64(-1)
    covered, needed = _collect_all(count, rows, sides, scratch, added, ends, out, begin)
    if begin >= 0:
        end_streams()
    return covered, needed


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
        writable(table, 5, np.uint64), writable(table, 6, np.uint64), writable(table, 7, np.int32),
        writable(table, 8, np.int32), writable(table, 9, np.uint32),
    )  # fmt: skip
    ends, out = writable(table, 10, np.int64), writable(table, 11, np.int32)
    done, _ = collect(np.int64(1), rows, (side, none, none), scratch, np.int64(0), ends, out)
    if done == DAMAGED:
        return done
    ids, found = readable(table, 12, np.int64), writable(table, 13, np.int64)
    if len(found) > 0:
        for place in range(np.uint64(ends[0])):
            # Rows are below their number, and as many ids there are.
            found[place] = ids[np.uint64(out[place])]
    return ends[0]
