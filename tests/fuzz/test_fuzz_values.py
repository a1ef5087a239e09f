"""Values of every type against attributes of every type: the same verdict on all ways in, or the same error."""

from __future__ import annotations

import random

import pytest

from tests.conftest import SOAK
from tests.fuzz.values import RULES, TYPES, disagreements

VALUES = 1_000_000 // (len(RULES) * len(TYPES)) + 1 if SOAK else 8


@pytest.mark.long(5)
@pytest.mark.parametrize("kind", RULES)
def test_every_way_in_says_the_same(kind: str) -> None:
    for number, arrow in enumerate(TYPES):
        rng = random.Random(f"{kind} {number}")
        left = VALUES
        while left > 0:
            assert disagreements(kind, arrow, rng, min(left, 64)) == []
            left -= 64
