"""The engines that keep the contract. A new engine is one more line here, and every test runs on it."""

from __future__ import annotations

import pytest

from tests.conftest import SOAK

ENGINES = ["oracle", "scan", "counting", "kindex", "pstbloom", "psthash", "hem", "betree", "atree", "auto"]

EXHAUSTIVE = {"oracle", "scan"}
"""Engines that look at every rule by design; all others must not."""

CLAUSES = {"kindex"}
"""Engines that take a rule as clauses where it has too many conjunctions, and not too many of those."""

WHOLE = {"oracle", "atree"}
"""Engines that take every rule whole; all others have a fall-back for those with too many conjunctions."""

of_each_kind = pytest.mark.parametrize(
    "engine", ENGINES if SOAK else ["oracle", "counting", "kindex", "atree", "auto"], indirect=True
)
"""For tests of what all engines share, such as locks and inputs: in the short form on one engine of each kind, those
over conjunctions, over clauses and over whole rules, and `auto`, which has all of them."""
