"""Kernels of candidates: how they come into their lists.

A list is a stretch of *heads*, four integers each: an attribute, the low label and the width of one more test, and
where the candidate's tail lies (`_residual_kernels`). Tails lie in the order of their heads, so verification reads
forwards in both. Heads are apart from tails because most candidates fail their first test: reading 16 bytes of each
takes 1 to 2 ns, where whole candidates side by side, of some 90 bytes, are bound by the memory's bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.engines.shared._access_kernels import UNUSABLE, covered
from matchwood.engines.shared._posting_kernels import room_for
from matchwood.engines.shared._record_kernels import SEVERAL, WIDTH
from matchwood.engines.shared._residual_kernels import (
    MASKED,
    OTHER,
    PLAIN,
    PLAIN_BITS,
    TAIL_START,
    is_access,
    kind_of,
    tail_is_safe,
    tail_words,
    write_head,
    write_tail,
)

HEAD = 4

MOST_COPIES = 8
"""A unit in more lists than this has one tail for all of them."""


@kernel
def _head_test(
    records: Any, intervals: Any, first: int, costs: Any, start: int, count: int, access: Any, choice: int, wanted: int
) -> int:
    """The constraint that a unit's heads test, as a position within it; -1 if there is none.

    Of several intervals a head tests what encloses them all, so that counts.
    """
    best, least = -1, UNUSABLE
    for position in range(count):
        cost = costs[start + position]
        if cost >= least or is_access(access, choice, wanted, position):
            continue
        labels, enclosed = covered(records, intervals, WIDTH * (first + position))
        cost = cost * (max(enclosed, 1) / max(labels, 1))
        if cost < least:
            best, least = position, cost
    return best


@kernel
def plan_shapes(conjunctions: Any, units: Any, ranking: Any, access: Any, wanted: int, shapes: Any) -> None:
    """The shape that each unit's tail will have."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    for place in range(len(units)):
        unit = units[place]
        first, count = offsets[unit], offsets[unit + 1] - offsets[unit]
        start = ranking.starts[place]
        test = _head_test(records, intervals, first, ranking.costs, start, count, access, wanted * unit, wanted)
        plain, masked, others = 0, 0, 0
        for position in range(count):
            at = WIDTH * (first + position)
            decided = position == test and records[at] & SEVERAL == 0
            if not decided and not is_access(access, wanted * unit, wanted, position):
                kind = kind_of(records, intervals, at)
                plain, masked, others = plain + (kind == PLAIN), masked + (kind == MASKED), others + (kind == OTHER)
        shapes[place] = min(others, 1) | plain << 1 | masked << (1 + PLAIN_BITS)


@kernel
def plan_candidates(
    conjunctions: Any, units: Any, ranking: Any, access: Any, wanted: int, tests: Any, words: Any
) -> None:
    """Choose each unit's first test, and tell how much room its tail takes at most."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    starts, costs = ranking.starts, ranking.costs
    for place in range(len(units)):
        unit = units[place]
        count = offsets[unit + 1] - offsets[unit]
        tests[place] = _head_test(
            records, intervals, offsets[unit], costs, starts[place], count, access, wanted * unit, wanted
        )
        words[place] = TAIL_START
        for position in range(count):
            at = WIDTH * (offsets[unit] + position)
            decided = position == tests[place] and records[at] & SEVERAL == 0
            if not decided and not is_access(access, wanted * unit, wanted, position):
                words[place] += tail_words(records, intervals, at)


@kernel
def place_heads(
    sizes: Any, lists: Any, starts: Any, counts: Any, capacities: Any, added: Any, heads: Any, width: int, used: int
) -> None:
    """Put a head, of so many integers, for every posting at the end of its list, with the unit's place at its end.

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
                heads[width * used : width * (used + count)] = heads[
                    width * starts[found] : width * (starts[found] + count)
                ]
                starts[found] = used
                used += capacities[found]
            heads[width * (starts[found] + count + 1) - 1] = place
            counts[found] = count + 1


@kernel
def fill_candidates(
    conjunctions: Any, units: Any, ranking: Any, access: Any, wanted: int, tests: Any, sizes: Any,
    touched: Any, starts: Any, counts: Any, added: Any, heads: Any, tails: Any, used: int,
) -> int:  # fmt: skip
    """Write the tests and tails of all new heads, list by list; leaves the gains zero; returns the end of the tails."""
    offsets, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    ranks, order = ranking.starts, ranking.order
    shared, kinds, most = np.full(len(units), -1, dtype=np.int64), np.empty(64, dtype=np.int8), 64
    for found in touched:
        stop = starts[found] + counts[found]
        for head in range(stop - added[found], stop):
            place = heads[HEAD * head + 3]
            unit, test = units[place], tests[place]
            write_head(records, intervals, offsets[unit], test, heads, HEAD * head)
            if shared[place] < 0:
                tail = used
                count = offsets[unit + 1] - offsets[unit]
                if count > most:
                    kinds, most = np.empty(count, dtype=np.int8), count
                used = write_tail(
                    records, intervals, offsets[unit], order, ranks[place], count, access, wanted * unit, wanted,
                    test, kinds, unit, tails, used,
                )  # fmt: skip
                if sizes[place] > MOST_COPIES:
                    shared[place] = tail
            else:
                tail = shared[place]
            heads[HEAD * head + 3] = tail
        added[found] = 0
    return used


@kernel
def check_candidates(
    heads: Any, tails: Any, starts: Any, counts: Any, units: int, attributes: int, intervals: int
) -> bool:
    """Whether no head and no tail could lead a kernel out of its arrays."""
    for found in range(len(starts)):
        for head in range(starts[found], starts[found] + counts[found]):
            if not 0 <= heads[HEAD * head] < max(1, attributes):
                return False
            if not tail_is_safe(tails, heads[HEAD * head + 3], units, attributes, intervals):
                return False
    return True
