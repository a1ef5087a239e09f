"""Kernels of candidates: how they come into their lists.

A list is a stretch of *first tests*, four integers each, and every candidate has a *residual* (`_residual_kernels`):
docs/protocols.md has the picture, and why they lie apart.

VLDB 2018, Algorithms 4 (5.2) and 6 (6.2): how units come into lists; first tests and residuals are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared._access_kernels import UNUSABLE, covered
from matchwood.engines.shared._posting_kernels import room_for
from matchwood.engines.shared._residual_kernels import (
    MASKED,
    OTHER,
    RESIDUAL_START,
    SINGLE,
    SINGLE_BITS,
    is_access,
    kind_of,
    residual_is_safe,
    residual_words,
    write_first_test,
    write_residual,
)
from matchwood.engines.shared.constraints._record_kernels import SEVERAL, record_at

if TYPE_CHECKING:
    from matchwood.engines.shared.access import SelectivityOrder

TEST_WIDTH = 4

MOST_COPIES = 8
"""A unit in more lists than this has one residual for all of them."""


class NewCandidates(NamedTuple):
    """Units on their way into lists.

    `units`    the units
    `selectivity`  their constraints, the most selective first
    `access`   of all units: `wanted` positions each of the constraints that give access, UNUSED where there are fewer
    `tests`    of these units: the position of the constraint that is tested first, -1 if there is none
    """

    units: NDArray[np.int32]
    selectivity: SelectivityOrder
    access: NDArray[np.uint16]
    tests: NDArray[np.int32]


class GrowingLists(NamedTuple):
    """Lists that have room for what they gain: list l begins at starts[l], has counts[l], of which added[l] are new."""

    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    added: NDArray[np.int32]


@bare_kernel
def _chosen_test(
    conjunctions: Any, unit: Any, costs: Any, start: Any, count: Any, access: Any, choice: Any, wanted: int
) -> int:
    """The constraint that a unit is tested for first, as a position within it; -1 if there is none.

    Of several intervals a first test asks for what encloses them all, so that counts.
    """
    records, intervals, first = conjunctions.records, conjunctions.intervals, conjunctions.offsets[unit]
    best, least = -1, UNUSABLE
    for position in range(count):
        cost = costs[start + position]
        if cost >= least or is_access(access, choice, wanted, position):
            continue
        labels, enclosed = covered(records, intervals, record_at(conjunctions.leaves, first + position))
        cost = cost * (max(enclosed, 1) / max(labels, 1))
        if cost < least:
            best, least = position, cost
    return best


@bare_kernel
def plan_tests(
    conjunctions: Any, units: Any, selectivity: Any, access: Any, wanted: int, tests: Any, shapes: Any
) -> None:
    """Choose each unit's first test, and tell the shape that its residual will have then."""
    offsets, leaves = conjunctions.offsets, conjunctions.leaves
    records, intervals = conjunctions.records, conjunctions.intervals
    for place in range(len(units)):
        unit = units[place]
        first, count = offsets[unit], offsets[unit + 1] - offsets[unit]
        start = selectivity.starts[place]
        test = _chosen_test(conjunctions, unit, selectivity.costs, start, count, access, wanted * unit, wanted)
        single, masked, others = 0, 0, 0
        for position in range(count):
            at = record_at(leaves, first + position)
            decided = position == test and records[at] & SEVERAL == 0
            if not decided and not is_access(access, wanted * unit, wanted, position):
                kind = kind_of(records, intervals, at)
                single, masked, others = single + (kind == SINGLE), masked + (kind == MASKED), others + (kind == OTHER)
        tests[place] = test
        shapes[place] = min(others, 1) | single << 1 | masked << (1 + SINGLE_BITS)


@bare_kernel
def residual_room(conjunctions: Any, new: NewCandidates, wanted: int, sizes: Any) -> int:
    """How much room the residuals of units take at most that go into sizes[i] lists each."""
    offsets, leaves = conjunctions.offsets, conjunctions.leaves
    records, intervals = conjunctions.records, conjunctions.intervals
    total = 0
    for place in range(len(sizes)):
        if sizes[place] == 0:
            continue
        unit, words = new.units[place], RESIDUAL_START
        for position in range(offsets[unit + 1] - offsets[unit]):
            at = record_at(leaves, offsets[unit] + position)
            decided = position == new.tests[place] and records[at] & SEVERAL == 0
            if not decided and not is_access(new.access, wanted * unit, wanted, position):
                words += residual_words(records, intervals, at)
        total += words if sizes[place] > MOST_COPIES else words * sizes[place]
    return total


@bare_kernel
def place_first_tests(
    sizes: Any,
    lists: Any,
    starts: Any,
    counts: Any,
    capacities: Any,
    added: Any,
    first_tests: Any,
    width: int,
    used: int,
) -> None:
    """Put a first test, of `width` integers, for every posting at the end of its list; the last is the unit's place.

    Lists with a negative gain move to the end of the first tests; afterwards all gains are positive.
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
                for word in range(width * count):
                    first_tests[width * used + word] = first_tests[width * starts[found] + word]
                starts[found] = used
                used += capacities[found]
            first_tests[width * (starts[found] + count + 1) - 1] = place
            counts[found] = count + 1


@bare_kernel
def fill_candidates(
    conjunctions: Any, new: NewCandidates, wanted: int, sizes: Any, touched: Any, lists: GrowingLists,
    first_tests: Any, residuals: Any, used: int, shared: Any, kinds: Any,
) -> int:  # fmt: skip
    """Write all new first tests and their residuals, list by list; leaves the gains zero; returns the end of these.

    Unit i is new in sizes[i] lists; those that grow are `touched`. `shared` has -1 for each unit, and `kinds` room for
    the constraints of each.
    """
    offsets = conjunctions.offsets
    units, access, tests, ranks, order = new.units, new.access, new.tests, new.selectivity.starts, new.selectivity.order
    starts, counts, added = lists.starts, lists.counts, lists.added
    for found in touched:
        stop = starts[found] + counts[found]
        for first_test in range(stop - added[found], stop):
            place = first_tests[TEST_WIDTH * first_test + 3]
            unit, test = units[place], tests[place]
            write_first_test(conjunctions, unit, test, first_tests, TEST_WIDTH * first_test)
            if shared[place] < 0:
                residual = used
                count = offsets[unit + 1] - offsets[unit]
                used = write_residual(
                    conjunctions, unit, order, ranks[place], count, access, wanted, test, kinds, residuals, used
                )
                if sizes[place] > MOST_COPIES:
                    shared[place] = residual
            else:
                residual = shared[place]
            first_tests[TEST_WIDTH * first_test + 3] = residual
        added[found] = 0
    return used


@bare_kernel
def check_candidates(
    first_tests: Any, residuals: Any, starts: Any, counts: Any, units: int, attributes: int, intervals: int
) -> bool:
    """Whether no first test and no residual could lead a kernel out of its arrays."""
    for found in range(len(starts)):
        for first_test in range(starts[found], starts[found] + counts[found]):
            if not 0 <= first_tests[TEST_WIDTH * first_test] < max(1, attributes):
                return False
            if not residual_is_safe(residuals, first_tests[TEST_WIDTH * first_test + 3], units, attributes, intervals):
                return False
    return True
