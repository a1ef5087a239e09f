"""Kernels of candidates: how they lie in memory, and how they are verified.

A list is a stretch of *heads*, four integers each: an attribute, the low label and the width of one more test, and where
the candidate's *tail* lies. The tail begins with the unit (as -1 - unit when nothing is left to test), followed by the
records of the constraints that neither the list nor the head has decided, the last one marked. Tails lie in the order of
their heads, so verification reads forwards in both.

Heads apart from tails because most candidates fail their first test: reading 16 bytes of each takes 1 ns,
where whole candidates of some 90 bytes, side by side, are bound by the memory's bandwidth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines._access_kernels import UNUSABLE, covered
from matchwood.engines._record_kernels import ACCEPTS_NULL, FLAG_BITS, SEVERAL, WIDTH
from matchwood.engines._verify_kernels import inside

HEAD = 4
MORE = 4
LAST = 8
TAIL_BITS = 4
"""A tail's codes have two more flags: MORE where another interval of the same constraint follows, LAST."""

MOST_INLINE = 8
"""A constraint of more intervals is not copied into tails: its record names them in the store, and takes two places."""

MOST_COPIES = 8
"""A unit in more lists than this has one tail for all of them."""

ALWAYS_LOW = -1
ALWAYS_WIDTH = -(2**31) + 1
"""A test that every label passes, and NULL_LABEL: 2**31 + 1, taken as unsigned."""


@kernel
def is_access(access: Any, start: int, wanted: int, position: int) -> bool:
    """Whether the constraint at a position gives access to the unit whose choice begins at `start`."""
    for nth in range(wanted):
        if access[start + nth] == position:
            return True
    return False


@kernel
def _head_test(conjunctions: Any, unit: int, ranking: Any, place: int, access: Any, wanted: int) -> int:
    """The constraint that a unit's heads test, as a position within it; -1 if there is none.

    Of several intervals a head tests what encloses them all, so that counts.
    """
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    best, least = -1, UNUSABLE
    start = ranking.starts[place]
    for position in range(ranking.starts[place + 1] - start):
        cost = ranking.costs[start + position]
        if cost >= least or is_access(access, wanted * unit, wanted, position):
            continue
        labels, enclosed = covered(records, intervals, WIDTH * (offsets[unit] + position))
        cost = cost * (max(enclosed, 1) / max(labels, 1))
        if cost < least:
            best, least = position, cost
    return best


@kernel
def _tail_records(records: Any, at: int) -> int:
    """How many places the record of a constraint takes in a tail."""
    if records[at] & SEVERAL == 0:
        return 1
    pieces = records[at + 2] - records[at + 1]
    return 2 if pieces > MOST_INLINE else max(1, pieces)


@kernel
def plan_candidates(
    conjunctions: Any, units: Any, ranking: Any, access: Any, wanted: int, sizes: Any, tests: Any, words: Any
) -> int:
    """Choose each unit's first test, tell the size of its tail, and return how much room all tails take."""
    offsets, records = conjunctions.offsets, conjunctions.records
    total = 0
    for place in range(len(units)):
        unit = units[place]
        tests[place] = _head_test(conjunctions, unit, ranking, place, access, wanted)
        words[place] = 1
        for position in range(offsets[unit + 1] - offsets[unit]):
            at = WIDTH * (offsets[unit] + position)
            decided = position == tests[place] and records[at] & SEVERAL == 0
            if not decided and not is_access(access, wanted * unit, wanted, position):
                words[place] += WIDTH * _tail_records(records, at)
        total += words[place] * (1 if sizes[place] > MOST_COPIES else sizes[place])
    return total


@kernel
def place_heads(
    sizes: Any, lists: Any, starts: Any, counts: Any, capacities: Any, added: Any, heads: Any, used: int
) -> None:
    """Put a head for every posting at the end of its list, with the unit's place for its tail.

    Lists with a negative gain move to the end of the heads; afterwards all gains are positive.
    """
    posting = 0
    for place in range(len(sizes)):
        for _ in range(sizes[place]):
            found = lists[posting]
            posting += 1
            count = counts[found]
            if added[found] < 0:
                added[found] = -added[found]
                capacities[found] = room_for(count, added[found])
                heads[HEAD * used : HEAD * (used + count)] = heads[
                    HEAD * starts[found] : HEAD * (starts[found] + count)
                ]
                starts[found] = used
                used += capacities[found]
            heads[HEAD * (starts[found] + count) + 3] = place
            counts[found] = count + 1


@kernel
def room_for(count: int, gain: int) -> int:
    """Room for a list: just what a new one needs, the next power of two for one that grows."""
    if count == 0:
        return gain
    room = 1
    while room < count + gain:
        room *= 2
    return room


@kernel
def plan_heads(lists: Any, counts: Any, capacities: Any, added: Any) -> int:
    """How much room the lists need that must move to the end; marks them by a negative gain."""
    total = 0
    for found in lists:
        if added[found] > 0 and counts[found] + added[found] > capacities[found]:
            total += room_for(counts[found], added[found])
            added[found] = -added[found]
    return total


