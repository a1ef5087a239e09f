"""Bytes have one definition: everything that an engine needs to match and to change, apart from the rules' texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from matchwood.bench.frame.encoded_rules import encoded
from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.frame.memory import bytes_of, bytes_of_index
from matchwood.bench.own import memory
from matchwood.bench.rivals.htree import HTree
from matchwood.bench.rivals.rein import Rein
from matchwood.bench.rivals.tama import Tama
from matchwood.core.arrays import Growable
from matchwood.engines import ATree, engine_class
from matchwood.engines.registry import engine_names
from matchwood.index import Index
from matchwood.workloads.abegen import abegen
from matchwood.workloads.begen import begen

SPARE = 1.03
"""What is counted may be more than what is found by so much, or less: state of a few numbers."""

SCRATCH = {"_stamps", "_stack", "_sketches", "_tree"}
"""Marks that mean nothing between two calls, and views with spare room."""


def arrays_in(thing: Any, seen: set[int]) -> Iterator[tuple[int, int]]:
    """The address and the bytes of every array that an object holds, directly or not."""
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | type | None):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing.ctypes.data, thing.nbytes
    elif isinstance(thing, Growable):
        yield from arrays_in(thing.view(), seen)
    elif isinstance(thing, dict):
        for each in thing.values():
            yield from arrays_in(each, seen)
    elif isinstance(thing, list | tuple | set):
        for each in thing:
            yield from arrays_in(each, seen)
    elif type(thing).__module__.startswith("matchwood.engines"):
        names = {name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())}
        for name in {*getattr(thing, "__dict__", {}), *names} - SCRATCH:
            yield from arrays_in(getattr(thing, name, None), seen)


def found_bytes(thing: Any) -> int:
    """Of arrays at the same place the longest counts: others are views of it."""
    longest: dict[int, int] = {}
    for place, nbytes in arrays_in(thing, set()):
        longest[place] = max(longest.get(place, 0), nbytes)
    return sum(longest.values())


@pytest.fixture(scope="module")
def prepared() -> Any:
    return encoded(begen(rules=3_000, events=20, matching=0.01, seed=3))


@pytest.mark.parametrize("name", engine_names("conjunctions"))
def test_nothing_that_an_engine_holds_is_left_out(name: str, prepared: Any) -> None:
    engine = engine_class(name)(prepared.store)
    engine.rebuild()
    told = bytes_of(engine)
    assert told["bytes"] == told["bytes_index"] + told["bytes_verify"]
    assert told["bytes_verify"] == prepared.store.bytes_verify
    assert told["bytes_index"] >= prepared.store.bytes_shared > 0
    found = found_bytes(engine)
    assert found / SPARE <= told["bytes"] <= found * SPARE, (name, told, found)


def test_an_a_tree_counts_its_table_ids_rooms_and_shares() -> None:
    index = Index("atree")
    index.insert_many(list(enumerate(abegen(rules=1_500, events=5, seed=3).rules_text())))
    matcher: Any = index._matcher
    tree: ATree = matcher.parts[-1].store
    told, state = bytes_of(tree), sum(array.nbytes for array in tree.arrays().values())
    # In memory its pools have spare room, which is not counted.
    assert state / SPARE <= told["bytes"] <= found_bytes(tree) * SPARE, (told, state)
    whole = bytes_of_index(index.stats())
    assert told["bytes"] <= whole["bytes"] <= told["bytes"] + 1_000  # an empty store stands beside it


@pytest.mark.parametrize("kind", [Rein, Tama, HTree])
def test_rivals_need_their_intervals_too(kind: Any) -> None:
    low = np.random.default_rng(1).integers(0, 50, (300, 4)).astype(np.int32)
    rival = kind(low, low + 40, 100)
    rival.insert(0, 300)
    told = bytes_of(rival)
    assert told["bytes_verify"] == 2 * low.nbytes
    assert told["bytes_index"] > 4 * rival.copies


@pytest.mark.every_day
def test_every_byte_of_the_default_engine_has_a_purpose(results: dict[str, Any]) -> None:
    rows = results["memory"]["rows"]
    for workload in memory.WORKLOADS:
        whole_of = {}
        for engine in (memory.ENGINE, memory.ALONE):
            *purposes, whole = [row for row in rows if (row["workload"], row["engine"]) == (workload, engine)]
            assert whole["part"] == memory.ALL
            assert sum(row["bytes"] for row in purposes) == whole["bytes"]
            assert purposes[0]["part"] == "constraints of rules, 4 bytes each"
            whole_of[engine] = whole["bytes"]
        assert whole_of[memory.ALONE] < whole_of[memory.ENGINE]


def test_a_column_without_a_purpose_is_an_error() -> None:
    columns = {"words": 120, "sets": 0, "more": 8}
    assert memory.by_purpose({"words": 120, "more": 0}, {"constraints": ("words",)}) == {"constraints": 120}
    with pytest.raises(WrongAnswer, match="what these columns are for: more"):
        memory.by_purpose(columns, memory.STORE)
