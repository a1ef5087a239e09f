"""Random codes, and what is true of them worked out by plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import TOP_LABEL, EncodedConjunctions, EncodedEvents
from matchwood.engines import ConjunctionStore, Engine, Workspace

COMPILED = not numba.config.DISABLE_JIT
"""Whether kernels run at full speed; plain Python gets smaller workloads."""


class Constraint(NamedTuple):
    """One constraint in Python: half-open intervals of labels, and whether NULL passes."""

    attribute: int
    intervals: tuple[tuple[int, int], ...]
    accepts_null: bool = False

    def holds(self, label: int | None) -> bool:
        if label is None:
            return self.accepts_null
        return any(low <= label < high for low, high in self.intervals)


Conjunction = tuple[Constraint, ...]
Event = dict[int, int]


def encode(conjunctions: Sequence[Conjunction]) -> EncodedConjunctions:
    """Conjunctions as engines take them."""
    constraints = [constraint for conjunction in conjunctions for constraint in conjunction]
    intervals = [interval for constraint in constraints for interval in constraint.intervals]
    return EncodedConjunctions(
        np.cumsum([0, *(len(conjunction) for conjunction in conjunctions)], dtype=np.int64),
        np.array([constraint.attribute for constraint in constraints], dtype=np.int32),
        np.array([constraint.accepts_null for constraint in constraints], dtype=np.bool_),
        np.cumsum([0, *(len(constraint.intervals) for constraint in constraints)], dtype=np.int64),
        np.array([low for low, _ in intervals], dtype=np.int32),
        np.array([high for _, high in intervals], dtype=np.int32),
    )


def decode(encoded: EncodedConjunctions) -> list[Conjunction]:
    """The opposite of `encode`."""
    constraints = [
        Constraint(
            int(encoded.attributes[k]),
            tuple((int(encoded.low[p]), int(encoded.high[p])) for p in range(encoded.pieces[k], encoded.pieces[k + 1])),
            bool(encoded.accepts_null[k]),
        )
        for k in range(len(encoded.attributes))
    ]
    return [tuple(constraints[encoded.offsets[c] : encoded.offsets[c + 1]]) for c in range(encoded.count)]


def encode_events(events: Sequence[Event]) -> EncodedEvents:
    """Events as engines take them."""
    pairs = [pair for event in events for pair in sorted(event.items())]
    return EncodedEvents(
        np.cumsum([0, *(len(event) for event in events)], dtype=np.int64),
        np.array([attribute for attribute, _ in pairs], dtype=np.int32),
        np.array([label for _, label in pairs], dtype=np.int32),
    )


def is_true(conjunction: Conjunction, event: Event) -> bool:
    return all(constraint.holds(event.get(constraint.attribute)) for constraint in conjunction)


def random_intervals(rng: np.random.Generator, top: int) -> tuple[tuple[int, int], ...]:
    """One or several disjoint intervals, sometimes from the start or to the end of the domain."""
    cuts = np.sort(rng.choice(top, size=2 * int(rng.choice([1, 1, 1, 2, 3, 12])), replace=False)).tolist()
    intervals = [(cuts[at], cuts[at + 1]) for at in range(0, len(cuts), 2)]
    if rng.random() < 0.2:
        intervals[0] = (0, intervals[0][1])
    if rng.random() < 0.2:
        intervals[-1] = (intervals[-1][0], TOP_LABEL)
    return tuple(intervals)


def random_constraint(rng: np.random.Generator, attribute: int, top: int) -> Constraint:
    kind = rng.random()
    if kind < 0.05:
        return Constraint(attribute, (), True)
    if kind < 0.10:
        return Constraint(attribute, ((0, TOP_LABEL),))
    return Constraint(attribute, random_intervals(rng, top), kind < 0.25)


def random_conjunctions(rng: np.random.Generator, count: int, attributes: int = 12, top: int = 64) -> list[Conjunction]:
    """Conjunctions of up to five constraints, the empty one and repeated ones among them."""
    made: list[Conjunction] = []
    for _ in range(count):
        if made and rng.random() < 0.1:
            made.append(made[int(rng.integers(len(made)))])
            continue
        named = np.sort(rng.choice(attributes, size=min(attributes, int(rng.integers(0, 6))), replace=False))
        made.append(tuple(random_constraint(rng, int(attribute), top) for attribute in named))
    return made


def random_events(rng: np.random.Generator, count: int, attributes: int = 12, top: int = 64) -> list[Event]:
    """Events with some attributes missing, and some that no rule knows."""
    return [
        {
            int(attribute): int(rng.integers(top))
            for attribute in rng.choice(attributes + 3, size=int(rng.integers(0, attributes + 3)), replace=False)
        }
        for _ in range(count)
    ]


def found(engine: Engine, events: EncodedEvents, workspace: Workspace | None = None) -> list[set[int]]:
    """The units that an engine reports for each event, call by call until all are covered."""
    scratch = workspace or Workspace()
    sets: list[set[int]] = []
    while len(sets) < events.count:
        hits = engine.match(events, len(sets), scratch)
        assert hits.first == len(sets)
        assert hits.count >= 1
        assert hits.work.matched == len(hits.units)
        for position in range(hits.count):
            units = hits.units[hits.offsets[position] : hits.offsets[position + 1]].tolist()
            sets.append(set(units))
            assert len(sets[-1]) == len(units), "a unit is reported twice"
    return sets


def expected(live: dict[int, Conjunction], events: Sequence[Event]) -> list[set[int]]:
    """The units that are true of each event."""
    return [{unit for unit, conjunction in live.items() if is_true(conjunction, event)} for event in events]


def stored(conjunctions: Sequence[Conjunction]) -> tuple[ConjunctionStore, dict[int, Conjunction]]:
    """A store of these conjunctions, and what each of its units says."""
    store = ConjunctionStore()
    units = store.add(encode(conjunctions)).units.tolist()
    return store, dict(zip(units, conjunctions, strict=True))


def frozen(arrays: dict[str, Any]) -> dict[str, Any]:
    """Copies that cannot be written to, as if mapped from files."""
    copies = {name: array.copy() for name, array in arrays.items()}
    for copy in copies.values():
        copy.flags.writeable = False
    return copies


def check_without(
    engine: Engine, gone: NDArray[np.int32], contents: dict[int, Conjunction], events: Sequence[Event]
) -> None:
    """Remove units, and hold what the engine, and one restored from its state, then find against the others."""
    store: ConjunctionStore = engine.store
    engine.remove(gone)
    store.free(store.drop(np.repeat(gone, store.uses[gone])))
    left = {unit: contents[unit] for unit in set(contents) - set(gone.tolist())}
    again = type(engine)(store, engine.settings)
    again.restore(engine.arrays(), engine.header())
    for each in (engine, again):
        assert found(each, encode_events(events)) == expected(left, events)
    assert again.stats() == engine.stats()
    assert again.audit() == []
