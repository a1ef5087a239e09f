"""Matching on a cluster of two executors: every engine by every strategy, and what each process holds of a large index.

    engines    all of them × broadcast, sharded, partitioned × all rules and the best ten, at one number of rules
    large      an index built, updated, and matched by each strategy; the bytes of drivers, executors and workers

Each engine, and each step with the large index, runs in a process of its own (`cluster_job.py`) that is ended when its
time is over. Hits are compared with those of an index in this process: of all rules, or of the first block of the large
ones. Bytes are proportional (Linux' PSS), peaks are those of resident memory, which count shared pages in full.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from matchwood.bench.frame.measure import WrongAnswer, require_hits
from matchwood.bench.spark.jobs_apart import RunJob
from matchwood.engines import engine_names
from matchwood.index import Index
from matchwood.workloads import Workload, ads, begen

RULES = {"smoke": 2_000, "quick": 100_000, "full": 100_000, "paper": 100_000}
EVENTS = {"smoke": 200, "quick": 5_000, "full": 20_000, "paper": 20_000}
FEW_ENGINES, SLOW = ("auto", "kindex"), ("oracle",)
"""Those of the tests; and what is too slow for as many rules: it is there to be compared with."""
ENGINE_BOX = {"smoke": 60.0, "quick": 120.0, "full": 240.0, "paper": 240.0}
"""Seconds for one engine, all strategies, of which a minute is Spark's start and the build."""

LARGE = {"smoke": 2_000, "quick": 1_000_000, "full": 10_000_000, "paper": 10_000_000}
LARGE_SHARDS = {"smoke": 2, "quick": 4, "full": 8, "paper": 8}
LARGE_BOX = {"smoke": 60.0, "quick": 120.0, "full": 900.0, "paper": 900.0}
"""Seconds for building and updating together, and for each strategy."""
LARGE_EVENTS = {"smoke": 100, "quick": 2_000, "full": 2_000, "paper": 2_000}
BLOCK, CHANGED = 500_000, 0.01
"""Rules made at a time, each block with a seed of its own; and the share of rules that the update replaces."""
DIMENSIONS, MATCHING, TOP = 40, 0.0002, 10
LARGE_MATCHING = {"smoke": 0.01, "quick": 0.0001, "full": 0.0001, "paper": 0.0001}
"""Of the rules of the first block, which the events are made for."""
STRATEGIES = ("broadcast", "sharded", "partitioned")
CELLS = [(strategy, top) for strategy in STRATEGIES for top in (None, TOP)]


# ------------------------------------------------------------ engines × strategies


def by_engine(scale: str, home: str, run: RunJob) -> list[dict[str, Any]]:
    """A row for each engine, strategy, and all rules or the best; of what did not fit into its time, the time."""
    work = ads(rules=RULES[scale], events=EVENTS[scale], dimensions=DIMENSIONS, matching=MATCHING, seed=5)
    _write_rules(f"{home}/rules", 0, work.rules_table())
    _write_events(f"{home}/events", work)
    every, best = _expected(work, RULES[scale])
    rows = []
    for engine in FEW_ENGINES if scale == "smoke" else ("auto", *(name for name in engine_names() if name not in SLOW)):
        found = run("engine", home, engine, ENGINE_BOX[scale])
        for row in found:
            if row["hits"] != (best if row["top"] else every):
                raise WrongAnswer(f"{engine} by {row['strategy']}, top {row['top']}: {row['hits']:,} hits")
        rows += [_engine_row(scale, row) for row in found]
        rows += [_late_row(scale, engine, *cell) for cell in CELLS[len(found) :]]
    return rows


def _expected(work: Workload, rules: int) -> tuple[int, int]:
    """The hits of all events, and those that are left of the best ten of each."""
    index = Index()
    index.insert_many(work.rules_table().slice(0, rules), on_error="raise")
    counts = np.bincount(index.match_many(work.events_table())["event"].to_numpy(), minlength=work.events.count)
    require_hits(int(counts.sum()), "bench spark, cluster")
    return int(counts.sum()), int(np.minimum(counts, TOP).sum())


def _late_row(scale: str, engine: str, strategy: str, top: int | None) -> dict[str, Any]:
    told = {"engine": engine, "workload": _named(strategy, top), "rules": RULES[scale], "events": EVENTS[scale]}
    return {**told, "checked": True, "partitions": 2, "timeout": ENGINE_BOX[scale]}


def _named(strategy: str, top: int | None) -> str:
    return f"2 executors, {strategy}, top {top}" if top else f"2 executors, {strategy}"


def _engine_row(scale: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "engine": row["engine"],
        "workload": _named(row["strategy"], row["top"]),
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


def large(scale: str, home: str, run: RunJob) -> list[dict[str, Any]]:
    """Rows for building, for updating, and for each strategy, with what processes held; steps that were not done in
    time have none."""
    count = LARGE[scale]
    for number, first in enumerate(range(0, count, BLOCK)):
        how = {"events": LARGE_EVENTS[scale], "matching": LARGE_MATCHING[scale], "seed": 100 + number}
        block = begen(rules=min(BLOCK, count - first), **how)
        _write_rules(f"{home}/rules", number, _renumbered(block, first))
        if not number:
            _write_events(f"{home}/events", block)
            known, _ = _expected(block, BLOCK)
    box = LARGE_BOX[scale]
    built = run("build", home, f"{LARGE_SHARDS[scale]},{CHANGED}", box)
    matched = [row for strategy in STRATEGIES for row in run("match", home, f"{strategy},{BLOCK}", box) if built]
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
