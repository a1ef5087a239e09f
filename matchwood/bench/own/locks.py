"""How long an event waits at most while a twentieth of the rules is replaced, and without that.

One thread matches event after event and notes how long each took; another replaces rules meanwhile. On a busy machine
that is also the time in which neither had a processor: `stroke_ms` is the longest time for which the lock was held, in
seconds of the thread that held it. Afterwards the answers are held against those of an index that was built of the
rules as they are then.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.frame.setup import sizes
from matchwood.index import Index
from matchwood.matching import SLICE_RULES
from matchwood.progress import Progress
from matchwood.workloads import begen

RULES = {"smoke": 3_000, "quick": 100_000, "full": 1_000_000, "paper": 1_000_000}
SECONDS = {"smoke": 0.1, "quick": 3.0, "full": 5.0, "paper": 5.0}
"""How long events are matched without anybody else about."""
SHARE, EVENTS, SEED = 20, 200, 23

Row = dict[str, Any]


class MatchingThread:
    """Matches events over and over while a block lasts; `waits` are the milliseconds that each call took."""

    def __init__(self, index: Index, events: list[dict[str, Any]]) -> None:
        self.waits: list[float] = []
        self._index, self._events, self._over = index, events, threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._match)

    def _match(self) -> None:
        for event in self._events:
            self._index.match(event)
        self._ready.set()
        while not (self._over.is_set() and self.waits):
            begin = time.perf_counter()
            self._index.match(self._events[len(self.waits) % len(self._events)])
            self.waits.append(1_000 * (time.perf_counter() - begin))

    def __enter__(self) -> MatchingThread:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()


class StrokeClock:
    """`longest` is the most milliseconds of its own time for which a writer held the lock while a block lasted."""

    def __init__(self, index: Index) -> None:
        self.longest, self.strokes = 0.0, 0
        self._index, self._inner = index, index._storing

    @contextlib.contextmanager
    def _storing(self) -> Iterator[None]:
        with self._inner():
            begin = time.thread_time()
            yield
            self.longest = max(self.longest, 1_000 * (time.thread_time() - begin))
            self.strokes += 1

    def __enter__(self) -> StrokeClock:
        self._index.__dict__["_storing"] = self._storing
        return self

    def __exit__(self, *error: object) -> None:
        del self._index.__dict__["_storing"]


def run(scale: str) -> dict[str, Any]:
    with Progress("bench locks", "steps", 4) as progress:
        row = measure(RULES[scale], SECONDS[scale], progress)
    return {"experiment": "locks", "scale": scale, "rows": [row]}


def measure(count: int, alone_s: float, progress: Progress) -> Row:
    """The row of one index."""
    work = begen(rules=count + count // SHARE, events=EVENTS, seed=SEED)
    texts, events = work.rules_table()["expression"].combine_chunks(), work.events_table().to_pylist()
    before, after = texts.slice(0, count), texts.slice(count)
    rows = np.random.default_rng(SEED).choice(count, len(after), replace=False)
    index = Index()
    index.insert_many(pa.table({"id": np.arange(count), "expression": before}))
    progress.advance()
    with MatchingThread(index, events) as alone:
        time.sleep(alone_s)
    progress.advance()
    with MatchingThread(index, events) as beside, StrokeClock(index) as clock:
        begin = time.perf_counter()
        index.insert_many(pa.table({"id": rows, "expression": after}), on_duplicate="replace")
        seconds = time.perf_counter() - begin
    progress.advance()
    check(index, before, rows, after, events)
    return {
        "engine": index.engine,
        "workload": "begen",
        "rules": count,
        **sizes(index),
        "checked": True,
        "replaced": len(after),
        "replace_s": round(seconds, 2),
        "replaced_per_s": round(len(after) / seconds),
        "rules_a_slice": SLICE_RULES,
        "strokes": clock.strokes,
        "stroke_ms": round(clock.longest, 1),
        "alone_ms": round(float(np.median(alone.waits)), 3),
        "alone_longest_ms": round(max(alone.waits), 1),
        "beside_ms": round(float(np.median(beside.waits)), 3),
        "beside_longest_ms": round(max(beside.waits), 1),
    }


def check(index: Index, before: pa.Array, rows: Any, after: pa.Array, events: list[dict[str, Any]]) -> None:
    """Hold the answers against those of the same rules in another index."""
    texts = np.array(before.to_pylist(), object)
    texts[rows] = after.to_pylist()
    other = Index()
    other.insert_many(pa.table({"id": np.arange(len(texts)), "expression": texts.tolist()}))
    if not index.match_many(events).equals(other.match_many(events)):
        raise WrongAnswer("after rules were replaced, events match others than in an index of the same rules")
