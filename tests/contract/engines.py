"""The engines that keep the contract. A new engine is one more line here, and every test runs on it."""

from __future__ import annotations

ENGINES = ["oracle", "scan", "counting", "pstbloom", "psthash", "betree", "atree"]

EXHAUSTIVE = {"oracle", "scan"}
"""Engines that look at every rule by design; all others must not."""

WHOLE = {"oracle", "atree"}
"""Engines that take every rule whole; all others have a fall-back for those with too many conjunctions."""
