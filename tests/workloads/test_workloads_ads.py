"""The ads workload: dense, shared, and as hard to match as asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.errors import InvalidArgument
from matchwood.workloads.ads import ads
from matchwood.workloads.shared.brute import hits


@pytest.mark.few
@pytest.mark.parametrize("matching", [0.001, 0.0001])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_measured_matching_probability_is_the_wanted_one(matching: float, seed: int) -> None:
    work = ads(rules=20_000, events=100, matching=matching, seed=seed)
    measured = np.mean([len(found) for found in hits(work, range(100))]) / 20_000
    assert measured == pytest.approx(matching, rel=0.3)


def test_the_papers_figures() -> None:
    work = ads(rules=30_000, events=1_000)
    said, sizes = work.describe(), np.diff(work.rules.offsets)
    assert said["dimensions"] == 122
    assert said["predicates_per_rule"] == pytest.approx(8, rel=0.03)
    assert (sizes.min(), sizes.max()) == (1, 56)
    assert said["pairs_per_event"] == pytest.approx(20, rel=0.03)
    assert 11 < said["sharing"] < 69


def test_attributes_and_predicates_are_shared_as_zipf_says() -> None:
    work = ads(rules=30_000, events=1_000)
    for attributes in (work.rules.attributes, work.events.attributes):
        uses = np.sort(np.bincount(attributes, minlength=122))[::-1]
        assert uses[:10].sum() > 3 * uses[60:70].sum()
        assert uses.min() > 0
    texts = [predicate for rule in work.rules_text() for predicate in rule.replace(" and a", "\na").split("\n")]
    _, counts = np.unique(texts, return_counts=True)
    counts = np.sort(counts)[::-1]
    assert counts[0] > 20 * counts[1_000] > 100 * counts[8_000]
    assert np.median(counts) < 0.5 * np.mean(counts)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"matching": 0}, "matching must be"),
        ({"matching": 0.5}, "cannot be reached"),
        ({"matching": 1e-7}, "cannot be reached"),
        ({"dimensions": 20}, "dimensions must be"),
        ({"rule_size": 40}, "rule_size must be"),
        ({"event_size": 3}, "event_size"),
        ({"exponent": 3}, "exponent"),
        ({"events": 0}, "at least 1"),
    ],
)
def test_settings_that_cannot_be_met(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ads(**{"rules": 2_000, "events": 10, **settings})
