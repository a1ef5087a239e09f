"""Readers and a writer at once, in a process of its own: which kernels are loaded by threads that hold a lock.

compiling_script.py ENGINE [TRIED ...]     trials try these engines, one after the other
compiling_script.py auto load TAKEN        the writer loads many rules, and they ask for this engine

A kernel that is interpreted is neither loaded nor compiled by whoever calls it.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import matchwood as mw
from matchwood.choosing import auto, choice, reconsidering, trials
from matchwood.choosing.choice import EngineChoice, Plan
from matchwood.core.machine_code.kept import Loaded, loading
from matchwood.matching import LEAST_COMPILED

LOADED = LEAST_COMPILED
EVENT = {"service": "svc-1", "region": "us", "latency": 5}


def rule(number: int) -> str:
    return f"service = 'svc-{number % 8}' and latency > {number % 50} and region in ('us', 'eu')"


def main(engine: str, tried: list[str]) -> None:
    index, stop = mw.Index(engine), threading.Event()
    counts, within, outside, engines = {"match": 0, "change": 0}, [], [], []
    interpreted: list[str] = []

    def hear(found: Loaded) -> None:
        if found.interpreted:
            interpreted.append(found.kernel)
            return
        me = threading.get_ident()
        held = me in index._lock._readers or index._lock._writer == me or index._writer._is_owned()  # type: ignore[attr-defined]
        (within if held else outside).append(found.kernel)

    def read() -> None:
        while not stop.is_set():
            index.match(EVENT)
            index.match_many([EVENT, {"service": "svc-2", "latency": 60, "region": "eu"}])
            counts["match"] += 1

    def load() -> None:
        index.insert_many({f"new {number}": f"{rule(number)} and size > {number}" for number in range(LOADED)})
        with index._matcher.trying:  # type: ignore[attr-defined]
            engines.append(index.engine)

    def write() -> None:
        if loads:
            load()
        while not stop.is_set():
            number = counts["change"]
            index[f"r{number % 200}"] = rule(number + 1)
            if number % 3 == 0:
                del index[f"r{number % 200}"]
            counts["change"] += 1

    loads = tried[:1] == ["load"]
    _obey(tried, tried[1] if loads else None)
    index.insert_many({f"r{number}": rule(number) for number in range(200)})
    index.match_many([EVENT] * 100)
    with loading(hear):
        threads = [threading.Thread(target=each) for each in (read, read, write)]
        for thread in threads:
            thread.start()
        for _ in () if loads else tried:
            trials.run_trial(index, index._matcher)  # type: ignore[arg-type]
            engines.append(index.engine)
        while min(counts.values()) < 20 and any(thread.is_alive() for thread in threads):
            stop.wait(0.01)
        stop.set()
        for thread in threads:
            thread.join()
    found = {"within": within, "outside": len(outside), "interpreted": len(interpreted), "engines": engines}
    print(json.dumps({**found, "matches": counts["match"], "changes": counts["change"]}))


def _obey(tried: list[str], wanted: str | None) -> None:
    """Trials try these engines one after the other, and take them; many rules ask for the one that is wanted."""
    left = iter(tried)

    def plan(self: EngineChoice, features: Any, again: bool) -> Plan:
        self.predict(features)
        return Plan((next(left),), 0.0, 0.5)

    def keep(self: EngineChoice, features: Any) -> str:
        self.predict(features)
        return wanted if wanted is not None and features.units >= LOADED else self.engine

    EngineChoice.plan = plan  # type: ignore[method-assign]
    EngineChoice.best_by_rules = keep  # type: ignore[method-assign]
    choice.BETTER = float("inf")
    auto.LEAST_UNITS = 1
    reconsidering.begin_trial = lambda index, matcher: None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
