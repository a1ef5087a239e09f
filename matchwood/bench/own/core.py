"""Building and matching with the core engines, on BEGen and on a dense workload.

One index is built from text; each engine is then built from the same encoded conjunctions and matches the same encoded
events, so that its columns differ by the engine alone. `build_s` is what building the index from text takes with that
engine: what all share, and the engine's own part. The hits of each engine are held against brute force, those of the
index against the oracle, and all engines against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from matchwood.bench.frame.measure import (
    MeasuredMatching,
    check_agreement,
    drawn,
    measure_engine,
    measure_rounds,
    ratio,
    require_hits,
    timed,
)
from matchwood.bench.frame.memory import bytes_of
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.frame.setup import (
    CHECKED_EVENTS,
    PreparedIndex,
    check_with_brute_force,
    check_with_oracle,
    prepare,
    sizes,
)
from matchwood.bench.frame.setup import warm_up as warm_up_engines
from matchwood.engines import Engine, engine_class
from matchwood.matching import EngineMatcher
from matchwood.workloads import Workload, ads, begen

ENGINES: dict[str, tuple[str, dict[str, Any]]] = {
    "scan": ("scan", {}),
    "counting": ("counting", {}),
    "pstbloom": ("pstbloom", {}),
    "pstbloom, units alone": ("pstbloom", {"side_by_side": False}),
    "psthash": ("psthash", {}),
}
"""Engines and their options, by what their rows are called."""

OWN_ENGINE = "pstbloom"
"""The engine of the index itself: the one that `auto` starts with."""

SIZES = {
    "smoke": ((2_000, 40),),
    "quick": ((100_000, 4_000),),
    "full": ((100_000, 4_000), (1_000_000, 1_000)),
    "paper": ((100_000, 4_000), (1_000_000, 1_000)),
}
"""Rules, and events of a batch: thousands, as jobs have them."""

WORKLOADS: dict[str, Callable[[int, int], Workload]] = {
    "begen 1%": lambda rules, events: begen(rules=rules, events=drawn(events), matching=0.01, seed=7),
    "dense 0.01%": lambda rules, events: ads(rules=rules, events=drawn(events), matching=0.0001, seed=7),
}


class _WholeCalls:
    """From a table of events to one of ids, by the index itself."""

    def __init__(self, prepared: PreparedIndex) -> None:
        self._prepared, self.hits, self.events = prepared, 0, 0

    def match(self, first: int, stop: int) -> float:
        index, some = self._prepared.rules, self._prepared.table.slice(first, stop - first)
        seconds, found = timed(lambda: index.match_many(some))
        self.hits, self.events = self.hits + found.num_rows, self.events + stop - first
        return seconds


class BuiltEngine(NamedTuple):
    """An engine over the index's conjunctions, and the seconds that building it took."""

    engine: Engine
    seconds: float


def warm_up() -> None:
    warm_up_engines([engine for engine, options in ENGINES.values() if not options])


def parts(scale: str) -> list[ExperimentPart]:
    return [
        ExperimentPart(name, partial(_measured, name, rules, events), (FigurePlace(name, "rules", rules),))
        for rules, events in SIZES[scale]
        for name in WORKLOADS
    ]


def _measured(name: str, rules: int, events: int) -> list[dict[str, Any]]:
    return measure(name, WORKLOADS[name](rules, events))


def measure(name: str, workload: Workload) -> list[dict[str, Any]]:
    """A row for each engine on one workload."""
    prepared = prepare(workload, OWN_ENGINE)
    built = {engine: _built(engine, prepared) for engine in ENGINES}
    results = {name: measure_engine(made.engine, prepared.events, spent_s=made.seconds) for name, made in built.items()}
    check_agreement(results)
    for engine in ENGINES:
        events = min(CHECKED_EVENTS, results[engine].events)
        check_with_brute_force(engine, built[engine].engine, prepared, workload, events)
    whole = _WholeCalls(prepared)
    from_table = round(measure_rounds(whole.match, prepared.events.count, math.inf).us, 2)
    check_with_oracle(prepared.rules, workload)
    shared = _shared(name, prepared, require_hits(whole.hits, name) / whole.events)
    return [
        {
            **shared,
            **_own(prepared, built, engine, results),
            "us_per_event_from_table": from_table if engine == OWN_ENGINE else None,
        }
        for engine in ENGINES
    ]


def _built(name: str, prepared: PreparedIndex) -> BuiltEngine:
    matcher = prepared.rules._matcher
    assert isinstance(matcher, EngineMatcher)
    kind, options = ENGINES[name]
    engine = engine_class(kind)(matcher.parts[0].store.copy(), options)
    return BuiltEngine(engine, timed(engine.rebuild)[0])


def _shared(name: str, prepared: PreparedIndex, hits_per_event: float) -> dict[str, Any]:
    events = prepared.events.count
    return {
        "workload": name,
        "rules": len(prepared.rules),
        "events": events,
        "hits_per_event": hits_per_event,
        **sizes(prepared.rules),
        "checked": True,
    }


def _own(
    prepared: PreparedIndex, built: dict[str, BuiltEngine], engine: str, results: dict[str, MeasuredMatching]
) -> dict[str, Any]:
    found, rules, encoded_s = results[engine], len(prepared.rules), built[engine].seconds
    build_s = max(0.0, prepared.build_s - built[OWN_ENGINE].seconds) + encoded_s
    return {
        "engine": engine,
        "events": found.events,
        "build_s": round(build_s, 3),
        **found.times(prepared.encode_us),
        "candidates_per_event": found.candidates / found.events,
        **bytes_of(built[engine].engine),
        "ratio_to_scan": ratio(results["scan"].times(prepared.encode_us), found.times(prepared.encode_us)),
        "rules_per_s_text": round(rules / build_s),
        "rules_per_s_encoded": round(rules / encoded_s),
        "ns_per_rule": round(1e3 * found.match_us / rules, 3),
        "ns_per_candidate": round(1e3 * found.match_us * found.events / found.candidates, 2),
        "warmup_s": round(found.rounds.warmup_s, 4),
        **found.marks(),
    }
