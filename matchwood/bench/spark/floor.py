"""What no pipeline can be faster than: encoding and kernel alone, one process a core; and what first use costs."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import matchwood
from matchwood.core import CACHE, PRECOMPILED
from matchwood.engines import Workspace
from matchwood.sharding import open_shards

_WAIT = 600.0

_FIRST_USE = """
import sys, time
from matchwood.sharding import open_shards
import pyarrow.parquet as pq
events = pq.read_table(sys.argv[2]).slice(0, 100)
started = time.perf_counter()
list(open_shards(sys.argv[1]).answers(events))
print(time.perf_counter() - started)
"""


def kernel_seconds(path: str, warm: str, events: str, processes: int) -> float:
    """Wall-clock seconds for all files of events, dealt out to processes that begin together, warmed up by others."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    first, files = (sorted(map(str, Path(place).glob("*.parquet"))) for place in (warm, events))
    arguments = [(path, first, files[number::processes], barrier, results) for number in range(processes)]
    workers = [context.Process(target=_encode_and_match, args=each) for each in arguments]
    try:
        for worker in workers:
            worker.start()
        spans = [results.get(timeout=_WAIT) for _ in workers]
        for worker in workers:
            worker.join(_WAIT)
    finally:
        _end(workers)
    return float(max(end for _, end in spans) - min(start for start, _ in spans))


def _end(workers: list[Any]) -> None:
    """When one has failed, the others wait for it, and the interpreter for them: that would be for minutes."""
    for worker in workers:
        if worker.is_alive():
            worker.kill()
            worker.join()


def _encode_and_match(path: str, warm: list[str], files: list[str], barrier: Any, results: Any) -> None:
    """Monotonic clocks of one machine agree, so that the span of all processes can be told from their ends."""
    (shard,) = open_shards(path).walk()
    tables = [pq.read_table(file) for file in files]
    matcher, workspace = shard.matcher, Workspace()
    _round(matcher, [pq.read_table(file).slice(0, 1_000) for file in warm], workspace)
    barrier.wait(_WAIT)
    started = time.monotonic()
    _round(matcher, tables, workspace)
    results.put((started, time.monotonic()))


def _round(matcher: Any, tables: list[Any], workspace: Workspace) -> None:
    for table in tables:
        for batch in matcher.encoder.event_batches(table):
            position = 0
            while position < batch.events.count:
                position += matcher.engine.match(batch.events, position, workspace).count


def first_use(path: str, events: str) -> tuple[float, float]:
    """Seconds until a new process has matched its first events: when all must be compiled, and when it is kept."""
    file = str(sorted(Path(events).glob("*.parquet"))[0])
    home = str(Path(matchwood.__file__).parent.parent)
    paths = os.pathsep.join([home, os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory(prefix="matchwood-numba-") as cache:
        environment = {**os.environ, CACHE: cache, PRECOMPILED: "0", "PYTHONPATH": paths}
        command = [sys.executable, "-c", _FIRST_USE, path, file]
        runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    compiled, kept = (float(run.stdout) for run in runs)
    return compiled, kept
