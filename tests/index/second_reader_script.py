"""A reader, a second one and a writer, of an index that the main thread has built and matched.

second_reader_script.py ENGINE               also waits for the writer
second_reader_script.py ENGINE DIRECTORY     from when there is a second reader on, code is kept in an empty directory

Tells who loaded or compiled which kernel and whether a lock of the index was held, who rehearsed anything, and how far
the first reader came while the writer got ready.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import matchwood as mw
from matchwood.choosing import rehearsal
from matchwood.core.machine_code.kept import CACHE, PRECOMPILED, Loaded, cache_directory, loading

RULES, ENOUGH = 2_000, 50
EVENT = {"service": "svc-1", "region": "us", "latency": 5}


def rule(number: int) -> str:
    return f"service = 'svc-{number % 8}' and latency > {number % 50} and region in ('us', 'eu')"


class Service:
    """The three threads, and what they do."""

    def __init__(self, index: mw.Index) -> None:
        self.index, self.over, self.second = index, threading.Event(), threading.Event()
        self.kernels: dict[str, int] = {}
        self.within: list[str] = []
        self.rehearsed: list[tuple[str, str]] = []
        self.compiled, self.beside, self.changes, self.longest = 0, 0, 0, 0.0

    def hear(self, found: Loaded) -> None:
        me, name, lock = threading.get_ident(), threading.current_thread().name, self.index._lock
        self.kernels[name] = self.kernels.get(name, 0) + 1
        self.compiled += found.path is None
        if me in lock._readers or lock._writer == me or self.index._writer._is_owned():  # type: ignore[attr-defined]
            self.within.append(found.kernel)

    def once(
        self,
        key: tuple[str, ...],
        rehearse: Callable[[], None],
        purpose: int = rehearsal.WAITED_FOR,
        inner: Any = rehearsal.once,
    ) -> None:
        self.rehearsed.append((threading.current_thread().name, key[0]))
        inner(key, rehearse, purpose)

    def read(self) -> None:
        while not self.over.is_set():
            began = time.perf_counter()
            self.index.match(EVENT)
            self.longest = max(self.longest, time.perf_counter() - began)
            self.beside += self.kernels.get("writer", 0) > 0

    def read_too(self) -> None:
        self.index.match(EVENT)
        self.index.match_many([EVENT, {"service": "svc-2", "latency": 60, "region": "eu"}])
        self.second.set()

    def write(self) -> None:
        self.second.wait()
        while not self.over.is_set():
            self.index[f"r{self.changes % RULES}"] = rule(self.changes + 1)
            self.changes += 1

    def told(self) -> dict[str, Any]:
        counts = {
            "compiled": self.compiled,
            "beside": self.beside,
            "changes": self.changes,
            "longest_ms": round(1000 * self.longest, 1),
        }
        return {"kernels": self.kernels, "within": self.within, "rehearsed": self.rehearsed, **counts}


def main(engine: str, directory: str | None = None) -> None:
    index = mw.Index(engine)
    index.insert_many({f"r{number}": rule(number) for number in range(RULES)})
    index.match(EVENT)
    index.match_many([EVENT] * 2)
    if directory is not None:
        os.environ |= {CACHE: directory, PRECOMPILED: "0"}
        cache_directory.cache_clear()
    service = Service(index)
    rehearsal.once = service.once
    with loading(service.hear):
        jobs = {"reader": service.read, "second reader": service.read_too, "writer": service.write}
        threads = [threading.Thread(target=job, name=name, daemon=True) for name, job in jobs.items()]
        for thread in threads:
            thread.start()
        while service.beside < ENOUGH or (directory is None and service.changes < ENOUGH):
            assert threads[0].is_alive()
            assert threads[2].is_alive()
            time.sleep(0.01)
        service.over.set()
        print(json.dumps(service.told()), flush=True)
    os._exit(0)  # the writer may be within a compiler


if __name__ == "__main__":
    main(*sys.argv[1:])
