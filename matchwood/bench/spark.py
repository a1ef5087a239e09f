"""Matching on Spark, next to what it cannot be faster than, and to what users would do without Matchwood.

    array, 20 hits     next to encoding and kernel alone, one process a core (aim: 60% of its throughput)
    rows, 1,000 hits   next to a UDF that emits as many constant hits (aim: 70%)
    Spark SQL          predicates exploded, joined, grouped, counted; on a sample (aim: it takes 100 times as long)
    sizes              time against events × rules × partitions

Events are read from Parquet, results go to Spark's noop sink. The first run of everything is not measured, but what
compiling costs a worker that finds no machine code is, in a process of its own (`first_use_s`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from matchwood.bench.measure import WrongAnswer, require_hits, timed
from matchwood.bench.setup import insert_all, refuse_repeated_events, sizes
from matchwood.bench.spark_floor import first_use, kernel_seconds
from matchwood.bench.spark_rivals import constant_hits, session_for, sql_hits
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.workloads.ads import ads
from matchwood.workloads.base import Workload

RULES = {"smoke": 2_000, "quick": 100_000, "full": 100_000, "paper": 100_000}
EVENTS = {"smoke": 400, "quick": 60_000, "full": 1_000_000, "paper": 1_000_000}
SQL_EVENTS = {"smoke": 20, "quick": 100, "full": 1_000, "paper": 1_000}
FEW_HITS, MANY_HITS = 20, 1_000
DIMENSIONS = 40
"""So many columns travel."""
MOST_MATCHING = {"smoke": 0.005, "quick": 0.01, "full": 0.01, "paper": 0.01}
"""With rules of eight predicates no larger share can be true of an event; of few rules an even smaller one."""
CHECKED = 200
ROUNDS = 4
"""Every Spark job runs so often, and the best counts: the machine's other work only ever adds time."""


class Case(NamedTuple):
    """A workload on disk: an index, events in as many files as there are cores, and what the Index says of some."""

    name: str
    workload: Workload
    path: str
    events: str
    figures: dict[str, Any]
    answers: dict[int, list[int]]


def run(scale: str) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory(prefix="matchwood-bench-") as home,
        Progress("bench spark", "steps", 5) as progress,
        session_for() as session,
    ):
        rows = _rows(session, scale, home, progress)
    return {"experiment": "spark", "scale": scale, "rows": rows}


