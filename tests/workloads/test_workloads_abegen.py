"""ABE-Gen: the shares and sizes of Table 3, and the sharing that the paper prints for its defaults."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from matchwood.errors import InvalidArgument
from matchwood.language import parse
from matchwood.language.tree import And, Not, Or, Predicate, Xnor, Xor
from matchwood.workloads.abegen import abegen
from matchwood.workloads.shared.base import BETWEEN, IN, OPERATORS, WEAK_NOT_IN
from matchwood.workloads.shared.brute import hits
from matchwood.workloads.shared.trees import JUNCTIONS


def matching(**settings: Any) -> float:
    work = abegen(rules=4_000, events=60, seed=2, **settings)
    return float(np.mean([len(found) for found in hits(work, range(60))]) / 4_000)


def test_the_papers_defaults() -> None:
    work = abegen(rules=50_000, events=500)
    said = work.describe()
    assert (said["dimensions"], said["depth"], said["cardinality"]) == (1_000, 3, 100)
    assert said["predicates_per_rule"] == pytest.approx(3.5**2, rel=0.02)
    assert said["pairs_per_event"] == pytest.approx(20, rel=0.02)
    assert said["sharing_by_level"][0] == pytest.approx(18.35, rel=0.05)
    assert said["sharing_by_level"][1:] == [pytest.approx(4.33, rel=0.03), 1]
    shares = np.bincount(work.trees.junctions) / len(work.trees.junctions)
    assert shares == pytest.approx([0.4, 0.4, 0.1, 0.05, 0.05], abs=0.01)
    assert {OPERATORS[code] for code in np.unique(work.rules.operators)} == set(OPERATORS[:WEAK_NOT_IN])
    assert (work.rules.constants.min(), work.rules.constants.max()) == (1, 100)


def test_every_tree_has_the_depth_and_the_children() -> None:
    operands = {And: 3, Or: 3, Not: 1, Xor: 2, Xnor: 2}
    for text in abegen(rules=150, events=1, depth=4, children=3).rules_text():
        level = [parse(text)]
        for _ in range(3):
            assert [len(node.operands) for node in level] == [operands[type(node)] for node in level]
            level = [child for node in level for child in node.operands]
        assert all(isinstance(node, Predicate) for node in level)


def test_operator_shares_are_a_control() -> None:
    work = abegen(rules=2_000, events=1, junctions=(0, 0, 0, 1, 0))
    assert {JUNCTIONS[code] for code in np.unique(work.trees.junctions)} == {"xor"}
    assert {type(parse(text)) for text in work.rules_text()[:200]} == {Xor}


def test_alpha_is_how_much_is_shared() -> None:
    levels = [abegen(rules=5_000, events=1, alpha=alpha).describe()["sharing_by_level"] for alpha in (0, 0.2, 0.6, 1)]
    assert levels[0] == [1, 1, 1]
    for lower, higher in pairwise(levels):
        assert lower[0] < higher[0]
        assert lower[1] < higher[1]


def test_more_dimensions_and_values_match_less_larger_events_more() -> None:
    usual = matching()
    assert matching(dimensions=100) > 2 * usual > 2 * matching(dimensions=10_000) > 0
    assert matching(cardinality=3) > 1.5 * usual > 1.5 * matching(cardinality=1_000) > 0
    assert matching(event_size=30) > 1.2 * usual > 1.2 * matching(event_size=5) > 0


def test_popular_dimensions_do_not_change_what_matches() -> None:
    even, skewed = abegen(rules=4_000, events=1, dimension_alpha=0), abegen(rules=4_000, events=1, dimension_alpha=1)
    tops = [
        np.sort(np.bincount(work.trees.predicates.attributes, minlength=1_000))[-20:].sum() for work in (even, skewed)
    ]
    assert tops[1] > 4 * tops[0]
    assert matching(dimension_alpha=1) == pytest.approx(matching(dimension_alpha=0), rel=0.5)


def test_a_depth_of_one_is_a_single_predicate() -> None:
    work = abegen(rules=3_000, events=50, depth=1)
    assert np.diff(work.rules.offsets).tolist() == [1] * 3_000
    assert work.describe()["sharing_by_level"] == [pytest.approx(4.33, rel=0.1)]
    assert sum(map(len, hits(work, range(50)))) > 0


@pytest.mark.parametrize("cardinality", [2, 3, 100])
def test_lists_and_ranges_are_well_formed(cardinality: int) -> None:
    rules = abegen(rules=2_000, events=1, cardinality=cardinality).rules
    for code, most in ((IN, 4), (BETWEEN, 2)):
        for number in np.flatnonzero(rules.operators == code)[:500]:
            elements = rules.constants[rules.constant_offsets[number] : rules.constant_offsets[number + 1]]
            assert 2 <= len(elements) <= most
            assert (np.diff(elements) > 0).all() if code == IN else 0 <= elements[1] - elements[0] <= 9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rules": 0}, "at least 1"),
        ({"events": 0}, "at least 1"),
        ({"depth": 0}, "depth must be"),
        ({"children": 1}, "children must be"),
        ({"alpha": 1.5}, "alpha must be from 0 to 1"),
        ({"dimension_alpha": -1}, "dimension_alpha"),
        ({"dimensions": 20}, "dimensions must be"),
        ({"cardinality": 1}, "cardinality must be"),
        ({"event_size": 0}, "event_size must be"),
        ({"junctions": (0.5, 0.5)}, "5 shares"),
        ({"junctions": (0.5, 0.5, 0.5, 0, 0)}, "add up to 1"),
        ({"rules": 1_000_000, "depth": 6}, "predicates"),
        ({"events": 5_000, "event_size": 1, "dimensions": 2, "cardinality": 2}, "different events"),
    ],
)
def test_settings_that_cannot_be_met(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        abegen(**{"rules": 100, "events": 10, **settings})
