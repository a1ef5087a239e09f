"""`make test`: kernels compiled once, and all checks and tests, as many at a time as there are cores.

`make test-long` (`--long`) runs in the same way those tests that are marked `long` and that `make test` leaves out
(`tests/forms.py`); both together run every test, and `make soak` each in its longest form.

Kernels come first, in a folder of the checkout (`MATCHWOOD_CACHE_DIR`): what needs hardly any goes on beside, all else
begins when they are there. Jobs stand in the order in which they begin, those that take longest first, so that no core
is left with one in the end. Spark waits for itself half of the time, so its jobs have a place beside those that keep a
core busy. What a job says is shown when it is over: all of it if it failed, its last line if it did not.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from subprocess import PIPE, STDOUT
from typing import NamedTuple

from tests import forms
from tests.forms import Form

KERNELS = "kernels"
QUICK = ("tests/logic", "tests/language", "tests/oracle", "tests/workloads")
"""Rooms that compile hardly anything: one job."""
TOGETHER = (
    ("tests/spark",),
    ("tests/index", "tests/choosing"),
    ("tests/contract", "tests/fuzz"),
    ("tests/engines", "tests/atree"),
    ("tests/commands", "tests/storage", "tests/sharding"),
    ("tests/bench",),
)
"""Rooms that are one job together; all others are one. A job takes ten seconds to import packages and load kernels, and
none should take a quarter of all, or a core waits for it in the end."""
IDLING = {Form.SHORT: ("tests/spark",), Form.LONG: ("tests/spark", "tests/bench")}
"""Those of them that have sessions of Spark."""
CLUSTERS = ("tests/spark/test_spark_masters.py", "tests/spark/test_spark_match_kills.py")
"""Start clusters of their own, in processes beside: each is a job for itself, and all of their tests are long."""
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For the drivers of Spark: code that runs for minutes is not worth the best compiler (a third less of CPU)."""
ELSEWHERE = ("tests/systems",)
"""Rooms of other commands: these need servers, which `make test-systems` builds."""


class Job(NamedTuple):
    """A command, whether it waits for the kernels, whether it leaves its core idle much of the time, and its tests."""

    name: str
    command: tuple[str, ...]
    waits: bool = True
    idles: bool = False
    form: Form = Form.SHORT


class Outcome(NamedTuple):
    """What a job came to."""

    job: Job
    status: int
    said: str
    seconds: float

    def __str__(self) -> str:
        how = "done" if self.status == 0 else f"FAILED (status {self.status})"
        shown = self.said.rstrip().rpartition("\n")[2] if self.status == 0 else f"\n{self.said}"
        return f"{self.job.name}: {how} in {self.seconds:.0f} s  {shown}"


def jobs(cores: int) -> list[Job]:
    """All of `make test`. What no room here names is tested with the others."""
    return [
        _kernels(cores),
        Job("ruff check", _python("-m", "ruff", "check", "."), waits=False),
        Job("ruff format", _python("-m", "ruff", "format", "--check", "."), waits=False),
        Job("mypy", _python("-m", "mypy"), waits=False),
        Job(", ".join(QUICK), _python("-m", "pytest", *QUICK), waits=False),
        *_rooms(Form.SHORT),
    ]


def long_jobs(cores: int) -> list[Job]:
    """All of `make test-long`: rooms that compile hardly anything have nothing long."""
    clusters = [Job(file, _python("-m", "pytest", file), idles=True, form=Form.LONG) for file in CLUSTERS]
    return [_kernels(cores), *clusters, *_rooms(Form.LONG)]


def _kernels(cores: int) -> Job:
    warmup = "import sys; from matchwood.commands import main; sys.exit(main(sys.argv[1:]))"
    return Job(KERNELS, _python("-c", warmup, "warmup", "--processes", str(cores)), waits=False)


def _rooms(form: Form) -> list[Job]:
    apart = tuple(f"--ignore={file}" for file in CLUSTERS)
    rest = tuple(f"--ignore={room}" for room in (*QUICK, *itertools.chain(*TOGETHER), *ELSEWHERE))
    named = [
        Job(", ".join(rooms), _python("-m", "pytest", *rooms, *apart), idles=rooms[0] in IDLING[form], form=form)
        for rooms in TOGETHER
    ]
    return [Job("all other tests", _python("-m", "pytest", *rest), form=form), *named]


def _environment(form: Form) -> dict[str, str]:
    """Tests start hundreds of processes: what Python makes of the package's text is kept, so that each need not."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {"SPARK_SUBMIT_OPTS": SHORT_LIVED, **kept, forms.VARIABLE: form.value}


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)


class SideBySide:
    """Runs jobs in a few threads, each the first that may begin; one thread more takes those that idle, and no others.

    The other threads take one of those when nothing else is left.
    """

    def __init__(self, waiting: Sequence[Job], tell: Callable[[str], object]) -> None:
        self._waiting, self._tell = list(waiting), tell
        self._compiling = any(job.name == KERNELS for job in waiting)
        self._turn = threading.Condition()
        self.outcomes: list[Outcome] = []

    def run(self, cores: int) -> list[Outcome]:
        """What all jobs came to, in the order in which they ended."""
        threads = [threading.Thread(target=self._work, args=(lane == cores,)) for lane in range(cores + 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.outcomes

    def _work(self, beside: bool) -> None:
        while (job := self._next(beside)) is not None:
            started = time.monotonic()
            done = subprocess.run(
                job.command, env=_environment(job.form), stdout=PIPE, stderr=STDOUT, text=True, check=False
            )
            self._end(Outcome(job, done.returncode, done.stdout, time.monotonic() - started))

    def _next(self, beside: bool) -> Job | None:
        with self._turn:
            while True:
                job = self._first(beside)
                if job is not None:
                    self._waiting.remove(job)
                    return job
                if not any(job.idles or not beside for job in self._waiting):
                    return None
                self._turn.wait()

    def _first(self, beside: bool) -> Job | None:
        """The first job that may begin now: one that idles for the thread beside, and last of all for others."""
        ready = [job for job in self._waiting if not (job.waits and self._compiling)]
        idling, busy = [job for job in ready if job.idles], [job for job in ready if not job.idles]
        return next(iter(idling if beside else busy + idling), None)

    def _end(self, outcome: Outcome) -> None:
        with self._turn:
            self.outcomes.append(outcome)
            self._compiling &= outcome.job.name != KERNELS
            self._tell(str(outcome))
            self._turn.notify_all()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.side_by_side", description="all that `make test` does")
    parser.add_argument("--cores", type=int, default=max(2, os.cpu_count() or 2), help="jobs at a time")
    parser.add_argument("--long", action="store_true", help="what `make test` leaves out: `make test-long`")
    given = parser.parse_args(arguments)
    asked = long_jobs(given.cores) if given.long else jobs(given.cores)
    outcomes = SideBySide(asked, lambda line: print(line, flush=True)).run(given.cores)
    failed = [outcome.job.name for outcome in outcomes if outcome.status]
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
