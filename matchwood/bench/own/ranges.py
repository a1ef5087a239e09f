"""One-sided ranges with distinct constants on one attribute: the case that ruins an index that enumerates.

In bulk, and one by one with the cost of the first and of the last tenth apart: it must not grow with the number of
spaces. The tenths are measured in the process's own time, since half an hour apart other work on the machine would
look like growth. Each cell runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import matchwood
from matchwood.bench.frame import setup
from matchwood.bench.frame.measure import WrongAnswer, require_hits, timed
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.frame.setup import insert_all, sizes
from matchwood.index import Index

ENGINES = ("scan", "counting", "kindex", "pstbloom", "psthash", "hem", "betree", "atree")
WAYS = ("bulk", "one by one")
RULES = {"smoke": 1_000, "quick": 20_000, "full": 1_000_000, "paper": 1_000_000}
VALUES = 20
SEED = 5


def parts(scale: str) -> list[ExperimentPart]:
    """A part for each engine and way: a million rules one by one take some minutes."""
    return [
        ExperimentPart(f"{engine}, {way}", partial(_cell, engine, way, RULES[scale]), (FigurePlace(way),))
        for way in WAYS
        for engine in ENGINES
    ]


def warm_up() -> None:
    """Each cell warms itself up, in its own process."""


def _cell(engine: str, way: str, rules: int) -> list[dict[str, Any]]:
    return [_in_own_process(engine, way, rules)]


def _in_own_process(engine: str, way: str, rules: int) -> dict[str, Any]:
    script = "import json, sys, matchwood.bench.own.ranges as r; print(json.dumps(r.measure(*json.loads(sys.argv[1]))))"
    places = [str(Path(matchwood.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    command = [sys.executable, "-c", script, json.dumps([engine, way, rules])]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise WrongAnswer(f"{engine}, {way}: {reason}")
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def measure(engine: str, way: str, rules: int) -> dict[str, Any]:
    """Build, match some values, hold every hit against NumPy, and tell time and peak memory."""
    setup.warm_up([engine])
    constants = np.random.default_rng(SEED).permutation(rules)
    texts = [f"x {'<' if constant % 2 else '>='} {constant}" for constant in constants.tolist()]
    index = Index(engine)
    build_s, tenths = _insert(index, texts, way)
    values = np.linspace(-1, rules, VALUES).astype(int).tolist()
    index.match({"x": rules + 1})  # which warms up, and is not measured
    seconds, found = timed(lambda: [index.match({"x": value}) for value in values])
    check(constants, values, found)
    candidates = index.stats()["matching"]["candidates"] / (VALUES + 1)
    return {
        "engine": engine,
        "workload": f"{engine}, {way}",
        "rules": rules,
        "events": VALUES,
        "build_s": round(build_s, 2),
        "us_per_event": round(1e6 * seconds / VALUES, 1),
        "hits_per_event": require_hits(sum(map(len, found)), engine) / VALUES,
        "candidates_per_event": candidates,
        **sizes(index),
        "checked": True,
        "us_per_rule": round(1e6 * build_s / rules, 1),
        "core_us_first_tenth": round(1e7 * tenths[0] / rules, 1) if tenths else None,
        "core_us_last_tenth": round(1e7 * tenths[-1] / rules, 1) if tenths else None,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _insert(index: Index, texts: list[str], way: str) -> tuple[float, list[float]]:
    """Seconds for all rules, and, one by one, the process's seconds for each tenth of them."""
    if way == "bulk":
        return timed(lambda: insert_all(index, texts))[0], []
    bounds = np.linspace(0, len(texts), 11).astype(int).tolist()
    return timed(lambda: [_one_by_one(index, texts, start, stop) for start, stop in pairwise(bounds)])


def _one_by_one(index: Index, texts: list[str], start: int, stop: int) -> float:
    before = time.process_time()
    for number in range(start, stop):
        index[number] = texts[number]
    return time.process_time() - before


def check(constants: NDArray[np.int64], values: list[int], found: list[list[int]]) -> None:
    """Odd constants are upper bounds, even ones lower bounds."""
    odd = constants % 2 == 1
    for value, hits in zip(values, found, strict=True):
        expected = np.flatnonzero(np.where(odd, value < constants, value >= constants))
        if hits != expected.tolist():
            raise WrongAnswer(f"x = {value}: {len(hits):,} hits, or others, instead of {len(expected):,}")
