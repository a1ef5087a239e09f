"""Workloads that change (8.6.12): rules of one distribution give way to those of another, one by one, and come back.

The events are half uniform and half Zipf throughout. Matching time must return with the first workload, and it does not
matter to the answers what the tree has been through: a tree that is built anew of the same rules gives the same. Each
tree is measured with its adjustment on and off.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.frame.encoded_rules import encode_rules, timed_events
from matchwood.bench.frame.measure import WrongAnswer, check_agreement, drawn, measure_engine, timed, times
from matchwood.bench.frame.memory import bytes_of
from matchwood.bench.frame.setup import concatenated
from matchwood.bench.papers.betree.plan import ProfileScale
from matchwood.encoding import EncodedEvents, Encoder, Schema
from matchwood.engines import PUBLISHED, ConjunctionStore, engine_class
from matchwood.matching import taken
from matchwood.workloads import Workload, begen

_OFF = {**PUBLISHED, "node_window": 0.0}
TREES: dict[str, dict[str, Any]] = {
    "as published": {"as_published": True, "batch": False, "reinsertion": 0.05},
    "as published, adjustment off": {**_OFF, "batch": False},
    "large leaves, adjusting": {"batch": False, "node_window": 0.1, "reinsertion": 0.05},
    "large leaves, adjustment off": {"batch": False},
}
"""Trees into which rules come one by one: with the paper's window and rate of reinsertion, and with neither."""

STEPS = 4
"""Measurements on the way from one workload to the other."""

MEASUREMENTS = 1 + 2 * STEPS
"""Each has events of its own: the tree learns from those that it has met."""


def changing(size: ProfileScale) -> list[dict[str, Any]]:
    """Rows for uniform to Zipf and back, and for Zipf to uniform and back, of each of the TREES."""
    return [row for start in ("uniform", "zipf") for name in TREES for row in _there_and_back(start, name, size)]


def _there_and_back(start: str, tree: str, size: ProfileScale) -> list[dict[str, Any]]:
    other = {"uniform": "zipf", "zipf": "uniform"}[start]
    store, (first, second), events = _both((start, other), size)
    batches = iter(events.batches)
    engine = engine_class("betree")(store, TREES[tree])
    insert_s, _ = timed(lambda: engine.insert(first))
    rows = [_measured(engine, next(batches), size, tree, f"{start}", first, insert_s)]
    for out, into, way in ((first, second, f"{start} to {other}"), (second, first, f"{other} back to {start}")):
        for step in range(STEPS):
            change_s, _ = timed(partial(_swap, engine, out, into, step))
            share = (step + 1) / STEPS
            live = np.concatenate((out[round(share * len(out)) :], into[: round(share * len(into))]))
            rows.append(_measured(engine, next(batches), size, tree, f"{way}, {share:.0%}", live, change_s))
    return [{**row, **times(events.encode_us, row["match_us"])} for row in rows]


class ChangingEvents(NamedTuple):
    """Events for each measurement, of both distributions in turn at random, and what finding their spaces takes."""

    batches: list[EncodedEvents]
    encode_us: float


def _both(
    distributions: tuple[str, str], size: ProfileScale
) -> tuple[ConjunctionStore, list[NDArray[np.int32]], ChangingEvents]:
    """Both workloads in one store, and half of the events of each; 0.1% of the rules match, and ten at least."""
    matching = max(0.001, 10 / size.dynamic_rules)
    settings = {
        "rules": size.dynamic_rules,
        "events": MEASUREMENTS * drawn(size.events // 2),
        "matching": matching,
        "seed": 7,
    }
    workloads = [begen(**settings, distribution=distribution) for distribution in distributions]
    encoder = Encoder(Schema(dict.fromkeys(workloads[0].attributes, "int")))
    store = ConjunctionStore()
    parts = [encode_rules(encoder, workload) for workload in workloads]
    for attribute, old, new in encoder.drain_relabelled():
        parts[0] = _relabelled(parts[0], attribute, old, new)
    units = [np.unique(store.add(part).units).astype(np.int32) for part in parts]
    both = np.intersect1d(units[0], units[1])
    return store, [np.setdiff1d(own, both).astype(np.int32) for own in units], _mixed(encoder, workloads)


def _mixed(encoder: Encoder, workloads: list[Workload]) -> ChangingEvents:
    coded = [timed_events(encoder, workload) for workload in workloads]
    events = concatenated([events for _, events in coded])
    order = np.random.default_rng(7).permutation(events.count)
    batches = [taken(events, some) for some in np.array_split(order, MEASUREMENTS)]
    return ChangingEvents(batches, sum(us for us, _ in coded) / len(coded))


def _relabelled(part: Any, attribute: int, old: NDArray[np.int32], new: NDArray[np.int32]) -> Any:
    """Codes that were made before an attribute's labels changed, as they are now."""
    owner = np.repeat(part.attributes, np.diff(part.pieces)) == attribute
    table = dict(zip(old.tolist(), new.tolist(), strict=True))
    low, high = part.low.copy(), part.high.copy()
    for ends in (low, high):
        ends[owner] = [table.get(label, label) for label in ends[owner].tolist()]
    return part._replace(low=low, high=high)


def _swap(engine: Any, out: NDArray[np.int32], into: NDArray[np.int32], step: int) -> None:
    """One step of the change: a rule goes, a rule comes, by turns."""
    gone, come = np.array_split(out, STEPS)[step], np.array_split(into, STEPS)[step]
    for place in range(max(len(gone), len(come))):
        if place < len(gone):
            engine.remove(gone[place : place + 1])
        if place < len(come):
            engine.insert(come[place : place + 1])


def _measured(
    engine: Any,
    events: EncodedEvents,
    size: ProfileScale,
    tree: str,
    name: str,
    live: NDArray[np.int32],
    change_s: float,
) -> dict[str, Any]:
    found = measure_engine(engine, events, size.seconds)
    problems = engine.nodes.audit(engine.store.view(), engine.store.attributes)
    anew = engine_class("scan")(engine.store)
    anew.insert(live)
    if problems:
        raise WrongAnswer(f"the tree of {name!r} is not that of its rules {problems}")
    check_agreement({name: found, "scan": measure_engine(anew, events)})
    stats = engine.stats()
    return {
        "engine": f"betree, changing, {tree}",
        "workload": name,
        "rules": len(live),
        "events": found.events,
        "build_s": round(change_s, 3),
        "match_us": found.match_us,
        "hits_per_event": found.hits / found.events,
        "candidates_per_event": found.candidates / found.events,
        **bytes_of(engine),
        "recycled": stats["recycled"],
        "reinserted": stats["reinserted"],
        "checked": True,
    }
