"""The workloads of `bench auto` at each scale: the grid, every other cell of which is held out from the fit; fresh
ones, between the grid's values; and the table of large ones."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from matchwood.bench.auto.grid import FRESH, GRID, Grid, Make, Sizes, reachable, workloads
from matchwood.workloads import abegen, ads, ads_arbitrary, begen, contracts, hem, most_names, qgrams, query_logs

AMORTISED = 1_000_000
"""Events over which looking, trials and changes of engines are spread."""

_LEAST_ADS = 3_000
"""Of fewer expressions of Ads no share can be told."""


class GridScale(NamedTuple):
    """Of one scale: rules of small, middling and large cells, of arbitrary expressions, of all in the big table.

    Half of the `events` are measured; an engine begins no further round after so many `seconds`. `share` is the part of
    the grid that is run.
    """

    sizes: tuple[int, ...]
    trees: int
    table: int
    events: int
    seconds: float
    share: float = 1.0


SCALES = {
    "smoke": GridScale((600,), 150, 200, 160, 0.005, 0.12),
    "quick": GridScale((3_000, 10_000, 30_000, 60_000), 2_000, 0, 1_536, 0.04),
    "full": GridScale((10_000, 100_000, 300_000), 10_000, 1_000_000, 1_536, 0.3),
    "paper": GridScale((10_000, 100_000, 300_000), 10_000, 1_000_000, 1_536, 0.3),
}


class GridCell(NamedTuple):
    """One workload: its family, its name, how it is made, and whether it is held out when weights are fitted."""

    family: str
    name: str
    make: Make
    held_out: bool


def cells(scale: str) -> list[GridCell]:
    """The grid of a scale; both halves have cells of every family."""
    found = _drawn(GRID, scale)
    return [*_some(found, scale, held_out=False), *_some(found, scale, held_out=True)]


def fresh_cells(scale: str) -> list[GridCell]:
    """What neither weights nor constants have seen."""
    found = [cell._replace(held_out=True) for cell in _drawn(FRESH, scale)]
    return _some(found, scale, held_out=True)


def _drawn(grid: Grid, scale: str) -> list[GridCell]:
    size, found = SCALES[scale], []
    seen: dict[str, int] = {}
    for family, name, make in workloads(grid, Sizes(size.sizes, size.trees, size.events)):
        seen[family] = seen.get(family, 0) + 1
        found.append(GridCell(family, name, make, held_out=seen[family] % 2 == 0))
    return found


def _some(grid: list[GridCell], scale: str, held_out: bool) -> list[GridCell]:
    """The scale's share of the cells of one half."""
    return [cell for cell in grid if cell.held_out == held_out][:: max(1, round(1 / SCALES[scale].share))]


def table_cells(scale: str) -> list[GridCell]:
    """The same generators at one large size: the table of all engines and all workloads."""
    rules, common = SCALES[scale].table, {"events": SCALES[scale].events, "seed": GRID.seed}
    if not rules:
        return []
    plain = {"rules": rules, **common}
    names, many = min(rules, most_names()), max(rules, _LEAST_ADS)
    made: dict[str, Make] = {
        f"begen 0.01% {rules:,}": partial(reachable, begen, matching=0.0001, **plain),
        f"begen 1% {rules:,}": partial(begen, matching=0.01, **plain),
        f"begen 10% {rules:,}": partial(begen, matching=0.1, **plain),
        f"begen zipf {rules:,}": partial(begen, distribution="zipf", **plain),
        f"begen equalities {rules:,}": partial(begen, equality=1.0, **plain),
        f"ads {rules:,}": partial(reachable, ads, matching=0.001, **plain),
        f"hem {rules:,}": partial(hem, attributes=10, width=0.5, **plain),
        f"query logs {rules:,}": partial(query_logs, **plain),
        f"q-grams {names:,}": partial(qgrams, names, **common),
        f"contracts dnf {rules:,}": partial(contracts, form="dnf", **plain),
        f"contracts cnf {rules:,}": partial(contracts, form="cnf", months=4, **plain),
        f"ads, expressions {many:,}": partial(ads_arbitrary, rules=many, matching=0.001, **common),
        f"abegen {rules:,}": partial(abegen, **plain),
    }
    return [GridCell("table", name, make, False) for name, make in made.items()]
