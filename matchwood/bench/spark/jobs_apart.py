"""Jobs of a benchmark on Spark in processes of their own: a process has one master only, and one that takes too long
can be ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

import matchwood
from matchwood.bench.frame.measure import WrongAnswer, box_seconds

CLUSTER = "local-cluster[2,1,1024]"

CELLS_A_JOB = 6
"""A job may take as long as so many cells of an experiment, however long it says it needs."""


class RunJob(Protocol):
    """Runs a job: what it does, where its files are, what more it has to know, and the seconds that it has. Returns the
    rows that it told in that time, one after the other."""

    def __call__(self, what: str, home: str, detail: str, seconds: float) -> list[dict[str, Any]]: ...


def on_cluster(what: str, home: str, detail: str, seconds: float, master: str = CLUSTER) -> list[dict[str, Any]]:
    """Run a job of `cluster_job.py` in a process of its own."""
    paths = os.pathsep.join([str(Path(matchwood.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "matchwood.bench.spark.cluster_job", what, home, master, detail]
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as job:
        told, problems = _told(job, min(seconds, CELLS_A_JOB * box_seconds()))
    if job.returncode > 0:
        raise WrongAnswer(f"the job {what!r} failed:\n{problems[-4_000:].decode(errors='replace')}")
    return [json.loads(line) for line in told.splitlines() if line.startswith(b"{")]


def _told(job: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    """What a job said until it ended, or was ended: Spark's processes end with the one that started them."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return job.communicate(timeout=None if seconds == float("inf") else seconds)
    job.kill()
    return job.communicate()
