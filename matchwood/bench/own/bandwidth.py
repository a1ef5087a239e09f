"""How far engines are from memory speed: what they touch for an event, beside what the machine reads in the same run.

What an event touches follows from the engine's own counters:

    pstbloom   a test of 8 bytes for every candidate, in sequence in its list; for each that is verified the place and
               the state of its unit, at random places, and then what the unit says, in sequence: the store has units
               in the order of the lists
    counting   4 bytes for every posting, in sequence; a counter for every posting, at a random place; and all counters
               once more, in sequence, when they are reset

Both also read the event and write their hits. What is read in sequence costs a byte's time in a long stream; what is
read at random costs a gather's time in an array as large as the one that is read, since a small one stays in a cache.
`floor_us` is both together, on one core, and `memory_share` how much of the time of matching that explains: the rest is
arithmetic, look-ups of lists and branches.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from matchwood.bench.frame.encoded_rules import CHECKED_EVENTS, Encoded, check, encoded
from matchwood.bench.frame.measure import MeasuredMatching, check_agreement, drawn, measure_engine, timed
from matchwood.bench.frame.memory import bytes_of
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.frame.setup import warm_up as warm_up_engines
from matchwood.bench.own._bandwidth_kernels import gather, stream
from matchwood.encoding import frozen
from matchwood.engines import Engine, Workspace, engine_class
from matchwood.workloads import Workload, ads, begen

ENGINES = ("pstbloom", "counting")
SIZES = {"smoke": (2_000, 40), "quick": (500_000, 200), "full": (1_000_000, 200), "paper": (1_000_000, 200)}
"""Rules, and events of a batch."""

STREAMED = {"smoke": 2**22, "quick": 2**28, "full": 2**29, "paper": 2**29}
"""Bytes of the array that tells the bandwidth: far more than any cache holds."""

GATHERED, ROUNDS = 200_000, 7
_LINE, _TEST, _POSTING, _PAIR, _HIT = 64, 8, 4, 8, 4


class Traffic(NamedTuple):
    """What one event touches: bytes in sequence, places at random, and the size of the array that these are in."""

    streamed: float
    gathers: float
    gathered_bytes: int

    @property
    def touched(self) -> float:
        """Bytes; a place at random is a cache line."""
        return self.streamed + _LINE * self.gathers


def warm_up() -> None:
    warm_up_engines(ENGINES)
    measure("warm-up", begen(rules=200, events=5, matching=0.05, seed=1), "smoke")


def parts(scale: str) -> list[ExperimentPart]:
    return [
        ExperimentPart("begen 1%", partial(_begen, scale), (FigurePlace("begen 1%"),)),
        ExperimentPart("ads 0.1%", partial(_ads, scale), (FigurePlace("ads 0.1%"),)),
    ]


def _begen(scale: str) -> list[dict[str, Any]]:
    rules, events = SIZES[scale]
    return measure("begen 1%", begen(rules=rules, events=drawn(events), matching=0.01, seed=7), scale)


def _ads(scale: str) -> list[dict[str, Any]]:
    rules, events = SIZES[scale]
    return measure("ads 0.1%", ads(rules=rules, events=drawn(events), matching=0.001, seed=7), scale)


def measure(name: str, workload: Workload, scale: str) -> list[dict[str, Any]]:
    """A row for each engine; the machine is measured between them, so that all meet the same other work."""
    prepared = encoded(workload)
    rows, results = [], dict[str, MeasuredMatching]()
    for kind in ENGINES:
        engine = engine_class(kind)(prepared.store.copy())
        build_s, _ = timed(engine.rebuild)
        found = results[kind] = measure_engine(engine, prepared.events, spent_s=build_s)
        check(kind, engine, prepared, min(CHECKED_EVENTS, found.events))
        traffic = traffic_of(engine, prepared)
        rows.append({**_row(kind, name, prepared, build_s, engine, found), **_memory(found, traffic, STREAMED[scale])})
    check_agreement(results)
    return rows


def traffic_of(engine: Engine, prepared: Encoded) -> Traffic:
    """What an average event touches, by what the engine counts."""
    candidates, verified, matched, postings = _work(engine, prepared)
    pairs, units = len(prepared.events.attributes) / prepared.events.count, prepared.store.live
    both = _PAIR * pairs + _HIT * matched
    if engine.name == "counting":
        return Traffic(both + _POSTING * postings + 2 * units, postings, units)
    places, words, sets, _ = engine.store.view()
    said = (words.nbytes + sets.nbytes) / max(1, units)
    return Traffic(both + _TEST * candidates + said * verified, 2 * verified, places.nbytes)


def _work(engine: Engine, prepared: Encoded) -> tuple[float, float, float, float]:
    """Candidates, verified ones, hits and postings of an event, on average."""
    workspace, position, events = Workspace(), 0, prepared.events.count
    total = np.zeros(4)
    while position < events:
        hits = engine.match(prepared.events, position, workspace)
        total += hits.work
        position += hits.count
    candidates, verified, matched, postings = (total / events).tolist()
    return candidates, verified, matched, postings


def _memory(found: MeasuredMatching, traffic: Traffic, streamed: int) -> dict[str, Any]:
    stream_gb, gather_ns = stream_rate(streamed), gather_time(traffic.gathered_bytes)
    floor_us = traffic.streamed / stream_gb / 1e3 + traffic.gathers * gather_ns / 1e3
    hits = max(1.0, found.hits / found.events)
    return {
        "bytes_per_event": round(traffic.touched),
        "bytes_per_hit": round(traffic.touched / hits, 1),
        "gb_per_s": round(traffic.touched / found.match_us / 1e3, 2),
        "stream_gb_per_s": round(stream_gb, 2),
        "gather_ns": round(gather_ns, 2),
        "gathered_mb": round(traffic.gathered_bytes / 1e6, 2),
        "floor_us": round(floor_us, 4),
        "memory_share": round(floor_us / found.match_us, 3),
    }


@cache
def _words(nbytes: int) -> Any:
    return frozen(np.random.default_rng(1).integers(0, 2**40, max(8, nbytes // 8)))


def stream_rate(nbytes: int) -> float:
    """Gigabytes a second in sequence, on one core: the best of some rounds."""
    words = _words(nbytes)
    stream(words)
    return float(words.nbytes) / min(timed(partial(stream, words))[0] for _ in range(ROUNDS)) / 1e9


def gather_time(nbytes: int) -> float:
    """Nanoseconds for one place at random in an array of this size, others under way: the best of some rounds."""
    words = _words(max(_LINE, nbytes))
    places = frozen(np.random.default_rng(2).integers(0, len(words), GATHERED).astype(np.int32))
    gather(words, places)
    return 1e9 * min(timed(partial(gather, words, places))[0] for _ in range(ROUNDS)) / GATHERED


def _row(
    kind: str, name: str, prepared: Encoded, build_s: float, engine: Engine, found: MeasuredMatching
) -> dict[str, Any]:
    return {
        "engine": kind,
        "workload": name,
        "rules": prepared.workload.rules.count,
        "events": found.events,
        "build_s": round(prepared.encode_s + build_s, 3),
        **found.times(prepared.encode_us),
        "hits_per_event": found.hits / found.events,
        "candidates_per_event": found.candidates / found.events,
        **bytes_of(engine),
        "checked": True,
        **found.marks(),
    }
