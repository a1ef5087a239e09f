"""A writer in a process of its own, for tests of several writers and of writers that are killed.

python -m tests.systems.publisher_script count URI TIMES      adds one to a number, TIMES times, losing nothing
python -m tests.systems.publisher_script die URI STEP         dies before the step of that number of one save
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from matchwood import storage

STEPS = ("claim", "write", "create", "swap")


def number_at(uri: str) -> int:
    return int(storage.load(uri).parts["0"].arrays["number"][0])


def part_of(number: int) -> storage.SavedPart:
    return storage.SavedPart({}, {"number": np.array([number]), "ballast": np.full(1000, number)})


def count(uri: str, times: int) -> None:
    overtaken = 0
    for _ in range(times):
        while True:
            old = storage.load(uri)
            try:
                with storage.begin(uri) as staging:
                    described = staging.write_part("0", part_of(int(old.parts["0"].arrays["number"][0]) + 1))
                    staging.publish([described], {}, after=old.version)
                    break
            except storage.Overtaken:
                overtaken += 1
    print(overtaken)


def die(uri: str, step: int) -> None:
    taken, kind = 0, type(storage.location_of(uri))

    def counted(name: str) -> Any:
        original = getattr(kind, name)

        def taken_or_dead(*arguments: Any) -> Any:
            nonlocal taken
            if taken == step:
                os._exit(9)
            taken += 1
            return original(*arguments)

        return taken_or_dead

    for name in STEPS:
        setattr(kind, name, counted(name))
    storage.save(uri, {"0": part_of(2)}, {})


if __name__ == "__main__":
    {"count": count, "die": die}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
