"""Next to what users have today: the rule engines of the `bench` extra, same rules, same events, same run."""

from __future__ import annotations

from typing import Any

from matchwood.bench.measure import WrongAnswer, timed
from matchwood.bench.peers import PEERS
from matchwood.bench.setup import prepare
from matchwood.progress import Progress
from matchwood.workloads.begen import begen

RULES = {"quick": 10_000, "full": 10_000, "paper": 10_000}
EVENTS = {"quick": 1_000, "full": 10_000, "paper": 10_000}
PEER_EVENTS = {"quick": 5, "full": 50, "paper": 50}


def run(scale: str) -> dict[str, Any]:
    """Matchwood in batches and one event at a time, and each peer on as many events as its speed allows."""
    workload = begen(rules=RULES[scale], events=EVENTS[scale], matching=0.01, seed=13)
    prepared = prepare(workload, "counting")
    texts, events = workload.rules_text(), workload.events_dicts()
    index = prepared.index
    index.match_many(prepared.table.slice(0, 10))
    seconds, hits = min((timed(lambda: index.match_many(prepared.table)) for _ in range(3)), key=lambda pair: pair[0])
    rows = [_row("matchwood, batch", prepared.build_s, seconds, len(events), hits.num_rows)]
    seconds, answers = timed(lambda: [index.match(event) for event in events])
    rows.append(_row("matchwood, one by one", prepared.build_s, seconds, len(events), sum(map(len, answers))))
    with Progress("peers", len(PEERS)) as progress:
        for name, build in PEERS.items():
            rows.append(_peer(name, build, texts, events[: PEER_EVENTS[scale]], answers))
            progress.advance(1)
    fastest = rows[0]["us_per_event"]
    for row in rows:
        row["times_slower"] = round(row["us_per_event"] / fastest, 1)
    return {"experiment": "today", "scale": scale, "rows": rows}


def _peer(name: str, build: Any, texts: list[str], events: list[dict[str, int]], answers: list[list[int]]) -> dict[str, Any]:
    build_s, matcher = timed(lambda: build(texts))
    matcher(events[0])
    seconds, found = timed(lambda: [matcher(event) for event in events])
    if found != answers[: len(events)]:
        raise WrongAnswer(f"{name} gives other answers than Matchwood")
    return _row(name, build_s, seconds, len(events), sum(map(len, found)))


def _row(name: str, build_s: float, seconds: float, events: int, hits: int) -> dict[str, Any]:
    if not hits:
        raise WrongAnswer("no event matched any rule")
    return {
        "engine": name,
        "workload": "begen 1%",
        "build_s": round(build_s, 3),
        "events": events,
        "us_per_event": round(1e6 * seconds / events, 2),
        "hits_per_event": hits / events,
        "checked": True,
    }
