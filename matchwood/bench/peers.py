"""Next to what users might pick instead: rule engines, databases with all cores, Spark SQL. Same rules, same events.

Matchwood matches all events, on one core, and once more with a thread on each. A peer has as many of the first events
as fit into the time box, and, if it holds an event against one rule after the other, as many of the first rules:
`rules` and `events` of its row are its sample, and `us_per_event_all` is what an event would take with all rules, in
proportion. Its answers on the sample are Matchwood's. What a peer is worth is `times_slower`, than Matchwood in batches
on one core, which reads events from a table of one column an attribute, and `times_slower_all_cores`, than the same
with all cores, which databases have too. They have events as pairs of numbers: `times_slower_encoded`, than Matchwood's
engine on events as codes, on one core, and `times_slower_encoded_all_cores`, with all, leave the columns out, and that
units become ids.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood._arrays import places_in
from matchwood.bench.frame import Part, Place
from matchwood.bench.machine import machine
from matchwood.bench.measure import WrongAnswer, box_seconds, first_events, measure_engine, require_hits, timed
from matchwood.bench.peer_engines import PEERS, Build
from matchwood.bench.peer_joins import JOINS, Query, Tables, tables_of
from matchwood.bench.setup import Prepared, check_with_oracle, prepare, sizes
from matchwood.bench.setup import warm_up as warm_up_engines
from matchwood.bench.spark_rivals import session_for, sql_hits
from matchwood.engines import Workspace
from matchwood.indexing.threads import in_order, usable_cores
from matchwood.workloads.base import Workload
from matchwood.workloads.begen import begen

RULES = {"smoke": 300, "quick": 100_000, "full": 100_000, "paper": 100_000}
EVENTS = {"smoke": 60, "quick": 2_000, "full": 10_000, "paper": 10_000}
ONE_BY_ONE = {"smoke": 60, "quick": 500, "full": 2_000, "paper": 2_000}
SQL_EVENTS = {"smoke": 20, "quick": 200, "full": 1_000, "paper": 1_000}
NAME, SEED = "begen 1%", 13
BATCH, ALL_CORES, ENCODED = "matchwood, batch", "matchwood, batch, all cores", "matchwood, encoded events"
ENCODED_ALL_CORES = f"{ENCODED}, all cores"
_COMPARED = {
    "times_slower": BATCH,
    "times_slower_all_cores": ALL_CORES,
    "times_slower_encoded": ENCODED,
    "times_slower_encoded_all_cores": ENCODED_ALL_CORES,
}
_ROUNDS, _MOST_SECONDS, _TRIED = 20, 30.0, 200

Row = dict[str, Any]


def warm_up() -> None:
    warm_up_engines(["scan", "auto"])


def parts(scale: str) -> list[Part]:
    return [Part(NAME, partial(measure, scale), (Place(NAME),))]


def measure(scale: str) -> list[Row]:
    """Matchwood in batches and one by one, and every peer inside the time box."""
    workload = begen(rules=RULES[scale], events=EVENTS[scale], matching=0.01, seed=SEED)
    prepared = prepare(workload, "auto")
    check_with_oracle(prepared.rules, workload)
    hits = prepared.rules.match_many(prepared.table)
    rows = [_batch(BATCH, prepared), _batch(ALL_CORES, prepared, usable_cores()), _encoded(prepared, hits)]
    rows.append(_encoded_by_threads(prepared, hits, usable_cores()))
    rows.append(_one_by_one(prepared, workload, ONE_BY_ONE[scale], hits))
    rows.append(_batch("matchwood, scan", prepare(workload, "scan")))
    tables = tables_of(workload)
    rows += [_join(name, make, tables, hits) for name, make in JOINS.items()]
    rows.append(_spark_sql(workload, SQL_EVENTS[scale], hits))
    rows += [_engine(name, build, workload, hits) for name, build in PEERS.items()]
    return _compared(rows, workload)


def _batch(name: str, prepared: Prepared, threads: int = 1) -> Row:
    index, table = prepared.rules, prepared.table
    index.match_many(table, threads=threads)  # new threads have no scratch memory yet
    rounds = [timed(lambda: index.match_many(table, threads=threads)) for _ in range(_ROUNDS)]
    seconds, hits = min(rounds, key=lambda pair: pair[0])
    work = index.stats()["matching"]
    row = _row(name, prepared.build_s, seconds, table.num_rows, hits.num_rows, len(index))
    return {**row, "candidates_per_event": work["candidates"] / work["events"], **sizes(index), "cores": threads}


def _encoded(prepared: Prepared, hits: pa.Table) -> Row:
    """The engine alone, on events as codes: databases are given theirs as pairs of numbers, too."""
    matcher: Any = prepared.rules._matcher
    found = measure_engine(matcher.over, prepared.events)
    if found.timeout is None and found.hits != hits.num_rows:
        raise WrongAnswer(f"{ENCODED}: {found.hits:,} hits instead of {hits.num_rows:,}")
    rules = len(prepared.rules)
    row = _row(ENCODED, prepared.build_s, found.seconds, found.events, found.hits, rules)
    return {**row, "cores": 1, **found.marks()}


def _encoded_by_threads(prepared: Prepared, hits: pa.Table, threads: int) -> Row:
    """The same with a part of the events for each thread."""
    matcher: Any = prepared.rules._matcher
    engine, events, scratch = matcher.over, prepared.events, [Workspace() for _ in range(threads)]
    edges = np.linspace(0, events.count, threads + 1).astype(int).tolist()

    def match(thread: int) -> int:
        own, position, found = first_events(events, edges[thread + 1]), edges[thread], 0
        while position < own.count:
            some = engine.match(own, position, scratch[thread])
            position, found = position + some.count, found + len(some.units)
        return found

    rounds = [timed(lambda: sum(in_order(iter(range(threads)), match, threads))) for _ in range(_ROUNDS)]
    seconds, count = min(rounds)
    if count != hits.num_rows:
        raise WrongAnswer(f"{ENCODED_ALL_CORES}: {count:,} hits instead of {hits.num_rows:,}")
    row = _row(ENCODED_ALL_CORES, prepared.build_s, seconds, events.count, count, len(prepared.rules))
    return {**row, "cores": threads}


def _one_by_one(prepared: Prepared, workload: Workload, count: int, hits: pa.Table) -> Row:
    events, index = workload.events_dicts()[:count], prepared.rules
    seconds, found = timed(lambda: [index.match(event) for event in events])
    _agree("matchwood, one by one", _as_table(found), hits, count)
    row = _row("matchwood, one by one", prepared.build_s, seconds, count, sum(map(len, found)), len(index))
    return {**row, **sizes(index), "cores": 1}


def _join(name: str, make: Callable[[Tables], Query], tables: Tables, hits: pa.Table) -> Row:
    """Batches of growing size until the time box is half used up; the best time of an event counts."""
    build_s, query = _built(name, lambda: make(tables))
    most, best, spent, events = tables.workload.events.count, (np.inf, 1, 0), 0.0, 10
    while True:
        events = min(events, most)
        seconds, found = timed(partial(query, events))
        _agree(name, found, hits, events)
        best, spent = min(best, (seconds / events, events, found.num_rows)), spent + seconds
        if events == most or spent + 6 * seconds > min(_MOST_SECONDS, box_seconds()) / 2:
            break
        events *= 3
    each_s, events, count = best
    row = _row(name, build_s, each_s * events, events, count, tables.workload.rules.count)
    return {**row, "cores": machine()["usable_cores"]}


def _spark_sql(workload: Workload, events: int, hits: pa.Table) -> Row:
    """What one more event costs, without what a query costs whatever the number of events: in favour of Spark."""
    name, few = "Spark SQL, counting join", max(1, events // 10)
    try:
        with session_for() as session:
            taken = []
            for count in (few, events):
                frame = sql_hits(session, workload, count)
                frame.collect()
                seconds, found = timed(frame.collect)
                columns = {key: np.array([row[key] for row in found], np.int64) for key in ("event", "rule")}
                _agree(name, pa.table(columns), hits, count)
                taken.append(seconds)
    except ImportError as error:
        raise WrongAnswer(f"{name} is not installed: pip install 'matchwood[spark]' ({error})") from None
    marginal = (taken[1] - taken[0]) / (events - few) if taken[1] > taken[0] else taken[1] / events
    row = _row(name, 0.0, marginal * events, events, len(found), workload.rules.count)
    return {**row, "build_s": None, "cores": machine()["usable_cores"], "seconds": round(taken[1], 2)}


def _engine(name: str, build: Build, workload: Workload, hits: pa.Table) -> Row:
    """As many rules as can be built in a third of the time box and matched twice in another, then as many events."""
    texts, events = workload.rules_text(), workload.events_dicts()
    third = box_seconds() / 3 if box_seconds() < 3_600 else 1_200.0
    tried_s, some = _built(name, lambda: build(texts[:_TRIED]))
    match_s, _ = timed(lambda: some(events[0]))
    a_rule = max(tried_s, 2 * match_s, 1e-9) / min(_TRIED, len(texts))
    rules = min(len(texts), max(_TRIED, int(third / a_rule)))
    build_s, matcher = timed(lambda: build(texts[:rules]))
    matcher(events[0])
    found, started = list[list[int]](), time.perf_counter()
    while len(found) < len(events) and (len(found) < 2 or time.perf_counter() - started < third):
        found.append(matcher(events[len(found)]))
    seconds = time.perf_counter() - started
    expected = hits.filter(pa.array(hits["rule"].to_numpy() < rules))
    _agree(name, _as_table(found), expected, len(found))
    row = _row(name, build_s, seconds, len(found), sum(map(len, found)), rules)
    return {**row, "cores": 1, "us_per_event_all": round(row["us_per_event"] * len(texts) / rules, 1)}


def _built(name: str, build: Callable[[], Any]) -> tuple[float, Any]:
    try:
        return timed(build)
    except ImportError as error:
        raise WrongAnswer(f"{name} is not installed: pip install 'matchwood[bench]' ({error})") from None


def _as_table(found: Sequence[Sequence[int]]) -> pa.Table:
    events = np.repeat(np.arange(len(found)), [len(rules) for rules in found])
    return pa.table({"event": events, "rule": np.concatenate([np.array(rules, np.int64) for rules in found])})


def _agree(name: str, found: pa.Table, expected: pa.Table, events: int) -> None:
    """The same pairs of event and rule, whatever their order, for the first events."""
    ours, theirs = (_pairs(table) for table in (expected, found))
    if not np.array_equal(ours[: places_in(ours[:, 0], events)], theirs):
        raise WrongAnswer(f"{name} gives other answers than Matchwood")


def _pairs(hits: pa.Table) -> Any:
    pairs = np.stack([hits[name].to_numpy().astype(np.int64) for name in ("event", "rule")], axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _row(name: str, build_s: float, seconds: float, events: int, hits: int, rules: int) -> Row:
    return {
        "engine": name,
        "workload": NAME,
        "rules": rules,
        "events": events,
        "build_s": round(build_s, 3),
        "us_per_event": round(1e6 * seconds / events, 2),
        "hits_per_event": require_hits(hits, name) / events,
        "checked": True,
    }


def _compared(rows: list[Row], workload: Workload) -> list[Row]:
    """Beside the scan, and beside Matchwood in batches; samples of rules in proportion."""
    for row in rows:
        row.setdefault("us_per_event_all", row["us_per_event"])
    taken = {row["engine"]: row["us_per_event"] for row in rows}
    for row in rows:
        row["ratio_to_scan"] = round(taken["matchwood, scan"] / max(row["us_per_event_all"], 0.01), 5)
        for column, engine in _COMPARED.items():
            row[column] = round(row["us_per_event_all"] / taken[engine], 1)
    return rows
