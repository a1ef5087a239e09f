"""One event at a time through `index.match(dict)`: the latency that a request handler sees."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.frame.measure import WrongAnswer, require_hits
from matchwood.bench.frame.setup import check_with_oracle, prepare, sizes, tree_of, warm_up
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.semantics import evaluate
from matchwood.workloads import Workload, ads, begen

ENGINES = ("scan", "counting", "pstbloom", "psthash", "kindex", "betree", "atree", "auto")
"""Those that a service may use: `scan` first, which the others are compared with."""

RULES = {"smoke": 1_000, "quick": 100_000, "full": 100_000, "paper": 100_000}
EVENTS = {"smoke": 50, "quick": 2_000, "full": 10_000, "paper": 10_000}
HITS = 10
"""About as many rules match an event where few do."""

WORKLOADS: dict[str, Callable[[int, int], Workload]] = {
    "begen, few hits": lambda rules, events: begen(rules=rules, events=events, matching=HITS / rules, seed=11),
    "begen 1%": lambda rules, events: begen(rules=rules, events=events, matching=0.01, seed=11),
    "ads 0.1%": lambda rules, events: ads(rules=rules, events=events, matching=0.001, seed=11),
    "equalities 1%": lambda rules, events: begen(
        rules=rules, events=events, matching=0.01, expressiveness="minimum", seed=11
    ),
}
"""By rules and events: the last one has rules of equalities alone."""

WARM = 100


def run(scale: str) -> dict[str, Any]:
    """Median and 99th percentile of the time for one event; each is matched once. The empty one is matched as often."""
    warm_up(ENGINES)
    rows = [row for name in WORKLOADS for row in _rows(name, scale)]
    return {"experiment": "single", "scale": scale, "rows": rows}


def _rows(name: str, scale: str) -> list[dict[str, Any]]:
    workload = WORKLOADS[name](RULES[scale], EVENTS[scale] + WARM)
    rows = [{**measure(workload, engine), "workload": name} for engine in ENGINES]
    for row in rows:
        row["ratio_to_scan"] = round(rows[0]["us_median"] / row["us_median"], 2)
    return rows


def measure(workload: Workload, engine: str) -> dict[str, Any]:
    """The row of one engine."""
    prepared = prepare(workload, engine)
    index, given = prepared.rules, workload.events_dicts()
    warm = min(WARM, len(given) // 2)
    _timed(index, given[:warm])
    events, before = given[warm:], index.stats()["matching"]["candidates"]
    with Progress(f"bench single, {engine}", "events", len(events)) as progress:
        seconds, hits = _timed(index, events, progress.advance)
    candidates = index.stats()["matching"]["candidates"] - before
    empty, _ = _timed(index, [{}] * len(events))
    check_with_oracle(index, workload)
    _check_empty(index, workload.rules_text())
    return {
        "engine": engine,
        "workload": workload.name,
        "rules": len(index),
        "events": len(events),
        "build_s": round(prepared.build_s, 3),
        "us_per_event": _us(seconds.mean()),
        "hits_per_event": require_hits(hits, engine) / len(events),
        "candidates_per_event": candidates / len(events),
        **sizes(index),
        "checked": True,
        "us_median": _us(np.median(seconds)),
        "us_p99": _us(np.percentile(seconds, 99)),
        "us_empty": _us(np.median(empty)),
        "us_empty_p99": _us(np.percentile(empty, 99)),
    }


def _timed(
    index: Index, events: Sequence[dict[str, Any]], advance: Callable[[], None] = lambda: None
) -> tuple[NDArray[np.float64], int]:
    """The seconds of each event, and the hits of all."""
    seconds, hits, clock = np.empty(len(events)), 0, time.perf_counter
    for position, event in enumerate(events):
        started = clock()
        found = index.match(event)
        seconds[position] = clock() - started
        hits += len(found)
        advance()
    return seconds, hits


def _check_empty(index: Index, texts: Sequence[str], rules: int = 200) -> None:
    """The answer for an event that has nothing, held against the oracle on some rules."""
    found = set(index.match({}))
    for rule in {*range(0, len(texts), max(1, len(texts) // rules)), *sorted(found)[:rules]}:
        if (evaluate(tree_of(texts[rule]), {}) is True) != (rule in found):
            raise WrongAnswer(f"the oracle disagrees about rule {rule} ({texts[rule]}) and the empty event")


def _us(seconds: Any) -> float:
    return round(1e6 * float(seconds), 1)
