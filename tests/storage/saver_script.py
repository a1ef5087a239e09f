"""Savers that die: run as a script, so that the forked children come from a process with one thread.

    saver_script.py points DIRECTORY          kill a save before each of its system calls in turn
    saver_script.py random DIRECTORY TIMES SEED     kill a process that saves in a loop, at random moments

Prints one JSON line of counts; any broken promise is an exception.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from matchwood.storage import SavedPart, load, save, versions

CALLS = ("open", "write", "fsync", "close", "mkdir", "replace", "link")
SAME = -1
"""The value of all but a few places of a large array, which generations share but for a patch."""


def generation(number: int) -> dict[str, SavedPart]:
    arrays = {f"array{i}": np.full(50 + i, number, dtype=np.int64) for i in range(3)}
    arrays["large"] = np.full(8192 + number % 7, SAME, dtype=np.int64)
    arrays["large"][:3] = number
    return {str(part): SavedPart({"generation": number}, arrays) for part in range(2)}


def save_generation(path: Path, number: int) -> None:
    save(path, generation(number), {"generation": number})


def readable_generation(path: Path) -> int:
    """The one generation that everything in the current version belongs to."""
    snapshot = load(path, verify="full")
    parts = [snapshot.parts[name] for name in ("0", "1")]
    seen = {snapshot.header["generation"], *(part.header["generation"] for part in parts)}
    seen.update(int(value) for part in parts for array in part.arrays.values() for value in array)
    assert len(seen) == 2, seen
    return max(seen)


def forked(job: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            job()
        finally:
            os._exit(0)
    return child


def killed(child: int) -> bool:
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def die_before_call(number: int) -> None:
    """Count the calls that change files; at the given one, write half of the data if it writes, and die."""
    calls = 0

    def counted(name: str) -> Callable[..., Any]:
        real, write = getattr(os, name), os.write

        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                if name == "write":
                    write(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return call

    for name in CALLS:
        setattr(os, name, counted(name))


def at_every_point(top: Path) -> dict[str, int]:
    counts = {"points": 0, "old": 0, "new": 0}
    alive = False
    while not alive:
        path = top / "snapshot"
        shutil.rmtree(path, ignore_errors=True)
        save_generation(path, 1)
        counts["points"] += 1

        def dying(path: Path = path, point: int = counts["points"]) -> None:
            die_before_call(point)
            save_generation(path, 2)

        alive = not killed(forked(dying))
        found = readable_generation(path)
        counts["old" if found == 1 else "new"] += 1
        check_life_goes_on(path)
    return counts


def check_life_goes_on(path: Path) -> None:
    assert all(info.problem is None for info in versions(path))
    save_generation(path, 3)
    assert readable_generation(path) == 3


def at_random_moments(path: Path, times: int, seed: int) -> dict[str, int]:
    """What a saver has reported as saved stays; beyond that, a save under way may have happened or not."""
    choice = random.Random(seed)
    save_generation(path, 0)
    last = 0
    for _ in range(times):
        reported = killed_while_saving(path, last, choice.randint(0, 2), choice.uniform(0.0, 1.5))
        found = readable_generation(path)
        assert reported <= found, (found, reported)
        last = found
    return {"times": times, "generations": last}


def killed_while_saving(path: Path, start: int, saves: int, fraction: float) -> int:
    """Kill a saver after so many saves and a fraction of another; returns the last generation that it reported."""
    reading, writing = os.pipe()

    def saving() -> None:
        for number in range(start + 1, start + 10_000):
            save_generation(path, number)
            os.write(writing, b".")

    began = time.monotonic()
    child = forked(saving)
    reported = sum(len(os.read(reading, 1)) for _ in range(saves))
    duration = (time.monotonic() - began) / saves if saves else 0.02
    time.sleep(fraction * duration)
    os.kill(child, signal.SIGKILL)
    assert killed(child)
    os.close(reading)
    os.close(writing)
    return start + reported


def main(mode: str, directory: str, times: str = "0", seed: str = "0") -> None:
    if mode == "points":
        print(json.dumps(at_every_point(Path(directory))))
    else:
        print(json.dumps(at_random_moments(Path(directory), int(times), int(seed))))


if __name__ == "__main__":
    main(*sys.argv[1:])
