"""The engines that keep the contract. A new engine is one more line here, and every test runs on it."""

from __future__ import annotations

ENGINES = ["oracle", "scan", "counting", "pstbloom", "psthash"]

EXHAUSTIVE = {"oracle", "scan"}
"""Engines that look at every rule by design; all others must not."""
