"""Building and matching with the core engines, on BEGen and on a dense workload (issue figures, all in one run).

One index is built from text; each engine is then built from the same encoded conjunctions and matches the same encoded
events, so that the columns compare engines and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matchwood.bench.measure import Measured, check_agreement, measure_engine, timed
from matchwood.bench.setup import Prepared, check_with_oracle, prepare
from matchwood.engines import Engine, engine_class
from matchwood.progress import Progress
from matchwood.workloads.ads import ads
from matchwood.workloads.base import Workload
from matchwood.workloads.begen import begen

ENGINES = ("scan", "counting")
SIZES = {"quick": (100_000,), "full": (100_000, 1_000_000), "paper": (100_000, 1_000_000)}
EVENTS = {100_000: 1_000, 1_000_000: 200}


def run(scale: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    workloads = list(_workloads(scale))
    with Progress("bench core: workloads", len(workloads)) as progress:
        for name, make in workloads:
            rows.extend(_measure(name, make()))
            progress.advance(1)
    return {"experiment": "core", "scale": scale, "rows": rows}


def _workloads(scale: str) -> Iterator[tuple[str, Any]]:
    for rules in SIZES[scale]:
        yield "begen 1%", lambda rules=rules: begen(rules=rules, events=EVENTS[rules], matching=0.01, seed=7)
        yield "dense 0.01%", lambda rules=rules: ads(rules=rules, events=EVENTS[rules], matching=0.0001, seed=7)


def _measure(name: str, workload: Workload) -> list[dict[str, Any]]:
    prepared = prepare(workload, "counting")
    check_with_oracle(prepared, workload)
    store = prepared.index._matcher.conjunctions
    built: dict[str, tuple[float, Engine]] = {}
    for engine_name in ENGINES:
        engine = engine_class(engine_name)(store)
        built[engine_name] = (timed(engine.rebuild)[0], engine)
    results = {engine_name: measure_engine(engine, prepared.events) for engine_name, (_, engine) in built.items()}
    check_agreement(results)
    return [_row(name, prepared, engine_name, *built[engine_name], results) for engine_name in ENGINES]


def _row(
    name: str, prepared: Prepared, engine_name: str, encoded_s: float, engine: Engine, results: dict[str, Measured]
) -> dict[str, Any]:
    found, rules = results[engine_name], len(prepared.index)
    stats = prepared.index.stats()
    return {
        "engine": engine_name,
        "workload": name,
        "rules": rules,
        "events": found.events,
        "build_s": round(prepared.build_s, 3),
        "rules_per_s_text": round(rules / prepared.build_s),
        "rules_per_s_encoded": round(rules / encoded_s),
        "encode_us_per_event": round(1e6 * prepared.encode_s / found.events, 2),
        "warmup_s": round(found.warmup_s, 3),
        "us_per_event": round(1e6 * found.seconds / found.events, 2),
        "ns_per_rule": round(1e9 * found.seconds / found.events / rules, 3),
        "hits_per_event": found.hits / found.events,
        "candidates_per_event": found.candidates / found.events,
        "ns_per_candidate": round(1e9 * found.seconds / found.candidates, 2),
        "bytes_index": engine.stats()["bytes_index"],
        "bytes_verify": stats["bytes_verify"],
        "bytes_text": stats["bytes_text"],
        "fallback_rules": stats["fallback_rules"],
        "ratio_to_scan": round(results["scan"].seconds / found.seconds, 2),
        "checked": True,
    }
