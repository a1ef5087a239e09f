"""One event at a time through `index.match(dict)`: the latency that a request handler sees."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from matchwood.bench.measure import WrongAnswer
from matchwood.bench.setup import check_with_oracle, prepare
from matchwood.workloads.begen import begen

RULES = 100_000
EVENTS = {"quick": 2_000, "full": 10_000, "paper": 10_000}


def run(scale: str) -> dict[str, Any]:
    """Median and 99th percentile at 100,000 rules and about 10 hits an event."""
    workload = begen(rules=RULES, events=EVENTS[scale], matching=10 / RULES, seed=11)
    rows = [_row(workload, engine) for engine in ("counting", "scan")]
    return {"experiment": "single", "scale": scale, "rows": rows}


def _row(workload: Any, engine: str) -> dict[str, Any]:
    prepared = prepare(workload, engine)
    check_with_oracle(prepared, workload)
    index, events = prepared.index, workload.events_dicts()
    for event in events[:100]:
        index.match(event)
    seconds, hits = np.empty(len(events)), 0
    for position, event in enumerate(events):
        started = time.perf_counter()
        found = index.match(event)
        seconds[position] = time.perf_counter() - started
        hits += len(found)
    if not hits:
        raise WrongAnswer("no event matched any rule")
    return {
        "engine": engine,
        "workload": "begen",
        "rules": len(index),
        "events": len(events),
        "hits_per_event": hits / len(events),
        "us_median": round(1e6 * float(np.median(seconds)), 1),
        "us_p99": round(1e6 * float(np.percentile(seconds, 99)), 1),
        "us_mean": round(1e6 * float(seconds.mean()), 1),
        "checked": True,
    }
