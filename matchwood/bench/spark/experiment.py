"""Matching on Spark, next to what it cannot be faster than, and to what users would do without Matchwood.

    array, 20 hits     next to encoding and kernel alone, one process a core (aim: 80% of its throughput), and to a UDF
                       that emits as many constant hits: what Spark itself takes to bring the columns to Python and back
    rows, 1,000 hits   next to a UDF that emits as many constant hits (aim: 70%)
    Spark SQL          predicates exploded, joined, grouped, counted; on a sample (aim: it takes 100 times as long)
    sizes              time against events × rules × partitions
    two executors      every engine by every strategy, and what each process holds of a large index (`cluster.py`)
    begen on Spark     many rules built on all cores, in several shards and in one (`building.py`)

Events are read from Parquet, results go to Spark's noop sink. Every job has events of its own, which no worker has met.
The first run of everything is not measured, but what compiling costs a worker that finds no machine code is, in a
process of its own (`first_use_s`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from matchwood.bench.frame.measure import WrongAnswer, require_hits, timed
from matchwood.bench.frame.parts import ExperimentPart
from matchwood.bench.frame.setup import insert_all, refuse_repeated_events, sizes
from matchwood.bench.frame.setup import warm_up as warm_up_engines
from matchwood.bench.spark.building import built, on_this_machine
from matchwood.bench.spark.cluster import by_engine, large
from matchwood.bench.spark.floor import first_use, kernel_seconds
from matchwood.bench.spark.jobs_apart import RunJob, on_cluster
from matchwood.bench.spark.rivals import constant_hits, session_for, sql_hits, sql_rules
from matchwood.index import Index
from matchwood.workloads import Workload, ads

RULES = {"smoke": 2_000, "quick": 100_000, "full": 100_000, "paper": 100_000}
EVENTS = {"smoke": 400, "quick": 240_000, "full": 240_000, "paper": 240_000}
"""Of one job, which takes seconds: half a second of it is Spark's own, whatever the events."""

MANY_EVENTS = {"smoke": 40, "quick": 6_000, "full": 20_000, "paper": 20_000}
"""Of one job with many hits."""

SQL_EVENTS = {"smoke": 20, "quick": 100, "full": 1_000, "paper": 1_000}
FEW_HITS, MANY_HITS = 20, 1_000
DIMENSIONS = 40
"""So many columns travel."""
MOST_MATCHING = {"smoke": 0.005, "quick": 0.01, "full": 0.01, "paper": 0.01}
"""With rules of eight predicates no larger share can be true of an event; of few rules an even smaller one."""
CHECKED = 200
ROUNDS = 3
"""Every Spark job runs so often, and the median counts."""

SHARES = (2, 1)
"""Half and all of the events, where time is told against their number."""


class SparkCase(NamedTuple):
    """A workload on disk: an index, a directory of events for each job, in as many files as there are cores, and what
    the Index says of some of the first job's."""

    name: str
    workload: Workload
    job_events: int
    path: str
    events: list[str]
    figures: dict[str, Any]
    answers: dict[int, list[int]]

    def batches(self) -> range:
        """The jobs that are measured in rounds; the first of all warms up, and those after them differ in size."""
        return range(1, 1 + ROUNDS)


def parts(scale: str) -> list[ExperimentPart]:
    if scale == "smoke":  # a session for each part would take longer than all that they show
        return [ExperimentPart("spark", partial(_in_one_session, scale))]
    return [
        ExperimentPart("one machine", partial(_in_session_of_its_own, scale)),
        ExperimentPart("2 executors", partial(_in_jobs, by_engine, scale, on_cluster)),
        ExperimentPart("large", partial(_in_jobs, large, scale, on_cluster)),
        ExperimentPart("begen on Spark", partial(_in_jobs, built, scale, on_this_machine)),
    ]


def warm_up() -> None:
    warm_up_engines(["auto"])


def _in_jobs(measure: Callable[..., list[dict[str, Any]]], scale: str, run: RunJob) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="matchwood-bench-") as home:
        return measure(scale, home, run)


def _in_session_of_its_own(scale: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="matchwood-bench-") as home, session_for() as session:
        return _on_one_machine(session, scale, home)


def _in_one_session(scale: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="matchwood-bench-") as home, session_for() as session:
        rows = _on_one_machine(session, scale, home)
        for measure in (by_engine, large, built):
            rows += _in_jobs(measure, scale, partial(_job_in_session, session))
    return rows


