"""How long a new process takes until its first answer: with machine code of a wheel, with none, and with kept code.

With none it is shown twice: as it is, with little work interpreted while kernels are compiled beside, and with every
kernel compiled before it is called.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matchwood
from matchwood.bench.frame.fresh import FreshRun, fresh_run
from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.frame.parts import ExperimentPart
from matchwood.core import CACHE, INTERPRET, PRECOMPILED

SAVED_RULES = 100_000

_PLAIN = """
{body}
compiled = interpreted = None
"""
_COUNTED = """
from matchwood.core import compilations, interpretations
with compilations() as compiled, interpretations() as interpreted:
{body}
compiled, interpreted = len(compiled), len(interpreted)
"""
_TOLD = """
import json, pathlib
status = pathlib.Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
peak = [1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
print(json.dumps([compiled, interpreted, *(peak or [None]), globals().get("told", {})]))
"""
"""What a process says of itself: whoever starts it is told more, since its own memory counts until the other begins."""

_FIRST_MATCH = """
    import matchwood as mw
    index = mw.Index()
    index["adults"] = "age >= 18 and country in ('US', 'CA')"
    assert index.match({"age": 20, "country": "US"}) == ["adults"]
"""
_OPEN = """
    import sys
    import matchwood as mw
    assert "r1" in mw.open(sys.argv[1]).match({"n": 1, "s": "a1", "x": 3.5})
"""
_WORKER = """
    import sys
    import pyarrow as pa
    from matchwood.sharding import open_shards
    events = pa.table({"n": [1, 2], "s": ["a1", "a2"], "x": [3.5, 4.5]})
    assert sum(len(answer.ids) for answer in open_shards(sys.argv[1]).answers(events))
"""


_SERVICE = """
    import threading, time
    import matchwood as mw
    def rule(number):
        return f"service = 'svc-{number % 80}' and latency > {number % 500} and region in ('us', 'eu')"
    index, event = mw.Index(), {"service": "svc-1", "latency": 400, "region": "us"}
    index.insert_many({str(number): rule(number) for number in range(RULES)})
    index.match(event)
    ready, second, over, alone, waits, first_calls = *[threading.Event() for _ in range(3)], [], [], {}
    def timed(call, *arguments):
        began = time.perf_counter()
        call(*arguments)
        return 1000 * (time.perf_counter() - began)
    def read():
        index.match(event)
        until = time.monotonic() + 1
        while time.monotonic() < until:
            alone.append(timed(index.match, event))
        ready.set()
        while not over.is_set():
            waits.append(timed(index.match, event))
    def read_too():
        ready.wait()
        first_calls["second_reader_ms"] = round(timed(index.match, event), 1)
        second.set()
        while not over.is_set():
            index.match(event)
            time.sleep(0.001)
    def write():
        second.wait()
        first_calls["writer_ms"] = round(timed(index.__setitem__, "0", rule(1)), 1)
        for number in range(1, 100):
            index[str(number)] = rule(number + 1)
    threads = [threading.Thread(target=each) for each in (read, read_too, write)]
    for thread in threads:
        thread.start()
    threads[2].join()
    over.set()
    for thread in threads[:2]:
        thread.join()
    told = {"alone_longest_ms": round(max(alone), 1), "longest_match_ms": round(max(waits), 1), **first_calls}
    told["matches"] = len(waits)
"""
"""A reader goes on while a second one comes, and a writer whose first changes have to be loaded or compiled.

`longest_match_ms` is the longest that an event of the first reader took from then on, `alone_longest_ms` in the second
before, which tells how busy the machine is; the others are how long the first calls of the second reader and of the
writer took."""


class StartTask(NamedTuple):
    """What a process does, and how Python is called for it; `%` stands for the saved index.

    `counts`  whether kernels are counted
    `shares`  whether several threads use an index, and `auto` tries engines: what is called depends on the moment then
    """

    name: str
    arguments: tuple[str, ...]
    counts: bool = True
    shares: bool = False

    def allows(self, state: str, compiled: int, interpreted: int) -> bool:
        """Whether so many kernels may be compiled and interpreted in a state in which code is there.

        Among threads that share a small index one may interpret while code is loaded beside, and what the process
        before has kept need not be all that this one calls; a wheel has all.
        """
        if self.shares:
            return state != "precompiled" or not compiled
        return not compiled and not interpreted


def _task(name: str, body: str, *arguments: str, counts: bool = True, shares: bool = False) -> StartTask:
    script = (_COUNTED if counts else _PLAIN).format(body=body) + _TOLD
    return StartTask(name, ("-c", script, *arguments), counts, shares)


TASKS = (
    _task("import", "import matchwood", counts=False),
    _task("help", "from matchwood.commands import main; main(['--help'])", counts=False),
    _task("first match", _FIRST_MATCH),
    _task("open and match", _OPEN, "%"),
    _task("first Spark task", _WORKER, "%"),
    _task("a reader beside a second one and a writer", _SERVICE.replace("RULES", "1000"), shares=True),
    _task("the same with 50,000 rules", _SERVICE.replace("RULES", "50_000"), shares=True),
)
"""A Spark task is what its Python worker does; the JVM's part is the same with and without machine code."""

STATES = {
    "precompiled": ("unused", {}),
    "nothing kept": ("interpreted", {PRECOMPILED: "0", INTERPRET: "1"}),
    "nothing kept, all compiled": ("kept", {PRECOMPILED: "0", INTERPRET: "0"}),
    "kept": ("kept", {PRECOMPILED: "0", INTERPRET: "1"}),
}
"""Where code is kept in each state, and what else the process is told. The wheel's code is used with an empty cache;
what is kept in the end is what the state before has compiled."""


def parts(scale: str) -> list[ExperimentPart]:
    """Each task in each state; one that loads no kernel has only one state. The tests run those."""
    tasks = TASKS[:2] if scale == "smoke" else TASKS
    return [ExperimentPart(task.name, functools.partial(measure, task)) for task in tasks]


def warm_up() -> None:
    """Nothing: what is measured is that nothing is warm."""


def measure(task: StartTask) -> list[dict[str, Any]]:
    """The rows of one task."""
    with tempfile.TemporaryDirectory(prefix="matchwood-start-") as name:
        saved = _saved(Path(name)) if "%" in task.arguments else ""
        return list(_measured(task, saved, Path(name)))


def _saved(directory: Path) -> str:
    texts = [f"n = {number % 50} and s in ('a{number % 7}', 'b') and x < {number + 5}" for number in range(SAVED_RULES)]
    index = matchwood.Index()
    index.insert_many({f"r{number}": text for number, text in enumerate(texts)})
    index.save(directory / "rules")
    return str(directory / "rules")


def _measured(task: StartTask, saved: str, directory: Path) -> Iterator[dict[str, Any]]:
    arguments = [saved if each == "%" else each for each in task.arguments]
    fresh_run(arguments if not task.counts else ["-c", "import matchwood.index"], {})  # bytecode is there
    if not task.counts:
        yield _row(task, "any", fresh_run(arguments, {}), 0)
        return
    with tempfile.TemporaryDirectory(dir=directory) as kept:
        for state, (place, told) in STATES.items():
            if state != "precompiled" or has_precompiled():
                found = fresh_run(arguments, {CACHE: f"{kept}/{place}", **told})
                yield _row(task, state, found, _bytes_in(f"{kept}/{place}"))


def has_precompiled() -> bool:
    """Whether this installation brought machine code along, or was told where some is."""
    given = os.environ.get(PRECOMPILED)
    return Path(given or Path(matchwood.__file__).parent / "precompiled").is_dir()


def _row(task: StartTask, state: str, found: FreshRun, kept: int) -> dict[str, Any]:
    compiled, interpreted, peak, told = json.loads(found.said)
    if state in ("precompiled", "kept") and not task.allows(state, compiled, interpreted):
        raise WrongAnswer(f"{task.name}: {state}, and yet {compiled} kernels compiled and {interpreted} interpreted")
    return {
        "workload": task.name,
        "engine": state,
        "checked": True,
        "wall_s": round(found.wall_s, 3),
        "cpu_s": round(found.cpu_s, 3),
        "compiled": compiled,
        "interpreted": interpreted,
        "peak_bytes": peak,
        "kept_bytes": kept,
        **told,
    }


def _bytes_in(directory: str) -> int:
    return sum(path.stat().st_size for path in Path(directory).rglob("*.nbc"))
