"""One-sided ranges with distinct constants on one attribute: the case that ruins an index that enumerates.

In bulk, and one by one with the cost of the first and of the last tenth apart: it must not grow with the number of spaces.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any

import numpy as np

from matchwood.bench.measure import WrongAnswer, timed
from matchwood.index import Index

RULES = {"quick": 100_000, "full": 1_000_000, "paper": 1_000_000}
ENGINES = ("scan", "counting")
SEED = 5


def run(scale: str) -> dict[str, Any]:
    """Each cell runs in a process of its own, so that its peak memory is its own."""
    rows = [_cell(engine, how, RULES[scale]) for engine in ENGINES for how in ("bulk", "one by one")]
    return {"experiment": "ranges", "scale": scale, "rows": rows}


def _cell(engine: str, how: str, rules: int) -> dict[str, Any]:
    script = f"import json; from matchwood.bench.ranges import measure; print(json.dumps(measure({engine!r}, {how!r}, {rules})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    if done.returncode:
        raise WrongAnswer(f"{engine}, {how}: {done.stderr.strip().splitlines()[-1]}")
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def measure(engine: str, how: str, rules: int) -> dict[str, Any]:
    """Build, match 100 values against NumPy's count, and tell time and peak memory."""
    constants = np.random.default_rng(SEED).permutation(rules)
    texts = [f"x {'<' if constant % 2 else '>='} {constant}" for constant in constants.tolist()]
    index = Index(engine=engine)
    tenths = _insert(index, texts, how)
    _check(index, constants, rules)
    return {
        "engine": engine,
        "how": how,
        "rules": rules,
        "build_s": round(sum(tenths), 2),
        "us_per_rule": round(1e6 * sum(tenths) / rules, 1),
        "us_first_tenth": round(1e7 * tenths[0] / rules, 1),
        "us_last_tenth": round(1e7 * tenths[-1] / rules, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "checked": True,
    }


def _insert(index: Index, texts: list[str], how: str) -> list[float]:
    """Seconds for each tenth of the rules; in bulk all of it counts as one."""
    if how == "bulk":
        return [timed(lambda: index.insert_many(enumerate(texts)))[0]]
    bounds = np.linspace(0, len(texts), 11).astype(int)
    return [timed(lambda: _one_by_one(index, texts, start, stop))[0] for start, stop in zip(bounds, bounds[1:], strict=False)]


def _one_by_one(index: Index, texts: list[str], start: int, stop: int) -> None:
    for number in range(start, stop):
        index[number] = texts[number]


def _check(index: Index, constants: np.ndarray[Any, Any], rules: int) -> None:
    odd = constants % 2 == 1
    for value in np.linspace(-1, rules, 20).astype(int).tolist():
        expected = np.flatnonzero(np.where(odd, value < constants, value >= constants))
        if index.match({"x": value}) != expected.tolist():
            raise WrongAnswer(f"x = {value}: {len(index.match({'x': value}))} hits instead of {len(expected)}")
