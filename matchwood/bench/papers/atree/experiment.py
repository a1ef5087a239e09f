"""The A-Tree on arbitrary expressions: ABE-Gen with its sweeps, ads, and what each of its ideas is worth.

`scan` and `counting` take the same rules as conjunctions, with the rules over the DNF limit beside them. Each index is
built from text; its engines then match encoded events, and are built again in bulk and, some rules, one by one. The
hits of all are equal, are held against brute force for the first events, and against the oracle on a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from matchwood.bench.frame.measure import WrongAnswer, ratio
from matchwood.bench.frame.parts import ExperimentPart
from matchwood.bench.papers.atree.access import measure_choices
from matchwood.bench.papers.atree.cells import TreeCell, first_hits, measure_cell, prepared
from matchwood.bench.papers.atree.deletion import deletion_parts
from matchwood.bench.papers.atree.plan import (
    AS_PUBLISHED,
    PAPER_ADS,
    SIZES,
    VARIANTS,
    TreeCase,
    TreeScale,
    main_cases,
    swept_cases,
)
from matchwood.bench.papers.atree.plan import OWN as OWN_ROW
from matchwood.bench.registry import SMOKE
from matchwood.workloads import abegen

ENGINES = ("scan", "counting", "atree")
OWN = "atree"


def parts(scale: str) -> list[ExperimentPart]:
    cases = (*main_cases(scale), *swept_cases(scale))
    parts = [
        ExperimentPart(case.name, partial(measure, case, SIZES[scale]), case.places, case.settings) for case in cases
    ]
    return parts + deletion_parts(scale)


def warm_up() -> None:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it."""
    small = prepared(abegen(rules=60, events=5, seed=1, dimensions=30))
    for engine in ENGINES:
        measure_cell(engine, small, SIZES[SMOKE])
    for options in VARIANTS.values():
        measure_cell(OWN, small, SIZES[SMOKE], options)
    measure_choices(small, SIZES[SMOKE])


def measure(case: TreeCase, size: TreeScale) -> list[dict[str, Any]]:
    """A row for each engine on one workload, and one for each variant of the A-Tree."""
    workload = case.generate()
    small = prepared(workload)
    cells = [measure_cell(engine, small, size) for engine in ENGINES]
    plain = cells[ENGINES.index(OWN)]
    for name, options in case.variants.items():
        cell = measure_cell(OWN, small, size, options)
        cells.append(cell._replace(row={**cell.row, "engine": f"{OWN}, {name}", **saved(plain.row, cell.row)}))
    cells[ENGINES.index(OWN)] = plain._replace(row={**plain.row, "engine": OWN_ROW})
    if len(case.variants) > len(AS_PUBLISHED):
        cells += measure_choices(small, size)
    check_agreement(cells)
    said = workload.describe()
    shared = {
        "workload": case.name,
        "predicates_per_rule": round(said["predicates_per_rule"], 2),
        "sharing": round(said["sharing"], 2),
    }
    return [_row(case, shared, cell.row, cells[0].row) for cell in cells]


def saved(plain: Mapping[str, Any], without: Mapping[str, Any]) -> dict[str, float]:
    """The share of the time of matching and of bytes that an A-Tree saves by an idea that it lacks in `without`.

    >>> saved({"match_us": 1.0, "bytes": 50}, {"match_us": 4.0, "bytes": 40})
    {'saves_time': 0.75, 'saves_bytes': -0.25}
    """
    return {
        "saves_time": round(1 - plain["match_us"] / without["match_us"], 3),
        "saves_bytes": round(1 - plain["bytes"] / without["bytes"], 3),
    }


def check_agreement(cells: Iterable[TreeCell]) -> None:
    """All hits of all events are equal; one that had time for fewer events is held against the others' first ones."""
    first, *others = cells
    for other in others:
        events = min(first.events, other.events)
        if not first_hits(other.hits, events).equals(first_hits(first.hits, events)):
            raise WrongAnswer(f"{other.row['engine']} has {other.hits.num_rows:,} hits, {first.row['engine']} others")


def _row(case: TreeCase, shared: Mapping[str, Any], own: Mapping[str, Any], scan: Mapping[str, Any]) -> dict[str, Any]:
    paper = PAPER_ADS.get(own["engine"], {}) if case.name.startswith("ads") else {}
    return {**own, **shared, "ratio_to_scan": ratio(scan, own), **paper}
