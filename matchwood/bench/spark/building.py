"""From a table of rules to a published index on all cores of this machine: `mws.build` as it is, and one shard.

    build        as many shards as `auto` makes of all rules
    one shard    of the first of them: tasks read the rules on all cores, one puts them together

BEGen's rules, generated on Spark too. Hits on rules of the first block are compared with those of an index in this
process that has these rules alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.bench.frame.measure import WrongAnswer, require_hits
from matchwood.bench.spark.jobs_apart import RunJob, on_cluster
from matchwood.index import Index
from matchwood.sharding import open_index
from matchwood.workloads import blocks_of, generate, rules_block, settings_of

RULES = {"smoke": 4_000, "quick": 400_000, "full": 10_000_000, "paper": 10_000_000}
ONE_SHARD = {"smoke": 2_000, "quick": 400_000, "full": 1_000_000, "paper": 1_000_000}
BOX = {"smoke": 60.0, "quick": 120.0, "full": 900.0, "paper": 900.0}
EVENTS, OTHER_RULES, SEED = 20, 50_000, 17

on_this_machine: RunJob = partial(on_cluster, master="local[*]")


def built(scale: str, home: str, run: RunJob) -> list[dict[str, Any]]:
    """A row for each kind of build that was done in time."""
    rows = run("begen", home, f"{RULES[scale]},{ONE_SHARD[scale]}", BOX[scale])
    for row in rows:
        _check(f"{home}/{row['name']}", row["rules"], RULES[scale])
    return [_row(row) for row in rows]


def begen_settings(rules: int) -> dict[str, Any]:
    return {"rules": rules, "events": EVENTS, "seed": SEED}


def _check(path: str, rules: int, generated: int) -> None:
    """Compare the first of the rules; what they are depends on how many were generated with them."""
    first = rules_block("begen", settings_of("begen", begen_settings(generated)), blocks_of(generated)[0])
    first = first.slice(0, rules)
    # Events of other rules match some of these too, and are made much faster.
    events = generate("begen", **begen_settings(min(rules, OTHER_RULES))).events_table()
    index, few = Index(), len(first)
    index.insert_many(first, on_error="raise")
    expected, found = index.match_many(events), open_index(path).match_many(events)
    require_hits(len(expected), "bench spark, building")
    if _pairs(found, few) != _pairs(expected, few):
        raise WrongAnswer(f"an index of {rules:,} rules that Spark has built finds other hits")


def _pairs(found: pa.Table, rules: int) -> set[tuple[int, int]]:
    events, ids = found["event"].to_numpy(), found["rule"].to_numpy()
    kept = np.flatnonzero(ids < rules)
    return set(zip(events[kept].tolist(), ids[kept].tolist(), strict=True))


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "engine": "auto",
        "workload": f"begen on Spark, {row['name']}",
        "rules": row["rules"],
        "build_s": row["seconds"],
        "bytes": row["bytes"],
        "checked": True,
        "seconds": row["seconds"],
        "rules_per_s": round(row["rules"] / row["seconds"]),
        "shards": row["shards"],
        "generate_s": row["generate_s"],
        **row["held"],
    }
