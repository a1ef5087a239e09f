"""One event at a time through `index.match(dict)`: the latency that a request handler sees."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from matchwood.bench.frame.measure import require_hits
from matchwood.bench.frame.setup import check_with_oracle, prepare, sizes, warm_up
from matchwood.progress import Progress
from matchwood.workloads import Workload, begen

ENGINES = ("scan", "counting", "pstbloom", "psthash")
RULES = {"smoke": 2_000, "quick": 100_000, "full": 100_000, "paper": 100_000}
EVENTS = {"smoke": 50, "quick": 2_000, "full": 10_000, "paper": 10_000}
HITS = 10
"""About as many rules match an event."""

WARM = 100


def run(scale: str) -> dict[str, Any]:
    """Median and 99th percentile of the time for one event; each is matched once."""
    warm_up(ENGINES)
    workload = begen(rules=RULES[scale], events=EVENTS[scale] + WARM, matching=HITS / RULES[scale], seed=11)
    rows = [measure(workload, engine) for engine in ENGINES]
    for row in rows:
        row["ratio_to_scan"] = round(rows[0]["us_median"] / row["us_median"], 2)
    return {"experiment": "single", "scale": scale, "rows": rows}


def measure(workload: Workload, engine: str) -> dict[str, Any]:
    """The row of one engine."""
    prepared = prepare(workload, engine)
    index, given = prepared.rules, workload.events_dicts()
    warm = min(WARM, len(given) // 2)
    for event in given[:warm]:
        index.match(event)
    events = given[warm:]
    seconds, hits, before = np.empty(len(events)), 0, index.stats()["matching"]["candidates"]
    with Progress(f"bench single, {engine}", "events", len(events)) as progress:
        for position, event in enumerate(events):
            started = time.perf_counter()
            found = index.match(event)
            seconds[position] = time.perf_counter() - started
            hits += len(found)
            progress.advance()
    candidates = index.stats()["matching"]["candidates"] - before
    check_with_oracle(index, workload)
    return {
        "engine": engine,
        "workload": "begen, dicts",
        "rules": len(index),
        "events": len(events),
        "build_s": round(prepared.build_s, 3),
        "us_per_event": round(1e6 * float(seconds.mean()), 1),
        "hits_per_event": require_hits(hits, engine) / len(events),
        "candidates_per_event": candidates / len(events),
        **sizes(index),
        "checked": True,
        "us_median": round(1e6 * float(np.median(seconds)), 1),
        "us_p99": round(1e6 * float(np.percentile(seconds, 99)), 1),
    }
