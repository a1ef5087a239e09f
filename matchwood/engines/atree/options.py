"""The options of an A-Tree: each switches one of its ideas off, as the measurements of its parts need.

SIGMOD 2021, the switches of its micro-experiments (6.3, Figs. 8 to 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEFAULTS: Mapping[str, Any] = {
    "unique": True,
    "reorganise": True,
    "self_adjust": True,
    "zero_suppression": True,
    "on_demand": True,
    "binary": False,
    "bounded": True,
}

PUBLISHED: Mapping[str, Any] = {"bounded": False}
"""Algorithms 2 and 3 look at every node that may be a part, and at every node that may adopt one."""
