"""q-grams of strings: what the paper's example becomes, and that each event matches the name that it begins with."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.errors import InvalidArgument
from matchwood.workloads.qgrams import LETTERS, _grams, qgrams
from matchwood.workloads.shared.brute import hits


def letters(gram: int) -> str:
    codes = (gram // LETTERS**2, gram // LETTERS % LETTERS, gram % LETTERS)
    return "".join(" " if not code else chr(ord("a") + code - 1) for code in codes)


def test_the_papers_example() -> None:
    assert {letters(gram) for gram in _grams("STRING").tolist()} == {"str", "tri", "rin", "ing"}
    assert [letters(gram) for gram in _grams("ANANAS").tolist()] == ["ana", "nan"], "the first follower is kept"


def test_every_event_matches_a_rule() -> None:
    work = qgrams(rules=800, events=30, seed=2)
    assert all(len(found) for found in hits(work, range(30)))
    sizes = np.diff(work.rules.offsets)
    assert 15 < sizes.mean() < 40
    again = qgrams(rules=800, events=30, seed=2)
    assert np.array_equal(work.rules.constants, again.rules.constants)


def test_no_more_rules_than_names() -> None:
    with pytest.raises(InvalidArgument, match="rules must be from 1 to"):
        qgrams(rules=10**7, events=1)
