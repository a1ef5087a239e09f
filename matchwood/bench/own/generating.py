"""How fast each generator makes rules, in one process and on Spark, and that both make the same ones.

On Spark the rules go to Parquet files, as `matchwood generate --spark` writes them. They are read back, and every block
is held against the one that this process makes. How many rules match is found by brute force on the first block's worth
of rules with the same settings; no event may occur twice. `extrapolated_s` is what 100 million rules would take, in
proportion: nothing of that size was run.
"""

from __future__ import annotations

import tempfile
from functools import partial
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from matchwood.bench.frame.machine import machine
from matchwood.bench.frame.measure import WrongAnswer, require_hits, timed
from matchwood.bench.frame.setup import refuse_repeated_events
from matchwood.bench.spark.rivals import session_for
from matchwood.progress import Progress
from matchwood.workloads import BLOCK, GENERATORS, blocks_of, generate, hits, rules_block, rules_on_spark, settings_of

RULES = {"smoke": 4_000, "quick": 40_000, "full": 1_000_000, "paper": 1_000_000}
MOST = {"begen": {"full": 10_000_000, "paper": 10_000_000}, "qgrams": dict.fromkeys(("quick", "full", "paper"), 20_000)}
EVENTS, FEW, SEED = 20, 1_000, 17
LARGER, LEAST_EXTRAPOLATED = 100_000_000, 1_000_000

Row = dict[str, Any]


def run(scale: str) -> dict[str, Any]:
    with session_for() as session, Progress("bench generate", "generators", len(GENERATORS)) as progress:
        rows: list[Row] = []
        for name in GENERATORS:
            rows += measure(session, name, MOST.get(name, {}).get(scale, RULES[scale]))
            progress.advance()
    return {"experiment": "generate", "scale": scale, "rows": rows}


def measure(session: Any, name: str, rules: int) -> list[Row]:
    """A row for one process and one for Spark."""
    settings = {"rules": rules, "events": EVENTS, "seed": SEED}
    shared = {"workload": name, "rules": rules, "events": EVENTS, **_matching(name, rules)}
    rules_on_spark(session, name, **{**settings, "rules": min(rules, FEW)}).count()  # workers start and load
    with tempfile.TemporaryDirectory(prefix="matchwood-bench-") as home:
        frame = rules_on_spark(session, name, **settings)
        spark_s, _ = timed(lambda: frame.write.mode("overwrite").parquet(home))
        here_s = _compared(name, settings, ds.dataset(home, format="parquet"))
    here = {"engine": "one process", **shared, "cores": 1, **_rates(rules, here_s)}
    there = {"engine": "Spark", **shared, "cores": machine()["usable_cores"], **_rates(rules, spark_s)}
    larger = {"extrapolated_s": round(LARGER / rules * spark_s)} if rules >= LEAST_EXTRAPOLATED else {}
    return [here, there | larger]


def _rates(rules: int, seconds: float) -> Row:
    return {"seconds": round(seconds, 3), "rules_per_s": round(rules / seconds), "checked": True}


def _matching(name: str, rules: int) -> Row:
    workload = generate(name, rules=min(rules, BLOCK), events=EVENTS, seed=SEED)
    refuse_repeated_events(workload)
    found = require_hits(sum(map(len, hits(workload, range(EVENTS)))), name)
    return {"matching": round(found / EVENTS / workload.rules.count, 6)}


def _compared(name: str, settings: Row, written: Any) -> float:
    """Make every block here, and hold what Spark wrote against it; returns the seconds of making alone."""
    chosen, seconds = settings_of(name, settings), 0.0
    with Progress(f"comparing {name}", "rules", chosen.rules) as progress:
        for block in blocks_of(chosen.rules):
            taken, made = timed(partial(rules_block, name, chosen, block))
            theirs = (pc.field("id") >= block.first) & (pc.field("id") < block.first + block.count)
            found = written.to_table(columns=["id", "expression"], filter=theirs).sort_by("id")
            if not found.combine_chunks().equals(made.combine_chunks().cast(found.schema)):
                raise WrongAnswer(f"{name}: block {block.number} made on Spark has other rules")
            seconds += taken
            progress.advance(block.count)
    if written.count_rows() != chosen.rules:
        raise WrongAnswer(f"{name}: Spark made {written.count_rows():,} rules instead of {chosen.rules:,}")
    return seconds
