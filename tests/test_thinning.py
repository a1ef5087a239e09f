"""A thinned product has every value, or every two together, and nothing else is thinned."""

from __future__ import annotations

import itertools

import pytest

from tests.conftest import SOAK
from tests.thinning import covering

AXES = {"engine": range(10), "way": range(4), "limit": range(3), "saved": range(2)}
PRODUCT = [dict(zip(AXES, values, strict=True)) for values in itertools.product(*AXES.values())]


@pytest.mark.parametrize(("strength", "most"), [(0, 1), (1, 10), (2, 48), (4, len(PRODUCT))])
def test_all_combinations_are_kept_in_few_rows(strength: int, most: int) -> None:
    few = [PRODUCT[number] for number in covering(PRODUCT, strength, "a test")]
    for names in itertools.combinations(AXES, strength):
        met = {tuple(row[name] for name in names) for row in few}
        assert met == set(itertools.product(*(AXES[name] for name in names)))
    assert len(few) <= most


def test_tests_have_different_parts() -> None:
    parts = {tuple(covering(PRODUCT, 1, name)) for name in ("one", "another", "a third")}
    assert len(parts) == 3


def test_one_parameter_is_kept_whole() -> None:
    assert covering([{"seed": number} for number in range(5)], 1, "x") == [0, 1, 2, 3, 4]
    assert covering([], 1) == []
    assert covering([{"seed": number} for number in range(5)], 2) == [0, 1, 2, 3, 4]


@pytest.mark.few
@pytest.mark.parametrize("one", range(7))
@pytest.mark.parametrize("other", range(7))
def test_a_marked_test_is_thinned(request: pytest.FixtureRequest, one: int, other: int) -> None:
    own = [item for item in request.session.items if item.name.startswith("test_a_marked_test_is_thinned[")]
    assert len(own) == (49 if SOAK else 7)
