"""The PS-Tree: its paper's experiments (Tables 1 to 3), and beside sorted arrays as predicate spaces."""

from __future__ import annotations

from matchwood.bench import pstree_intervals, pstree_spaces, pstree_workloads
from matchwood.bench.frame import Part
from matchwood.bench.setup import warm_up as warm_up_engines
from matchwood.engines.registry import engine_names


def warm_up() -> None:
    warm_up_engines(engine_names("conjunctions"))
    pstree_spaces.run("smoke")


def parts(scale: str) -> list[Part]:
    return [part for each in (pstree_spaces, pstree_intervals, pstree_workloads) for part in each.parts(scale)]
