"""HEM on its own paper's workloads (Table 1), next to `scan` and to REIN, TAMA and H-TREE, compiled as our engines are.

Rules are intervals on all attributes. Every structure takes the same rules in batches of a thousand, matches the same
events, and deletes some rules; the engines' rules and events are encoded before, which is told apart. The
hits of all exact ones are equal, for the first events those of brute force; TAMA finds some too many, never too few.

`hem_share` is HEM's time as a share of that row's; `paper_share` is what the paper found, on average over Fig. 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matchwood.bench.encoded_rules import CHECKED_EVENTS, Encoded, encoded
from matchwood.bench.hem_cells import RIVALS, Cell, check_cells, measure_engine_cell, measure_rival_cell
from matchwood.bench.hem_plan import GRIDS, PAPER, SIZES, VARIANTS, Case, Size, case_count, cases
from matchwood.bench.registry import SMOKE
from matchwood.progress import Progress
from matchwood.workloads.brute import hits as brute_force


def run(scale: str) -> dict[str, Any]:
    warm_up()
    rows: list[dict[str, Any]] = []
    with Progress("bench hem", "workloads", case_count(scale)) as progress:
        for case in cases(scale):
            rows += measure(case, SIZES[scale], GRIDS[scale] if case.sweep is None else ())
            progress.advance()
    return {"experiment": "hem", "scale": scale, "rows": rows}


def warm_up() -> None:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it."""
    measure(next(cases(SMOKE)), SIZES[SMOKE], ())


def measure(case: Case, size: Size, grids: Iterable[int]) -> list[dict[str, Any]]:
    """A row for each engine, each variant of HEM and each rival on one workload, and one for each size of the grid."""
    prepared = encoded(case.workload)
    cells = [measure_engine_cell("scan", {}, prepared, size)]
    cells += [measure_engine_cell(name, options, prepared, size) for name, options in VARIANTS.items()]
    rivals = [measure_rival_cell(kind, case.workload, prepared, size) for kind in RIVALS]
    cells += [cell for cell in rivals if cell is not None]
    cells += [measure_engine_cell(f"hem, grid {grid}", {"grid": grid}, prepared, size) for grid in grids]
    events = range(min(CHECKED_EVENTS, prepared.events.count))
    check_cells(cells, brute_force(case.workload, events), prepared.units)
    return [_row(case, prepared, cells, cell) for cell in cells]


def _row(case: Case, prepared: Encoded, cells: list[Cell], cell: Cell) -> dict[str, Any]:
    times = {other.row["engine"]: other.row["us_per_event"] for other in cells}
    own, rules, events = cell.row["us_per_event"], case.workload.rules.count, prepared.events.count
    return {
        **cell.row,
        "workload": case.name,
        "rules": rules,
        "events": events,
        "hits_per_event": sum(map(len, cells[0].hits)) / events,
        "bytes_verify": prepared.store.bytes_verify,
        "ratio_to_scan": round(times["scan"] / own, 2),
        "checked": True,
        "sweep": case.sweep,
        "value": case.value,
        "encode_us_per_rule": round(1e6 * prepared.encode_s / rules, 2),
        "hem_share": round(times["hem"] / own, 3),
        **PAPER.get(str(cell.row["engine"]), {}),
    }
