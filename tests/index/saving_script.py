"""Savers of indexes that die: run as a script, so that the forked children come from a process with one thread.

    saving_script.py PATH TIMES SEED        kill a process that saves in a loop, at random moments

Prints one JSON line of counts; any broken promise is an exception.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import matchwood as mw

RULES = 20


def generation(number: int) -> mw.Index:
    """An index all of whose rules name the generation."""
    index = mw.Index()
    texts = [f"generation = {number} and place = {place} or name = 'g{number}'" for place in range(RULES)]
    index.insert_many((f"r{place}", text) for place, text in enumerate(texts))
    return index


def check(path: Path) -> int:
    """The one generation that everything in the current version belongs to."""
    index = mw.open(path, verify="full")
    number = int(index["r0"].split()[2])
    assert dict(index) == dict(generation(number))
    assert index.match({"generation": number, "place": 7}) == ["r7"]
    assert index.match({"name": f"g{number}"}) == [f"r{place}" for place in range(RULES)]
    assert index.audit() == []
    return number


def saver(path: Path, start: int) -> tuple[int, int]:
    """A child that saves one generation after the other, and a pipe that tells of each."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        for number in range(start, start + 10_000):
            generation(number).save(path)
            os.write(tell, b".")
        os._exit(0)
    os.close(tell)
    return child, told


def main(directory: str, times: str, seed: str) -> None:
    path, choice, last = Path(directory), random.Random(int(seed)), 0
    generation(0).save(path)
    check(path)
    for round_ in range(int(times)):
        child, told = saver(path, last + 1)
        if round_ % 2:
            os.read(told, 1)
        time.sleep(choice.uniform(0.0, 0.15))
        os.kill(child, signal.SIGKILL)
        os.close(told)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        found = check(path)
        assert found >= last, (found, last)
        last = found
    print(json.dumps({"times": int(times), "generations": last}))


if __name__ == "__main__":
    main(*sys.argv[1:])
