"""The algebra of sets of values, against plain membership."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.logic import cuts as sets

POINTS = [-1.0, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5.0, math.inf, math.nan]
_CUTS = [(), *((value, side) for value in range(5) for side in (0, 1)), (math.inf, 0), (math.inf, 1)]

cut_sets = st.lists(st.sampled_from(_CUTS), unique=True).map(lambda cuts: tuple(sorted(cuts)))


def members(cuts: sets.CutSet) -> list[bool]:
    """Which of the points lie in a set, by counting the cuts below each one by one."""
    return [sum(_is_before(cut, point) for cut in cuts) % 2 == 1 for point in POINTS]


def _is_before(cut: sets.Cut, point: float) -> bool:
    if cut == ():
        return True
    value, side = cut
    return math.isnan(point) or value < point or (value == point and side == 0)


def is_canonical(cuts: sets.CutSet) -> bool:
    return all(low < high for low, high in pairwise(cuts))


@given(cut_sets, cut_sets)
def test_union_intersection_and_difference_are_those_of_the_members(left: sets.CutSet, right: sets.CutSet) -> None:
    pairs = list(zip(members(left), members(right), strict=True))
    for result, expected in (
        (sets.union(left, right), [a or b for a, b in pairs]),
        (sets.intersection(left, right), [a and b for a, b in pairs]),
        (sets.difference(left, right), [a and not b for a, b in pairs]),
    ):
        assert members(result) == expected
        assert is_canonical(result)


@given(cut_sets)
def test_a_complement_holds_the_rest_and_returns(cuts: sets.CutSet) -> None:
    assert members(sets.complement(cuts)) == [not each for each in members(cuts)]
    assert sets.complement(sets.complement(cuts)) == cuts


@given(cut_sets, cut_sets)
def test_subset_is_an_intersection_that_changes_nothing(inner: sets.CutSet, outer: sets.CutSet) -> None:
    assert sets.is_subset(inner, outer) == (sets.intersection(inner, outer) == inner)
    assert sets.is_subset(sets.intersection(inner, outer), outer)


@given(st.lists(cut_sets, max_size=5))
def test_many_sets_at_once_are_the_same_as_one_after_the_other(many: list[sets.CutSet]) -> None:
    union, intersection = sets.EMPTY, sets.FULL
    for each in many:
        union, intersection = sets.union(union, each), sets.intersection(intersection, each)
    assert sets.union_all(many) == union
    assert sets.intersection_all(many) == intersection


@given(cut_sets)
def test_contains_agrees_with_the_members(cuts: sets.CutSet) -> None:
    assert [sets.contains(cuts, point) for point in POINTS] == members(cuts)


NAN = math.nan
ORDER = [-1.0, 0, 1, math.inf, NAN]


@pytest.mark.parametrize("constant", ORDER)
@pytest.mark.parametrize(
    ("build", "holds"),
    [
        (sets.below, lambda value, constant: value < constant),
        (sets.at_most, lambda value, constant: value <= constant),
        (sets.above, lambda value, constant: value > constant),
        (sets.at_least, lambda value, constant: value >= constant),
        (sets.exactly, lambda value, constant: value == constant),
        (lambda value: sets.one_of([value]), lambda value, constant: value == constant),
    ],
)
def test_comparisons_place_nan_above_all_numbers(build: Any, holds: Any, constant: float) -> None:
    ranks = range(len(ORDER))
    place = next(rank for rank in ranks if ORDER[rank] is constant or ORDER[rank] == constant)
    cuts = build(constant)
    assert [sets.contains(cuts, value) for value in ORDER] == [holds(rank, place) for rank in ranks]
    assert is_canonical(cuts)


@pytest.mark.parametrize(
    ("low", "high", "inside"),
    [(0, 2, [0, 1, 2]), (2, 0, []), (1, 1, [1]), (1, NAN, [1, 2, NAN]), (NAN, 1, []), (NAN, NAN, [NAN])],
)
def test_between_includes_both_ends(low: float, high: float, inside: list[float]) -> None:
    points = [0, 1, 2, NAN]
    assert [str(point) for point in points if sets.contains(sets.between(low, high), point)] == list(map(str, inside))


def test_intervals_have_open_and_closed_ends() -> None:
    assert sets.interval(1, 3) == sets.between(1, 3)
    assert sets.interval(1, 3, low_open=True) == ((1, 1), (3, 1))
    assert sets.interval("fre", "frf", high_open=True) == (("fre", 0), ("frf", 0))
    assert sets.interval(1, 1, high_open=True) == sets.EMPTY


def test_one_of_takes_values_in_any_order_and_repeated() -> None:
    assert sets.one_of([2, 1, 2.0, 1]) == ((1, 0), (1, 1), (2, 0), (2, 1))
    assert sets.one_of(["b", "a"]) == (("a", 0), ("a", 1), ("b", 0), ("b", 1))
    assert sets.one_of([NAN, math.inf, 1, NAN]) == ((1, 0), (1, 1), (math.inf, 0))


def test_one_of_holds_ten_thousand_values() -> None:
    values = random.Random(1).sample(range(1_000_000), 10_000)
    cuts = sets.one_of(values)
    assert is_canonical(cuts)
    assert len(cuts) == 20_000
    assert all(sets.contains(cuts, value) for value in values)
    assert not any(sets.contains(cuts, value + 0.5) for value in values)


def test_integers_and_doubles_are_one_exact_order() -> None:
    large = 2**53
    assert not sets.contains(sets.exactly(large + 1), float(large))
    assert sets.contains(sets.above(float(large)), large + 1)
    assert sets.contains(sets.exactly(0.0), -0.0)
