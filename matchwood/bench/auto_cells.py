"""One cell of `bench auto`: every engine over one workload, each in its time box, and the features of the cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.bench.atree_cells import encoded as encoded_table
from matchwood.bench.auto_plan import Cell, Scale
from matchwood.bench.boxed import boxed
from matchwood.bench.encoded_rules import check, encoded
from matchwood.bench.measure import Measured, WrongAnswer, check_agreement, measure_engine, timed
from matchwood.bench.setup import insert_all
from matchwood.choosing.features import Features, features_of
from matchwood.choosing.sample import SampleHistory, taken
from matchwood.encoding import Encoder
from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import ATree, ConjunctionStore, Engine, Structure, Workspace, engine_class, engine_names
from matchwood.index import Index
from matchwood.indexing.compiled import CompiledMatcher

LARGE = 200_000
"""From so many units on, engines are measured in processes of their own, which can be ended."""

CLOSE = 3.0

FIRST_EVENTS = 8
"""An engine that could not match all events in its time is judged by these."""

WHOLE = ("atree", "kindex")
"""Engines that take arbitrary expressions in their own way, and are measured as indexes of their own."""


class Given(NamedTuple):
    """A workload in a store: `seen` are the events that `auto` learns from, `events` those that are measured."""

    cell: Cell
    rules: int
    encoder: Encoder
    store: ConjunctionStore
    forms: ATree | None
    seen: EncodedEvents
    events: EncodedEvents
    whole: Index | None
    table: pa.Table | None


class Timed(NamedTuple):
    """What one engine did: microseconds an event, the A-Tree beside it included; None where its time was over."""

    us: float
    build_s: float
    bytes_index: int
    measured: Measured | None


class Outcome(NamedTuple):
    """All engines on one cell."""

    given: Given
    times: dict[str, Timed]
    hits: float
    forms_us: float
    by_rules: Features
    by_events: Features


def warm_up() -> None:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it."""
    from matchwood.workloads.begen import begen

    given = encoded(begen(rules=300, events=5, matching=0.05, seed=1))
    for name in engine_names("conjunctions"):
        _engine(name, given.store).match(given.events, 0, Workspace())
    features_of(given.store, SampleHistory(given.events))


def prepare(cell: Cell) -> Given:
    """Rules into a store, events into codes, half of them to learn from."""
    workload = cell.make()
    if not cell.trees:
        plain = encoded(workload)
        _check_brute(plain)
        halves = _halves(plain.events)
        return Given(cell, workload.rules.count, plain.encoder, plain.store, None, *halves, None, None)
    index, table = Index("scan"), workload.events_table()
    insert_all(index, workload.rules_text())
    matcher = index._matcher
    assert isinstance(matcher, CompiledMatcher)
    forms = matcher.forms if matcher.forms.live else None
    halves = _halves(encoded_table(index, table))
    return Given(cell, len(index), index._encoder, matcher.conjunctions, forms, *halves, index, table)


def _check_brute(plain: Any) -> None:
    check("scan", _engine("scan", plain.store), plain, events=5)


def _halves(events: EncodedEvents) -> tuple[EncodedEvents, EncodedEvents]:
    half = events.count // 2
    return taken(events, np.arange(half)), taken(events, np.arange(half, events.count))


def _engine(name: str, store: ConjunctionStore) -> Engine:
    engine: Engine = engine_class(name)(store)
    engine.rebuild()
    return engine


def measure(cell: Cell, size: Scale) -> Outcome:
    """Every engine in its box; all that finished must agree."""
    given = prepare(cell)
    forms = 0.0 if given.forms is None else _forms_us(given, size)
    names = [name for name in engine_names("conjunctions") if not (cell.trees and name in WHOLE)]
    times = {name: _boxed(given, partial(_timed, given, name, size), size) for name in names}
    times = _again(given, times, size)
    times = {name: found._replace(us=found.us + forms) for name, found in times.items()}
    results = {name: found.measured for name, found in times.items() if found.measured is not None}
    check_agreement(results)
    if given.whole is not None:
        times |= {name: _whole(given, name, size) for name in WHOLE}
    hits = next(iter(results.values())).hits / given.events.count
    history = SampleHistory(given.seen)
    by_rules, by_events = features_of(given.store, None), features_of(given.store, history, hits)
    return Outcome(given, times, hits, forms, by_rules, by_events)


def _again(given: Given, times: dict[str, Timed], size: Scale) -> dict[str, Timed]:
    """Engines that are close to the best are measured a second time, when the machine may have more time for them."""
    if given.store.live >= LARGE:
        return times
    close = CLOSE * min(found.us for found in times.values())
    found = {name: _timed(given, name, size) for name, before in times.items() if before.us < close}
    return {name: before._replace(us=min(before.us, found.get(name, before).us)) for name, before in times.items()}


def _boxed(given: Given, action: Callable[[], Timed], size: Scale) -> Timed:
    if given.store.live < LARGE:
        return action()
    found = boxed(action, size.box)
    return found or Timed(float("nan"), float("nan"), 0, None)


def _timed(given: Given, name: str, size: Scale) -> Timed:
    build_s, engine = timed(lambda: _engine(name, given.store))
    return _matched(engine, given.events, build_s, size)


def _matched(engine: Structure, events: EncodedEvents, build_s: float, size: Scale) -> Timed:
    first = taken(events, np.arange(min(FIRST_EVENTS, events.count)))
    glimpse = measure_engine(engine, first, 0.0001)
    bytes_index = engine.stats()["bytes_index"]
    if glimpse.seconds / first.count * events.count > size.box / 4:
        return Timed(1e6 * glimpse.seconds / first.count, build_s, bytes_index, None)
    measured = measure_engine(engine, events, size.seconds)
    return Timed(1e6 * measured.seconds / measured.events, build_s, bytes_index, measured)


def _forms_us(given: Given, size: Scale) -> float:
    assert given.forms is not None
    return _matched(given.forms, given.events, 0.0, size).us


def _whole(given: Given, name: str, size: Scale) -> Timed:
    """An index of its own, whose hits must be those of the others."""
    assert given.whole is not None
    index = Index(name)
    texts = list(given.whole.values())
    build_s, _ = timed(lambda: insert_all(index, texts))
    if not index.match_many(given.table).equals(given.whole.match_many(given.table)):
        raise WrongAnswer(f"{name}: other hits than scan on {given.cell.name}")
    matcher = index._matcher
    assert isinstance(matcher, CompiledMatcher)
    events = _halves(encoded_table(index, given.table))[1]
    parts: list[Structure] = [] if matcher.over is None else [matcher.over]
    parts += [matcher.forms] if matcher.forms.live else []
    found = [_matched(part, events, build_s, size) for part in parts]
    return Timed(sum(each.us for each in found), build_s, index.stats()["bytes_index"], found[0].measured)