def _job_in_session(session: Any, what: str, home: str, detail: str, seconds: float) -> list[dict[str, Any]]:
    from matchwood.bench.spark import cluster_job

    return list(cluster_job.run(session, what, home, detail))


def _on_one_machine(session: Any, scale: str, home: str) -> list[dict[str, Any]]:
    few = _case(f"{home}/few", "20 hits", scale, FEW_HITS)
    rows = _against_kernel(session, few)
    if scale != "smoke":  # compiling everything anew takes longer than all tests of the benchmarks together
        rows[0] |= _first_use(few)
    rows += _against_sql(session, few, SQL_EVENTS[scale], rows[0])
    many = _case(f"{home}/many", "1,000 hits", scale, MANY_HITS, MANY_EVENTS[scale])
    rows += _against_constants(session, many)
    return rows + _by_size(session, scale, home, few)


def _case(
    home: str, name: str, scale: str, hits: int, events: int | None = None, rules: int | None = None
) -> SparkCase:
    rules, events = rules or RULES[scale], events or EVENTS[scale]
    matching = min(hits / rules, MOST_MATCHING[scale])
    sized = range(1 + ROUNDS, 1 + ROUNDS + 2 * len(SHARES))
    jobs, known = sized.stop, max(CHECKED, SQL_EVENTS[scale] + 2 * _tenth(SQL_EVENTS[scale]))
    workload = ads(rules=rules, events=jobs * events, dimensions=DIMENSIONS, matching=matching, seed=5)
    refuse_repeated_events(workload)
    known = min(known, jobs * events)
    index, table = Index(), workload.events_table()
    build_s, _ = timed(lambda: insert_all(index, workload.rules_text()))
    index.save(f"{home}/index")
    places = [f"{home}/events/{job}" for job in range(jobs)]
    for job, place in enumerate(places):
        _write(table.slice(job * events, events).append_column("id", pa.array(range(events))), place)
    sample = index.match_many(table.slice(0, known)).to_pylist()
    answers: dict[int, list[int]] = {event: [] for event in range(known)}
    for hit in sample:
        answers[hit["event"]].append(hit["rule"])
    require_hits(len(sample), name)
    figures = {"build_s": round(build_s, 3), **sizes(index)}
    return SparkCase(name, workload, events, f"{home}/index", places, figures, answers)


