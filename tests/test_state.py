"""Declared state: what is saved, what is restored, and what is refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from matchwood.core import Column, Growable, Number, Part, State, Table, require
from matchwood.errors import CorruptSnapshot


class Lists(State):
    """A part: its owner tells how many units there are."""

    _table = Table(4, below="keys")
    _keys = Column(np.uint64)
    _counts = Column(np.int32, length="keys", most="pool")
    _pool = Column(np.int32, below="units")
    _added = Column(np.int32, length="keys", saved=False)

    def __init__(self) -> None:
        self.start()


class Owner(State):
    """A structure with one part of each kind."""

    lists = Part(lambda owner: Lists(), prefix="lists.", units="states")
    extra = Part(lambda owner: Lists(), prefix="extra.", when="wanted", units="states")
    _states = Column(np.uint8, longest="room", most=2)
    _loads = Column(np.int64, name="weights", initial=[7], when="wanted")
    _share = Number(0.5, low=0.0, high=1.0)
    _laid_out = Number(0)
    room = 3

    def __init__(self, wanted: bool = False) -> None:
        self.wanted = wanted
        self.start()

    def invariants(self) -> None:
        require(self._laid_out <= len(self._states), "too much is laid out")


def filled(wanted: bool = False) -> Owner:
    owner = Owner(wanted)
    owner._states.extend([1, 2])
    owner.lists._keys.extend([5])
    owner.lists._counts.extend([1])
    owner.lists._pool.extend([1])
    owner.lists._added.extend([0])
    owner.lists._table.writable()[2] = 0
    owner._laid_out = 2
    return owner


def restored(owner: Owner, **other: Any) -> Owner:
    arrays = {name: np.asarray(other.pop(name, array)) for name, array in owner.arrays().items()}
    again = Owner(owner.wanted)
    again.restore(arrays, {**owner.header(), **other})
    again.check()
    return again


def test_what_is_declared_is_saved_by_its_name() -> None:
    own = ["lists.table", "lists.keys", "lists.counts", "lists.pool", "states"]
    assert list(filled().arrays()) == own
    extra = [name.replace("lists", "extra") for name in own[:-1]]
    assert list(filled(True).arrays()) == [*own[:-1], *extra, "states", "weights"]
    assert filled().header() == {"share": 0.5, "laid_out": 2}


def test_what_is_restored_is_the_same_and_what_is_not_saved_begins_anew() -> None:
    owner = filled()
    again = restored(owner)
    assert {name: array.tolist() for name, array in again.arrays().items()} == {
        name: array.tolist() for name, array in owner.arrays().items()
    }
    assert again.header() == owner.header()
    assert again.lists._added.view().tolist() == [0]
    assert again._loads.view().tolist() == [7]
    assert again.nbytes == owner.nbytes == sum(map(_bytes, (owner, owner.lists, owner.extra)))
    assert not again._states.view().flags.writeable


def _bytes(state: State) -> int:
    return sum(column.nbytes for column in state.columns.values())


def test_a_view_names_columns_by_their_attributes_or_by_what_they_are_saved_as() -> None:
    class Named(State):
        tests = Column(np.int32, name="heads")
        _pool = Column(np.int32)

    class Others(Named):
        tests = Column(np.int64, name="first")

    class View(NamedTuple):
        tests: Any
        pool: Any

    for kind, saved in ((Named, "heads"), (Others, "first")):
        state = kind()
        state.start()
        state.tests.extend([3])
        state._pool.extend([4])
        assert [array.tolist() for array in state.view_as(View)] == [[3], [4]]
        assert set(state.arrays()) == {saved, "pool"}


def test_two_states_share_nothing() -> None:
    one, other = Owner(), Owner()
    one.lists._table.writable()[:] = 0
    one._laid_out = 1
    one._states = Growable(np.uint8, [1])
    assert other.lists._table.view().tolist() == [-1] * 4
    assert (other._laid_out, len(other._states)) == (0, 0)
    one.start()
    assert (one._laid_out, len(one._states)) == (1, 0)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"states": np.zeros(4, np.uint8)}, "'states' has 4 elements, more than 3"),
        ({"states": np.array([1, 3], np.uint8)}, r"'states' holds values outside of \[0, 3\)"),
        ({"lists.counts": np.zeros(2, np.int32)}, "'counts' has 2 elements in the place of 1"),
        ({"lists.counts": np.array([2], np.int32)}, r"'counts' holds values outside of \[0, 2\)"),
        ({"lists.pool": np.array([2], np.int32)}, r"'pool' holds values outside of \[0, 2\)"),
        ({"lists.pool": np.array([-1], np.int32)}, "'pool' holds values outside"),
        ({"lists.table": np.full(2, -1, np.int32)}, "'table' has an odd size"),
        ({"lists.table": np.full(12, -1, np.int32)}, "'table' has an odd size"),
        ({"lists.table": np.array([0, 0, 0, -1], np.int32)}, "'table' is overfull"),
        ({"lists.table": np.array([1, -1, -1, -1], np.int32)}, "'table' holds values outside"),
        ({"states": np.zeros(2, np.int8)}, "'states' must be one-dimensional uint8"),
        ({"share": 1.5}, "'share' out of range"),
        ({"share": 1}, "'share' out of range"),
        ({"share": None}, "'share' out of range"),
        ({"laid_out": -1}, "'laid_out' as a number from 0 on"),
        ({"laid_out": 3}, "too much is laid out"),
    ],
)
def test_what_is_not_as_declared_is_refused(other: dict[str, Any], words: str) -> None:
    with pytest.raises(CorruptSnapshot, match=words):
        restored(filled(), **other)


def test_a_missing_array_is_named() -> None:
    owner = filled()
    with pytest.raises(CorruptSnapshot, match="'states' is missing"):
        Owner().restore({name: array for name, array in owner.arrays().items() if name != "states"}, owner.header())
