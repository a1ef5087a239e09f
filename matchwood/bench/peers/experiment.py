"""Next to what users might pick instead: rule engines, databases with all cores, Spark SQL. Same rules, same events.

Matchwood matches events on one core, and others with a thread on each. A peer has as many of the first events as fit
into the time box, and, if it holds an event against one rule after the other, as many of the first rules:
`rules` and `events` of its row are its sample, and `us_per_event_all` is what an event would take with all rules, in
proportion. Its answers on the sample are Matchwood's. What a peer is worth is `times_slower`, than Matchwood in batches
on one core, which reads events from a table of one column an attribute, and `times_slower_all_cores`, than the same
with all cores, which databases have too. They have events as pairs of numbers: `times_slower_encoded`, than Matchwood's
engine on events as codes, on one core, and `times_slower_encoded_all_cores`, with all, leave the columns out, and that
units become ids.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa

from matchwood.bench.frame.machine import machine
from matchwood.bench.frame.measure import (
    Rounds,
    WrongAnswer,
    box_seconds,
    drawn,
    first_events,
    measure_engine,
    measure_rounds,
    require_hits,
    timed,
    times,
)
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.frame.setup import PreparedIndex, check_with_oracle, prepare, sizes
from matchwood.bench.frame.setup import warm_up as warm_up_engines
from matchwood.bench.peers.engines import PEERS, Build
from matchwood.bench.peers.joins import JOINS, Query, Tables, tables_of
from matchwood.bench.spark.rivals import session_for, sql_hits, sql_rules
from matchwood.engines import Workspace
from matchwood.errors import MatchwoodError
from matchwood.matching import in_order, taken, usable_cores
from matchwood.workloads import Events, Workload, begen

RULES = {"smoke": 300, "quick": 100_000, "full": 100_000, "paper": 100_000}
EVENTS = {"smoke": 60, "quick": 4_000, "full": 4_000, "paper": 4_000}
"""Of a batch; every way to ask Matchwood has batches of its own, and the peers have the first ones."""

BEFORE = {"smoke": 60, "quick": 8_192, "full": 8_192, "paper": 8_192}
"""Events that an index matches before anything is measured: in its first 8,192 it counts how often values occur."""

ONE_BY_ONE = {"smoke": 60, "quick": 500, "full": 2_000, "paper": 2_000}
SQL_EVENTS = {"smoke": 20, "quick": 200, "full": 1_000, "paper": 1_000}
WORKLOADS = {"begen 1%": 0.01, "begen 0.1%": 0.001}
"""Rules of BEGen, and the share of them that matches an event."""

SEED = 13
BATCH, ALL_CORES, ENCODED = "matchwood, batch", "matchwood, batch, all cores", "matchwood, encoded events"
ENCODED_ALL_CORES = f"{ENCODED}, all cores"
_COMPARED = {
    "times_slower": BATCH,
    "times_slower_all_cores": ALL_CORES,
    "times_slower_encoded": ENCODED,
    "times_slower_encoded_all_cores": ENCODED_ALL_CORES,
}
_MOST_SECONDS, _TRIED = 30.0, 200

Row = dict[str, Any]


def warm_up() -> None:
    warm_up_engines(["scan", "auto"])


def parts(scale: str) -> list[ExperimentPart]:
    return [ExperimentPart(name, partial(measure, scale, name), (FigurePlace(name),)) for name in WORKLOADS]


def measure(scale: str, name: str) -> list[Row]:
    """Matchwood in batches and one by one, and every peer inside the time box."""
    way, singles, before = drawn(EVENTS[scale]), ONE_BY_ONE[scale], BEFORE[scale]
    workload = begen(rules=RULES[scale], events=4 * way + singles + before, matching=WORKLOADS[name], seed=SEED)
    prepared = prepare(workload, "auto")
    _settle(prepared, range(4 * way + singles, 4 * way + singles + before))
    own = [range(first, first + way) for first in range(0, 4 * way, way)]
    # A trial of `auto` would take one of the cores that are measured; `bench auto` counts what trials cost.
    with cast(Any, prepared.rules._matcher).trying:
        rows = [_batch(BATCH, prepared, own[0]), _batch(ALL_CORES, prepared, own[1], usable_cores())]
        rows += [_encoded(prepared, own[2]), _encoded_by_threads(prepared, own[3], usable_cores())]
        rows.append(_one_by_one(prepared, workload, range(4 * way, 4 * way + singles)))
    rows.append(_batch("matchwood, scan", prepare(workload, "scan"), own[0]))
    check_with_oracle(prepared.rules, workload)
    hits = prepared.rules.match_many(prepared.table.slice(0, EVENTS[scale]))
    workload = _some(workload, range(EVENTS[scale]))
    tables = tables_of(workload)
    others: list[Callable[[], Row]] = [partial(_join, name, make, tables, hits) for name, make in JOINS.items()]
    others.append(partial(_spark_sql, workload, SQL_EVENTS[scale], hits))
    others += [partial(_engine, name, build, workload, hits) for name, build in PEERS.items()]
    return [{**row, "workload": name} for row in _compared(rows + _present(others), workload)]


def _settle(prepared: PreparedIndex, own: range) -> None:
    """Let an index match these events, so that it has counted what it wants to count."""
    for first in range(own.start, own.stop, 1_024):
        prepared.rules.match_many(prepared.table.slice(first, min(1_024, own.stop - first)))


class _NotInstalled(MatchwoodError):
    """A peer that cannot be measured here."""


def _present(peers: Sequence[Callable[[], Row]]) -> list[Row]:
    """The rows of all peers that are installed; the others are named on standard error, and cost no row of the rest."""
    rows: list[Row] = []
    for peer in peers:
        try:
            rows.append(peer())
        except _NotInstalled as error:
            print(f"left out: {error}", file=sys.stderr)
    return rows


def _some(workload: Workload, own: range) -> Workload:
    """The same rules, and some of the events."""
    events = workload.events
    offsets = events.offsets[own.start : own.stop + 1]
    pairs = slice(int(offsets[0]), int(offsets[-1]))
    return replace(workload, events=Events(offsets - offsets[0], events.attributes[pairs], events.values[pairs]))


def _batch(name: str, prepared: PreparedIndex, own: range, threads: int = 1) -> Row:
    index, table, found = prepared.rules, prepared.table.slice(own.start, len(own)), list[int]()

    def match(first: int, stop: int) -> float:
        seconds, hits = timed(lambda: index.match_many(table.slice(first, stop - first), threads=threads))
        found.append(hits.num_rows)
        return seconds

    rounds = measure_rounds(match, len(own))
    work = index.stats()["matching"]
    row = _row(
        name, prepared.build_s, rounds.us, rounds.events, _expected(name, prepared, own, rounds, sum(found)), len(index)
    )
    return {
        **row, "candidates_per_event": work["candidates"] / work["events"], **sizes(index), "cores": threads,
        **rounds.marks(),
    }  # fmt: skip


def _expected(name: str, prepared: PreparedIndex, own: range, rounds: Rounds, hits: int) -> int:
    """So many hits, as an index has them when it is asked in one go, afterwards."""
    expected = prepared.rules.match_many(prepared.table.slice(own.start, rounds.events)).num_rows
    if hits != expected:
        raise WrongAnswer(f"{name}: {hits:,} hits instead of {expected:,}")
    return hits


def _encoded(prepared: PreparedIndex, own: range) -> Row:
    """The engine alone, on events as codes: databases are given theirs as pairs of numbers, too."""
    matcher: Any = prepared.rules._matcher
    found = measure_engine(matcher.engine, taken(prepared.events, np.array(own)))
    hits = _expected(ENCODED, prepared, own, found.rounds, found.hits)
    row = _row(ENCODED, prepared.build_s, found.match_us, found.events, hits, len(prepared.rules))
    return {**row, **times(0.0, found.match_us), "cores": 1, **found.marks()}


def _encoded_by_threads(prepared: PreparedIndex, own: range, threads: int) -> Row:
    """The same with a part of the events of each batch for each thread."""
    matcher: Any = prepared.rules._matcher
    engine, events = matcher.engine, taken(prepared.events, np.array(own))
    scratch = [Workspace() for _ in range(threads)]
    counts = list[int]()

    def part(edges: list[int], thread: int) -> int:
        some, position, found = first_events(events, edges[thread + 1]), edges[thread], 0
        while position < some.count:
            hits = engine.match(some, position, scratch[thread])
            position, found = position + hits.count, found + len(hits.units)
        return found

    def match(first: int, stop: int) -> float:
        edges = np.linspace(first, stop, threads + 1).astype(int).tolist()
        seconds, found = timed(lambda: sum(in_order(iter(range(threads)), partial(part, edges), threads)))
        counts.append(found)
        return seconds

    rounds = measure_rounds(match, events.count)
    hits = _expected(ENCODED_ALL_CORES, prepared, own, rounds, sum(counts))
    row = _row(ENCODED_ALL_CORES, prepared.build_s, rounds.us, rounds.events, hits, len(prepared.rules))
    return {**row, **times(0.0, rounds.us), "cores": threads, **rounds.marks()}


def _one_by_one(prepared: PreparedIndex, workload: Workload, own: range) -> Row:
    name, events, index = "matchwood, one by one", _some(workload, own).events_dicts(), prepared.rules
    seconds, found = timed(lambda: [index.match(event) for event in events])
    _agree(name, _as_table(found), index.match_many(prepared.table.slice(own.start, len(own))))
    row = _row(name, prepared.build_s, 1e6 * seconds / len(own), len(own), sum(map(len, found)), len(index))
    return {**row, **sizes(index), "cores": 1}


def _join(name: str, make: Callable[[Tables], Query], tables: Tables, hits: pa.Table) -> Row:
    """Batches of growing size, each of events of its own, until the time box is half used up; the best one counts."""
    build_s, query = _built(name, lambda: make(tables))
    most, best, spent, first, events = tables.workload.events.count, (np.inf, 1, 0), 0.0, 0, 10
    while True:
        stop = min(first + events, most)
        seconds, found = timed(partial(query, first, stop))
        _agree(name, found, _between(hits, first, stop))
        best, spent = min(best, (seconds / (stop - first), stop - first, found.num_rows)), spent + seconds
        if stop == most or spent + 6 * seconds > min(_MOST_SECONDS, box_seconds()) / 2:
            break
        first, events = stop, 3 * events
    each_s, events, count = best
    row = _row(name, build_s, 1e6 * each_s, events, count, tables.workload.rules.count)
    return {**row, "cores": machine()["usable_cores"]}


def _spark_sql(workload: Workload, events: int, hits: pa.Table) -> Row:
    """What one more event costs, without what a query costs whatever the number of events: in favour of Spark."""
    name, few, first = "Spark SQL, counting join", max(1, events // 10), 0
    try:
        with session_for() as session:
            sql_rules(session, workload)
            taken_s = []
            for count in (few, few, events):  # the first warms up
                frame = sql_hits(session, workload, first, first + count)
                seconds, found = timed(frame.collect)
                columns = {key: np.array([row[key] for row in found], np.int64) for key in ("event", "rule")}
                _agree(name, pa.table(columns), _between(hits, first, first + count))
                taken_s.append(seconds)
                first += count
    except ImportError as error:
        raise _NotInstalled(f"{name} is not installed: pip install 'matchwood[spark]' ({error})") from None
    except MatchwoodError as error:
        if isinstance(error, WrongAnswer):
            raise
        raise _NotInstalled(f"{name} cannot run here ({error})") from None  # Spark without Java
    _, fixed_s, whole_s = taken_s
    marginal = (whole_s - fixed_s) / (events - few) if whole_s > fixed_s else whole_s / events
    row = _row(name, 0.0, 1e6 * marginal, events, len(found), workload.rules.count)
    return {**row, "build_s": None, "cores": machine()["usable_cores"], "seconds": round(whole_s, 2)}


def _engine(name: str, build: Build, workload: Workload, hits: pa.Table) -> Row:
    """As many rules as can be built in a third of the time box and matched twice in another, then as many events."""
    texts, (warm, *events) = workload.rules_text(), workload.events_dicts()
    third = box_seconds() / 3 if box_seconds() < 3_600 else 1_200.0
    tried_s, some = _built(name, lambda: build(texts[:_TRIED]))
    match_s, _ = timed(lambda: some(warm))
    a_rule = max(tried_s, 2 * match_s, 1e-9) / min(_TRIED, len(texts))
    rules = min(len(texts), max(_TRIED, int(third / a_rule)))
    build_s, matcher = timed(lambda: build(texts[:rules]))
    matcher(warm)
    found, started = list[list[int]](), time.perf_counter()
    while len(found) < len(events) and (len(found) < 2 or time.perf_counter() - started < third):
        found.append(matcher(events[len(found)]))
    seconds = time.perf_counter() - started
    expected = hits.filter(pa.array(hits["rule"].to_numpy() < rules))
    _agree(name, _as_table(found), _between(expected, 1, 1 + len(found)))
    row = _row(name, build_s, 1e6 * seconds / len(found), len(found), sum(map(len, found)), rules)
    return {**row, "cores": 1, "us_per_event_all": round(row["us_per_event"] * len(texts) / rules, 1)}


def _built(name: str, build: Callable[[], Any]) -> tuple[float, Any]:
    try:
        return timed(build)
    except ImportError as error:
        raise _NotInstalled(f"{name} is not installed: pip install 'matchwood[bench]' ({error})") from None


def _as_table(found: Sequence[Sequence[int]]) -> pa.Table:
    events = np.repeat(np.arange(len(found)), [len(rules) for rules in found])
    return pa.table({"event": events, "rule": np.concatenate([np.array(rules, np.int64) for rules in found])})


def _between(hits: pa.Table, first: int, stop: int) -> pa.Table:
    """The hits of some events, which count from 0 then."""
    events = hits["event"].to_numpy().astype(np.int64)
    own = (events >= first) & (events < stop)
    return pa.table({"event": events[own] - first, "rule": hits["rule"].to_numpy()[own]})


def _agree(name: str, found: pa.Table, expected: pa.Table) -> None:
    """The same pairs of event and rule, whatever their order."""
    if not np.array_equal(_pairs(expected), _pairs(found)):
        raise WrongAnswer(f"{name} gives other answers than Matchwood")


def _pairs(hits: pa.Table) -> Any:
    pairs = np.stack([hits[name].to_numpy().astype(np.int64) for name in ("event", "rule")], axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _row(name: str, build_s: float, us: float, events: int, hits: int, rules: int) -> Row:
    return {
        "engine": name,
        "rules": rules,
        "events": events,
        "build_s": round(build_s, 3),
        "us_per_event": round(us, 2),
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