def _tenth(events: int) -> int:
    return max(1, events // 10)


def _write(table: pa.Table, directory: str) -> None:
    os.makedirs(directory)
    share = -(-len(table) // _cores())
    for number in range(_cores()):
        pq.write_table(table.slice(number * share, share), f"{directory}/{number:03d}.parquet")


def _cores() -> int:
    return os.cpu_count() or 1


def _events(session: Any, case: SparkCase, job: int, partitions: int | None = None) -> Any:
    frame = session.read.parquet(case.events[job])
    return frame if partitions is None else frame.coalesce(partitions)


def _against_kernel(session: Any, case: SparkCase) -> list[dict[str, Any]]:
    from matchwood import spark as mws

    seconds = _measured(
        session, case, lambda frame: mws.match(frame, case.path, "array", keep=["id"]), _check_arrays(case)
    )
    floor = median(kernel_seconds(case.path, case.events[0], case.events[job], _cores()) for job in case.batches())
    total = _total(session, case)
    ours = _row(case, "spark, array", seconds, total, share=floor / seconds, aim=0.8)
    emitted = _measured(session, case, partial(constant_hits, hits=FEW_HITS, output="array"), lambda frame: None)
    return [ours, _row(case, "encoding + kernel", floor, total), _row(case, "constant hits, array", emitted, total)]


def _first_use(case: SparkCase) -> dict[str, float]:
    compiled, loaded = first_use(case.path, case.events[0])
    return {"first_use_s": round(compiled, 2), "loaded_use_s": round(loaded, 2)}


def _total(session: Any, case: SparkCase) -> int:
    """The hits of one job."""
    from matchwood import spark as mws

    counts = mws.match(_events(session, case, 1), case.path, "count", keep=[])
    return int(counts.agg({"rule_count": "sum"}).first()[0])


def _against_constants(session: Any, case: SparkCase) -> list[dict[str, Any]]:
    """Both outputs have an index of their own to open, so that neither has workers that met the other's events."""
    from matchwood import spark as mws

    rows: list[dict[str, Any]] = []
    total = 0
    for output, check in (("rows", _check_rows(case)), ("array", _check_arrays(case))):
        path = f"{case.path}-{output}"
        shutil.copytree(case.path, path)
        seconds = _measured(session, case, partial(mws.match, path=path, output=output, keep=["id"]), check)
        total = total or _total(session, case)
        hits = round(total / case.job_events)
        emitted = _measured(session, case, partial(constant_hits, hits=hits, output=output), lambda frame: None)
        rows.append(_row(case, f"spark, {output}", seconds, total, share=emitted / seconds, aim=0.7))
        rows.append(_row(case, f"constant hits, {output}", emitted, total))
    return rows


def _against_sql(session: Any, case: SparkCase, events: int, ours: dict[str, Any]) -> list[dict[str, Any]]:
    """What one more event costs: a tenth of the sample tells what the join costs whatever the number of events.

    That is in favour of Spark SQL: our own figure includes all that a job costs.
    """
    few = _tenth(events)
    sql_rules(session, case.workload)
    _sql_run(session, case, 0, few)
    fixed_s, _ = _sql_run(session, case, few, 2 * few)
    seconds, found = _sql_run(session, case, 2 * few, 2 * few + events)
    marginal = (seconds - fixed_s) / (events - few) if seconds > fixed_s else seconds / events
    row = _row(case, "spark sql", marginal * events, found, events=events)
    slower = round(row["us_per_event"] / ours["us_per_event"], 1)
    return [
        {**row, "times_slower": slower, "seconds": round(seconds, 2), "seconds_tenth": round(fixed_s, 2), "aim": 100}
    ]


def _sql_run(session: Any, case: SparkCase, first: int, stop: int) -> tuple[float, int]:
    seconds, found = timed(sql_hits(session, case.workload, first, stop).collect)
    pairs = {(row["event"] + first, row["rule"]) for row in found}
    if pairs != {(event, rule) for event in range(first, stop) for rule in case.answers[event]}:
        raise WrongAnswer("Spark SQL finds other hits than the index")
    return seconds, len(found)


def _by_size(session: Any, scale: str, home: str, largest: SparkCase) -> list[dict[str, Any]]:
    """Time against events × rules × partitions, in one job each; half and all of the events, a tenth and all rules."""
    from matchwood import spark as mws

    fewer = _case(f"{home}/fewer", "20 hits", scale, FEW_HITS, rules=RULES[scale] // 10)
    rows = []
    for case in (fewer, largest):
        match = partial(mws.match, path=case.path, output="array", keep=["id"])
        _check_arrays(case)(match(_events(session, case, 0)))
        ways = [(share, partitions) for share in SHARES for partitions in (1, _cores())]
        for job, (share, partitions) in enumerate(ways, 1 + ROUNDS):
            count = case.job_events // share
            seconds = _noop_s(match(_events(session, case, job, partitions).filter(f"id < {count}")))
            row = _row(case, "spark, by size", seconds, None, events=count)
            rows.append({**row, "partitions": partitions, "seconds": round(seconds, 2)})
    return rows


def _measured(session: Any, case: SparkCase, job: Callable[[Any], Any], check: Callable[[Any], None]) -> float:
    """The median of some runs, each on events of its own; the answers are checked before, which also warms up."""
    first = job(_events(session, case, 0))
    check(first)
    _noop_s(first)
    return median(_noop_s(job(_events(session, case, batch))) for batch in case.batches())


def _noop_s(frame: Any) -> float:
    return timed(lambda: frame.write.format("noop").mode("overwrite").save())[0]


def _check_arrays(case: SparkCase) -> Callable[[Any], None]:
    def check(frame: Any) -> None:
        found = {row["id"]: row["rules"] for row in frame.filter(f"id < {CHECKED}").collect()}
        if found != {event: rules for event, rules in case.answers.items() if event < min(CHECKED, case.job_events)}:
            raise WrongAnswer("Spark finds other hits than the index")

    return check


def _check_rows(case: SparkCase) -> Callable[[Any], None]:
    def check(frame: Any) -> None:
        found = sorted((row["id"], row["rule"]) for row in frame.filter(f"id < {CHECKED}").collect())
        if found != [(event, rule) for event in range(min(CHECKED, case.job_events)) for rule in case.answers[event]]:
            raise WrongAnswer("Spark finds other hits than the index")

    return check


def _row(
    case: SparkCase,
    engine: str,
    seconds: float,
    hits: int | None,
    events: int | None = None,
    share: float | None = None,
    aim: float | None = None,
) -> dict[str, Any]:
    count = events or case.job_events
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
