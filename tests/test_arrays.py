"""Looking up in ordered arrays: no search converts the array that it searches."""

from __future__ import annotations

import ast
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from matchwood.core.arrays import (
    LEAST_KEPT,
    SEGMENT,
    Arena,
    Growable,
    ScratchGrowable,
    bulk_memory,
    places_in,
    pooled,
)
from matchwood.encoding.spaces.sorted import SortedSpaces

PACKAGE = Path(__file__).parent.parent / "matchwood"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if not path.stem.endswith("_kernels"))
"""Compiled searches convert nothing."""


def _searches(source: str) -> list[int]:
    """The lines that name `searchsorted`."""
    if "searchsorted" not in source:  # reading most files is not worth their trees
        return []
    named = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return [node.lineno for node in named if node.attr == "searchsorted"]


def test_nothing_searches_but_through_places_in() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): _searches(path.read_text()) for path in FILES}
    assert found.pop("core/arrays.py")
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_check_can_fail() -> None:
    assert _searches("import numpy as np\nnp.searchsorted(a, 1)\na.searchsorted(1)") == [2, 3]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.float64])
def test_places_are_those_of_numpy(dtype: type) -> None:
    ordered = np.array([1, 4, 4, 9], dtype)
    for value in (0, 1, 4, 5, 10):
        assert places_in(ordered, value) == np.searchsorted(ordered, value)
        assert places_in(ordered, value, "right") == np.searchsorted(ordered, value, "right")
    wanted = np.array([10, 4, 0], dtype)
    assert places_in(ordered, wanted).tolist() == [4, 1, 0]
    assert places_in(ordered, wanted, "right").tolist() == [4, 3, 0]


def test_an_array_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="int64 is looked for among int32"):
        places_in(np.array([1, 2], np.int32), np.array([1], np.int64))


class Watched(np.ndarray):
    """An array that notes with what it is searched."""

    kinds: set[np.dtype]

    def searchsorted(self, v, side="left", sorter=None):  # type: ignore[no-untyped-def]
        self.kinds.add(v.dtype)
        return np.asarray(self).searchsorted(v, side)


def test_spaces_are_searched_with_their_own_type() -> None:
    """Releasing a boundary, reviving it and adding beside a dead one: each searches all labels."""
    spaces = SortedSpaces("int")
    labels = spaces.add_many(list(range(0, 4_000, 2)))
    watched = spaces._main.labels.view(Watched)
    watched.kinds = set()
    spaces._main = spaces._main._replace(labels=watched)
    spaces.release_many(labels[700:702])
    spaces.add_many([1_399])
    spaces.add_many([1_400])
    assert watched.kinds == {np.dtype(np.int32)}
    assert spaces.audit() == []


