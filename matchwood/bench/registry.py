"""The experiments that can be run by name."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from matchwood.errors import InvalidArgument

SCALES = ("quick", "full", "paper")


class Experiment(NamedTuple):
    """One experiment: the module that has its `run(scale)`, what it shows, and how to plot its rows."""

    name: str
    module: str
    title: str
    value: str
    label: tuple[str, ...]
    log: bool = True

    def run(self, scale: str) -> dict[str, Any]:
        if scale not in SCALES:
            raise InvalidArgument(f"scale must be one of {', '.join(SCALES)} (got {scale!r})")
        result: dict[str, Any] = importlib.import_module(self.module).run(scale)
        return result


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "parse", "matchwood.bench.parse", "Rules read a second, next to parser libraries", "rules_per_second", ("parser",)
        ),
        Experiment(
            "core", "matchwood.bench.core", "Building and matching with the core engines", "us_per_event", ("workload", "rules", "engine")
        ),
        Experiment(
            "single", "matchwood.bench.single", "One event at a time: index.match(dict)", "us_median", ("engine", "rules")
        ),
        Experiment(
            "ranges", "matchwood.bench.ranges", "A million one-sided ranges on one attribute", "us_per_rule", ("engine", "how"), False
        ),
        Experiment(
            "lint", "matchwood.bench.linting", "Linting many rules", "seconds", ("workload", "rules"), False
        ),
        Experiment(
            "today", "matchwood.bench.today", "Next to what users have today", "us_per_event", ("engine",)
        ),
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of a name."""
    try:
        return EXPERIMENTS[name]
    except KeyError:
        raise InvalidArgument(f"there is no experiment {name!r} (there are: {', '.join(EXPERIMENTS)})") from None
