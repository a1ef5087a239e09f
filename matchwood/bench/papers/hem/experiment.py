"""HEM on its own paper's workloads (Table 1), next to `scan` and to REIN, TAMA and H-TREE, compiled as our engines are.

Rules are intervals on all attributes. Every structure takes the same rules in batches of a thousand, matches the same
events, and deletes some rules. What finding an event's spaces takes the engines is told apart, and is in
`us_per_event`; the rivals hold values against intervals as they are. The hits of all exact ones are equal, for the
first events those of brute force; TAMA finds some too many, never too few.

`hem_share` is the time of our default, finding spaces included, as a share of that row's, `published_share` that of HEM
as published, to hold against `paper_share`: what the paper found, on average over Fig. 5.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from matchwood.bench.frame.encoded_rules import CHECKED_EVENTS, Encoded, encoded
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.papers.hem.cells import RIVALS, IntervalCell, check_cells, measure_engine_cell, measure_rival_cell
from matchwood.bench.papers.hem.plan import (
    AS_PUBLISHED,
    OWN,
    PAPER,
    SIZES,
    VARIANTS,
    IntervalCase,
    IntervalScale,
    cases,
)
from matchwood.bench.registry import SMOKE
from matchwood.workloads import hits as brute_force


def parts(scale: str) -> list[ExperimentPart]:
    return [
        ExperimentPart(case.name, partial(measure, case, SIZES[scale]), case.places, case.settings)
        for case in cases(scale)
    ]


def warm_up() -> None:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it."""
    measure(cases(SMOKE)[0]._replace(grids=()), SIZES[SMOKE])


def measure(case: IntervalCase, size: IntervalScale) -> list[dict[str, Any]]:
    """A row for each engine, each variant of HEM and each rival on one workload, and one for each size of the grid."""
    workload = case.generate()
    prepared = encoded(workload)
    cells = [measure_engine_cell("scan", {}, prepared, size)]
    cells += [measure_engine_cell(name, options, prepared, size) for name, options in VARIANTS.items()]
    rivals = [measure_rival_cell(kind, workload, prepared, size) for kind in RIVALS]
    cells += [cell for cell in rivals if cell is not None]
    cells += [_grid_cell(grid, prepared, size) for grid in case.grids]
    events = range(min(CHECKED_EVENTS, prepared.events.count))
    check_cells(cells, brute_force(workload, events), prepared.units)
    return [_row(case, prepared, cells, cell) for cell in cells]


def _grid_cell(grid: int, prepared: Encoded, size: IntervalScale) -> IntervalCell:
    """A size of the grid has a section of its own, beside what the paper sweeps."""
    cell = measure_engine_cell(f"hem, grid {grid}", {"grid": grid, "unions": "never"}, prepared, size)
    return cell._replace(row={**cell.row, **FigurePlace("grid", "grid", grid)._asdict(), "series": "hem"})


def _row(case: IntervalCase, prepared: Encoded, cells: list[IntervalCell], cell: IntervalCell) -> dict[str, Any]:
    taken = {other.row["engine"]: other.row["us_per_event"] for other in cells}
    own, rules, events = cell.row["us_per_event"], prepared.workload.rules.count, len(cells[0].hits)
    return {
        **cell.row,
        "workload": case.name,
        "rules": rules,
        "events": len(cell.hits),
        "hits_per_event": sum(map(len, cells[0].hits)) / events,
        "ratio_to_scan": round(taken["scan"] / own, 2),
        "checked": True,
        "encode_us_per_rule": round(1e6 * prepared.encode_s / rules, 2),
        "hem_share": round(taken[OWN] / own, 3),
        "published_share": round(taken[AS_PUBLISHED] / own, 3),
        **PAPER.get(str(cell.row["engine"]), {}),
    }
