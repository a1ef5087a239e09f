"""The PS-Tree: its paper's experiments (Tables 1 to 3), and beside sorted arrays as predicate spaces."""

from __future__ import annotations

from matchwood.bench.frame.parts import ExperimentPart
from matchwood.bench.frame.setup import warm_up as warm_up_engines
from matchwood.bench.papers.pst import intervals as pstree_intervals
from matchwood.bench.papers.pst import spaces as pstree_spaces
from matchwood.bench.papers.pst import workloads as pstree_workloads
from matchwood.engines import engine_names


def warm_up() -> None:
    warm_up_engines(engine_names("conjunctions"))
    pstree_spaces.run("smoke")


def parts(scale: str) -> list[ExperimentPart]:
    return [part for each in (pstree_spaces, pstree_intervals, pstree_workloads) for part in each.parts(scale)]
