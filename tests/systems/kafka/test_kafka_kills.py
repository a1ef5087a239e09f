"""The driver of two streams is killed, or their executors, while rules and events flow: every hit once, by the version
recorded for it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import matchwood as mw
from matchwood import storage
from matchwood.bench.frame.processes import descendants
from matchwood.storage import version_log
from tests.conftest import SOAK
from tests.systems.kafka.test_kafka_streams import empty_index, send
from tests.systems.kafka_broker import KafkaBroker
from tests.systems.lake.spark_with_lake import HOME, SYSTEMS, environment

KILLS = 10 if SOAK else 3
EVENTS = 60
PATIENCE = 600


class Topics(NamedTuple):
    """Those of one test."""

    events: str
    rules: str


@contextmanager
def driver(home: Path, broker: KafkaBroker, topics: Topics, executors: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """Both streams in a process group of its own, which dies as a whole, its JVM and workers included."""
    program = (
        "import sys; from pathlib import Path; from tests.systems.kafka import alerts_stream as it; "
        f"it.EVENTS, it.RULES = {tuple(topics)}; it.main(Path(sys.argv[1]), sys.argv[2], {executors})"
    )
    with open(home / "driver.log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(home), broker.address],
            env=environment(), cwd=SYSTEMS.parent, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def committed(home: Path) -> int:
    folder = home / "events-checkpoint" / "commits"
    return (
        max((int(file.name) for file in folder.iterdir() if file.name.isdigit()), default=-1) if folder.is_dir() else -1
    )


def await_batch(process: subprocess.Popen[bytes], home: Path, batch: int) -> None:
    """Until the stream is beyond a batch; the test fails with the driver's words if the driver does."""
    end = time.monotonic() + PATIENCE
    while committed(home) < batch:
        assert process.poll() is None, (home / "driver.log").read_text()[-3000:]
        assert time.monotonic() < end, (home / "driver.log").read_text()[-3000:]
        time.sleep(0.05)


def test_a_driver_that_is_killed_again_and_again(
    spark: Any, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, draw, sent = _begun(spark, broker, tmp_path, "driver"), random.Random(5), dict[str, int]()
    for number in range(KILLS):
        _send_more(spark, broker, topics, number, sent)
        with driver(tmp_path, broker, topics) as process:
            await_batch(process, tmp_path, committed(tmp_path) + 1)
            time.sleep(draw.random() * 0.5)
    _send_more(spark, broker, topics, KILLS, sent)
    (tmp_path / "stop").touch()
    with driver(tmp_path, broker, topics) as process:
        assert process.wait(PATIENCE) == 0, (tmp_path / "driver.log").read_text()[-3000:]
    _check_all(spark, broker, topics, tmp_path, sent)
    _check_leftovers(tmp_path / "index", monkeypatch)


def test_executors_that_are_killed_again_and_again(
    spark: Any, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two, then both: a batch that loses its executors is done by others, and by the same version."""
    topics, draw, sent = _begun(spark, broker, tmp_path, "executors"), random.Random(7), dict[str, int]()
    _send_more(spark, broker, topics, 0, sent)
    with driver(tmp_path, broker, topics, executors=2) as process:
        await_batch(process, tmp_path, 0)
        for number in range(1, KILLS + 1):
            _send_more(spark, broker, topics, number, sent)
            time.sleep(draw.random() * 0.5)
            victims = _await_executors(process)
            for victim in victims if number % 2 == 0 else victims[:1]:
                os.kill(victim, signal.SIGKILL)
            await_batch(process, tmp_path, committed(tmp_path) + 1)
        (tmp_path / "stop").touch()
        assert process.wait(PATIENCE) == 0, (tmp_path / "driver.log").read_text()[-3000:]
    shutil.rmtree(HOME / "pyspark" / "work", ignore_errors=True)  # where executors have copies of all jars
    _check_all(spark, broker, topics, tmp_path, sent)
    _check_leftovers(tmp_path / "index", monkeypatch)


def _await_executors(process: subprocess.Popen[bytes]) -> list[int]:
    """The JVMs of executors, once there are some."""
    end = time.monotonic() + PATIENCE
    while True:
        found = [each.number for each in descendants(process.pid) if b"CoarseGrainedExecutorBackend" in each.command]
        if found or time.monotonic() > end:
            assert found
            return found
        time.sleep(0.05)


def _begun(spark: Any, broker: KafkaBroker, home: Path, name: str) -> Topics:
    topics = Topics(f"{name}-killed-events", f"{name}-killed-rules")
    for topic in topics:
        broker.create(topic, 1)
    empty_index(spark, f"{home}/index")
    return topics


def _send_more(spark: Any, broker: KafkaBroker, topics: Topics, number: int, sent: dict[str, int]) -> None:
    """A change of rules, and some events, one of them poison."""
    send(spark, broker, topics.rules, ("moving", f"a >= {number}"), (f"r{number}", f"a = {number}"))
    events = [(f"{number}-{count}", {"a": count % (KILLS + 2)}) for count in range(EVENTS)]
    send(spark, broker, topics.events, *events, (f"bad{number}", '{"a": '))
    sent.update({key: event["a"] for key, event in events})


def _check_all(spark: Any, broker: KafkaBroker, topics: Topics, home: Path, sent: dict[str, int]) -> None:
    """The hits of each event are those of the version that its batch was recorded with, each once; so is poison."""
    poisoned = spark.read.format("delta").load(f"{home}/poison").select("key", "problem").collect()
    assert sorted(row["key"] for row in poisoned) == sorted(f"bad{number}" for number in range(KILLS + 1))
    rows = spark.read.format("delta").load(f"{home}/hits").select("key", "rule", "version", "batch").collect()
    recorded, batches = _recorded(home), _batches(spark, broker, topics.events, home)
    assert all(recorded[row["batch"]] == row["version"] for row in rows)
    indexes = {version: mw.open(f"{home}/index", version=version) for version in set(recorded.values())}
    found = {key: indexes[recorded[batches[key]]].match({"a": a}) for key, a in sent.items()}
    expected = sorted((key, rule) for key, rules in found.items() for rule in rules)
    assert sorted((row["key"], row["rule"]) for row in rows) == expected
    assert len(indexes) > 1
    assert expected


def _recorded(home: Path) -> dict[int, int]:
    """The version of each batch, as it stands beside the index."""
    records = [json.loads(file.read_text()) for file in (home / "index" / "streams").rglob("*.json")]
    return {record["batch"]: record["version"] for record in records}


def _batches(spark: Any, broker: KafkaBroker, events: str, home: Path) -> dict[str, int]:
    """The batch of each message, by the offsets that Spark planned."""
    files = [file for file in (home / "events-checkpoint" / "offsets").iterdir() if file.name.isdigit()]
    ends = {int(file.name): json.loads(file.read_text().splitlines()[-1])[events]["0"] for file in files}
    topic = spark.read.format("kafka").options(**broker.options(subscribe=events)).load()
    offsets = topic.selectExpr("CAST(key AS string) AS key", "offset").collect()
    return {row["key"]: min(batch for batch, end in ends.items() if row["offset"] < end) for row in offsets}


def _check_leftovers(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the killed ones left stays after a vacuum."""
    for stream in storage.streams(index):
        storage.drop_stream(index, stream.name)
    monkeypatch.setattr(version_log, "_UNFINISHED", timedelta(0))
    storage.vacuum(index, keep=1, grace="0 seconds")
    left = {entry.name for entry in index.iterdir() if not entry.name.startswith(".")}
    assert left - {"streams"} == {"CURRENT", f"v{storage.current_version(index):06d}"}
