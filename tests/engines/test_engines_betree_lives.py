"""The BE-Tree against plain Python: random changes over all pairs of options, in bulk and step by step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Conjunction,
    encode,
    encode_events,
    expected,
    found,
    frozen,
    random_constraint,
    random_events,
    stored,
)
from test_engines_betree import STEP, equal, span

from matchwood.engines import ConjunctionStore, Workspace
from matchwood.engines.betree.engine import BETree
from tests.conftest import SOAK

VALUES: dict[str, list[Any]] = {
    "max_cap": [0, 1, 3, 20],
    "capacities": ["measured", "published"],
    "min_size": [1, 3],
    "directory": ["generic", "specialised", "hybrid"],
    "equality_first": [True, False],
    "batch": [True, False],
    "underflow": ["reinsert", "merge"],
    "loss": ["optimistic", "histogram"],
    "alpha": [0.5, 0.0, 0.9],
    "beta": [0.5, 0.1],
    "tune_beta": [False, True],
    "window": [0, 40],
    "node_window": [0.0, 0.1, 2.0],
    "theta": [0.0, 1.0],
    "reinsertion": [0.0, 0.2],
    "exploit": [1.0, 0.5],
    "seed": [0, 9],
    "evaluation": ["plain", "lazy", "bitmap", "hybrid"],
    "blocks": [True, False],
    "bloom_bits": [0, 16, 48],
}


def all_pairs() -> list[dict[str, Any]]:
    """Choices of options in which every two values of two options occur together."""
    rng, names = np.random.default_rng(0), sorted(VALUES)
    open_pairs = {
        (one, first, other, second)
        for one, other in combinations(names, 2)
        for first in range(len(VALUES[one]))
        for second in range(len(VALUES[other]))
    }
    made = []
    while open_pairs:
        trials = [{name: int(rng.integers(len(VALUES[name]))) for name in names} for _ in range(40)]
        one, first, other, second = min(open_pairs)
        trials = [{**trial, one: first, other: second} for trial in trials]
        covers = [{(a, t[a], b, t[b]) for a, b in combinations(names, 2)} & open_pairs for t in trials]
        best = max(range(len(trials)), key=lambda place: len(covers[place]))
        open_pairs -= covers[best]
        made.append({name: VALUES[name][trials[best][name]] for name in names})
    return made


def random_rules(rng: np.random.Generator, count: int) -> list[Conjunction]:
    """Equalities, ranges and what `random_constraint` makes, of few attributes."""
    made: list[Conjunction] = []
    for _ in range(count):
        constraints = []
        for attribute in sorted(rng.permutation(9)[: int(rng.integers(0, 5))].tolist()):
            kind, low = rng.random(), int(rng.integers(64))
            if kind < 0.5:
                constraints.append(equal(attribute, low))
            elif kind < 0.8:
                constraints.append(span(attribute, low, int(rng.integers(low, 64))))
            else:
                constraints.append(random_constraint(rng, attribute, 2**31 - 2))
        made.append(tuple(constraints))
    return made


def test_every_option_is_among_the_pairs() -> None:
    assert set(VALUES) == set(BETree.options)


@pytest.mark.long(12)
@pytest.mark.parametrize("options", all_pairs() if COMPILED else all_pairs()[::9])
def test_random_changes_over_all_pairs_of_options(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(17)
    store, contents = stored(random_rules(rng, (500 if SOAK else 250) if COMPILED else 60))
    events = [{a: int(rng.integers(64)) * STEP for a in range(9) if rng.random() < 0.7} for _ in range(12)]
    events += random_events(rng, 4, 9, 2**31 - 2)
    engine, inside = BETree(store, options), set[int]()
    for step in range(12):
        outside = np.array(sorted(set(contents) - inside), np.int32)
        if step % 3 == 2 and inside:
            gone = rng.choice(np.array(sorted(inside), np.int32), size=len(inside) // 2, replace=False)
            engine.remove(gone)
            inside -= set(gone.tolist())
        elif step == 10:
            engine.reconsider()
        else:
            more = rng.choice(outside, size=len(outside) // 2, replace=False)
            engine.insert(more)
            inside |= set(more.tolist())
        live = {unit: contents[unit] for unit in inside}
        assert found(engine, encode_events(events)) == expected(live, events)
        store._held.writable()[:] = 0
        store._held.writable()[sorted(inside)] = 2
        assert engine.audit() == []
    again = BETree(store, options)
    again.restore(frozen(engine.arrays()), engine.header())
    assert found(again, encode_events(events)) == expected(live, events)
    again.remove(again._indexed()[::2])
    again.remove(again._indexed())
    assert found(again, encode_events(events)) == [set() for _ in events]


class Life:
    """A tree and its store, changed step by step, beside a dictionary of what they hold."""

    def __init__(self, options: dict[str, Any], seed: int) -> None:
        self.rng = np.random.default_rng([seed, 3])
        self.options, self.workspace = options, Workspace()
        self.store, self.live = ConjunctionStore(), dict[int, Conjunction]()
        self.engine = BETree(self.store, options)

    def insert(self, count: int) -> None:
        rules = random_rules(self.rng, count)
        added = self.store.add(encode(rules))
        self.live |= dict(zip(added.units.tolist(), rules, strict=True))
        self.engine.insert(added.new_units)

    def remove(self, count: int) -> None:
        chosen = self.rng.permutation(np.array(sorted(self.live), np.int32))[:count]
        units = np.repeat(chosen, self.store.uses[chosen])
        gone = self.store.drop(units)
        self.engine.remove(gone)
        self.store.free(gone)
        for unit in gone.tolist():
            del self.live[unit]

    def update(self) -> None:
        self.remove(1)
        self.insert(1)

    def match_many(self) -> None:
        """Many events of a kind, so that windows end and nodes lose."""
        event = {a: int(self.rng.integers(64)) * STEP for a in range(9) if self.rng.random() < 0.8}
        self.engine.match(encode_events([event] * 300), 0, self.workspace)

    def adapt(self) -> None:
        self.match_many()
        self.engine.reconsider()

    def save_and_restore(self) -> None:
        arrays, header = frozen(self.engine.arrays()), self.engine.header()
        self.engine = BETree(self.store, self.options)
        self.engine.restore(arrays, header)

    def compact(self) -> None:
        """As the index does: units have new numbers, and the tree is built anew."""
        remap = self.store.compact()
        self.live = {int(remap[unit]): rule for unit, rule in self.live.items()}
        self.engine.rebuild()

    def check(self) -> None:
        events = [{a: int(self.rng.integers(64)) * STEP for a in range(9) if self.rng.random() < 0.7} for _ in range(3)]
        events += random_events(self.rng, 1, 9, 2**31 - 2)
        assert self.engine.audit() == []
        assert found(self.engine, encode_events(events), self.workspace) == expected(self.live, events)

    def step(self) -> None:
        small, large = int(self.rng.integers(1, 4)), int(self.rng.integers(20, 400 if COMPILED else 40))
        steps: list[tuple[float, Callable[[], None]]] = [
            (0.30, lambda: self.insert(small)),
            (0.25, lambda: self.remove(small)),
            (0.15, self.update),
            (0.08, lambda: self.insert(large)),
            (0.06, lambda: self.remove(large)),
            (0.06, self.match_many),
            (0.04, self.adapt),
            (0.03, self.save_and_restore),
            (0.02, self.compact),
            (0.01, lambda: self.remove(len(self.live))),
        ]
        chances = np.array([chance for chance, _ in steps])
        steps[int(self.rng.choice(len(steps), p=chances))][1]()


@pytest.mark.long(8)
@pytest.mark.parametrize("seed", range(10 if SOAK else 1))
@pytest.mark.parametrize("options", all_pairs() if COMPILED else all_pairs()[::9])
def test_a_long_life(options: dict[str, Any], seed: int) -> None:
    """Every kind of change in any order; the invariants and the answers are checked after each."""
    life = Life(options, seed)
    life.insert(150)
    for _ in range(400 if SOAK else 15):
        life.step()
        life.check()
