"""The cost model of HEM: Algorithm 4 beside the optimum, and the optimum beside all plans there are."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from engines_support import COMPILED
from numpy.typing import NDArray

from matchwood.engines._hem_plan_kernels import (
    DECIDED,
    PASSES,
    VERIFIED,
    near_optimal,
    optimum,
    plan_cost,
    sort_attributes,
)

Rates = NDArray[np.float64]

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Rates]] = {
    "uniform": lambda rng, count: rng.random(count),
    "selective": lambda rng, count: rng.beta(1, 6, count),
    "wide": lambda rng, count: rng.beta(6, 1, count),
    "alike": lambda rng, count: np.clip(rng.random() + rng.normal(0, 0.02, count), 0.01, 0.99),
}
VECTORS = 400 if COMPILED else 4


def paper_costs(rates: Rates) -> Rates:
    """Formula 4: a triangle costs the share that it excludes."""
    return 1 - rates


def planned(kernel: Callable[..., int], rates: Rates, costs: Rates, direct: float, way: int) -> float:
    order = np.empty(len(rates), np.int64)
    chosen = kernel(rates, costs, len(rates), direct, way, order)
    assert sorted(order.tolist()) == list(range(len(rates)))
    assert chosen >= 1
    return plan_cost(rates, costs, len(rates), direct, way, order, chosen)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_near_optimal_plan_is_near_the_optimum(name: str) -> None:
    rng = np.random.default_rng(list(DISTRIBUTIONS).index(name))
    ratios = []
    for number in range(VECTORS):
        rates = DISTRIBUTIONS[name](rng, 3 + number % 10)
        costs = paper_costs(rates)
        best = planned(optimum, rates, costs, 1.0, PASSES)
        ratios.append(planned(near_optimal, rates, costs, 1.0, PASSES) / best)
    assert min(ratios) >= 1 - 1e-9
    assert round(float(np.median(ratios)), 2) == 1.00
    assert np.quantile(ratios, 0.95) <= 1.10
    assert max(ratios) <= 1.5


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_also_with_the_costs_of_the_engine(name: str) -> None:
    """The shorter side of a triangle is walked, bits are cheap but not free, and verification is dear."""
    rng = np.random.default_rng(6)
    ratios = []
    for number in range(VECTORS):
        rates = DISTRIBUTIONS[name](rng, 3 + number % 10)
        costs = np.minimum(rates, 1 - rates) + 0.01
        best = planned(optimum, rates, costs, 60.0, DECIDED)
        ratios.append(planned(near_optimal, rates, costs, 60.0, DECIDED) / best)
    assert round(float(np.median(ratios)), 2) == 1.00
    assert np.quantile(ratios, 0.95) <= 1.10
    assert max(ratios) <= 1.5


def printed(rates: Rates) -> float:
    """Algorithm 4 line by line, and what its plan costs."""
    ordered = np.sort(rates)
    total, left, direct = 0.0, 1.0, False
    for place, rate in enumerate(ordered):
        direct = direct or (place > 0 and left <= 1 - rate)
        total += left if direct else 1 - rate
        left *= rate
    return total


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_going_on_behind_the_first_direct_attribute_never_costs_more(name: str) -> None:
    rng, gained = np.random.default_rng(8), 0
    for number in range(VECTORS):
        rates = DISTRIBUTIONS[name](rng, 3 + number % 10)
        ours, theirs = planned(near_optimal, rates, paper_costs(rates), 1.0, PASSES), printed(rates)
        assert ours <= theirs + 1e-9
        gained += ours < theirs - 1e-9
    if COMPILED:
        assert (gained > VECTORS / 10) == (name != "selective")


def every_plan(rates: Rates, costs: Rates) -> float:
    """The cheapest of all orders and all choices of methods, with Observation 1 alone taken for granted."""
    best = np.inf
    for order in itertools.permutations(range(len(rates))):
        for methods in itertools.product((0, 1), repeat=len(rates) - 1):
            total, left = 0.0, 1.0
            for attribute, direct in zip(order, (0, *methods), strict=True):
                total += left if direct else costs[attribute]
                left *= rates[attribute]
            best = min(best, total)
    return best


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_observations_2_and_3_lose_nothing(name: str) -> None:
    rng = np.random.default_rng(9)
    for number in range(40 if COMPILED else 3):
        rates = DISTRIBUTIONS[name](rng, 2 + number % 3)
        costs = paper_costs(rates)
        assert planned(optimum, rates, costs, 1.0, PASSES) == pytest.approx(every_plan(rates, costs))


def test_line_08_compares_with_the_unmatching_rate() -> None:
    """With ε = 0.5 and ρ = 0.6 the text would choose the direct method, for 0.5; the triangle costs 0.4."""
    rates = np.array([0.5, 0.6])
    order = np.empty(2, np.int64)
    assert near_optimal(rates, 1 - rates, 2, 1.0, PASSES, order) == 2
    assert order.tolist() == [0, 1]
    rates = np.array([0.2, 0.6])
    assert near_optimal(rates, 1 - rates, 2, 1.0, PASSES, order) == 1


def test_attributes_come_by_ascending_rates_with_the_papers_costs() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        rates, order = rng.random(9), np.empty(9, np.int64)
        sort_attributes(rates, paper_costs(rates), 9, order)
        assert order.tolist() == np.argsort(rates).tolist()


def test_verification_at_once_is_weighed_by_what_a_triangle_excludes() -> None:
    """A triangle that excludes a tenth of the candidates must cost less than a tenth of their verification."""
    rates, order = np.array([0.5, 0.9]), np.empty(2, np.int64)
    assert near_optimal(rates, np.array([1.0, 4.0]), 2, 100.0, VERIFIED, order) == 2
    assert near_optimal(rates, np.array([1.0, 6.0]), 2, 100.0, VERIFIED, order) == 1


@pytest.mark.parametrize("way", [PASSES, DECIDED, VERIFIED])
def test_the_optimum_is_never_worse(way: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(60 if COMPILED else 4):
        rates, costs = rng.random(6), rng.random(6)
        near, best = (planned(kernel, rates, costs, 1.5, way) for kernel in (near_optimal, optimum))
        assert best <= near + 1e-9


def test_many_attributes_do_not_take_for_ever() -> None:
    rates = np.random.default_rng(5).random(40 if COMPILED else 17)
    if COMPILED:
        assert (
            planned(optimum, rates, 1 - rates, 1.0, PASSES)
            <= planned(near_optimal, rates, 1 - rates, 1.0, PASSES) + 1e-9
        )