def _rows(session: Any, scale: str, home: str, progress: Progress) -> list[dict[str, Any]]:
    few = _case(f"{home}/few", "20 hits", scale, FEW_HITS)
    progress.advance()
    rows = _against_kernel(session, few)
    if scale != "smoke":  # compiling everything anew takes longer than all tests of the benchmarks together
        rows[0] |= _first_use(few)
    progress.advance()
    rows += _against_sql(session, few, SQL_EVENTS[scale], rows[0])
    progress.advance()
    many = _case(f"{home}/many", "1,000 hits", scale, MANY_HITS, EVENTS[scale] // 10)
    rows += _against_constants(session, many)
    progress.advance()
    rows += _by_size(session, scale, home, few)
    progress.advance()
    return rows


def _case(home: str, name: str, scale: str, hits: int, events: int | None = None, rules: int | None = None) -> Case:
    rules, events = rules or RULES[scale], events or EVENTS[scale]
    matching = min(hits / rules, MOST_MATCHING[scale])
    workload = ads(rules=rules, events=events, dimensions=DIMENSIONS, matching=matching, seed=5)
    refuse_repeated_events(workload)
    index, table = Index(), workload.events_table()
    build_s, _ = timed(lambda: insert_all(index, workload.rules_text()))
    index.save(f"{home}/index")
    _write(table.append_column("id", pa.array(range(events))), f"{home}/events")
    sample = index.match_many(table.slice(0, CHECKED)).to_pylist()
    answers: dict[int, list[int]] = {event: [] for event in range(min(CHECKED, events))}
    for hit in sample:
        answers[hit["event"]].append(hit["rule"])
    require_hits(len(sample), name)
    return Case(
        name, workload, f"{home}/index", f"{home}/events", {"build_s": round(build_s, 3), **sizes(index)}, answers
    )


def _write(table: pa.Table, directory: str) -> None:
    os.makedirs(directory)
    share = -(-len(table) // _cores())
    for number in range(_cores()):
        pq.write_table(table.slice(number * share, share), f"{directory}/{number:03d}.parquet")


def _cores() -> int:
    return os.cpu_count() or 1


def _events(session: Any, case: Case, partitions: int | None = None) -> Any:
    frame = session.read.parquet(case.events)
    return frame if partitions is None else frame.coalesce(partitions)


def _against_kernel(session: Any, case: Case) -> list[dict[str, Any]]:
    from matchwood import spark as mws

    hits = mws.match(_events(session, case), case.path, "array", keep=["id"])
    seconds = _measured(hits, _check_arrays(case))
    floor = kernel_seconds(case.path, case.events, _cores())
    total = mws.match(_events(session, case), case.path, "count", keep=[]).agg({"rule_count": "sum"}).first()[0]
    ours = _row(case, "spark, array", seconds, total, share=floor / seconds, aim=0.6)
    return [ours, _row(case, "encoding + kernel", floor, total)]


def _first_use(case: Case) -> dict[str, float]:
    compiled, loaded = first_use(case.path, case.events)
    return {"first_use_s": round(compiled, 2), "loaded_use_s": round(loaded, 2)}


def _against_constants(session: Any, case: Case) -> list[dict[str, Any]]:
    from matchwood import spark as mws

    frame = _events(session, case)
    total = mws.match(frame, case.path, "count", keep=[]).agg({"rule_count": "sum"}).first()[0]
    rows: list[dict[str, Any]] = []
    for output in ("rows", "array"):
        ours = mws.match(frame, case.path, output, keep=["id"])
        seconds = _measured(ours, _check_arrays(case) if output == "array" else _check_rows(case))
        constant = constant_hits(frame, round(total / case.workload.events.count), output)
        emitted = _measured(constant, lambda frame: None)
        rows.append(_row(case, f"spark, {output}", seconds, total, share=emitted / seconds, aim=0.7))
        rows.append(_row(case, f"constant hits, {output}", emitted, total))
    return rows


def _against_sql(session: Any, case: Case, events: int, ours: dict[str, Any]) -> list[dict[str, Any]]:
    """What one more event costs: a tenth of the sample tells what the join costs whatever the number of events.

    That is in favour of Spark SQL: our own figure includes all that a job costs.
    """
    first = max(1, events // 10)
    (fixed_s, _), (seconds, found) = (_sql_run(session, case, count) for count in (first, events))
    marginal = (seconds - fixed_s) / (events - first) if seconds > fixed_s else seconds / events
    row = _row(case, "spark sql", marginal * events, found, events=events)
    slower = round(row["us_per_event"] / ours["us_per_event"], 1)
    return [
        {**row, "times_slower": slower, "seconds": round(seconds, 2), "seconds_tenth": round(fixed_s, 2), "aim": 100}
    ]


def _sql_run(session: Any, case: Case, events: int) -> tuple[float, int]:
    hits = sql_hits(session, case.workload, events)
    timed(hits.collect)
    seconds, found = timed(hits.collect)
    pairs = {(row["event"], row["rule"]) for row in found if row["event"] < CHECKED}
    if pairs != {(event, rule) for event, rules in case.answers.items() if event < events for rule in rules}:
        raise WrongAnswer("Spark SQL finds other hits than the index")
    return seconds, len(found)


def _by_size(session: Any, scale: str, home: str, largest: Case) -> list[dict[str, Any]]:
    """Time against events × rules × partitions; half and all of the events, a tenth and all of the rules."""
    from matchwood import spark as mws

    fewer = _case(f"{home}/fewer", "20 hits", scale, FEW_HITS, rules=RULES[scale] // 10)
    rows = []
    for case in (fewer, largest):
        for share in (2, 1):
            for partitions in (1, _cores()):
                count = case.workload.events.count // share
                frame = _events(session, case, partitions).filter(f"id < {count}")
                hits = mws.match(frame, case.path, "array", keep=["id"])
                seconds = _measured(hits, _check_arrays(case, count))
                row = _row(case, "spark, by size", seconds, None, events=count)
                rows.append({**row, "partitions": partitions, "seconds": round(seconds, 2)})
    return rows


def _measured(frame: Any, check: Callable[[Any], None]) -> float:
    """The best of some runs to the noop sink; the answers are checked before, which also warms up."""
    check(frame)
    runs = [timed(lambda: frame.write.format("noop").mode("overwrite").save())[0] for _ in range(ROUNDS)]
    return min(runs)


def _check_arrays(case: Case, count: int = CHECKED) -> Callable[[Any], None]:
    def check(frame: Any) -> None:
        found = {row["id"]: row["rules"] for row in frame.filter(f"id < {min(count, CHECKED)}").collect()}
        if found != {event: rules for event, rules in case.answers.items() if event < count}:
            raise WrongAnswer("Spark finds other hits than the index")

    return check


def _check_rows(case: Case) -> Callable[[Any], None]:
    def check(frame: Any) -> None:
        found = sorted((row["id"], row["rule"]) for row in frame.filter(f"id < {CHECKED}").collect())
        if found != [(event, rule) for event, rules in sorted(case.answers.items()) for rule in rules]:
            raise WrongAnswer("Spark finds other hits than the index")

    return check


def _row(
    case: Case,
    engine: str,
    seconds: float,
    hits: int | None,
    events: int | None = None,
    share: float | None = None,
    aim: float | None = None,
) -> dict[str, Any]:
    count = events or case.workload.events.count
    return {
        "engine": engine,
        "workload": case.name,
        "rules": case.workload.rules.count,
        "events": count,
        "us_per_event": round(1e6 * seconds / count, 2),
        "hits_per_event": None if hits is None else round(hits / count, 2),
        **case.figures,
        "checked": True,
        "partitions": _cores(),
        "share": None if share is None else round(share, 3),
        "aim": aim,
    }
