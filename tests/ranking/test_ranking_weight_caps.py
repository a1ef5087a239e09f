"""Bounds that are given for an index: rules that weigh more are refused, and what is promised never rises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import matchwood as mw

BOUNDS: dict[str, Any] = {"state": {"NY": 4.0, "CA": 1.5}, "age": 2.0, "tags": {"x": 3.0}}


def index_with(bounds: dict[str, Any], **options: Any) -> mw.Index:
    return mw.Index("kindex", options={"bounds": bounds, **options})


@pytest.mark.parametrize(
    ("rule", "weights"),
    [
        ("state = 'NY'", {"state": 4.0}),
        ("state in ('NY', 'CA')", {"state": {"NY": 4.0, "CA": 1.5}}),
        ("state = 'TX'", {"state": {"NY": 9.0}}),
        ("state like 'N%'", {"state": {"NY": 4.0}}),
        ("age >= 3", {"age": {"7": 2.0}}),
        ("age != 3", {"age": 7.0}),
        ("tags one of ('x', 'y')", {"tags": {"x": 3.0}}),
        ("city = 'Rome'", {"city": 50.0}),
    ],
)
def test_weights_within_the_bounds_are_taken(rule: str, weights: dict[str, Any]) -> None:
    index = index_with(BOUNDS)
    assert index.insert_many([(1, rule, {"weights": weights})]).rejected.num_rows == 0


@pytest.mark.parametrize(
    ("rule", "weights", "said"),
    [
        ("state in ('NY', 'CA')", {"state": 4.0}, "'state' weighs 4, above the bound 1.5"),
        ("state = 'TX'", {"state": {"TX": 1.5}}, "'state' weighs 1.5, above the bound 1"),
        ("state like 'C%'", {"state": {"CA": 2.0}}, "'state' weighs 2, above the bound 1.5"),
        ("age > 3 or city = 'Rome'", {"age": {"7": 2.5}}, "'age' weighs 2.5, above the bound 2"),
        ("tags one of ('x', 'y')", {"tags": {"y": 3.0}}, "'tags' weighs 3, above the bound 1"),
    ],
)
def test_weights_above_a_bound_are_refused(rule: str, weights: dict[str, Any], said: str) -> None:
    rejected = index_with(BOUNDS).insert_many([(1, rule, {"weights": weights})]).rejected
    assert said in rejected["error"][0].as_py()


def test_a_predicate_without_a_weight_weighs_1() -> None:
    index = index_with({"age": 0.5})
    with pytest.raises(mw.InvalidArgument, match=r"'age' weighs 1, above the bound 0\.5"):
        index[1] = "age = 3"
    index[2] = "age != 3"
    assert len(index) == 1


@pytest.mark.parametrize("bounds", [{"age": -1.0}, {"age": "high"}, {"age": {"3": float("inf")}}])
def test_bounds_are_spelled_as_weights_are(bounds: dict[str, Any]) -> None:
    with pytest.raises(mw.InvalidArgument, match="option 'bounds'"):
        index_with(bounds)


@pytest.mark.parametrize("direct", [True, False])
def test_given_bounds_do_not_rise_and_the_best_stay_the_best(direct: bool, tmp_path: Path) -> None:
    """Two indexes of the same rules: what the given bounds promise is there before the heavy rule is."""
    rules = [(n, f"age = {n % 3} and state = 'NY'", {"weights": {"age": 0.1 * (n % 7)}}) for n in range(40)]
    heavy = (99, "age = 1 and state = 'NY'", {"weights": {"age": 2.0, "state": 4.0}})
    given, computed = index_with(BOUNDS, direct=direct), mw.Index("kindex", options={"direct": direct})
    for index in (given, computed):
        index.insert_many(rules)
    promised = [index._matcher.parts[0].bounds.view().pieces.copy() for index in (given, computed)]
    for index in (given, computed):
        index.insert_many([heavy])
    assert (given._matcher.parts[0].bounds.view().pieces == promised[0]).all()
    assert (computed._matcher.parts[0].bounds.view().pieces != promised[1]).any()
    event, weights = {"age": 1, "state": "NY"}, {"age": 0.5}
    assert given.top(event, 4, weights) == computed.top(event, 4, weights)
    assert given.top(event, 1) == [(99, 6.0)]
    given.save(tmp_path / "index")
    again = mw.open(tmp_path / "index")
    assert again.top(event, 1) == [(99, 6.0)]
    with pytest.raises(mw.InvalidArgument, match="above the bound"):
        again.insert_many([(100, "age = 1", {"weights": {"age": 3.0}})], on_error="raise")
