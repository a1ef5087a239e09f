"""One cell of `bench auto`: every engine over one workload, each in its time box, and the features of the cell."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from matchwood.bench.auto.plan import SCALES, GridCell, GridScale
from matchwood.bench.auto.trees import EncodedTrees, UnitLinks, encoded_trees, hits_of, require_equal
from matchwood.bench.frame.boxed import Ended, boxed
from matchwood.bench.frame.encoded_rules import check, encoded
from matchwood.bench.frame.measure import (
    MeasuredMatching,
    WrongAnswer,
    box_seconds,
    check_agreement,
    measure_engine,
    timed,
)
from matchwood.bench.frame.memory import bytes_of
from matchwood.choosing import Features, features_of
from matchwood.encoding import EncodedEvents, Encoder
from matchwood.engines import ATree, ConjunctionStore, Engine, Structure, Workspace, chosen_class, chosen_names
from matchwood.matching import SampleShares, taken
from matchwood.workloads import begen, contracts

LARGE = 200_000
"""From so many units on, engines are measured in processes of their own, which can be ended."""

CLOSE = 3.0

CHECKED_EVENTS = 5

OWN_WAYS = ("kindex", "atree")
"""Engines that take arbitrary expressions in their own way: as clauses where these are smaller, and whole."""


class Given(NamedTuple):
    """A workload in a store: `seen` are the events that `auto` learns from, `events` those that are measured.

    `encode_us` is what finding the spaces of an event takes.
    """

    cell: GridCell
    rules: int
    encoder: Encoder
    store: ConjunctionStore
    forms: ATree | None
    seen: EncodedEvents
    events: EncodedEvents
    trees: EncodedTrees | None
    encode_us: float


class Timed(NamedTuple):
    """What one engine did: microseconds to match an event, the A-Tree beside it included, or why there are none."""

    us: float
    build_s: float
    needed: dict[str, int]
    measured: MeasuredMatching | Ended


class Outcome(NamedTuple):
    """All engines on one cell. `forms_us` is what the A-Tree takes for the rules that have too many conjunctions,
    `fallback_us` what `auto` takes for them."""

    given: Given
    times: dict[str, Timed]
    hits: float
    forms_us: float
    fallback_us: float
    by_rules: Features
    by_events: Features

    def own_us(self, name: str) -> float:
        """What an engine takes over conjunctions alone; nan where that was not measured."""
        own_way = self.given.trees is not None and name in OWN_WAYS
        return math.nan if own_way else self.times[name].us - self.forms_us

    def build_us(self, name: str) -> float:
        return math.nan if math.isnan(self.own_us(name)) else 1e6 * self.times[name].build_s


def warm_up() -> None:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it."""
    given = encoded(begen(rules=300, events=5, matching=0.05, seed=1))
    for name in chosen_names():
        _engine(name, given.store).match(given.events, 0, Workspace())
    features_of(given.store, SampleShares(given.events))
    trees = partial(contracts, rules=200, form="cnf", dimensions=200, events=20, seed=1)
    measure(GridCell("warm-up", "contracts", trees, False), SCALES["smoke"])


def prepare(cell: GridCell) -> Given:
    """Rules into a store, events into codes, half of them to learn from."""
    workload = cell.make()
    if workload.trees is not None:
        return _prepared_trees(cell, encoded_trees(workload), workload.rules.count)
    plain = encoded(workload)
    check("scan", _engine("scan", plain.store), plain, CHECKED_EVENTS)
    return Given(
        cell, workload.rules.count, plain.encoder, plain.store, None, *_halves(plain.events), None, plain.encode_us
    )


def _prepared_trees(cell: GridCell, trees: EncodedTrees, rules: int) -> Given:
    plain = trees.plain
    plain.check("scan", _engine("scan", plain.store), trees.events, trees.expected)
    forms = plain.forms if plain.forms.live else None
    return Given(cell, rules, trees.encoder, plain.store, forms, *_halves(trees.events), trees, trees.encode_us)


def _halves(events: EncodedEvents) -> tuple[EncodedEvents, EncodedEvents]:
    half = events.count // 2
    return taken(events, np.arange(half)), taken(events, np.arange(half, events.count))


def _engine(name: str, store: ConjunctionStore) -> Engine:
    engine: Engine = chosen_class(name)(store.copy())
    engine.rebuild()
    return engine


