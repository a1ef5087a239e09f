"""The experiments of the PS-Tree paper: intervals that hold a point (Table 3), Ads (Table 2), the sweeps of Table 1."""

from __future__ import annotations

from typing import Any

from matchwood.bench import pstree_intervals, pstree_workloads
from matchwood.bench.setup import warm_up
from matchwood.engines.registry import engine_names


def run(scale: str) -> dict[str, Any]:
    warm_up(engine_names())
    return {
        "experiment": "pstree",
        "scale": scale,
        "rows": [*pstree_intervals.run(scale), *pstree_workloads.run(scale)],
    }
