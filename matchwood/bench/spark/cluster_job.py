"""The jobs of `bench spark` on a cluster, each in a process of its own: `cluster_job WHAT HOME MASTER DETAIL`.

HOME has `rules` and `events`. Prints JSON: a list of rows.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from matchwood import spark as mws
from matchwood.bench.frame.measure import timed
from matchwood.bench.frame.processes import descendants, proportional_bytes
from matchwood.bench.spark.cluster import STRATEGIES, TOP
from matchwood.engines import engine_names

SLOW = ("oracle",)
"""Too slow for as many rules: it is there to be compared with."""


def main(what: str, home: str, master: str, detail: str) -> None:
    conf: dict[str, Any] = {"spark.sql.files.openCostInBytes": str(2**30), "spark_ui_enabled": False}
    session = mws.session(master=master, spark_executor_memory="1g", spark_driver_memory="2g", **conf)
    rows = run(session, what, home, detail)
    session.stop()
    print(json.dumps(rows), flush=True)


def run(session: Any, what: str, home: str, detail: str) -> list[dict[str, Any]]:
    """One of the jobs, in a session."""
    return {"engines": _engines, "build": _build, "match": _match}[what](session, home, detail)


def _engines(session: Any, home: str, detail: str) -> list[dict[str, Any]]:
    """Each engine by each strategy, all rules and the best; the first job of each warms up and is checked."""
    events = session.read.parquet(f"{home}/events")
    rows = []
    for engine in detail.split(",") if detail else ["auto", *(name for name in engine_names() if name not in SLOW)]:
        path = f"{home}/{engine}"
        report = mws.build(session.read.parquet(f"{home}/rules"), path, engine=engine, shards=2)
        for strategy in STRATEGIES:
            for top in (None, TOP):
                options: dict[str, Any] = {"strategy": strategy, "top": top, "key": "id", "keep": ["id"]}
                told = {"engine": engine, "strategy": strategy, "top": top, "build_s": round(report.seconds, 2)}
                rows.append({**told, "bytes": report.bytes, **_timed(events, path, options)})
    return rows


def _timed(events: Any, path: str, options: dict[str, Any]) -> dict[str, Any]:
    counts = mws.match(events, path, "count", **options)
    hits = int(counts.agg({"rule_count": "sum"}).first()[0])
    matched = mws.match(events, path, "array", **options)
    seconds, _ = timed(lambda: matched.write.format("noop").mode("overwrite").save())
    return {"hits": hits, "seconds": round(seconds, 3)}


def _build(session: Any, home: str, detail: str) -> list[dict[str, Any]]:
    """Build, then replace a share of the rules by themselves: hits stay as they are."""
    rules, path = session.read.parquet(f"{home}/rules"), f"{home}/index"
    shards, changed = detail.split(",")
    built = mws.build(rules, path, shards=int(shards))
    rows = [{"strategy": "build", "seconds": round(built.seconds, 1), "bytes": built.bytes, "held": _held()}]
    every = round(1 / float(changed))
    updated = mws.update(rules.where(f"id % {every} = 0"), path)
    told = {"strategy": "update", "seconds": round(updated.seconds, 1), "bytes": updated.bytes}
    return [*rows, {**told, "held": {**_held(), "replaced": updated.replaced}}]


def _match(session: Any, home: str, detail: str) -> list[dict[str, Any]]:
    strategy, known = detail.split(",")
    events, path = session.read.parquet(f"{home}/events"), f"{home}/index"
    options: dict[str, Any] = {"strategy": strategy, "key": "id", "keep": ["id"]}
    told = _timed(events, path, options)
    counted = mws.match(events, path, "rows", **options).where(f"rule < {known}").count()
    size = next(each.bytes for each in mws.versions(path) if each.current)
    return [{"strategy": strategy, **told, "known": counted, "bytes": size, "held": _held()}]


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
    if b"pyspark.daemon" in command or b"pyspark.worker" in command:
        return "worker"
    if b"CoarseGrainedExecutorBackend" in command:
        return "executor_jvm"
    return "driver_jvm" if b"SparkSubmit" in command else ""


def _peak(number: int) -> int:
    lines = Path(f"/proc/{number}/status").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main(*sys.argv[1:5])
