"""The two implementations of predicate spaces side by side: look-ups in a column, and constants that come one by one.

Both give the same labels, which is checked. `us_per_event` is one look-up; insertion is timed in the process's own
time, the first and the last tenth apart: it must not grow with the number of spaces.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from matchwood.bench.frame.measure import WrongAnswer, timed
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.encoding import Spaces, spaces_class, strings_of

NAMES = {"PS-Tree": "pstree", "sorted array": "sorted"}
BOUNDARIES = {
    "smoke": (50,),
    "quick": (100, 10_000, 100_000),
    "full": (10, 100, 1_000, 10_000, 100_000, 1_000_000),
    "paper": (10, 100, 1_000, 10_000, 100_000, 1_000_000),
}
ONE_BY_ONE = {"smoke": 100, "quick": 100_000, "full": 1_000_000, "paper": 1_000_000}
LOOKUPS, ROUNDS, SEED = 20_000, 30, 3

Draw = Callable[[np.random.Generator, int, int], Any]


def _texts(random: np.random.Generator, count: int) -> list[str]:
    return [f"user/{number:x}" for number in random.integers(0, 2**40, count).tolist()]


CONSTANTS: dict[str, Draw] = {
    "int": lambda random, count, spread: random.integers(0, 10 * spread, count).tolist(),
    "number": lambda random, count, spread: random.random(count).tolist(),
    "string": lambda random, count, spread: _texts(random, count),
}
COLUMNS: dict[str, Draw] = {
    "int": lambda random, count, spread: random.integers(0, 10 * spread, count),
    "number": lambda random, count, spread: random.random(count),
    "string": lambda random, count, spread: strings_of([text.encode() for text in _texts(random, count)]),
}


def parts(scale: str) -> list[ExperimentPart]:
    located = [
        ExperimentPart(
            f"locate, {kind}",
            partial(measure_locate, kind, count),
            (FigurePlace(f"locate, {kind}", "boundaries", count),),
        )
        for kind in CONSTANTS
        for count in BOUNDARIES[scale]
    ]
    insertion = ExperimentPart(
        "one by one, int", partial(measure_insertion, ONE_BY_ONE[scale]), (FigurePlace("insertion"),)
    )
    return [*located, insertion]


def run(scale: str) -> list[dict[str, Any]]:
    return [row for part in parts(scale) for row in part.measure()]


def measure_locate(kind: str, count: int) -> list[dict[str, Any]]:
    """A row for each implementation; the median of many short rounds, each on a column of its own."""
    random = np.random.default_rng(SEED)
    constants = CONSTANTS[kind](random, count, count)
    columns = [COLUMNS[kind](random, LOOKUPS, count) for _ in range(ROUNDS + 1)]
    made = {name: spaces_class(option)(kind) for name, option in NAMES.items()}
    build_s = {name: timed(partial(spaces.add_many, constants))[0] for name, spaces in made.items()}
    located = {
        name: [timed(partial(spaces.locate_many, column)) for column in columns] for name, spaces in made.items()
    }
    for (_, first), (_, second) in zip(*located.values(), strict=True):
        if not np.array_equal(first, second):
            raise WrongAnswer(f"{kind}, {count:,} boundaries: the two implementations disagree")
    seconds = {name: float(np.median([each for each, _ in runs[1:]])) for name, runs in located.items()}
    return [
        _row(name, f"locate, {kind}", spaces, LOOKUPS, build_s[name], seconds[name] / LOOKUPS)
        for name, spaces in made.items()
    ]


def measure_insertion(count: int) -> list[dict[str, Any]]:
    """Distinct integers in random order, one by one."""
    constants = np.random.default_rng(SEED).permutation(count).tolist()
    bounds = np.linspace(0, count, 11).astype(int).tolist()
    rows = []
    for name, option in NAMES.items():
        spaces: Spaces = spaces_class(option)("int")
        tenths = [_insertion_s(spaces, constants[start:stop]) for start, stop in pairwise(bounds)]
        if len(spaces) != count or spaces.audit():
            raise WrongAnswer(f"{name}: {len(spaces):,} boundaries instead of {count:,}, or broken ones")
        row = _row(name, "one by one, int", spaces, count, sum(tenths), sum(tenths) / count)
        rows.append({**row, "us_first_tenth": _micro(tenths[0], count), "us_last_tenth": _micro(tenths[-1], count)})
    return rows


def _insertion_s(spaces: Spaces, constants: list[int]) -> float:
    started = time.process_time()
    for constant in constants:
        spaces.add_many([constant])
    return time.process_time() - started


def _micro(tenth: float, count: int) -> float:
    return round(1e7 * tenth / count, 2)


def _row(name: str, workload: str, spaces: Spaces, events: int, build_s: float, each_s: float) -> dict[str, Any]:
    boundaries, nbytes = len(spaces), spaces.stats()["bytes"]
    return {
        "engine": name,
        "workload": workload,
        "rules": boundaries,
        "events": events,
        "build_s": round(build_s, 4),
        "us_per_event": round(1e6 * each_s, 4),
        "bytes_index": nbytes,
        "checked": True,
        "bytes_per_boundary": round(nbytes / boundaries, 1),
    }
