"""Query logs: sizes as the paper prints them, keywords cut as it says."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.errors import InvalidArgument
from matchwood.workloads.query_logs import LETTERS, LogSettings, _vocabulary, cuts_of, query_logs
from matchwood.workloads.shared.base import EQUAL
from matchwood.workloads.shared.brute import hits


def test_sizes_are_those_of_the_paper() -> None:
    """7.3: 17,577 dimensions, 2.78 predicates a rule, 93.07 pairs an event."""
    work = query_logs(rules=20_000, events=300, seed=2)
    described = work.describe()
    assert described["dimensions"] == pytest.approx(17_577, rel=0.05)
    assert described["predicates_per_rule"] == pytest.approx(2.78, rel=0.01)
    assert described["pairs_per_event"] == pytest.approx(93.07, rel=0.02)
    assert set(work.rules.operators.tolist()) == {EQUAL}


def test_popular_words_are_shared_and_short_queries_match() -> None:
    work = query_logs(rules=5_000, events=60, seed=3)
    found = hits(work, range(60))
    share = sum(map(len, found)) / 60 / 5_000
    assert 0.001 < share < 0.02
    sizes = np.diff(work.rules.offsets)
    assert np.mean(sizes[np.concatenate(found)]) < np.mean(sizes)
    assert work.describe()["sharing"] > 1.5


@pytest.mark.parametrize(
    ("length", "attribute", "value"), [(2, 1, 1), (3, 1, 2), (5, 2, 3), (6, 3, 3), (7, 3, 3), (12, 3, 3)]
)
def test_keywords_are_cut(length: int, attribute: int, value: int) -> None:
    end, last = cuts_of(length)
    assert (end, last - end) == (attribute, value)


def test_values_are_the_letters_behind_the_attribute() -> None:
    words = _vocabulary(LogSettings(words=5_000, seed=1))
    assert words.values.min() >= 1
    assert (LETTERS + 1) ** 2 < words.values.max() < (LETTERS + 1) ** 3
    assert len(np.unique(words.attributes)) == words.dimensions
    assert (np.diff(words.weights) < 0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rules": 0}, "at least 1"),
        ({"words": 100}, "20 times"),
        ({"event_size": 2}, "at least 5"),
        ({"skipped": -1}, "skipped"),
    ],
)
def test_settings_are_checked(settings: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        query_logs(**settings)
