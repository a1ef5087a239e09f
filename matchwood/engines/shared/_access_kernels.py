"""Kernels of `access`: how many events each constraint should let through, and which constraints are used first.

Without event statistics the estimate is the share of the labels that a constraint covers, times how often rules name
its attribute. That is not the paper's order of operators (3.3), which `operators.py` has: a narrow range of an
attribute with many constants comes before an equality of one with two (`flag = true`). Labels are spread evenly over
an attribute's spaces. An open end reaches beyond all constants that rules know, and its width says little: a range with
one open end counts for at least a third, one with two (`!=`, `not in`) for nearly everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core._sorting_kernels import order_by
from matchwood.core.jit import bare_kernel
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.spaces.dyadic import count_blocks
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    constraint_at,
    hull,
    piece_at,
    pieces_of,
)

UNUSED = -1
"""In place of a constraint's position."""

UNUSABLE = np.float32(np.inf)
"""The cost of constraints that accept NULL: they sort last, and never give access."""

PRIOR_EVENTS = 64
"""The estimate without statistics counts as much as so many observed events; as published, it counts for nothing."""

_ONE_SIDED, _NEGATION = 1 / 3, 0.9
_LABELS = 2.0**31
_MOST_INSERTED = 32

_LIST_COST = 0.1
"""What one list more may cost: a unit has its tests in each of its lists, so a constraint with fewer of them is taken
in the place of one that lets a little less through."""


@bare_kernel
def covered(sets: Any, code: Any, low: Any, high: Any) -> Any:
    """How many labels a constraint accepts, and how many lie between its first and its last."""
    total = np.int64(0)
    for number in range(pieces_of(code, high)):
        start, stop = piece_at(sets, code, low, high, number)
        total += stop - start
    first, last = hull(sets, code, low, high)
    return total, last - first


@bare_kernel
def block_count(sets: Any, code: Any, low: Any, high: Any) -> Any:
    """How many dyadic blocks a constraint has."""
    total = 0
    for number in range(pieces_of(code, high)):
        start, stop = piece_at(sets, code, low, high, number)
        total += count_blocks(start, stop)
    return total


@bare_kernel
def estimated_share(sets: Any, code: Any, low: Any, high: Any) -> Any:
    """The share of all labels that a constraint accepts, more where it is open at an end."""
    share = covered(sets, code, low, high)[0] / _LABELS
    first, last = hull(sets, code, low, high)
    if first >= last:
        return share
    open_ends = (first == BOTTOM_LABEL) + (last == TOP_LABEL)
    if open_ends == 0:
        return share
    return max(share, _ONE_SIDED if open_ends == 1 else _NEGATION)


@bare_kernel
def estimate_costs(conjunctions: Any, units: Any, starts: Any, frequency: Any, live: int, costs: Any) -> None:
    """The share of events that each constraint should let through; the constraints of a unit lie together.

    How often rules name an attribute stands for how often events have it.
    """
    places, words, sets, bits = conjunctions
    for place in range(len(units)):
        first, shift = np.int64(places[units[place]]), starts[place]
        for step in range(starts[place + 1] - starts[place]):
            code, low, high = constraint_at(words, sets, bits, first + step)
            if code & ACCEPTS_NULL != 0:
                costs[shift + step] = UNUSABLE
            else:
                presence = min(1.0, frequency[code >> FLAG_BITS] / max(1, live))
                costs[shift + step] = presence * estimated_share(sets, code, low, high)


@bare_kernel
def blend_shares(pieces: Any, shares: Any, observed: int, prior: int, costs: Any) -> None:
    """Weigh the estimates, worth `prior` events, with the shares of observed ones in the constraints' intervals."""
    weight = observed / (observed + prior)
    for constraint in range(len(costs)):
        if costs[constraint] == UNUSABLE:
            continue
        seen = 0.0
        for piece in range(pieces[constraint], pieces[constraint + 1]):
            seen += shares[piece]
        costs[constraint] = weight * min(1.0, seen) + (1.0 - weight) * costs[constraint]


@bare_kernel
def order_constraints(starts: Any, costs: Any, order: Any) -> None:
    """For each unit its constraints, as positions within it, the most selective first."""
    for place in range(len(starts) - 1):
        start, stop = starts[place], starts[place + 1]
        if stop - start > _MOST_INSERTED:
            order_by(costs, order[:0], start, stop, order)
            continue
        for position in range(stop - start):
            cost, back = costs[start + position], position
            while back > 0 and costs[start + order[start + back - 1]] > cost:
                order[start + back] = order[start + back - 1]
                back -= 1
            order[start + back] = position


@bare_kernel
def choose_one_access(conjunctions: Any, units: Any, selectivity: Any, access: Any, blocks: Any) -> None:
    """The constraint of each unit, as a position within it, that lets the fewest events through in few lists; UNUSED if
    none can.

    `blocks`  how many dyadic blocks that has
    """
    places, words, sets, bits = conjunctions
    starts, order, costs = selectivity.starts, selectivity.order, selectivity.costs
    for place in range(len(units)):
        first, start = np.int64(places[units[place]]), starts[place]
        best, least, fewest = UNUSED, UNUSABLE, 0
        for rank in range(start, starts[place + 1]):
            position = order[rank]
            # All that follow let more through.
            if costs[start + position] >= least:
                break
            code, low, high = constraint_at(words, sets, bits, first + position)
            lists = block_count(sets, code, low, high)
            cost = costs[start + position] * (1.0 + _LIST_COST * max(0, lists - 1))
            if cost < least:
                best, least, fewest = position, cost, lists
        access[place], blocks[place] = best, fewest


@bare_kernel
def choose_access(
    conjunctions: Any, units: Any, selectivity: Any, wanted: int, most: int, useless: float, access: Any, blocks: Any
) -> None:
    """Up to `wanted` constraints of each unit, as positions within it: the most selective ones; UNUSED for each less.

    Beyond the first, a constraint is passed over if the unit would then have more than `most` combinations of
    blocks, or if it lets more than the share `useless` of all events through. `blocks` tells how many each has.
    """
    places, words, sets, bits = conjunctions
    starts, order, costs = selectivity.starts, selectivity.order, selectivity.costs
    for place in range(len(units)):
        first, start = np.int64(places[units[place]]), starts[place]
        used, spaces = 0, 1
        for nth in range(wanted):
            access[wanted * place + nth], blocks[wanted * place + nth] = UNUSED, 0
        for rank in range(start, starts[place + 1]):
            position = order[rank]
            if costs[start + position] == UNUSABLE or used == wanted:
                break
            if used > 0 and costs[start + position] > useless:
                continue
            code, low, high = constraint_at(words, sets, bits, first + position)
            count = block_count(sets, code, low, high)
            if used > 0 and spaces * count > most:
                continue
            access[wanted * place + used], blocks[wanted * place + used] = position, count
            spaces *= count
            used += 1
