"""The experiments that can be run by name, and the figures that every row of every one of them has."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from matchwood.errors import InvalidArgument

SCALES = ("quick", "full", "paper")
SMOKE = "smoke"
"""The scale of the tests: large enough to check answers, too small to measure anything."""

FIELDS = (
    "engine",
    "workload",
    "rules",
    "events",
    "build_s",
    "us_per_event",
    "hits_per_event",
    "candidates_per_event",
    "bytes_index",
    "bytes_verify",
    "bytes_text",
    "fallback_rules",
    "ratio_to_scan",
    "checked",
)
"""What the rows of all experiments have in common; None where an experiment does not measure it."""


class Experiment(NamedTuple):
    """One experiment: the module that has its `run(scale)`, what it shows, and how to plot its rows."""

    name: str
    module: str
    title: str
    value: str
    label: tuple[str, ...]
    log: bool = True

    def run(self, scale: str) -> dict[str, Any]:
        """Run it; a result that is wrong, or means nothing, is an error."""
        if scale not in (*SCALES, SMOKE):
            raise InvalidArgument(f"scale must be one of {', '.join(SCALES)} (got {scale!r})")
        result = importlib.import_module(self.module).run(scale)
        rows = [complete(row) for row in result["rows"]]
        return {"experiment": self.name, "scale": scale, "rows": rows}

    def table(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """What is printed of the rows: all of them, unless the experiment has a shorter way to say it."""
        shorter = getattr(importlib.import_module(self.module), "table", None)
        return rows if shorter is None else shorter(rows)


def complete(row: dict[str, Any]) -> dict[str, Any]:
    """A row with all common fields first, then its own.

    >>> list(complete({"peak_mb": 5, "engine": "scan"}))[:2], complete({"peak_mb": 5})["peak_mb"]
    (['engine', 'workload'], 5)
    """
    return {**{name: row.get(name) for name in FIELDS}, **row}


_ALL = (
    Experiment(
        "parse",
        "matchwood.bench.parse",
        "Rules read a second, next to parser libraries",
        value="rules_per_second",
        label=("parser",),
    ),
    Experiment(
        "core",
        "matchwood.bench.core",
        "Building and matching with the core engines",
        value="us_per_event",
        label=("workload", "rules", "engine"),
    ),
    Experiment(
        "single",
        "matchwood.bench.single",
        "One event at a time: index.match(dict)",
        value="us_median",
        label=("engine", "rules"),
    ),
    Experiment(
        "access",
        "matchwood.bench.access",
        "Access predicates chosen anew, once it is known what events are like",
        value="us_per_event",
        label=("engine", "workload"),
    ),
    Experiment(
        "ranges",
        "matchwood.bench.ranges",
        "One-sided ranges with distinct constants on one attribute",
        value="us_per_rule",
        label=("engine", "workload"),
        log=False,
    ),
    Experiment(
        "pstree",
        "matchwood.bench.pstree",
        "The PS-Tree paper's experiments: intervals, Ads, query logs, BEGen",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "atree",
        "matchwood.bench.atree",
        "The A-Tree on arbitrary expressions, and what each of its ideas is worth",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "betree",
        "matchwood.bench.betree",
        "The BE-Tree paper's experiments: BEGen by profile, options, changes",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "hem",
        "matchwood.bench.hem",
        "The HEM paper's experiments: intervals on all attributes, next to REIN, TAMA and H-TREE",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "kindex",
        "matchwood.bench.kindex",
        "DNF and CNF inverted lists, their rivals, and ranking (VLDB 2009)",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "auto",
        "matchwood.bench.auto",
        "Every engine on every workload, and what choosing one by itself costs",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "lint",
        "matchwood.bench.linting",
        "Linting many rules",
        value="lint_s",
        label=("workload", "rules"),
        log=False,
    ),
    Experiment(
        "today",
        "matchwood.bench.today",
        "Next to what users have today",
        value="us_per_event",
        label=("engine",),
    ),
    Experiment(
        "spark",
        "matchwood.bench.spark",
        "Matching on Spark, next to its parts and to Spark SQL",
        value="us_per_event",
        label=("engine", "workload", "rules", "events", "partitions"),
    ),
    Experiment(
        "sharing",
        "matchwood.bench.sharing",
        "Whether the Python workers of a host share one copy of an index",
        value="copies",
        label=("engine", "rules"),
        log=False,
    ),
)

EXPERIMENTS = {known.name: known for known in _ALL}


def experiment(name: str) -> Experiment:
    """The experiment of a name."""
    try:
        return EXPERIMENTS[name]
    except KeyError:
        raise InvalidArgument(f"there is no experiment {name!r} (there are: {', '.join(EXPERIMENTS)})") from None
