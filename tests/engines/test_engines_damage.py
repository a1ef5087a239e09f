"""Damaged snapshots: refused, or harmless; with bounds checks on, a kernel that left its arrays would raise."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from engines_support import COMPILED, encode, encode_events, random_conjunctions, random_events, stored

from matchwood.engines import ConjunctionStore, Engine, Workspace, chosen_class, chosen_names
from matchwood.errors import CorruptSnapshot
from tests.conftest import SOAK

TRIES = (60 if SOAK else 20 if numba.config.BOUNDSCHECK else 6) if COMPILED else 4
"""Where bounds are checked, as in a part of `make soak`, a kernel that reads outside of its arrays is always seen."""
EXTREMES = (-(2**31), -3, -2, -1, 0, 1, 5, 300, 2**20, 2**31 - 1)


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in chosen_names()),
    ("kindex", {"compressed": True, "direct": False}),
    ("pstbloom", {"signatures": True, "signature_bits": 2}),
    ("psthash", {"access": 3, "dense": 2}),
    ("pstbloom", {}),
    ("betree", {"max_cap": 2, "directory": "generic", "evaluation": "hybrid", "bloom_bits": 32, "window": 10}),
    ("hem", {"plan": "triangle", "grid": 3}),
]


def state(name: str, options: dict[str, Any] | None = None) -> tuple[ConjunctionStore, Engine]:
    store, _ = stored(random_conjunctions(np.random.default_rng(1), 150))
    engine = chosen_class(name)(store, options)
    engine.insert(store.live_units())
    engine.remove(store.live_units()[::9])
    store.free(store.drop(np.repeat(store.live_units()[::9], store.uses[store.live_units()[::9]])))
    return store, engine


def copied(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: array.copy() for name, array in arrays.items()}


def damage(rng: np.random.Generator, array: np.ndarray) -> None:
    """Flip one bit, or put an extreme value; nothing can be done to an empty array."""
    if not len(array):
        return
    place = int(rng.integers(len(array)))
    if rng.random() < 0.5:
        array.view(np.uint8)[place] ^= np.uint8(1 << int(rng.integers(8)))
    else:
        array[place] = np.array(rng.choice(EXTREMES)).astype(array.dtype)


def restored(
    name: str, store_arrays: Any, engine_arrays: Any, store_header: Any, header: Any, options: Any = None
) -> Engine:
    store = ConjunctionStore()
    store.restore(store_arrays, store_header)
    engine = chosen_class(name)(store, options)
    engine.restore(engine_arrays, header)
    return engine


@pytest.mark.long(6)
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_damage_is_refused_or_harmless(name: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    store, engine = state(name, options)
    events, more = encode_events(random_events(rng, 8)), encode(random_conjunctions(rng, 5))
    refused = 0
    for part in range(2):
        for key in (store.arrays(), engine.arrays())[part]:
            for _ in range(TRIES):
                arrays = copied(store.arrays()), copied(engine.arrays())
                damage(rng, arrays[part][key])
                try:
                    again = restored(name, *arrays, store.header(), engine.header(), options)
                    hits = again.match(events, 0, Workspace(room=0))
                    again.insert(again.store.add(more).new_units)
                    again.match(events, 0, Workspace())
                except CorruptSnapshot:
                    refused += 1
                    continue
                assert hits.units.min(initial=0) >= 0
                assert hits.units.max(initial=0) < store.count
    assert refused > TRIES


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_arrays_that_are_missing_or_of_another_type_are_named(name: str, options: dict[str, Any]) -> None:
    store, engine = state(name, options)
    for part in range(2):
        for key in (store.arrays(), engine.arrays())[part]:
            arrays = copied(store.arrays()), copied(engine.arrays())
            arrays[part][key] = arrays[part][key].astype(np.float32)
            own = key.rpartition(".")[2]
            with pytest.raises(CorruptSnapshot, match=f"{own}' must be one-dimensional"):
                restored(name, *arrays, store.header(), engine.header(), options)
            del arrays[part][key]
            with pytest.raises(CorruptSnapshot, match=f"{own}' is missing"):
                restored(name, *arrays, store.header(), engine.header(), options)


@pytest.mark.parametrize("name", chosen_names())
def test_arrays_that_are_cut_short_are_refused(name: str) -> None:
    store, engine = state(name)
    events = encode_events([{0: 1, 1: 5}])
    for key in store.arrays():
        arrays = copied(store.arrays())
        arrays[key] = arrays[key][:-1]
        with pytest.raises(CorruptSnapshot):
            restored(name, arrays, engine.arrays(), store.header(), engine.header()).match(events, 0, Workspace())


@pytest.mark.parametrize("value", [-1, None, "7", 2.0, True, 10**9])
@pytest.mark.parametrize("key", ["live", "attributes", "tombstones"])
def test_headers_that_cannot_be_true_are_refused(key: str, value: object) -> None:
    store, engine = state("scan")
    header = {**store.header(), key: value}
    with pytest.raises(CorruptSnapshot):
        restored("scan", store.arrays(), engine.arrays(), header, {}).match(encode_events([{}]), 0, Workspace())
