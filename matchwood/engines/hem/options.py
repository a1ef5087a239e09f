"""The options of `hem`, their bounds, and what they are in the paper.

Sci. China 2016, section 4, and what is ours beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.engines.hem._match_kernels import DIRECT, NEAR, OPTIMUM, PRINTED, TRIANGLE
from matchwood.engines.shared.unions.keeper import BY_COUNTS, NEVER_UNITE, UNIONS

PLANS = {"near": NEAR, "optimum": OPTIMUM, "triangle": TRIANGLE, "direct": DIRECT, "printed": PRINTED}

DEFAULTS: Mapping[str, Any] = {
    "grid": 80,
    "plan": "near",
    "collect": True,
    "direct_cost": 60,
    "passes": False,
    "share": True,
    "unions": BY_COUNTS,
}
LIMITS: Mapping[str, tuple[int, int]] = {"grid": (1, 1000), "direct_cost": (1, 1000)}
CHOICES: Mapping[str, tuple[str, ...]] = {"plan": tuple(PLANS), "unions": UNIONS}

PUBLISHED: Mapping[str, Any] = {
    "plan": "printed",
    "collect": False,
    "direct_cost": 1,
    "passes": True,
    "share": False,
    "unions": NEVER_UNITE,
}
"""Algorithm 4 as printed with Formula 4's costs, Algorithm 1 for each triangle and each event, Algorithm 2's passes."""
