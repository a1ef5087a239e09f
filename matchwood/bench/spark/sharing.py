"""Whether the Python workers of a host share one copy of an index.

Four workers match events by an index of hardly any rules, and are weighed: what is left of each is its baseline. Then
they match the same events by a large one. If they share it, all of them together take four baselines and the index once
(aim: at most 1.1 times its bytes). Memory that several processes share is counted in proportion (Linux' PSS).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import matchwood
from matchwood.bench.frame.measure import WrongAnswer, require_hits, timed
from matchwood.bench.frame.setup import insert_all, sizes
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.workloads import Workload, ads

RULES = {"smoke": 2_000, "quick": 100_000, "full": 1_000_000, "paper": 1_000_000}
WORKERS, EVENTS_A_WORKER = 4, {"smoke": 500, "quick": 20_000, "full": 20_000, "paper": 20_000}
FEW_RULES = 10
DIMENSIONS, MATCHING = 40, 0.001
AIM = 1.1


def run(scale: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="matchwood-bench-") as home, Progress("bench sharing"):
        events = WORKERS * EVENTS_A_WORKER[scale]
        workload = ads(rules=RULES[scale], events=events, dimensions=DIMENSIONS, matching=MATCHING, seed=5)
        _write_events(workload, f"{home}/events")
        figures, hits = _saved_indexes(workload, home)
        told = _weighed(home)
    if told["hits"] != hits:
        raise WrongAnswer(f"the workers found {told['hits']:,} hits, the index {hits:,}")
    row = {"engine": f"{WORKERS} workers", "workload": "ads", "rules": RULES[scale], "events": events}
    row |= {"hits_per_event": round(hits / events, 2), **figures, "checked": True, **_bounds(told)}
    return {"experiment": "sharing", "scale": scale, "rows": [row]}


def _saved_indexes(workload: Workload, home: str) -> tuple[dict[str, Any], int]:
    """Save both indexes; returns the figures of the large one, and how many hits it has."""
    index, few, texts = Index(), Index(), workload.rules_text()
    build_s, _ = timed(lambda: insert_all(index, texts))
    insert_all(few, texts[:FEW_RULES])
    index.save(f"{home}/many")
    few.save(f"{home}/few")
    hits = sum(batch.num_rows for batch in index.match_batches(workload.events_table()))
    require_hits(hits, "bench sharing")
    return {"build_s": round(build_s, 3), **sizes(index)}, hits


def _write_events(workload: Workload, directory: str) -> None:
    """A file a worker."""
    os.makedirs(directory)
    table = workload.events_table()
    share = len(table) // WORKERS
    for number in range(WORKERS):
        pq.write_table(table.slice(number * share, share), f"{directory}/{number}.parquet")


def _weighed(home: str) -> dict[str, Any]:
    """What the job tells; it runs in a process of its own, since a process can have one Spark session only."""
    paths = os.pathsep.join([str(Path(matchwood.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "matchwood.bench.spark.sharing_job", home, str(WORKERS)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    if done.returncode:
        raise WrongAnswer(f"the job failed:\n{done.stderr[-4_000:]}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _bounds(told: dict[str, Any]) -> dict[str, Any]:
    """The index's copies in memory: what the workers take beyond their baselines, in sizes of the index."""
    beyond = sum(told["many"]) - sum(told["few"])
    return {
        "index_mb": _megabytes(told["bytes"]),
        "baseline_mb": _megabytes(sum(told["few"]) / WORKERS),
        "workers_mb": _megabytes(sum(told["many"])),
        "copies": round(beyond / told["bytes"], 3),
        "aim": AIM,
    }


def _megabytes(count: float) -> float:
    return round(count / 1e6, 1)
