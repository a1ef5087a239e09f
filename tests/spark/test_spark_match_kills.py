"""Kills: a streaming job dies at random and is started again; an executor dies in the middle of a job.

No hit is lost, and none is there twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from match_support import expected, index_of, some_events, some_rules

from matchwood.bench.frame.processes import descendants
from tests.conftest import SOAK

pytestmark = pytest.mark.long

HERE = Path(__file__).parent
KILLS = 10 if SOAK else 1
FILES, EVENTS_A_FILE = (60, 200) if SOAK else (5, 50)
QUERIES = ("sink", "writer")
MOST_SECONDS = 300
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("age", pa.int32()),
        ("score", pa.float64()),
        ("country", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("extra", pa.string()),
    ]
)


def prepared(home: Path) -> list[tuple[int, int]]:
    """Events and an index for a job; returns all hits that it must find."""
    rules, events = some_rules(60, seed=11), some_events(FILES * EVENTS_A_FILE, seed=12)
    index = index_of(rules)
    index.save(home / "index")
    (home / "in").mkdir()
    for number in range(FILES):
        part = events[number * EVENTS_A_FILE : (number + 1) * EVENTS_A_FILE]
        pq.write_table(pa.Table.from_pylist(part, SCHEMA), home / "in" / f"{number:03d}.parquet")
    return [(event, rule) for event, hits in sorted(expected(index, events).items()) for rule in hits]


class Job:
    """A script in a process group of its own, which dies as a whole, its JVM included."""

    def __init__(self, *arguments: str) -> None:
        paths = os.pathsep.join([str(HERE.parent.parent), str(HERE), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(line.rstrip() for line in self.process.stdout)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing of the group outlives the test, whatever became of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(MOST_SECONDS)
        self._reader.join(MOST_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def wait_until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + MOST_SECONDS
        while not done() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)

    def finish(self) -> None:
        code = self.process.wait(MOST_SECONDS)
        self._reader.join(MOST_SECONDS)
        assert (code, self.lines[-1:]) == (0, ["finished"]), "\n".join(self.lines[-30:])


def committed(home: Path) -> list[int]:
    """How many batches of each query its checkpoint says are done."""
    directories = [home / query / "checkpoint" / "commits" for query in QUERIES]
    return [sum(file.name.isdigit() for file in entry.iterdir()) if entry.is_dir() else 0 for entry in directories]


def files_of_sink(out: Path) -> list[Path]:
    """Of a file sink's files only those count that its log names; Spark reads no others."""
    logs = [log for log in (out / "_spark_metadata").iterdir() if not log.name.startswith(".")]
    lines = [line for log in logs for line in log.read_text().splitlines() if line.startswith("{")]
    return [out / name for name in {Path(json.loads(line)["path"]).name for line in lines}]


def hits_in(files: Iterable[Path]) -> list[tuple[int, int]]:
    rows = [row for file in files for row in pq.read_table(file, columns=["id", "rule"]).to_pylist()]
    return sorted((row["id"], row["rule"]) for row in rows)


def test_streams_that_are_killed_and_restarted_lose_and_repeat_nothing(tmp_path: Path) -> None:
    hits, draw = prepared(tmp_path), random.Random(3)
    script = str(HERE / "stream_script.py")
    for _ in range(KILLS):
        # Not before something was done that a restart could repeat, and not after all is.
        goal = min(min(committed(tmp_path)) + draw.randrange(FILES // KILLS - 1), FILES - 3)
        with Job(script, str(tmp_path)) as job:
            job.wait_until(lambda goal=goal: min(committed(tmp_path)) > goal)
            time.sleep(draw.random() * 0.4)
            assert job.process.poll() is None, "\n".join(job.lines[-30:])
    with Job(script, str(tmp_path)) as job:
        job.finish()
    # Batches are not counted: a kill between Spark's two logs makes one batch of two files.
    assert hits_in(files_of_sink(tmp_path / "sink" / "out")) == hits
    assert hits_in((tmp_path / "writer" / "out").glob("batch=*/*.parquet")) == hits


def test_an_executor_that_is_killed_in_the_middle_of_a_job(tmp_path: Path) -> None:
    hits = prepared(tmp_path)
    with Job(str(HERE / "cluster_script.py"), str(tmp_path)) as job:
        job.wait_until(lambda: (tmp_path / "running").exists())
        victims = executors_of(job.process.pid)
        assert victims, "\n".join(job.lines[-30:])
        os.kill(victims[0], signal.SIGKILL)
        (tmp_path / "killed").touch()
        job.finish()
    assert hits_in((tmp_path / "out").glob("*.parquet")) == hits


def executors_of(job: int) -> list[int]:
    """The JVMs of executors, among the processes that descend from one of ours."""
    return [each.number for each in descendants(job) if b"CoarseGrainedExecutorBackend" in each.command]
