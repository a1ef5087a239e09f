"""How long each kernel takes to compile, for one engine from nothing to its first rules and matches."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from typing import Any

import numpy as np
from numba.core import event as numba_events

from matchwood.bench.frame.fresh import fresh_run
from matchwood.bench.own._bandwidth_kernels import stream
from matchwood.choosing import rehearse_changes
from matchwood.core import CACHE, PRECOMPILED, always_compiled
from matchwood.engines import engine_names
from matchwood.index import Index

_EVERY = ("auto", *engine_names())
ENGINES: dict[str, tuple[str, ...]] = {"smoke": (), "quick": ("pstbloom",), "full": _EVERY, "paper": _EVERY}

_SCRIPT = "from matchwood.bench.own.compiling import main; main({engine!r})"
_SHOWN = 25
"""Kernels that have a row of their own; the others are one."""


class CompileTimes(numba_events.Listener):  # type: ignore[misc]
    """The processor's time for every kernel, without that of the kernels that are compiled within it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._thread = threading.get_ident()
        self._open: list[list[float]] = []

    def on_start(self, event: Any) -> None:
        if threading.get_ident() == self._thread:
            self._open.append([time.thread_time(), 0.0])

    def on_end(self, event: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        began, within = self._open.pop()
        whole = time.thread_time() - began
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__.removeprefix('matchwood.')}.{function.__qualname__}"
        self.seconds[name] = self.seconds.get(name, 0.0) + whole - within
        if self._open:
            self._open[-1][1] += whole


def compiled_by(engine: str) -> dict[str, float]:
    """The seconds of each kernel that a small index of the engine needs; of one kernel, if there is none."""
    stopwatch = CompileTimes()
    numba_events.register("numba:compile", stopwatch)
    try:
        with always_compiled():
            if engine:
                rehearse_changes(Index(engine))
            else:
                stream(np.zeros(8, np.int64))
    finally:
        numba_events.unregister("numba:compile", stopwatch)
    return stopwatch.seconds


def main(engine: str) -> None:
    """What the process of one engine prints."""
    print(json.dumps(compiled_by(engine)))


def run(scale: str) -> dict[str, Any]:
    """The costliest kernels of each engine, and the sum; each engine in a process of its own."""
    rows = []
    for engine in ENGINES[scale] or ("",):
        with tempfile.TemporaryDirectory(prefix="matchwood-compile-") as kept:
            found = fresh_run(["-c", _SCRIPT.format(engine=engine)], {CACHE: kept, PRECOMPILED: "0"})
        rows += _rows(engine, json.loads(found.said))
    return {"experiment": "compile", "scale": scale, "rows": rows}


def _rows(engine: str, seconds: dict[str, float]) -> list[dict[str, Any]]:
    order = sorted(seconds, key=lambda name: -seconds[name])
    told = [(name, 1, seconds[name]) for name in order[:_SHOWN]]
    others = order[_SHOWN:]
    if others:
        told.append(("all others", len(others), sum(seconds[name] for name in others)))
    told.append(("all", len(order), sum(seconds.values())))
    return [
        {"engine": engine or "none", "workload": name, "kernels": count, "compile_s": round(spent, 3), "checked": True}
        for name, count, spent in told
    ]
