"""The workloads of `bench auto`: a grid of parameters, every other cell of which is held out from the fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from matchwood.errors import InvalidArgument
from matchwood.workloads.abegen import abegen
from matchwood.workloads.ads import ads
from matchwood.workloads.ads_arbitrary import ads_arbitrary
from matchwood.workloads.base import Workload
from matchwood.workloads.begen import begen
from matchwood.workloads.contracts import contracts
from matchwood.workloads.hem import hem
from matchwood.workloads.qgrams import most_names, qgrams
from matchwood.workloads.query_logs import query_logs

SEED = 7
AMORTISED = 1_000_000
"""Events over which looking, trials and changes of engines are spread."""


class Scale(NamedTuple):
    """Of one scale: rules of small, middling and large cells, of arbitrary expressions, of all in the big table.

    Half of the `events` are measured, each engine for so many `seconds`. `share` is the part of the grid that is run.
    """

    sizes: tuple[int, ...]
    trees: int
    table: int
    events: int
    seconds: float
    share: float = 1.0


SCALES = {
    "smoke": Scale((600,), 150, 200, 160, 0.005, 0.12),
    "quick": Scale((3_000, 10_000, 30_000, 60_000), 2_000, 0, 512, 0.04),
    "full": Scale((10_000, 100_000, 300_000), 10_000, 1_000_000, 512, 0.3),
    "paper": Scale((10_000, 100_000, 300_000), 10_000, 1_000_000, 512, 0.3),
}

_BEGEN: dict[str, tuple[Any, ...]] = {
    "dimensions": (60, 400, 1_400),
    "cardinality": (8, 48, 1_000),
    "rule_size": (3, 7, 15),
    "matching": (0.001, 0.01, 0.1),
    "equality": (0.0, 0.3, 1.0),
    "distribution": ("uniform", "uniform", "zipf"),
}
_BEGEN_CELLS = 28
_MOST_ADS = 0.0025
"""More of the rules of Ads cannot match: most have too many predicates."""


_LEAST_ADS = 3_000
"""Of fewer expressions of Ads no share can be told."""


class Cell(NamedTuple):
    """One workload: its family, its name, how it is made, and whether it is held out when weights are fitted."""

    family: str
    name: str
    make: Callable[[], Workload]
    held_out: bool


def cells(scale: str) -> list[Cell]:
    """The grid of a scale; both halves have cells of every family."""
    size = SCALES[scale]
    found = [*_begen(size), *_ads(size), *_hem(size), *_texts(size), *_trees(size)]
    seen: dict[str, int] = {}
    for place, cell in enumerate(found):
        seen[cell.family] = seen.get(cell.family, 0) + 1
        found[place] = cell._replace(held_out=seen[cell.family] % 2 == 0)
    return found if size.share == 1 else _some(found, size.share)


def _some(grid: list[Cell], share: float) -> list[Cell]:
    """A part of each half."""
    step = max(1, round(1 / share))
    return [cell for half in (False, True) for cell in [each for each in grid if each.held_out == half][::step]]


def table_cells(scale: str) -> list[Cell]:
    """The same generators at one large size: the table of all engines and all workloads."""
    rules, common = SCALES[scale].table, {"events": SCALES[scale].events, "seed": SEED}
    if not rules:
        return []
    plain = {"rules": rules, **common}
    names, many = min(rules, most_names()), max(rules, _LEAST_ADS)
    made: dict[str, Callable[[], Workload]] = {
        f"begen 0.01% {rules:,}": partial(_reachable, begen, matching=0.0001, **plain),
        f"begen 1% {rules:,}": partial(begen, matching=0.01, **plain),
        f"begen 10% {rules:,}": partial(begen, matching=0.1, **plain),
        f"begen zipf {rules:,}": partial(begen, distribution="zipf", **plain),
        f"begen equalities {rules:,}": partial(begen, equality=1.0, **plain),
        f"ads {rules:,}": partial(_reachable, ads, matching=0.001, **plain),
        f"hem {rules:,}": partial(hem, attributes=10, width=0.5, **plain),
        f"query logs {rules:,}": partial(query_logs, **plain),
        f"q-grams {names:,}": partial(qgrams, names, **common),
        f"contracts dnf {rules:,}": partial(contracts, form="dnf", **plain),
        f"contracts cnf {rules:,}": partial(contracts, form="cnf", months=4, **plain),
        f"ads, expressions {many:,}": partial(ads_arbitrary, rules=many, matching=0.001, **common),
        f"abegen {rules:,}": partial(abegen, **plain),
    }
    return [Cell("table", name, make, False) for name, make in made.items()]


def _begen(size: Scale) -> list[Cell]:
    """Settings drawn at random, one of each row: a full grid would have 729 cells a size."""
    random = np.random.default_rng(SEED)
    found = []
    for place in range(_BEGEN_CELLS):
        rules = size.sizes[place % len(size.sizes)]
        chosen = {name: values[int(random.integers(len(values)))] for name, values in _BEGEN.items()}
        chosen["event_size"] = chosen["rule_size"] + 8
        chosen["matching"] = max(chosen["matching"], 3 / rules)
        make = partial(_reachable, begen, rules=rules, events=size.events, seed=SEED + place, **chosen)
        shown = " ".join(f"{name[:4]}={value:.3g}" for name, value in chosen.items() if name in _NUMBERS)
        found.append(Cell("begen", f"begen {rules:,} {chosen['distribution']} {shown}", make, False))
    return found


def _reachable(generator: Callable[..., Workload], matching: float, **settings: Any) -> Workload:
    """A workload of which at least the share `matching` matches: more where accidents alone make it more."""
    while True:
        try:
            return generator(matching=matching, **settings)
        except InvalidArgument:
            if matching >= 0.5:
                raise
            matching = min(0.5, 3 * matching)


_NUMBERS = ("dimensions", "cardinality", "rule_size", "matching", "equality")


def _ads(size: Scale) -> list[Cell]:
    found = []
    for rules in size.sizes:
        shares = {min(_MOST_ADS, max(matching, 3 / rules)) for matching in (0.0003, 0.001, _MOST_ADS)}
        for share in sorted(shares):
            make = partial(ads, rules=rules, events=size.events, matching=share, seed=SEED)
            found.append(Cell("ads", f"ads {rules:,} match={share:.3g}", make, False))
    return found


def _hem(size: Scale) -> list[Cell]:
    found = []
    for rules in size.sizes[:3]:
        for attributes, width in ((3, 0.1), (3, 0.7), (10, 0.1), (10, 0.5), (10, 0.9)):
            make = partial(hem, rules=rules, events=size.events, attributes=attributes, width=width, seed=SEED)
            found.append(Cell("hem", f"hem {rules:,} attributes={attributes} width={width}", make, False))
    return found


def _texts(size: Scale) -> list[Cell]:
    found = []
    for rules in size.sizes[:3]:
        names = min(rules, 20_000)
        found.append(Cell("qgrams", f"q-grams {names:,}", partial(qgrams, names, size.events, seed=SEED), False))
        logs = partial(query_logs, rules=rules, events=size.events, seed=SEED)
        found.append(Cell("query logs", f"query logs {rules:,}", logs, False))
    return found


def _trees(size: Scale) -> list[Cell]:
    common, rules = {"events": size.events, "seed": SEED}, size.trees
    made: dict[str, Callable[[], Workload]] = {
        "contracts dnf": partial(contracts, rules=rules, form="dnf", **common),
        "contracts dnf months=12": partial(contracts, rules=rules, form="dnf", months=12, **common),
        "contracts cnf": partial(contracts, rules=rules, form="cnf", months=4, **common),
        "contracts cnf months=12": partial(contracts, rules=rules, form="cnf", months=12, **common),
        "ads, expressions": partial(ads_arbitrary, rules=2 * rules, matching=max(0.001, 2 / rules), **common),
        "abegen depth=2": partial(abegen, rules=rules, depth=2, **common),
        "abegen alpha=0.6": partial(abegen, rules=rules // 2, **common),
        "abegen alpha=1": partial(abegen, rules=rules // 2, alpha=1.0, **common),
        "abegen children=2": partial(abegen, rules=rules, children=2, **common),
        "abegen dimensions=100": partial(abegen, rules=rules // 2, dimensions=100, **common),
    }
    return [Cell("trees", f"{name} {rules:,}", make, False) for name, make in made.items()]
