"""Bytes of an engine: everything that it needs to match and to change, saved or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines_support import random_conjunctions, stored

from matchwood.core.arrays import Growable
from matchwood.engines import engine_class

ENGINES: list[tuple[str, dict[str, Any]]] = [
    ("scan", {}),
    ("counting", {}),
    ("pstbloom", {}),
    ("pstbloom", {"signatures": True}),
    ("pstbloom", {"as_published": True}),
    ("psthash", {"dense": 3}),
    ("psthash", {"as_published": True}),
    ("hem", {}),
]


def held(part: Any) -> int:
    """The bytes of every growing array in an object of the engines, and in those that it has."""
    if isinstance(part, Growable):
        return part.nbytes
    if isinstance(part, dict):
        return sum(held(each) for each in part.values())
    own = type(part).__module__.startswith("matchwood.engines") and hasattr(part, "__dict__")
    return sum(held(each) for name, each in vars(part).items() if name != "store") if own else 0


@pytest.mark.parametrize(("name", "options"), ENGINES)
def test_bytes_are_those_of_all_arrays(name: str, options: dict[str, Any]) -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(1), 200))
    engine = engine_class(name)(store, options)
    for units in np.array_split(store.live_units(), 3):
        engine.insert(units)
    saved = sum(array.nbytes for array in engine.arrays().values())
    assert engine.stats()["bytes_index"] == held(engine) >= saved > 0


def test_the_walk_sees_what_is_hidden_in_parts() -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(1), 20))
    engine = engine_class("pstbloom")(store)
    before = held(engine)
    engine._candidates.more = Growable(np.int64, np.zeros(5))  # type: ignore[attr-defined]
    assert held(engine) == before + 40