@kernel
def _write_record(records: Any, intervals: Any, at: int, tails: Any, end: int) -> int:
    """Append the constraint of a record to a tail; returns the new end."""
    code, low, high = records[at], records[at + 1], records[at + 2]
    own = ((code >> FLAG_BITS) << TAIL_BITS) | (code & ACCEPTS_NULL)
    if code & SEVERAL == 0:
        tails[end], tails[end + 1], tails[end + 2] = own, low, high
        return end + WIDTH
    if high - low > MOST_INLINE:
        tails[end], tails[end + 1], tails[end + 2] = own | SEVERAL, 0, 0
        tails[end + 3], tails[end + 4], tails[end + 5] = low, high, 0
        return end + 2 * WIDTH
    if high == low:
        tails[end], tails[end + 1], tails[end + 2] = own, 0, 0
        return end + WIDTH
    for interval in range(low, high):
        tails[end] = own | MORE if interval + 1 < high else own
        tails[end + 1], tails[end + 2] = intervals[2 * interval], intervals[2 * interval + 1]
        end += WIDTH
    return end


@kernel
def _write_tail(
    conjunctions: Any, unit: int, ranking: Any, place: int, access: Any, wanted: int, test: int, tails: Any, end: int
) -> int:
    """Append a unit's tail, the most selective constraint first; returns the new end."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    begin, last = end, -1
    end += 1
    for rank in range(ranking.starts[place], ranking.starts[place + 1]):
        position = ranking.order[rank]
        at = WIDTH * (offsets[unit] + position)
        if position == test and records[at] & SEVERAL == 0:
            continue
        if is_access(access, wanted * unit, wanted, position):
            continue
        last, end = end, _write_record(records, intervals, at, tails, end)
    if last < 0:
        tails[begin] = -1 - unit
        return end
    tails[begin] = unit
    while tails[last] & MORE != 0:
        last += WIDTH
    tails[last] |= LAST
    return end


@kernel
def fill_candidates(
    conjunctions: Any, units: Any, ranking: Any, access: Any, wanted: int, tests: Any, sizes: Any,
    touched: Any, starts: Any, counts: Any, added: Any, heads: Any, tails: Any, used: int,
) -> int:  # fmt: skip
    """Write the tests and tails of all new heads, list by list; leaves the gains zero; returns the end of the tails."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    shared = np.full(len(units), -1, dtype=np.int64)
    for found in touched:
        stop = starts[found] + counts[found]
        for head in range(stop - added[found], stop):
            place = heads[HEAD * head + 3]
            unit, test = units[place], tests[place]
            heads[HEAD * head], heads[HEAD * head + 1], heads[HEAD * head + 2] = 0, ALWAYS_LOW, ALWAYS_WIDTH
            if test >= 0:
                at = WIDTH * (offsets[unit] + test)
                low, high = records[at + 1], records[at + 2]
                if records[at] & SEVERAL != 0:
                    low, high = (intervals[2 * low], intervals[2 * high - 1]) if low < high else (0, 0)
                heads[HEAD * head] = records[at] >> FLAG_BITS
                heads[HEAD * head + 1], heads[HEAD * head + 2] = low, high - low
            if shared[place] < 0:
                tail = used
                used = _write_tail(conjunctions, unit, ranking, place, access, wanted, test, tails, used)
                if sizes[place] > MOST_COPIES:
                    shared[place] = tail
            else:
                tail = shared[place]
            heads[HEAD * head + 3] = tail
        added[found] = 0
    return used


@kernel
def tail_holds(tails: Any, intervals: Any, start: Any, labels: Any) -> Any:
    """Whether all records of a tail hold of the scattered labels.

    As in `verify`, one unsigned comparison does for both ends of an interval and for NULL.
    """
    at = np.uint64(start)
    while True:
        code, low, high = tails[at], tails[at + np.uint64(1)], tails[at + np.uint64(2)]
        label = labels[np.uint32(code >> TAIL_BITS)]
        at += np.uint64(WIDTH)
        if np.uint32(label - low) < np.uint32(high - low):
            while code & MORE != 0:
                code = tails[at]
                at += np.uint64(WIDTH)
        elif code & (MORE | ACCEPTS_NULL | SEVERAL) == 0:
            return False
        elif code & MORE != 0:
            continue
        else:
            held = label == NULL_LABEL and code & ACCEPTS_NULL != 0
            if code & SEVERAL != 0:
                if not held and label != NULL_LABEL:
                    held = inside(tails[at], tails[at + np.uint64(1)], label, intervals)
                at += np.uint64(WIDTH)
            if not held:
                return False
        if code & LAST != 0:
            return True


@kernel
def check_candidates(
    heads: Any, tails: Any, starts: Any, counts: Any, units: int, attributes: int, intervals: int
) -> int:
    """The first list with a head or a tail that could lead a kernel out of its arrays; -1 if there is none."""
    for found in range(len(starts)):
        for head in range(starts[found], starts[found] + counts[found]):
            attribute, tail = heads[HEAD * head], heads[HEAD * head + 3]
            if not 0 <= attribute < max(1, attributes) or not 0 <= tail < len(tails):
                return found
            unit, at = tails[tail], tail + 1
            if not -units <= unit < units:
                return found
            code = LAST if unit < 0 else 0
            while code & LAST == 0:
                if at + WIDTH > len(tails):
                    return found
                code = tails[at]
                at += WIDTH
                if code < 0 or code >> TAIL_BITS >= attributes or (code & MORE != 0 and code & (LAST | SEVERAL) != 0):
                    return found
                if code & SEVERAL != 0:
                    empty = tails[at - 2] == tails[at - 1]
                    if not empty or at + WIDTH > len(tails) or not 0 <= tails[at] <= tails[at + 1] <= intervals:
                        return found
                    at += WIDTH
    return -1
