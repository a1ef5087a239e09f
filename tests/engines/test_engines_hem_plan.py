"""The cost model of HEM: Algorithm 4 beside the optimum, and the optimum beside all plans there are."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from engines_support import COMPILED
from numpy.typing import NDArray

from matchwood.engines.hem._optimum_kernels import optimum, search_optimum
from matchwood.engines.hem._plan_kernels import (
    DECIDED,
    PASSES,
    VERIFIED,
    near_optimal,
    plan_cost,
    printed,
    sort_attributes,
)
from tests.conftest import SOAK

Rates = NDArray[np.float64]

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Rates]] = {
    "uniform": lambda rng, count: rng.random(count),
    "selective": lambda rng, count: rng.beta(1, 6, count),
    "wide": lambda rng, count: rng.beta(6, 1, count),
    "alike": lambda rng, count: np.clip(rng.random() + rng.normal(0, 0.02, count), 0.01, 0.99),
}
VECTORS = (400 if SOAK else 120) if COMPILED else 4


def paper_costs(rates: Rates) -> Rates:
    """Formula 4: a triangle costs the share that it excludes."""
    return 1 - rates


def planned(kernel: Callable[..., int], rates: Rates, costs: Rates, direct: float, way: int) -> float:
    order = np.empty(len(rates), np.int64)
    chosen = kernel(rates, costs, len(rates), direct, way, order)
    assert sorted(order.tolist()) == list(range(len(rates)))
    assert chosen >= 1
    return plan_cost(rates, costs, len(rates), direct, way, order, chosen)


@pytest.mark.long(1)
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


def printed_line_by_line(rates: Rates) -> float:
    """Algorithm 4 line by line, and what its plan costs."""
    ordered = np.sort(rates)
    total, left, direct = 0.0, 1.0, False
    for place, rate in enumerate(ordered):
        direct = direct or (place > 0 and left <= 1 - rate)
        total += left if direct else 1 - rate
        left *= rate
    return total


@pytest.mark.long(2)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_printed_plan_is_algorithm_4_line_by_line(name: str) -> None:
    rng = np.random.default_rng(7)
    for number in range(VECTORS):
        rates, order = DISTRIBUTIONS[name](rng, 1 + number % 10), np.empty(10, np.int64)
        chosen = printed(rates, paper_costs(rates), len(rates), 1.0, order)
        cost = plan_cost(rates, paper_costs(rates), len(rates), 1.0, PASSES, order, chosen)
        assert cost == pytest.approx(printed_line_by_line(rates))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_going_on_behind_the_first_direct_attribute_never_costs_more(name: str) -> None:
    rng, gained = np.random.default_rng(8), 0
    for number in range(VECTORS):
        rates = DISTRIBUTIONS[name](rng, 3 + number % 10)
        ours, theirs = planned(near_optimal, rates, paper_costs(rates), 1.0, PASSES), printed_line_by_line(rates)
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


WAYS = pytest.mark.parametrize("way", [PASSES, DECIDED, VERIFIED])


def best_subset(rates: Rates, costs: Rates, direct: float, way: int) -> float:
    """The cheapest of all sets of triangles but the empty one; direct passes by ascending rates."""
    best, count = np.inf, len(rates)
    for size in range(1, count + 1):
        for subset in itertools.combinations(range(count), size):
            others = sorted(set(range(count)) - set(subset), key=lambda each: rates[each])
            order = np.array([*subset, *others], np.int64)
            best = min(best, plan_cost(rates, costs, count, direct, way, order, size))
    return best


@WAYS
@pytest.mark.parametrize("direct", [0.01, 1.0, 60.0])
def test_the_optimum_is_that_of_all_sets(way: int, direct: float) -> None:
    """Also with rates of 0 and 1, triangles that cost nothing or more than they can save, and equal attributes."""
    rng = np.random.default_rng(12)
    for number in range(150 if COMPILED else 3):
        count = 1 + number % 7
        rates = DISTRIBUTIONS[list(DISTRIBUTIONS)[number % 4]](rng, count)
        costs = rng.random(count) if number % 3 else paper_costs(rates)
        rates[rng.random(count) < 0.1] = rng.choice([0.0, 1.0])
        costs[rng.random(count) < 0.1] = rng.choice([0.0, 100.0])
        if number % 5 == 0:
            rates[:], costs[:] = rates[0], costs[0]
        found = planned(optimum, rates, costs, direct, way)
        assert found == pytest.approx(best_subset(rates, costs, direct, way), rel=1e-9, abs=1e-12)


@pytest.mark.long(2)
@pytest.mark.few
@pytest.mark.skipif(not COMPILED, reason="needs many attributes")
@WAYS
@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("count", [17, 40, 100])
def test_the_optimum_is_proven_and_never_worse_with_many_attributes(way: int, name: str, count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(5):
        rates, order = DISTRIBUTIONS[name](rng, count), np.empty(count, np.int64)
        costs = paper_costs(rates) if way == PASSES else np.minimum(rates, 1 - rates) + 0.01
        direct = 1.0 if way == PASSES else 60.0
        chosen, proven = search_optimum(rates, costs, count, direct, way, 1 << 16, order)
        assert proven
        cost = plan_cost(rates, costs, count, direct, way, order, chosen)
        assert cost <= planned(near_optimal, rates, costs, direct, way) + 1e-12
        for attribute in range(count):  # no triangle more or less would be better
            taken = set(order[:chosen].tolist()) ^ {attribute}
            others = sorted(set(range(count)) - taken, key=lambda each: rates[each])
            other = np.array([*taken, *others], np.int64)
            if taken:
                assert cost <= plan_cost(rates, costs, count, direct, way, other, len(taken)) + 1e-9


@WAYS
@pytest.mark.parametrize("count", [16, 17, 20, 60] if COMPILED else [5])
def test_equal_attributes_by_the_dozen(way: int, count: int) -> None:
    """17 such attributes once cost 26.6 where the near-optimal plan costs 0.17."""
    rates, costs = np.full(count, 0.95), np.full(count, 0.01)
    best = min(plan_cost(rates, costs, count, 60.0, way, np.arange(count), chosen) for chosen in range(1, count + 1))
    assert planned(optimum, rates, costs, 60.0, way) == pytest.approx(best)


@WAYS
def test_a_search_that_is_cut_short_says_so_and_is_no_worse_than_the_near_optimal_plan(way: int) -> None:
    rng, cut = np.random.default_rng(13), 0
    for _ in range(40 if COMPILED else 4):
        rates, costs, order = rng.beta(6, 1, 12), rng.random(12) * 0.3, np.empty(12, np.int64)
        chosen, proven = search_optimum(rates, costs, 12, 2.0, way, 3, order)
        cost = plan_cost(rates, costs, 12, 2.0, way, order, chosen)
        assert cost <= planned(near_optimal, rates, costs, 2.0, way) + 1e-12
        cut += not proven
        if proven:
            assert cost == pytest.approx(planned(optimum, rates, costs, 2.0, way))
    assert cut > 0