def test_what_grows_is_filled_whatever_was_there_before() -> None:
    """Large arrays begin as memory that nobody has written to, and are filled where somebody has."""
    rng = np.random.default_rng(7)
    for size in (10, 40_000):
        grown, wanted = Growable(np.int64), np.empty(0, np.int64)
        for _ in range(300):
            count, fill = int(rng.integers(0, size)), int(rng.choice([0, 0, 0, 7]))
            way = rng.integers(4)
            if way == 0:
                grown.append(5)
                wanted = np.append(wanted, 5)
            elif way == 1:
                grown.extend(np.full(count // 8, 3))
                wanted = np.append(wanted, np.full(count // 8, 3))
            else:
                grown.resize(count, fill)
                wanted = np.append(wanted[:count], np.full(max(0, count - len(wanted)), fill))
            assert np.array_equal(grown.view(), wanted)
            grown.writable()[:] = wanted = rng.integers(1, 100, len(wanted))


def test_room_is_made_while_others_look() -> None:
    grown = Growable(np.int32, np.arange(5))
    seen = grown.view()
    grown.make_room(10)
    assert grown.count == 5
    buffer = grown._buffer
    # Whoever asked for a view just before the buffer was another one notes it only now.
    grown._view = seen
    grown.writable()[0] = 7
    assert grown.view().tolist() == [7, 1, 2, 3, 4]
    assert seen.tolist() == [0, 1, 2, 3, 4]
    grown.extend(np.arange(10))
    assert grown._buffer is buffer


def test_an_array_that_is_taken_over_is_not_copied() -> None:
    given = np.arange(5)
    taken = Growable.taking(given)
    taken.writable()[0] = 9
    assert given[0] == 9
    taken.append(4)
    assert taken.view().tolist() == [9, 1, 2, 3, 4, 4]


def test_arrays_of_a_bulk_load_use_their_memory_again() -> None:
    with bulk_memory(None) as memory:
        first = pooled(LEAST_KEPT, np.int64)
        place, view = first.__array_interface__["data"][0], first[3:5]
        first[:] = 7
        del first
        other = pooled(LEAST_KEPT, np.int64)
        assert other.__array_interface__["data"][0] != place
        assert view.tolist() == [7, 7]
        del view
        again = pooled(LEAST_KEPT - 1, np.int64)
        assert (again.__array_interface__["data"][0], len(again)) == (place, LEAST_KEPT - 1)
        small = pooled(LEAST_KEPT // 64, np.bool_)
        assert small.flags.writeable
        memory.expect(1)
        assert memory.times == 1
    outside = pooled(LEAST_KEPT, np.int64)
    assert len(outside) == LEAST_KEPT
    again[:] = 1
    assert int(again.sum()) == LEAST_KEPT - 1


def test_the_lowest_memory_is_used_again_in_one_piece() -> None:
    arena, kind = Arena(), np.dtype(np.int64)
    held = [arena.array(1_000, kind) for _ in range(5)]
    places = [array.__array_interface__["data"][0] for array in held]
    assert places == sorted(places)
    assert arena.lent == 5 * 8_000
    held[3][:] = 4
    del held[1]
    del held[1]
    joined = arena.array(2_000, kind)
    assert joined.__array_interface__["data"][0] == places[1]
    joined[:] = 5
    assert held[1].tolist() == [4] * 1_000
    large = arena.array(SEGMENT, kind)
    large[-1] = 1
    del held, joined
    assert arena.array(5_000, kind).__array_interface__["data"][0] == places[0]
    assert arena.lent == large.nbytes
    assert len(arena.array(0, kind)) == 0


def test_memory_that_another_thread_gives_back_is_used_again() -> None:
    arena, kind = Arena(), np.dtype(np.int8)
    held = [arena.array(64, kind) for _ in range(1_000)]
    threads = [threading.Thread(target=held.__delitem__, args=(slice(-250, None),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert arena.lent == 0


def test_nobody_keeps_the_memory_of_a_load_that_has_ended() -> None:
    with bulk_memory(None) as memory:
        arena = weakref.ref(memory.arena)
        scratch = pooled(LEAST_KEPT, np.int64)
        assert memory.arena.lent == scratch.nbytes
    assert arena() is not None
    del scratch
    assert arena() is None


def test_an_array_that_grows_in_scratch_memory_is_like_others() -> None:
    with bulk_memory(None) as memory:
        pooled(4 * LEAST_KEPT, np.uint8)[:] = 255
        column = ScratchGrowable(np.int32, [7])
        column.resize(LEAST_KEPT)
        assert memory.arena.lent >= 4 * LEAST_KEPT
        assert column.view()[0] == 7
        assert not column.view()[1:].any()
        column.extend([3])
        column.resize(1)
        column.resize(3, 9)
        assert column.view().tolist() == [7, 9, 9]


def test_arrays_grow_once_for_a_load_whose_size_is_known() -> None:
    column = Growable(np.int32)
    with bulk_memory(400_000) as memory:
        memory.expect(100_000)
        column.extend(np.arange(100_000))
        place = column.view().__array_interface__["data"][0]
        for start in range(100_000, 400_000, 100_000):
            memory.expect(start + 100_000)
            column.extend(np.arange(start, start + 100_000))
        assert column.view().__array_interface__["data"][0] == place
    assert column.view().tolist() == list(range(400_000))


def test_what_nobody_fills_is_cleared_once_somebody_asks_for_that() -> None:
    column = Growable(np.int64)
    column.resize(50_000, None)
    column.writable()[:] = 5
    column.resize(10, None)
    column.resize(40_000)
    assert not column.view()[10:].any()
    column.resize(60_000, 3)
    assert (column.view()[40_000:] == 3).all()
