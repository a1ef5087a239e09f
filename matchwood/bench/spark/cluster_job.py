"""The jobs of `bench spark` on a cluster, each in a process of its own: `cluster_job WHAT HOME MASTER DETAIL`.

HOME has `rules` and `events`, unless the job makes them. Prints each row as a line of JSON as soon as it is known.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matchwood import spark as mws
from matchwood.bench.frame.measure import timed
from matchwood.bench.frame.processes import descendants, is_python_worker, proportional_bytes
from matchwood.bench.spark.building import begen_settings
from matchwood.bench.spark.cluster import CELLS
from matchwood.workloads import rules_on_spark

FEW = 5_000
"""Rules of a build that nobody measures: workers start and load their kernels."""


def main(what: str, home: str, master: str, detail: str) -> None:
    conf: dict[str, Any] = {"spark.sql.files.openCostInBytes": str(2**30), "spark_ui_enabled": False}
    session = mws.session(master=master, spark_executor_memory="1g", spark_driver_memory="2g", **conf)
    for row in run(session, what, home, detail):
        print(json.dumps(row), flush=True)
    session.stop()


def run(session: Any, what: str, home: str, detail: str) -> Iterator[dict[str, Any]]:
    """One of the jobs, in a session."""
    return {"engine": _engine, "build": _build, "match": _match, "begen": _begen}[what](session, home, detail)


def _engine(session: Any, home: str, engine: str) -> Iterator[dict[str, Any]]:
    """An engine by each strategy, all rules and the best; the first job of each warms up and is checked."""
    events, path = session.read.parquet(f"{home}/events"), f"{home}/{engine}"
    report = mws.build(session.read.parquet(f"{home}/rules"), path, engine=engine, shards=2)
    for strategy, top in CELLS:
        options: dict[str, Any] = {"strategy": strategy, "top": top, "key": "id", "keep": ["id"]}
        told = {"engine": engine, "strategy": strategy, "top": top, "build_s": round(report.seconds, 2)}
        yield {**told, "bytes": report.bytes, **_timed(events, path, options)}


def _timed(events: Any, path: str, options: dict[str, Any]) -> dict[str, Any]:
    counts = mws.match(events, path, "count", **options)
    hits = int(counts.agg({"rule_count": "sum"}).first()[0])
    matched = mws.match(events, path, "array", **options)
    seconds, _ = timed(lambda: matched.write.format("noop").mode("overwrite").save())
    return {"hits": hits, "seconds": round(seconds, 3)}


def _build(session: Any, home: str, detail: str) -> Iterator[dict[str, Any]]:
    """Build, then replace a share of the rules by themselves: hits stay as they are."""
    rules, path = session.read.parquet(f"{home}/rules"), f"{home}/index"
    shards, changed = detail.split(",")
    built = mws.build(rules, path, shards=int(shards))
    yield {"strategy": "build", "seconds": round(built.seconds, 1), "bytes": built.bytes, "held": _held()}
    every = round(1 / float(changed))
    updated = mws.update(rules.where(f"id % {every} = 0"), path)
    told = {"strategy": "update", "seconds": round(updated.seconds, 1), "bytes": updated.bytes}
    yield {**told, "held": {**_held(), "replaced": updated.replaced}}


def _begen(session: Any, home: str, detail: str) -> Iterator[dict[str, Any]]:
    """Generate rules, then build an index of all, and one of a single shard of the first."""
    count, few = map(int, detail.split(","))
    made = rules_on_spark(session, "begen", **begen_settings(count))
    generate_s, _ = timed(lambda: made.write.parquet(f"{home}/rules"))
    rules = session.read.parquet(f"{home}/rules")
    mws.build(rules.where(f"id < {FEW}"), f"{home}/few")
    for name, most, shards in (("build", count, "auto"), ("one shard", few, 1)):
        report = mws.build(rules.where(f"id < {most}"), f"{home}/{name}", shards=shards)
        told = {"name": name, "rules": report.rules, "shards": report.shards, "bytes": report.bytes}
        yield {**told, "seconds": round(report.seconds, 1), "generate_s": round(generate_s, 1), "held": _held()}


def _match(session: Any, home: str, detail: str) -> Iterator[dict[str, Any]]:
    strategy, known = detail.split(",")
    events, path = session.read.parquet(f"{home}/events"), f"{home}/index"
    options: dict[str, Any] = {"strategy": strategy, "key": "id", "keep": ["id"]}
    told = _timed(events, path, options)
    counted = mws.match(events, path, "rows", **options).where(f"rule < {known}").count()
    size = next(each.bytes for each in mws.versions(path) if each.current)
    yield {"strategy": strategy, **told, "known": counted, "bytes": size, "held": _held()}


# ----------------------------------------------------------------------- memory


def _held() -> dict[str, float]:
    """Megabytes by kind of process: the most that one of them holds now, and the most that one ever had resident."""
    found: dict[str, list[int]] = {"driver": [os.getpid()]}
    for each in descendants(os.getpid()):
        found.setdefault(_kind(each.command), []).append(each.number)
    told: dict[str, float] = {}
    for kind, numbers in found.items():
        if kind:
            told[f"{kind}_mb"] = round(max(map(proportional_bytes, numbers)) / 1e6, 1)
            told[f"{kind}_peak_mb"] = round(max(map(_peak, numbers)) / 1e6, 1)
    return told


def _kind(command: bytes) -> str:
    if is_python_worker(command):
        return "worker"
    if b"CoarseGrainedExecutorBackend" in command:
        return "executor_jvm"
    return "driver_jvm" if b"SparkSubmit" in command else ""


def _peak(number: int) -> int:
    lines = Path(f"/proc/{number}/status").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main(*sys.argv[1:5])
