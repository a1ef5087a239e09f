"""The PS-Tree: its paper's experiments (Tables 1 to 3), and beside sorted arrays as predicate spaces."""

from __future__ import annotations

from typing import Any

from matchwood.bench import pstree_intervals, pstree_spaces, pstree_workloads
from matchwood.bench.setup import warm_up
from matchwood.engines.registry import engine_names


def run(scale: str) -> dict[str, Any]:
    warm_up(engine_names("conjunctions"))
    pstree_spaces.run("smoke")
    parts = (pstree_spaces, pstree_intervals, pstree_workloads)
    return {"experiment": "pstree", "scale": scale, "rows": [row for part in parts for row in part.run(scale)]}
