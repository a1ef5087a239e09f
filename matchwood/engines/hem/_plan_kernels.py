"""The cost model of HEM (4.3.2), and its near-optimal plan (4.3.3, Algorithm 4), ours and as printed.

Costs are in points walked over. `rates` are the shares of all units that each attribute lets through, ρ in the paper;
`costs` is what its triangle costs, in the paper (1 - ρ) times the number of units; `direct` is what looking at all
units by the direct method would cost: on one attribute (in the paper), or on all that are left (in the engine, where a
candidate is verified once, over its own predicates, and mostly fails early).

Sci. China 2016, 4.3.2 and 4.3.3: the cost model, and Algorithm 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.hem._triangle_kernels import value_column

PASSES, DECIDED, VERIFIED = 0, 1, 2
"""What follows the triangles: a direct pass for each attribute that is left (as in the paper), one verification
if any is left, or one in any case."""

LEAST_RATE = 1e-9


@kernel
def sort_attributes(rates: Any, costs: Any, count: int, order: Any) -> None:
    """Order attributes by what their triangles exclude for their cost, the best first.

    With the paper's costs that is the ascending order of rates (Observation 3): -log(ρ) / (1 - ρ) falls as ρ grows.
    """
    keys = np.empty(count, np.float64)
    for place in range(count):
        keys[place] = np.log(max(rates[place], LEAST_RATE)) / max(costs[place], LEAST_RATE)
    order[:count] = np.argsort(keys)


@kernel
def plan_cost(
    rates: Any, costs: Any, count: int, direct: float, way: int, order: Any, chosen: int
) -> float:  # fmt: skip
    """What a plan costs (Formula 5): triangles for the first `chosen` attributes, then the direct method."""
    total, left = 0.0, 1.0
    for place in range(chosen):
        total += costs[order[place]]
        left *= rates[order[place]]
    if way != PASSES:
        return total + (left * direct if chosen < count or way == VERIFIED else 0.0)
    for place in range(chosen, count):
        total += left * direct
        left *= rates[order[place]]
    return total


@kernel
def near_optimal(rates: Any, costs: Any, count: int, direct: float, way: int, order: Any) -> int:
    """Algorithm 4: the order of attributes, and how many of them, from the first on, get the triangle method.

    Attributes are looked at from the best on. One gets the triangle method while that costs less than the direct method
    would. In passes, one an attribute, that is ε · direct; with the paper's costs this is line 08, ε > θ (the text
    beside it says ρ). Verified once, it is the share of the candidates that the triangle excludes.

    As printed, all attributes behind the first that fails get the direct method, be their triangles ever so cheap, and
    the plan can cost twice as much as the optimum where triangles exclude little. So we go on, and weigh a triangle
    also against what it saves of the passes before it; and there is a second plan to compare with: in passes that of
    `_or_cheapest`, else that of all triangles, which may leave nothing to verify.
    """
    sort_attributes(rates, costs, count, order)
    others, chosen, passed = np.empty(count, np.int64), 0, 0
    left, spent, behind = 1.0, 0.0, 1.0
    for place in range(count):
        attribute = order[place]
        rate = rates[attribute]
        saved = left * direct * (1.0 - rate)
        if way == PASSES:
            saved = left * (behind * direct + (1.0 - rate) * spent)
        if place == 0 or saved > costs[attribute]:
            order[chosen] = attribute
            chosen += 1
            left *= rate
        else:
            others[passed] = attribute
            passed += 1
            spent += behind * direct
            behind *= rate
    order[chosen:count] = others[:passed]
    if way == PASSES:
        return _or_cheapest(rates, costs, count, direct, order, chosen)
    whole = plan_cost(rates, costs, count, direct, way, order, count)
    return count if whole < plan_cost(rates, costs, count, direct, way, order, chosen) else chosen


@kernel
def _or_cheapest(rates: Any, costs: Any, count: int, direct: float, order: Any, chosen: int) -> int:
    """The plan, or the best of those whose triangles are the cheapest ones, which leave the selective attributes to
    direct passes behind them: that costs less where one attribute excludes much and all others little."""
    by_rate, least, best = np.argsort(rates[:count]), plan_cost(rates, costs, count, direct, PASSES, order, chosen), 0
    passes, product = np.zeros(count + 1, np.float64), 1.0
    for place in range(count):
        passes[place + 1] = passes[place] + product * direct
        product *= rates[by_rate[place]]
    spent, left = 0.0, 1.0
    for taken in range(1, count + 1):
        attribute = by_rate[count - taken]
        spent, left = spent + costs[attribute], left * rates[attribute]
        if spent + left * passes[count - taken] < least:
            least, best = spent + left * passes[count - taken], taken
    if best == 0:
        return chosen
    order[:best], order[best:count] = by_rate[count - best :][::-1], by_rate[: count - best]
    return best


@kernel
def printed(rates: Any, costs: Any, count: int, direct: float, order: Any) -> int:
    """Algorithm 4 to the letter: by ascending rates, triangles up to the first attribute for which ε is not above θ."""
    order[:count] = np.argsort(rates[:count])
    left, chosen = 1.0, min(1, count)
    while chosen < count:
        left *= rates[order[chosen - 1]]
        if left * direct <= costs[order[chosen]]:
            break
        chosen += 1
    return chosen


@kernel
def unmatched(grids: Any, attribute: int, label: Any) -> Any:
    """U_m by look-up: how many points of a triangle exclude a label; of squares that a line cuts, half the points.

    Also how many points such squares have, which are looked at one by one.
    """
    total = np.int64(grids.totals[attribute])
    if label == NULL_LABEL:
        return total, np.int64(0)
    tau, below = np.int64(grids.taus[attribute]), grids.sum_firsts[attribute]
    column, above, sums = value_column(label, tau), below + 2 * tau, grids.sums
    ended = sums[below + column - 2] if column >= 2 else 0
    begun = sums[above + column + 2] if column + 2 < 2 * tau else 0
    edge = sums[below + column] - ended + sums[above + column] - begun
    return min(total, np.int64(ended + begun + edge // 2)), np.int64(edge)
