"""The optimum of HEM's plans (5.3): exact for any number of attributes, without examining every set of them.

A plan is the set of attributes that get triangles. Look at the attributes one after the other and keep two numbers of
what is decided so far: `spent`, the costs of the triangles, and `left`, what the direct method costs by now. Then

    a triangle   (spent, left)  →  (spent + cost, left · rate)
    none         (spent, left)  →  (spent, left + pass)

and the plan costs spent + left in the end. Verified once, `left` begins with the cost of looking at everything, and a
pass costs nothing more. In passes, `left` begins with 0, and attributes come by ascending rates, as direct passes do
(Observation 3); the candidates of the pass of an attribute, before later triangles, are the product of the rates of all
attributes before it, whichever method each of these has: so the cost of a pass is known without knowing the plan.

Whatever the later decisions are, the plan costs spent + t · left and something that does not depend on the state, where
t is the product of the rates of later triangles. So the states to keep are those that are best for some t: the lower
left hull of the points (spent, left), between t = 1 and the product of all rates to come. The best plan survives:
exactly, not nearly. States that cannot become better than the best plan known are dropped, too.

The problem holds that of finding a subset with a given sum (let costs be proportional to -log(rate): then the cost of
a plan depends on the sum of its costs alone, with one minimum, and all points lie on a hull), so some inputs must take
exponential time. In practice fronts are short (the tests hold them to it). Beyond MOST_STATES the search ends with the
best plan known, which is never worse than the near-optimal one, and says so: `unproven_plans` in `stats()`.

That a plan begins with a triangle (Observation 1) costs nothing: each further triangle saves less than it would have
saved alone. So if no triangle pays, the best plan that has one has just one, and those are all looked at first.

Sci. China 2016, 5.3: the exhaustive optimum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.engines.hem._plan_kernels import LEAST_RATE, PASSES, near_optimal, plan_cost, sort_attributes

MOST_STATES = 1 << 18
"""States of one search, of 21 bytes each."""


@kernel
def optimum(rates: Any, costs: Any, count: int, direct: float, way: int, order: Any) -> int:
    """The best of all plans that begin with a triangle: the order of attributes, and how many get the triangle method.

    Triangles cost the same in any order; direct passes go by ascending rates (Observations 1 to 3).
    """
    return search_optimum(rates, costs, count, direct, way, MOST_STATES, order)[0]


@kernel
def search_optimum(
    rates: Any, costs: Any, count: int, direct: float, way: int, most: int, order: Any
) -> tuple[int, bool]:  # fmt: skip
    """The same with at most so many states; returns also whether the plan is proven to be the best."""
    chosen = near_optimal(rates, costs, count, direct, way, order)
    least = plan_cost(rates, costs, count, direct, way, order, chosen)
    by_rate = np.argsort(rates[:count])
    chosen, least = _or_single(rates, costs, count, direct, way, by_rate, order, chosen, least)
    in_turn = by_rate.copy()
    if way != PASSES:
        sort_attributes(rates, costs, count, in_turn)
    taken = np.zeros(count, np.bool_)
    proven, better = _search(rates, costs, count, direct, way, in_turn, least, most, taken)
    if better:
        chosen = _arrange(in_turn, by_rate, taken, order)
    return chosen, proven


@kernel
def _or_single(
    rates: Any, costs: Any, count: int, direct: float, way: int, by_rate: Any, order: Any, chosen: int, least: float
) -> tuple[int, float]:  # fmt: skip
    """The plan, or the best of those with one triangle; and what it costs."""
    trial, taken, best = np.empty(count, np.int64), np.zeros(count, np.bool_), -1
    for attribute in range(count):
        taken[attribute] = True
        _arrange(by_rate, by_rate, taken, trial)
        cost = plan_cost(rates, costs, count, direct, way, trial, 1)
        if cost < least:
            least, best = cost, attribute
        taken[attribute] = False
    if best < 0:
        return chosen, least
    taken[best] = True
    return _arrange(by_rate, by_rate, taken, order), least


@kernel
def _arrange(in_turn: Any, by_rate: Any, taken: Any, order: Any) -> int:
    """Write the attributes that are taken, then the others by rate; returns how many are taken."""
    chosen = 0
    for attribute in in_turn:
        if taken[attribute]:
            order[chosen] = attribute
            chosen += 1
    end = chosen
    for attribute in by_rate:
        if not taken[attribute]:
            order[end] = attribute
            end += 1
    return chosen


@kernel
def _search(
    rates: Any, costs: Any, count: int, direct: float, way: int, in_turn: Any, least: float, most: int, taken: Any
) -> tuple[bool, bool]:  # fmt: skip
    """Set `taken` to the best plan if it costs less than `least`; returns whether that is proven, and whether it does.

    States lie front after front, each by rising `spent` and falling `left`, so that the next is merged from two lists.
    """
    after, floors = _suffixes(rates, costs, count, direct, way, in_turn)
    spent, left = np.empty(most, np.float64), np.empty(most, np.float64)
    origin, picked = np.empty(most, np.int32), np.empty(most, np.bool_)
    spent[0], left[0] = 0.0, 0.0 if way == PASSES else direct
    start, stop, before = 0, 1, 1.0
    for place in range(count):
        cost, rate = costs[in_turn[place]], rates[in_turn[place]]
        added = before * direct if way == PASSES else 0.0
        before *= rate
        without, within, end, lowest = start, start, stop, np.inf
        while without < stop or within < stop:
            other = without < stop and (within == stop or spent[without] <= spent[within] + cost)
            source = without if other else within
            now = spent[source] + (0.0 if other else cost)
            rest = left[source] + added if other else left[source] * rate
            without, within = without + other, within + (not other)
            if rest >= lowest:
                continue
            lowest = rest
            if _floor(now, rest, place + 1, count, way, in_turn, rates, costs, after, floors) >= least:
                continue
            while end - stop >= 2 and _turn(spent, left, end - 2, end - 1, now, rest):
                end -= 1
            if end == most:
                return False, False
            spent[end], left[end], origin[end], picked[end] = now, rest, source, not other
            end += 1
        start, stop = _between(spent, left, stop, end, after[place + 1])
    return True, _pick(spent, left, origin, picked, start, stop, in_turn, least, taken)


@kernel
def _turn(spent: Any, left: Any, first: int, middle: int, last_spent: float, last_left: float) -> bool:
    """Whether the middle one of three states is best for no t: the last one beats the first before it does."""
    saved, saves = left[first] - left[middle], left[middle] - last_left
    return bool((spent[middle] - spent[first]) * saves >= (last_spent - spent[middle]) * saved)


@kernel
def _between(spent: Any, left: Any, start: int, stop: int, least: float) -> tuple[int, int]:
    """The part of a hull that is best for some t from `least` to 1."""
    while stop - start >= 2 and spent[start + 1] - spent[start] <= least * (left[start] - left[start + 1]):
        start += 1
    while stop - start >= 2 and spent[stop - 1] - spent[stop - 2] >= left[stop - 2] - left[stop - 1]:
        stop -= 1
    return start, stop


@kernel
def _pick(
    spent: Any, left: Any, origin: Any, picked: Any, start: int, stop: int, in_turn: Any, least: float, taken: Any
) -> bool:  # fmt: skip
    """Follow the best state of the last front back to the first; returns whether it beats `least` with a triangle."""
    best = -1
    for state in range(start, stop):
        if spent[state] + left[state] < least:
            best, least = state, spent[state] + left[state]
    found = False
    for place in range(len(in_turn) - 1, -1, -1):
        if best >= 0:
            taken[in_turn[place]] = picked[best]
            found |= picked[best]
            best = origin[best]
    return found


@kernel
def _suffixes(rates: Any, costs: Any, count: int, direct: float, way: int, in_turn: Any) -> tuple[Any, Any]:
    """From each place on: the product of all rates; and in passes what the attributes cost at least, each the cheaper
    of its triangle and of its pass if all later attributes had triangles."""
    after, floors = np.ones(count + 1, np.float64), np.zeros(count + 1, np.float64)
    before = np.ones(count + 1, np.float64)
    for place in range(count):
        before[place + 1] = before[place] * rates[in_turn[place]]
    for place in range(count - 1, -1, -1):
        attribute = in_turn[place]
        if way == PASSES:
            floors[place] = floors[place + 1] + min(costs[attribute], before[place] * direct * after[place + 1])
        after[place] = after[place + 1] * rates[attribute]
    return after, floors


@kernel
def _floor(
    spent: float, left: float, place: int, count: int, way: int, in_turn: Any, rates: Any, costs: Any,
    after: Any, floors: Any,
) -> float:  # fmt: skip
    """No plan that goes on from a state costs less.

    Verified once, attributes may be taken in part: x of one costs x · cost and leaves rate^x. That is convex, and
    taking them by what they exclude for their cost, the last in part, is its minimum. One that excludes everything
    is taken whole or not at all.
    """
    if way == PASSES:
        return float(spent + left * after[place] + floors[place])
    total, least = spent, np.inf
    for turn in range(place, count):
        cost, rate = costs[in_turn[turn]], rates[in_turn[turn]]
        if rate < LEAST_RATE:
            least = min(least, spent + cost)
            continue
        weight = -np.log(rate)
        if left * weight <= cost:
            break
        if left * rate * weight >= cost:
            total += cost
            left *= rate
        else:
            total += cost * np.log(left * weight / cost) / weight
            left = cost / weight
            break
    return min(least, total + left)
