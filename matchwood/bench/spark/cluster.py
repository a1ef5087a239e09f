"""Matching on a cluster of two executors: every engine by every strategy, and what each process holds of a large index.

    engines    all of them × broadcast, sharded, partitioned × all rules and the best ten, at one number of rules
    large      an index built, updated, and matched by each strategy; the bytes of drivers, executors and workers

Each of these runs in processes of its own (`cluster_job.py`), since a process has one master only. Hits are compared
with those of an index in this process: of all rules, or of the first block of the large ones. Bytes are proportional
(Linux' PSS), peaks are those of resident memory, which count shared pages in full.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import matchwood
from matchwood.bench.frame.measure import WrongAnswer, require_hits
from matchwood.index import Index
from matchwood.workloads import Workload, ads, begen

MASTER = "local-cluster[2,1,1024]"
RULES = {"smoke": 2_000, "quick": 100_000, "full": 100_000, "paper": 100_000}
EVENTS = {"smoke": 200, "quick": 5_000, "full": 20_000, "paper": 20_000}
ENGINES = {"smoke": ("auto", "kindex")}
"""All of them at the other scales."""

LARGE = {"smoke": 2_000, "quick": 1_000_000, "full": 10_000_000, "paper": 10_000_000}
LARGE_SHARDS = {"smoke": 2, "quick": 4, "full": 8, "paper": 8}
LARGE_EVENTS = {"smoke": 100, "quick": 2_000, "full": 2_000, "paper": 2_000}
BLOCK, CHANGED = 500_000, 0.01
"""Rules made at a time, each block with a seed of its own; and the share of rules that the update replaces."""
DIMENSIONS, MATCHING, TOP = 40, 0.0002, 10
LARGE_MATCHING = {"smoke": 0.01, "quick": 0.0001, "full": 0.0001, "paper": 0.0001}
"""Of the rules of the first block, which the events are made for."""
STRATEGIES = ("broadcast", "sharded", "partitioned")

Run: TypeAlias = Callable[[str, str, str], list[dict[str, Any]]]
"""Runs a job: what it does, where its files are, and what more it has to know."""


def cluster_rows(scale: str, home: str, run: Run) -> list[dict[str, Any]]:
    """The rows of both parts."""
    return [*_by_engine(scale, f"{home}/engines", run), *_large(scale, f"{home}/large", run)]


# ------------------------------------------------------------ engines × strategies


def _by_engine(scale: str, home: str, run: Run) -> list[dict[str, Any]]:
    work = ads(rules=RULES[scale], events=EVENTS[scale], dimensions=DIMENSIONS, matching=MATCHING, seed=5)
    _write_rules(f"{home}/rules", 0, work.rules_table())
    _write_events(f"{home}/events", work)
    every, best = _expected(work, RULES[scale])
    rows = run("engines", home, ",".join(ENGINES.get(scale, ())))
    for row in rows:
        if row["hits"] != (best if row["top"] else every):
            raise WrongAnswer(f"{row['engine']} by {row['strategy']}, top {row['top']}: {row['hits']:,} hits")
    return [_engine_row(scale, row) for row in rows]


def _expected(work: Workload, rules: int) -> tuple[int, int]:
    """The hits of all events, and those that are left of the best ten of each."""
    index = Index()
    index.insert_many(work.rules_table().slice(0, rules), on_error="raise")
    counts = np.bincount(index.match_many(work.events_table())["event"].to_numpy(), minlength=work.events.count)
    require_hits(int(counts.sum()), "bench spark, cluster")
    return int(counts.sum()), int(np.minimum(counts, TOP).sum())


def _engine_row(scale: str, row: dict[str, Any]) -> dict[str, Any]:
    wanted = f"{row['strategy']}, top {TOP}" if row["top"] else row["strategy"]
    return {
        "engine": row["engine"],
        "workload": f"2 executors, {wanted}",
        "rules": RULES[scale],
        "events": EVENTS[scale],
        "build_s": row["build_s"],
        "us_per_event": round(1e6 * row["seconds"] / EVENTS[scale], 2),
        "hits_per_event": round(row["hits"] / EVENTS[scale], 2),
        "bytes": row["bytes"],
        "checked": True,
        "seconds": row["seconds"],
        "partitions": 2,
    }


# ------------------------------------------------------------------------ large


def _large(scale: str, home: str, run: Run) -> list[dict[str, Any]]:
    count = LARGE[scale]
    for number, first in enumerate(range(0, count, BLOCK)):
        how = {"events": LARGE_EVENTS[scale], "matching": LARGE_MATCHING[scale], "seed": 100 + number}
        block = begen(rules=min(BLOCK, count - first), **how)
        _write_rules(f"{home}/rules", number, _renumbered(block, first))
        if not number:
            _write_events(f"{home}/events", block)
            known, _ = _expected(block, BLOCK)
    built = run("build", home, f"{LARGE_SHARDS[scale]},{CHANGED}")
    matched = [row for strategy in STRATEGIES for row in run("match", home, f"{strategy},{BLOCK}")]
    for row in matched:
        if row["known"] != known or row["hits"] != matched[0]["hits"]:
            raise WrongAnswer(f"{row['strategy']}: {row['hits']:,} hits, {row['known']:,} of the first block")
    return [_large_row(scale, row) for row in [*built, *matched]]


def _renumbered(work: Workload, first: int) -> pa.Table:
    table = work.rules_table()
    return table.set_column(0, "id", pa.array(np.arange(first, first + len(table))))


def _large_row(scale: str, row: dict[str, Any]) -> dict[str, Any]:
    events = LARGE_EVENTS[scale] if row["strategy"] in STRATEGIES else None
    return {
        "engine": "auto",
        "workload": f"large, {row['strategy']}",
        "rules": LARGE[scale],
        "events": events,
        "build_s": row["seconds"] if events is None else None,
        "us_per_event": None if events is None else round(1e6 * row["seconds"] / events, 2),
        "hits_per_event": None if events is None else round(row["hits"] / events, 2),
        "bytes": row["bytes"],
        "checked": True,
        "seconds": row["seconds"],
        **row["held"],
    }


# ------------------------------------------------------------------------ files


def _write_rules(directory: str, number: int, table: pa.Table) -> None:
    os.makedirs(directory, exist_ok=True)
    pq.write_table(table, f"{directory}/{number:03d}.parquet", row_group_size=100_000)


def _write_events(directory: str, work: Workload) -> None:
    """A file for each executor."""
    os.makedirs(directory)
    table = work.events_table()
    table = table.append_column("id", pa.array(range(len(table))))
    half = -(-len(table) // 2)
    for number in range(2):
        pq.write_table(table.slice(number * half, half), f"{directory}/{number}.parquet")


def on_cluster(what: str, home: str, detail: str) -> list[dict[str, Any]]:
    """What a job tells that runs in a process of its own."""
    paths = os.pathsep.join([str(Path(matchwood.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "matchwood.bench.spark.cluster_job", what, home, MASTER, detail]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    if done.returncode:
        raise WrongAnswer(f"the job {what!r} failed:\n{done.stderr[-4_000:]}")
    told: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return told
