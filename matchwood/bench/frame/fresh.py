"""New Python processes, and what each took from its first instruction to its last."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import matchwood
from matchwood.bench.frame.measure import WrongAnswer


class FreshRun(NamedTuple):
    """Seconds by the clock and of processors, and what was printed last."""

    wall_s: float
    cpu_s: float
    said: str


def fresh_run(arguments: Sequence[str], environment: Mapping[str, str]) -> FreshRun:
    """Run Python anew, with this package; what it prints to standard error is shown if it fails."""
    home = str(Path(matchwood.__file__).parent.parent)
    paths = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {**os.environ, "PYTHONPATH": paths, **environment}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    with process.stdout, process.stderr:
        if process.returncode:
            raise WrongAnswer(f"a process failed: {process.stderr.read()[-2000:]}")
    return FreshRun(wall, used.ru_utime + used.ru_stime, said.strip().rpartition("\n")[2])
