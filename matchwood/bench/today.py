"""Next to what users have today: the rule engines of the `bench` extra, same rules, same events, same run."""

from __future__ import annotations

from typing import Any

from matchwood.bench.measure import WrongAnswer, require_hits, timed
from matchwood.bench.peers import PEERS, Build
from matchwood.bench.setup import Prepared, check_with_oracle, prepare, sizes, warm_up
from matchwood.progress import Progress
from matchwood.workloads.base import Workload
from matchwood.workloads.begen import begen

RULES = {"smoke": 300, "quick": 10_000, "full": 10_000, "paper": 10_000}
EVENTS = {"smoke": 30, "quick": 2_000, "full": 10_000, "paper": 10_000}
PEER_EVENTS = {"smoke": 3, "quick": 5, "full": 50, "paper": 50}
_ROUNDS = 3


def run(scale: str) -> dict[str, Any]:
    """Matchwood in batches and one event at a time, and each peer on as many events as its speed allows."""
    warm_up(["scan", "counting"])
    workload = begen(rules=RULES[scale], events=EVENTS[scale], matching=0.01, seed=13)
    prepared = prepare(workload, "counting")
    check_with_oracle(prepared.rules, workload)
    rows, answers = _ours(prepared, workload)
    rows.append(_batch("matchwood, scan", prepare(workload, "scan")))
    with Progress("bench today", "peers", len(PEERS)) as progress:
        for name, build in PEERS.items():
            rows.append(_peer(name, build, workload, PEER_EVENTS[scale], answers))
            progress.advance()
    return {"experiment": "today", "scale": scale, "rows": _compared(rows)}


def _ours(prepared: Prepared, workload: Workload) -> tuple[list[dict[str, Any]], list[list[int]]]:
    events, index = workload.events_dicts(), prepared.rules
    seconds, answers = timed(lambda: [index.match(event) for event in events])
    alone = _row("matchwood, one by one", prepared.build_s, seconds, len(events), sum(map(len, answers)))
    return [_batch("matchwood, batch", prepared), {**alone, **sizes(index), "rules": len(index)}], answers


def _batch(name: str, prepared: Prepared) -> dict[str, Any]:
    index, table = prepared.rules, prepared.table
    rounds = [timed(lambda: index.match_many(table)) for _ in range(_ROUNDS)]
    seconds, hits = min(rounds, key=lambda pair: pair[0])
    row = _row(name, prepared.build_s, seconds, table.num_rows, hits.num_rows)
    work = index.stats()["matching"]
    return {**row, "candidates_per_event": work["candidates"] / work["events"], **sizes(index), "rules": len(index)}


def _peer(name: str, build: Build, workload: Workload, count: int, answers: list[list[int]]) -> dict[str, Any]:
    texts, events = workload.rules_text(), workload.events_dicts()[:count]
    try:
        build_s, matcher = timed(lambda: build(texts))
    except ImportError as error:
        raise WrongAnswer(f"{name} is not installed: pip install 'matchwood[bench]' ({error})") from None
    matcher(events[0])
    seconds, found = timed(lambda: [matcher(event) for event in events])
    if found != answers[:count]:
        raise WrongAnswer(f"{name} gives other answers than Matchwood")
    return {**_row(name, build_s, seconds, count, sum(map(len, found))), "rules": len(texts)}


def _row(name: str, build_s: float, seconds: float, events: int, hits: int) -> dict[str, Any]:
    return {
        "engine": name,
        "workload": "begen 1%",
        "build_s": round(build_s, 3),
        "events": events,
        "us_per_event": round(1e6 * seconds / events, 2),
        "hits_per_event": require_hits(hits, name) / events,
        "checked": True,
    }


def _compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    scan = next(row for row in rows if row["engine"] == "matchwood, scan")
    for row in rows:
        row["ratio_to_scan"] = round(scan["us_per_event"] / row["us_per_event"], 5)
        row["times_slower"] = round(row["us_per_event"] / rows[0]["us_per_event"], 1)
    return rows
