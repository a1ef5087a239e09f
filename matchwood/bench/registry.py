"""The experiments that can be run by name, and the figures that every row of every one of them has."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from matchwood.bench.frame.machine import machine
from matchwood.bench.frame.parts import TIME_BOXES, ExperimentPart, chosen, run_parts
from matchwood.core import always_compiled
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
    "encode_us",
    "match_us",
    "us_per_event",
    "hits_per_event",
    "candidates_per_event",
    "bytes_index",
    "bytes_verify",
    "bytes",
    "bytes_text",
    "fallback_rules",
    "ratio_to_scan",
    "checked",
)
"""What the rows of all experiments have in common; None where an experiment does not measure it.

`us_per_event` is finding the spaces of an event, `encode_us`, and matching it then, `match_us`. Where a whole call is
measured, such as `index.match`, it stands alone. `frame/memory.py` says what bytes are.
"""


class Experiment(NamedTuple):
    """One experiment: the module that has its `run(scale)`, what it shows, and how to plot its rows."""

    name: str
    module: str
    title: str
    value: str
    label: tuple[str, ...]
    log: bool = True

    def parts(self, scale: str) -> Sequence[ExperimentPart]:
        """What it consists of, in order; nothing is generated or measured yet."""
        if scale not in (*SCALES, SMOKE):
            raise InvalidArgument(f"scale must be one of {', '.join(SCALES)} (got {scale!r})")
        module = self._module()
        if hasattr(module, "parts"):
            found: Sequence[ExperimentPart] = module.parts(scale)
            return found
        return [ExperimentPart(self.name, lambda: module.run(scale)["rows"])]

    def _module(self) -> Any:
        return importlib.import_module(self.module)

    def run(self, scale: str, only: str | None = None, box_s: float | None = None) -> dict[str, Any]:
        """Run it, or the parts whose names contain `only`; a result that is wrong, or means nothing, is an error.

        Each cell has `box_s` seconds, or what is usual at that scale.
        """
        parts, box = chosen(self.parts(scale), only), TIME_BOXES[scale] if box_s is None else box_s
        with always_compiled():
            if hasattr(self._module(), "parts"):
                self._module().warm_up()
            rows = self.summed(run_parts(self.name, parts, box))
        taken = datetime.now(UTC).isoformat(timespec="seconds")
        about = {"taken": taken, "only": only, "time_box_s": box, "machine": machine()}
        return {"experiment": self.name, "scale": scale, "rows": rows, "runs": [about]}

    def summed(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Complete rows, and those that sum others up, if the experiment has such."""
        with_summary = getattr(self._module(), "with_summary", list)
        return [complete(row) for row in with_summary(rows)]

    def table(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """What is printed of the rows: all of them, unless the experiment has a shorter way to say it."""
        shorter = getattr(self._module(), "table", None)
        return rows if shorter is None else shorter(rows)


def merged(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """An earlier result in which the workloads that ran again have their new rows, in the same place.

    >>> old = {"scale": "quick", "rows": [{"workload": "a"}, {"workload": "b"}], "runs": [1]}
    >>> merged(old, {"scale": "quick", "rows": [{"workload": "a", "x": 5}], "runs": [2]})
    {'scale': 'quick', 'rows': [{'workload': 'a', 'x': 5}, {'workload': 'b'}], 'runs': [1, 2]}
    """
    if old is None or old["scale"] != new["scale"]:
        return new
    again = {(row.get("workload"), row.get("rules")) for row in new["rows"]}
    keys = [(row.get("workload"), row.get("rules")) for row in old["rows"]]
    at = next((place for place, key in enumerate(keys) if key in again), len(keys))
    kept = [row if key not in again else None for row, key in zip(old["rows"], keys, strict=True)]
    rows = [*kept[:at], *new["rows"], *kept[at:]]
    return {**old, "rows": [row for row in rows if row is not None], "runs": [*old.get("runs", []), *new["runs"]]}


def complete(row: dict[str, Any]) -> dict[str, Any]:
    """A row with all common fields first, then its own.

    >>> list(complete({"peak_mb": 5, "engine": "scan"}))[:2], complete({"peak_mb": 5})["peak_mb"]
    (['engine', 'workload'], 5)
    """
    return {**{name: row.get(name) for name in FIELDS}, **row}


_ALL = (
    Experiment(
        "parse",
        "matchwood.bench.own.parse",
        "Rules parsed per second, compared with parser libraries",
        value="rules_per_second",
        label=("parser",),
    ),
    Experiment(
        "core",
        "matchwood.bench.own.core",
        "Building and matching with the core engines",
        value="us_per_event",
        label=("workload", "rules", "engine"),
    ),
    Experiment(
        "build",
        "matchwood.bench.own.building",
        "Rules per second, from text to an index that is ready to match",
        value="rules_per_s",
        label=("workload", "rules"),
    ),
    Experiment(
        "update",
        "matchwood.bench.spark.updating",
        "What an update costs on disk and on an object store",
        value="update_s",
        label=("workload", "place", "changed"),
    ),
    Experiment(
        "locks",
        "matchwood.bench.own.locks",
        "The longest wait of an event while rules are replaced",
        value="beside_longest_ms",
        label=("workload", "rules"),
    ),
    Experiment(
        "single",
        "matchwood.bench.own.single",
        "One event at a time: index.match(dict)",
        value="us_median",
        label=("workload", "engine"),
    ),
    Experiment(
        "access",
        "matchwood.bench.papers.pst.access",
        "Access predicates, chosen again once events are known",
        value="us_per_event",
        label=("engine", "workload"),
    ),
    Experiment(
        "ranges",
        "matchwood.bench.own.ranges",
        "One-sided ranges with distinct constants on one attribute",
        value="us_per_rule",
        label=("engine", "workload"),
        log=False,
    ),
    Experiment(
        "pstree",
        "matchwood.bench.papers.pst.experiment",
        "The PS-Tree paper's experiments: intervals, Ads, query logs, BEGen",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "atree",
        "matchwood.bench.papers.atree.experiment",
        "The A-Tree on arbitrary expressions, and the value of each idea",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "betree",
        "matchwood.bench.papers.betree.experiment",
        "The BE-Tree paper's experiments: BEGen by profile, options, changes",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "hem",
        "matchwood.bench.papers.hem.experiment",
        "The HEM paper's experiments, compared with REIN, TAMA and H-TREE",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "kindex",
        "matchwood.bench.papers.kindex.experiment",
        "DNF and CNF inverted lists, their rivals, and ranking (VLDB 2009)",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "auto",
        "matchwood.bench.auto.experiment",
        "Every engine on every workload, and how well auto chooses",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "lint",
        "matchwood.bench.own.linting",
        "Linting many rules",
        value="lint_s",
        label=("workload", "rules"),
        log=False,
    ),
    Experiment(
        "start",
        "matchwood.bench.own.starting",
        "How long a new process takes until its first answer",
        value="wall_s",
        label=("workload", "engine"),
    ),
    Experiment(
        "compile",
        "matchwood.bench.own.compiling",
        "How long each kernel takes to compile",
        value="compile_s",
        label=("engine", "workload"),
    ),
    Experiment(
        "bandwidth",
        "matchwood.bench.own.bandwidth",
        "How far the hottest engines are from memory speed",
        value="us_per_event",
        label=("workload", "engine"),
    ),
    Experiment(
        "memory",
        "matchwood.bench.own.memory",
        "What each byte of the default engine is for",
        value="bytes",
        label=("workload", "part"),
        log=False,
    ),
    Experiment(
        "peers",
        "matchwood.bench.peers.experiment",
        "Compared with rule engines, DuckDB, Polars and Spark SQL",
        value="us_per_event_all",
        label=("engine",),
    ),
    Experiment(
        "spark",
        "matchwood.bench.spark.experiment",
        "Matching on Spark, compared with its parts and with Spark SQL",
        value="us_per_event",
        label=("engine", "workload", "rules", "events", "partitions"),
    ),
    Experiment(
        "stream",
        "matchwood.bench.spark.streaming",
        "How long an event of a stream takes to its hits",
        value="p50_ms",
        label=("workload", "rules"),
    ),
    Experiment(
        "generate",
        "matchwood.bench.own.generating",
        "How fast each generator makes rules, here and on Spark",
        value="rules_per_s",
        label=("engine", "workload", "rules"),
    ),
    Experiment(
        "sharing",
        "matchwood.bench.spark.sharing",
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