def measure(cell: GridCell, size: GridScale) -> Outcome:
    """Every engine in its box; all that finished must agree."""
    given = prepare(cell)
    forms, fallback = _beside_us(given, size)
    names = [name for name in chosen_names() if given.trees is None or name not in OWN_WAYS]
    times = {name: _boxed(given, partial(_timed, given, name, size)) for name in names}
    times = _again(given, times, size)
    times = {name: found._replace(us=found.us + forms) for name, found in times.items()}
    results = {name: found.measured for name, found in times.items() if isinstance(found.measured, MeasuredMatching)}
    check_agreement(results)
    if given.trees is not None:
        times |= {name: _boxed(given, partial(_own_way, given.trees, given, name, size)) for name in OWN_WAYS}
    longest = max(results.values(), key=lambda measured: measured.events)
    hits = longest.hits / longest.events
    statistics = SampleShares(given.seen)
    by_rules, by_events = features_of(given.store, None), features_of(given.store, statistics, hits)
    return Outcome(given, times, hits, forms, fallback, by_rules, by_events)


def _beside_us(given: Given, size: GridScale) -> tuple[float, float]:
    """What the A-Tree, and the fall-back of `auto`, take for rules that have too many conjunctions: the same hits."""
    if given.forms is None or given.trees is None:
        return 0.0, 0.0
    engines = [given.forms, *given.trees.beside.engines()]
    found = [_matched(each, given.events, 0.0, size).measured for each in engines]
    forms, *beside = [each for each in found if isinstance(each, MeasuredMatching)]
    hits = sum(each.hits for each in beside)
    if all(each.events == forms.events for each in beside) and forms.hits != hits:
        raise WrongAnswer(f"the parts beside have {hits:,} hits, the A-Tree {forms.hits:,}")
    return forms.match_us, sum(each.match_us for each in beside)


def _again(given: Given, times: dict[str, Timed], size: GridScale) -> dict[str, Timed]:
    """Engines that are close to the best are measured a second time, when the machine may have more time for them."""
    if given.store.live >= LARGE:
        return times
    close = CLOSE * min(found.us for found in times.values())
    found = {name: _timed(given, name, size) for name, before in times.items() if before.us < close}
    return {name: before._replace(us=min(before.us, found.get(name, before).us)) for name, before in times.items()}


def _boxed(given: Given, action: Callable[[], Timed]) -> Timed:
    if given.store.live < LARGE:
        return action()
    found = boxed(action, box_seconds())
    return Timed(math.nan, math.nan, {}, found) if isinstance(found, Ended) else found


def _timed(given: Given, name: str, size: GridScale) -> Timed:
    build_s, engine = timed(lambda: _engine(name, given.store))
    return _matched(engine, given.events, build_s, size)


def _matched(engine: Structure, events: EncodedEvents, build_s: float, size: GridScale) -> Timed:
    measured = measure_engine(engine, events, size.seconds, spent_s=build_s)
    return Timed(measured.match_us, build_s, bytes_of(engine), measured)


def _own_way(trees: EncodedTrees, given: Given, name: str, size: GridScale) -> Timed:
    """`kindex` over clauses, or an A-Tree of all rules; rules that match the first events are held against NumPy's."""
    if name == "atree":
        return _whole(trees, given, size)
    side = trees.clauses
    build_s, engine = timed(lambda: _engine(name, side.store))
    side.check(name, engine, trees.events, trees.expected)
    found = _matched(engine, given.events, build_s, size)
    if not side.forms.live:
        return found
    beside = _matched(side.forms, given.events, build_s, size)
    needed = {name: own + beside.needed[name] for name, own in found.needed.items()}
    return found._replace(us=found.us + beside.us, needed=needed)


def _whole(trees: EncodedTrees, given: Given, size: GridScale) -> Timed:
    tree, links = ATree(), UnitLinks()
    build_s, units = timed(lambda: [tree.add(forms).units for _, forms in trees.whole])
    for (rules, _), own in zip(trees.whole, units, strict=True):
        links.add(rules, own)
    for event, wanted in enumerate(trees.expected):
        require_equal(tree.name, event, links.rules_of(hits_of(tree, trees.events, event)), wanted)
    return _matched(tree, given.events, build_s, size)
