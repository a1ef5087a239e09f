"""Arbitrary ads: the paper's sizes and depths, shared as Zipf says, and as hard to match as asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.errors import InvalidArgument
from matchwood.workloads.ads_arbitrary import ads_arbitrary
from matchwood.workloads.shared.base import Workload
from matchwood.workloads.shared.brute import hits
from matchwood.workloads.shared.trees import AND, JUNCTIONS, OR, occurrences


@pytest.fixture(scope="module")
def work() -> Workload:
    return ads_arbitrary(rules=30_000, events=200, seed=1)


def test_the_papers_figures(work: Workload) -> None:
    said, counts = work.describe(), np.diff(work.rules.offsets)
    assert (said["dimensions"], said["depth"]) == (122, 9)
    assert said["predicates_per_rule"] == pytest.approx(8, rel=0.05)
    assert (counts.min(), counts.max()) == (1, 56)
    assert said["pairs_per_event"] == pytest.approx(20, rel=0.03)
    depths = np.searchsorted(work.trees.levels, work.trees.roots, side="right")
    assert np.unique(depths).tolist() == list(range(1, 10))
    assert len(np.unique(work.trees.roots)) == pytest.approx(30_000 / 2.88, rel=0.01)


def test_predicates_are_shared_the_most_and_whole_rules_the_least(work: Workload) -> None:
    ratios = work.describe()["sharing_by_level"]
    assert work.describe()["sharing"] > 10
    assert ratios[0] > max(ratios[1:]) > min(ratios) > 2
    uses = np.sort(occurrences(work.trees)[: work.trees.levels[1]])[::-1]
    assert uses[0] > 20 * uses[1_000] > 20 * uses[8_000]


def test_operators_alternate(work: Workload) -> None:
    """An `and` below an `and` would be the same node, and the depth a pretence."""
    trees, first = work.trees, work.trees.levels[1]
    assert {JUNCTIONS[code] for code in np.unique(trees.junctions)} == set(JUNCTIONS)
    parents = np.repeat(np.arange(len(trees.junctions)), np.diff(trees.offsets))
    inner = trees.children >= first
    pairs = trees.junctions[parents[inner]], trees.junctions[trees.children[inner] - first]
    for code in (AND, OR):
        assert not ((pairs[0] == code) & (pairs[1] == code)).sum() > 0.001 * len(trees.roots)


@pytest.mark.few(0)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_measured_matching_probability_is_the_wanted_one(seed: int) -> None:
    work = ads_arbitrary(rules=20_000, events=100, seed=seed)
    measured = np.mean([len(found) for found in hits(work, range(100))]) / 20_000
    assert measured == pytest.approx(0.001, rel=0.35)


def test_without_repeats_every_rule_is_drawn_for_itself() -> None:
    work = ads_arbitrary(rules=3_000, events=5, repeats=1)
    roots = work.trees.roots[work.trees.roots >= work.trees.levels[1]]
    assert len(np.unique(roots)) == len(roots)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeats": 0.5}, "repeats must be"),
        ({"matching": 0.5}, "cannot be reached"),
        ({"matching": 0}, "matching must be"),
        ({"event_size": 3}, "event_size"),
    ],
)
def test_settings_that_cannot_be_met(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ads_arbitrary(**{"rules": 2_000, "events": 10, **settings})
