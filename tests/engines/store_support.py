"""What the tests of the store of conjunctions share: rules with labels near and far, and damage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from engines_support import COMPILED, Conjunction, Constraint, frozen, random_conjunctions

from matchwood.encoding.codes import TOP_LABEL
from matchwood.engines import ConjunctionStore
from matchwood.engines.shared.constraints._set_kernels import LABEL_BITS, set_end
from matchwood.engines.shared.constraints.words import rank_bits_for

SIZE = 2_000 if COMPILED else 150

SPREADS = [1, 1 << 15, 1 << 20]
"""How far labels lie apart: the rounder they are, the less room a constraint needs. The first lead to wide sets, the
second to paired ones, the last to words, narrow sets, and paired ones for pieces that are long."""


def units_of(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


def spread_out(conjunctions: Sequence[Conjunction], spread: int) -> list[Conjunction]:
    """The same with labels further apart."""

    def label(each: int) -> int:
        return each if each == TOP_LABEL else each * spread

    return [
        tuple(one._replace(intervals=tuple((label(low), label(high)) for low, high in one.intervals)) for one in rule)
        for rule in conjunctions
    ]


def random_rules(seed: int, count: int, spread: int = 1, **more: int) -> list[Conjunction]:
    return spread_out(random_conjunctions(np.random.default_rng(seed), count, **more), spread)


def needs_set(constraint: Constraint, bits: int) -> bool:
    """Whether no word says all of a constraint where ranks have so many bits."""
    if len(constraint.intervals) != 1 or constraint.accepts_null:
        return True
    (low, high), rank = constraint.intervals[0], 1 << LABEL_BITS - bits
    fits = (low | (high + (high == TOP_LABEL))) % rank == 0
    return not fits or constraint.attribute >= 1 << 29 - 2 * bits


def sets_needed(rules: Sequence[Conjunction], bits: int = rank_bits_for(1)) -> int:
    return len({each for rule in rules for each in rule if needs_set(each, bits)})


def beginnings(store: ConjunctionStore) -> list[int]:
    """Where the sets of a store begin."""
    found, sets = [], store.view().sets
    at = 0
    while at < len(sets):
        found.append(at)
        at = int(set_end(sets, at))
    return found


def sets_in(store: ConjunctionStore) -> int:
    return len(beginnings(store))


def restored(arrays: dict[str, Any], header: dict[str, Any], clauses: bool = False) -> ConjunctionStore:
    """A store that was restored and checked."""
    store = ConjunctionStore(clauses)
    store.restore(frozen(arrays), header)
    store.check()
    return store


def same_arrays(one: ConjunctionStore, other: ConjunctionStore, *names: str) -> None:
    for name in names:
        assert np.array_equal(one.arrays()[name], other.arrays()[name]), name


def turned_round(store: ConjunctionStore) -> None:
    """Let the constraints of all units come in the opposite order."""
    units = np.arange(store.count, dtype=np.int32)
    sizes = store.sizes(units)
    starts = np.cumsum(sizes) - sizes
    order = [place for size in sizes.tolist() for place in reversed(range(size))]
    store.reorder(units, starts, np.array(order, np.int32))


def put(name: str, place: int, value: int) -> Callable[[dict[str, np.ndarray]], None]:
    """Damage: another value at a place of an array."""

    def damage(arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return damage


def cut(name: str) -> Callable[[dict[str, np.ndarray]], None]:
    """Damage: an array without its last element."""

    def damage(arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = arrays[name][:-1]

    return damage
