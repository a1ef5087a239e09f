"""How long an event of a stream takes to its hits, and a new rule to its first hit.

    rate source to driver   events are made by Spark itself; the time of a micro-batch, from its begin to its hits
    Kafka to Kafka          from the time of a message to that of the message with its hits, by the broker's records;
                            MATCHWOOD_BENCH_KAFKA names the broker, and the session must know Spark's `kafka` format

Spark's source makes the events of a second at once, however long its micro-batches take: the rate is kept, in bursts.
What is sent before the first hits came is not measured: that is the time in which workers start. Answers are held
against those of the index itself.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np

from matchwood.bench.frame.measure import WrongAnswer, require_hits
from matchwood.bench.frame.setup import insert_all, sizes
from matchwood.bench.spark.kafka_topics import Topics
from matchwood.bench.spark.rivals import session_for
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.workloads import ads

RULES = {"smoke": 500, "quick": 10_000, "full": 100_000, "paper": 100_000}
RATE = {"smoke": 200, "quick": 1_000, "full": 10_000, "paper": 10_000}
"""Events a second."""
SECONDS = {"smoke": 2, "quick": 20, "full": 60, "paper": 60}
DISTINCT, DIMENSIONS, HITS = 1_000, 40, 20
PATIENCE = 600.0
BROKER = "MATCHWOOD_BENCH_KAFKA"
PULSE = {"processingTime": "100 milliseconds"}
"""How often streams look for more."""


class Taken(NamedTuple):
    """An event that came through: its number, when it was sent and when its hits were there (ms), and its rules."""

    number: int
    sent: float
    done: float
    rules: list[int]


class Sources(NamedTuple):
    """What the streams are made of: an index of its own for each, and some events over and over."""

    session: Any
    scale: str
    home: str
    known: Index
    texts: list[str]
    figures: dict[str, Any]

    def events(self) -> Any:
        """A stream of numbered events, JSON text; `sent` is when their micro-batch began."""
        from pyspark.sql import functions as sf

        rows = self.session.readStream.format("rate").option("rowsPerSecond", RATE[self.scale]).load()
        known = self.session.createDataFrame(list(enumerate(self.texts)), "place bigint, event string")
        numbered = rows.select("value", (sf.col("value") % len(self.texts)).alias("place"))
        sent = (sf.unix_micros(sf.current_timestamp()) / 1000).alias("sent")
        return numbered.join(sf.broadcast(known), "place").select("value", "event", sent)


def run(scale: str) -> dict[str, Any]:
    broker = os.environ.get(BROKER)
    with (
        tempfile.TemporaryDirectory(prefix="matchwood-bench-", ignore_cleanup_errors=True) as home,
        Progress("bench stream"),
        session_for() as session,
    ):
        sources = _sources(session, scale, home)
        rows = [_measured(sources, _Collecting(sources), "rate source to driver")]
        if broker is not None:
            rows.append(_measured(sources, _ThroughKafka(sources, broker), "Kafka to Kafka"))
    return {"experiment": "stream", "scale": scale, "rows": rows}


def _sources(session: Any, scale: str, home: str) -> Sources:
    matching = min(HITS / RULES[scale], 0.01)
    work = ads(rules=RULES[scale], events=DISTINCT, dimensions=DIMENSIONS, matching=matching, seed=7)
    index = Index()
    insert_all(index, work.rules_text())
    rows = work.events_table().to_pylist()
    texts = [json.dumps({name: value for name, value in row.items() if value is not None}) for row in rows]
    return Sources(session, scale, home, index, texts, sizes(index))


class _Collecting:
    """Hits come to the driver."""

    def __init__(self, sources: Sources) -> None:
        self.sources, self.taken, self.versions = sources, list[Taken](), set[int]()

    def start(self, path: str) -> list[Any]:
        from matchwood import spark as mws

        where: dict[str, Any] = {"checkpointLocation": f"{path}-checkpoint", "trigger": PULSE}
        return [mws.match_stream(self.sources.events(), path, self.write, output="array", event="event", **where)]

    def write(self, hits: Any, batch_id: int, version: int) -> None:
        rows = hits.select("value", "sent", "rules").collect()
        done = time.time() * 1000
        self.taken += [Taken(row[0], row[1], done, row[2]) for row in rows]
        self.versions |= {version} if rows else set()

    def finished(self) -> list[Taken]:
        return self.taken


class _ThroughKafka:
    """Events are sent to a topic, and hits read back from another."""

    def __init__(self, sources: Sources, broker: str) -> None:
        self.sources, self.topics, self.versions = sources, Topics(sources.session, broker), set[int]()

    def start(self, path: str) -> list[Any]:
        from matchwood import spark as mws

        sending = self.topics.send(self.sources.events(), f"{path}-sending", PULSE)
        where: dict[str, Any] = {"checkpointLocation": f"{path}-checkpoint", "output": "array", "event": "value"}
        return [sending, mws.match_stream(self.topics.events(), path, self.write, **where)]

    def write(self, hits: Any, batch_id: int, version: int) -> None:
        self.topics.send_hits(hits)
        self.versions.add(version)

    def finished(self) -> list[Taken]:
        return [Taken(*row) for row in self.topics.hits()]


def _measured(sources: Sources, way: _Collecting | _ThroughKafka, name: str) -> dict[str, Any]:
    """Let events flow; then publish one more rule, which is true of all of them."""
    from matchwood import spark as mws

    path = f"{sources.home}/{type(way).__name__.strip('_')}"
    version = sources.known.save(path)
    probe, spark = len(sources.known), sources.session
    queries = way.start(path)
    _await(queries, way, version)
    warm = time.time() * 1000
    time.sleep(SECONDS[sources.scale])
    changed = time.time() * 1000
    rule = spark.createDataFrame([(probe, "true")], "id bigint, expression string")
    _await(queries, way, mws.update(rule, path).version)
    for query in queries:
        query.stop()
    taken = way.finished()
    first = min(each.done for each in taken if probe in each.rules)
    # A slow machine may send nothing meanwhile: then whatever came through is measured.
    measured = [each for each in taken if warm <= each.sent < changed] or taken
    _check(sources, taken, probe)
    return _row(sources, name, measured, first - changed)


def _await(queries: list[Any], way: _Collecting | _ThroughKafka, version: int) -> None:
    """Until a batch with hits by a version, or a later one, was written."""
    end = time.monotonic() + PATIENCE
    while not any(seen >= version for seen in way.versions):
        failed = [query.exception() for query in queries if not query.isActive]
        if failed or time.monotonic() > end:
            raise WrongAnswer(f"no hits by version {version}: {failed or 'the stream is too slow'}")
        time.sleep(0.02)


def _check(sources: Sources, taken: list[Taken], probe: int) -> None:
    """The rules of each of the first events are those that the index finds."""
    require_hits(sum(len(each.rules) for each in taken), "the stream")
    for each in sorted(taken)[:100]:
        expected = sources.known.match(json.loads(sources.texts[each.number % len(sources.texts)]))
        if sorted(set(each.rules) - {probe}) != sorted(expected):
            raise WrongAnswer(f"event {each.number} of the stream has other rules than the index finds")


def _row(sources: Sources, name: str, measured: list[Taken], rule_to_hit: float) -> dict[str, Any]:
    waits = np.array([each.done - each.sent for each in measured])
    if not len(waits):
        raise WrongAnswer(f"{name}: no event was sent and answered within {SECONDS[sources.scale]} s")
    return {
        "engine": sources.known.stats()["engine"],
        "workload": name,
        "rules": len(sources.known),
        "events": len(measured),
        "hits_per_event": round(float(np.mean([len(each.rules) for each in measured])), 2),
        "asked_per_s": RATE[sources.scale],
        "events_per_s": round(len(measured) / SECONDS[sources.scale]),
        "p50_ms": round(float(np.percentile(waits, 50)), 1),
        "p99_ms": round(float(np.percentile(waits, 99)), 1),
        "rule_to_hit_ms": round(rule_to_hit, 1),
        **sources.figures,
        "checked": True,
    }
