"""Settings from which the small workloads of `bench auto` are made: a grid, and others between its values.

The constants of `auto` were set with the grid in sight, its held-out half included. `FRESH` has another seed and other
values, which nothing was fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from matchwood.errors import InvalidArgument
from matchwood.workloads import (
    Workload,
    abegen,
    ads,
    ads_arbitrary,
    begen,
    contracts,
    hem,
    qgrams,
    query_logs,
    two_kinds,
)

Make: TypeAlias = Callable[[], Workload]

MOST_ADS = 0.0025
"""More of the rules of Ads cannot match: most have too many predicates."""


class Sizes(NamedTuple):
    """Rules of small, middling and large workloads, of arbitrary expressions, and the events of all."""

    rules: tuple[int, ...]
    trees: int
    events: int


class Grid(NamedTuple):
    """`begen` has values for each setting, of which `begen_cells` workloads are drawn: all of them would be 729 a size;
    `hem` attributes and widths, `broad` the shares of rules that match often, `trees` the settings of arbitrary
    expressions by name, with their share of the rules. `stretch` is what the rules of a scale are multiplied by, and
    `mark` tells its workloads from those of others."""

    mark: str
    seed: int
    stretch: float
    begen_cells: int
    begen: Mapping[str, tuple[Any, ...]]
    ads: tuple[float, ...]
    hem: tuple[tuple[int, float], ...]
    logs: Mapping[str, Any]
    broad: tuple[float, ...]
    trees: Mapping[str, tuple[float, Callable[..., Workload], Mapping[str, Any]]]


GRID = Grid(
    mark="",
    seed=7,
    stretch=1.0,
    begen_cells=28,
    begen={
        "dimensions": (60, 400, 1_400),
        "cardinality": (8, 48, 1_000),
        "rule_size": (3, 7, 15),
        "matching": (0.001, 0.01, 0.1),
        "equality": (0.0, 0.3, 1.0),
        "exponent": (0.0, 0.0, 2.0),
    },
    ads=(0.0003, 0.001, MOST_ADS),
    hem=((3, 0.1), (3, 0.7), (10, 0.1), (10, 0.5), (10, 0.9)),
    logs={},
    broad=(0.02, 0.1, 0.3),
    trees={
        "contracts dnf": (1, contracts, {"form": "dnf"}),
        "contracts dnf months=12": (1, contracts, {"form": "dnf", "months": 12}),
        "contracts cnf": (1, contracts, {"form": "cnf", "months": 4}),
        "contracts cnf months=12": (1, contracts, {"form": "cnf", "months": 12}),
        "ads, expressions": (2, ads_arbitrary, {"matching": 0.001}),
        "abegen depth=2": (1, abegen, {"depth": 2}),
        "abegen alpha=0.6": (0.5, abegen, {}),
        "abegen alpha=1": (0.5, abegen, {"alpha": 1.0}),
        "abegen children=2": (1, abegen, {"children": 2}),
        "abegen dimensions=100": (0.5, abegen, {"dimensions": 100}),
    },
)

FRESH = Grid(
    mark="fresh ",
    seed=1_903,
    stretch=0.75,
    begen_cells=18,
    begen={
        "dimensions": (120, 250, 800),
        "cardinality": (20, 150, 400),
        "rule_size": (5, 9, 12),
        "matching": (0.003, 0.005, 0.03),
        "equality": (0.15, 0.5, 0.8),
        "exponent": (0.0, 0.5, 1.0),
    },
    ads=(0.0006, 0.0018),
    hem=((4, 0.4), (5, 0.25), (6, 0.8), (7, 0.6)),
    logs={"event_size": 50},
    broad=(0.05, 0.2),
    trees={
        "contracts dnf months=6": (1, contracts, {"form": "dnf", "months": 6, "exponent": 2.2}),
        "contracts cnf months=2": (1, contracts, {"form": "cnf", "months": 2, "exponent": 3.0}),
        "contracts cnf months=7": (1, contracts, {"form": "cnf", "months": 7}),
        "ads, expressions": (2.6, ads_arbitrary, {"matching": 0.0015}),
        "abegen children=3": (1, abegen, {"children": 3, "dimensions": 300}),
        "abegen alpha=0.8": (0.5, abegen, {"alpha": 0.8, "cardinality": 40}),
        "abegen dimension_alpha=0.3": (0.5, abegen, {"dimension_alpha": 0.3}),
    },
)


def workloads(grid: Grid, sizes: Sizes) -> Iterator[tuple[str, str, Make]]:
    """The family, the name and the maker of each workload."""
    own = Sizes(tuple(int(grid.stretch * rules) for rules in sizes.rules), sizes.trees, sizes.events)
    for family, found in (("begen", _begen), ("ads", _ads), ("hem", _hem), ("qgrams", _qgrams), ("trees", _trees)):
        yield from ((family, grid.mark + name, make) for name, make in found(grid, own))
    for family, found in (("query logs", _query_logs), ("two kinds", _two_kinds)):
        yield from ((family, grid.mark + name, make) for name, make in found(grid, own))


def _begen(grid: Grid, sizes: Sizes) -> Iterator[tuple[str, Make]]:
    random = np.random.default_rng(grid.seed)
    for place in range(grid.begen_cells):
        rules = sizes.rules[place % len(sizes.rules)]
        chosen = {name: values[int(random.integers(len(values)))] for name, values in grid.begen.items()}
        chosen["matching"] = max(chosen["matching"], 3 / rules)
        shown = " ".join(f"{name[:4]}={value:.3g}" for name, value in chosen.items())
        chosen["event_size"] = chosen["rule_size"] + 8
        make = partial(reachable, begen, rules=rules, events=sizes.events, seed=grid.seed + place, **chosen)
        yield f"begen {rules:,} {shown}", make


def reachable(generator: Callable[..., Workload], matching: float, **settings: Any) -> Workload:
    """A workload of which at least the share `matching` matches: more where accidents alone make it more."""
    while True:
        try:
            return generator(matching=matching, **settings)
        except InvalidArgument:
            if matching >= 0.5:
                raise
            matching = min(0.5, 3 * matching)


def _ads(grid: Grid, sizes: Sizes) -> Iterator[tuple[str, Make]]:
    for rules in sizes.rules:
        for share in sorted({min(MOST_ADS, max(matching, 3 / rules)) for matching in grid.ads}):
            make = partial(ads, rules=rules, events=sizes.events, matching=share, seed=grid.seed)
            yield f"ads {rules:,} match={share:.3g}", make


def _hem(grid: Grid, sizes: Sizes) -> Iterator[tuple[str, Make]]:
    for rules in sizes.rules[:3]:
        for attributes, width in grid.hem:
            common = {"rules": rules, "events": sizes.events, "seed": grid.seed}
            make = partial(hem, attributes=attributes, width=width, **common)
            yield f"hem {rules:,} attributes={attributes} width={width}", make


def _qgrams(grid: Grid, sizes: Sizes) -> Iterator[tuple[str, Make]]:
    for rules in sizes.rules[:3]:
        names = min(rules, 20_000)
        yield f"q-grams {names:,}", partial(qgrams, names, sizes.events, seed=grid.seed)


def _query_logs(grid: Grid, sizes: Sizes) -> Iterator[tuple[str, Make]]:
    for rules in sizes.rules[:3]:
        make = partial(query_logs, rules=rules, events=sizes.events, seed=grid.seed, **grid.logs)
        yield f"query logs {rules:,}", make


def _two_kinds(grid: Grid, sizes: Sizes) -> Iterator[tuple[str, Make]]:
    for rules in sizes.rules[-2:]:
        for broad in grid.broad:
            make = partial(two_kinds, rules=rules, events=sizes.events, broad=broad, seed=grid.seed)
            yield f"two kinds {rules:,} broad={broad:.3g}", make


def _trees(grid: Grid, sizes: Sizes) -> Iterator[tuple[str, Make]]:
    for name, (share, generator, settings) in grid.trees.items():
        rules = int(share * sizes.trees)
        given = {"rules": rules, "events": sizes.events, "seed": grid.seed, **settings}
        if "matching" in settings:
            given["matching"] = max(settings["matching"], 4 / rules)
        yield f"{name} {rules:,}", partial(generator, **given)
