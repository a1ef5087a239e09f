"""The column of ids: kinds, what is refused, the hash table under growth and removal, damaged snapshots."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest

from matchwood.errors import CorruptSnapshot, InvalidArgument
from matchwood.rules.ids import IdColumn
from matchwood.rules.keys import keys_of
from tests.conftest import SOAK

MANY = 2_000 if numba.config.DISABLE_JIT else 1_000_000 if SOAK else 200_000


def rows_of(*rows: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(rows, np.int32)


def filled(*ids: Any) -> IdColumn:
    column = IdColumn()
    column.add_many(list(ids))
    return column


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([5, -(2**63), 2**63 - 1], "int"),
        ([np.int32(5), np.uint8(7), 9], "int"),
        (np.array([5, 6, 7], np.uint64), "int"),
        (np.array([5, 6, 7], np.int16), "int"),
        (pa.array([5, 6, 7], pa.uint32()), "int"),
        (pa.chunked_array([[5], [6, 7]]), "int"),
        (pa.array([5, 6, 7]).dictionary_encode(), "int"),
        (["a", "", "日本"], "str"),
        ([np.str_("a"), "b", "c"], "str"),
        (np.array(["a", "b", "c"]), "str"),
        (pa.array(["a", "b", "c"], pa.large_string()), "str"),
        (pa.array(["a", "b", "c"]).dictionary_encode(), "str"),
    ],
    ids=repr,
)
def test_ids_of_both_kinds_come_back(given: Any, kind: str) -> None:
    column = IdColumn()
    assert column.add_many(given).tolist() == [0, 1, 2]
    expected = given.to_pylist() if isinstance(given, pa.Array | pa.ChunkedArray) else [_plain(each) for each in given]
    assert column.kind == kind
    assert column.to_list(rows_of(2, 0, 1)) == [expected[2], expected[0], expected[1]]
    assert [column.find(each) for each in expected] == [0, 1, 2]
    taken = column.take(rows_of(1, 1))
    assert (taken.to_pylist(), taken.type) == ([expected[1]] * 2, pa.int64() if kind == "int" else pa.string())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([1, True], r"an id must be an int or a string .got True, a bool"),
        ([None], r"got None, a NoneType"),
        (["a", 2.5], r"got 2.5, a float"),
        ([np.float64(1)], r"got np.float64"),
        ([np.bool_(True)], r"got np.True_"),
        ([1, "a"], r"the id 'a' is a str, but the ids of this index are integers"),
        (["a", 1], r"the id 1 is an int, but the ids of this index are strings"),
        ([2**63], r"the id 9223372036854775808 does not fit into 64 bits: use a string id"),
        (np.array([2**63], np.uint64), r"the id 9223372036854775808 does not fit"),
        (pa.array([1.5]), r"ids must be a column of integers or strings .got double"),
        (pa.array([True]), r"got bool"),
        (pa.array([1, None]), r"got NULL at position 1"),
        (pa.chunked_array([["a"], ["b", None]]), r"got NULL at position 2"),
        (["a\udc00"], r"id 'a\\udc00' holds a lone surrogate"),
        ([b"a"], r"got b'a', a bytes"),
    ],
)
def test_what_is_no_id_is_refused_by_name(wrong: Any, message: str) -> None:
    column = IdColumn()
    with pytest.raises(InvalidArgument, match=message):
        column.add_many(wrong)
    assert (len(column), column.kind, column.live) == (0, None, 0)


@pytest.mark.parametrize(
    ("given", "kept"), [("é", "é"), (np.str_("a"), "a"), (np.int8(5), 5), (-(2**63), -(2**63)), (0, 0)]
)
def test_one_id_is_checked_and_unwrapped(given: Any, kept: Any) -> None:
    found = IdColumn().checked(given)
    assert (found, type(found)) == (kept, type(kept))


@pytest.mark.parametrize("wrong", [True, None, 1.0, 2**63, "\ud800", b"a", np.bool_(False), (1,)])
def test_one_id_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgument):
        IdColumn().checked(wrong)


def test_one_id_is_of_the_column_s_kind_or_of_its_neighbour_s() -> None:
    assert filled("a").checked("b") == "b"
    assert IdColumn().checked(7, beside=8) == 7
    for column, wrong, beside in ((filled("a"), 7, None), (filled(7), "a", None), (IdColumn(), "a", 0)):
        with pytest.raises(InvalidArgument, match="an index has one kind of id"):
            column.checked(wrong, beside)


def test_the_first_id_decides_the_kind() -> None:
    column = filled("a")
    with pytest.raises(InvalidArgument, match="the id 7 is an int, but the ids of this index are strings"):
        column.add_many([7])
    column = filled(7)
    with pytest.raises(InvalidArgument, match="the id 'a' is a str"):
        column.add_many(["a"])
    assert column.add_many([]).tolist() == []


def test_what_can_be_no_id_is_not_found() -> None:
    column = filled(1, 0, -5)
    assert [column.find(wrong) for wrong in (True, 1.0, "1", None, 2**70, [1], b"1")] == [-1] * 7
    assert column.find(np.int8(-5)) == 2
    strings = filled("1", "\x00")
    assert [strings.find(wrong) for wrong in (1, b"1", "\x00\x00", "", "\ud800")] == [-1] * 5
    assert column.find_many(["1"]).tolist() == [-1]


def test_duplicates_are_refused_and_nothing_is_added() -> None:
    column = filled("a", "b")
    with pytest.raises(InvalidArgument, match="the id 'b' is already in the index"):
        column.add_many(["c", "b"])
    with pytest.raises(InvalidArgument, match="the id 'd' is given twice"):
        column.add_many(["d", "c", "d"])
    with pytest.raises(InvalidArgument, match="the id 'a' is already in the index"):
        column.add_many(["a"])
    assert (len(column), column.find("c"), column.live) == (2, -1, 2)


def test_locate_tells_live_rows_and_first_occurrences() -> None:
    column = filled(10, 20, 30)
    column.remove_many(rows_of(1))
    rows, firsts = column.locate([30, 20, 7, 20, 10, 7])
    assert rows.tolist() == [2, -1, -1, -1, 0, -1]
    assert firsts.tolist() == [0, 1, 2, 1, 4, 2]
    rows, firsts = IdColumn().locate(["x", "x"])
    assert (rows.tolist(), firsts.tolist()) == ([-1, -1], [0, 0])


def test_a_removed_id_takes_a_new_row() -> None:
    column = filled("a", "b", "c")
    column.remove_many(rows_of(1, 2))
    assert (column.find("b"), column.find("c"), column.live, len(column)) == (-1, -1, 1, 3)
    assert column.add_many(["c"]).tolist() == [3]
    assert column.find("c") == 3
    assert column.audit(rows_of(0, 3)) == []


def test_an_id_that_comes_and_goes_uses_its_slot_again() -> None:
    column = filled("a")
    for row in range(5):
        column.remove_many(rows_of(row))
        assert column.header() == {"kind": "str", "filled": 1, "tombstones": 1}
        column.add_many(["a"])
        assert column.header() == {"kind": "str", "filled": 1, "tombstones": 0}


def test_removing_a_row_that_has_no_id_is_noticed() -> None:
    column = filled("a", "b")
    column.remove_many(rows_of(1))
    with pytest.raises(CorruptSnapshot, match="1 of 1 removed rows"):
        column.remove_many(rows_of(1))


def test_churn_does_not_let_the_table_grow() -> None:
    column = filled(0)
    for turn in range(1, 500):
        column.add_many([turn])
        column.remove_many(rows_of(turn - 1))
        assert column.find(turn - 1) == -1
        assert column.find(turn) == turn
    assert len(column.arrays()["slots"]) <= 64
    assert column.audit(rows_of(499)) == []


@pytest.mark.parametrize("make", [lambda i: i * 7 - 3_000_000, lambda i: f"rule-{i}"], ids=["int", "str"])
def test_a_million_ids(make: Any) -> None:
    ids = [make(i) for i in range(MANY)]
    column = IdColumn()
    assert np.array_equal(column.add_many(ids[: MANY // 3]), np.arange(MANY // 3))
    column.add_many(ids[MANY // 3 :])
    shuffled = np.random.default_rng(3).permutation(MANY).astype(np.int32)
    assert np.array_equal(column.find_many(column.take(shuffled)), shuffled)
    absent = keys_of([make(i) for i in range(MANY, MANY + 1000)])
    assert (column.find_many(absent) == -1).all()
    column.remove_many(shuffled[: MANY // 2])
    found = column.find_many(column.take(shuffled))
    assert (found[: MANY // 2] == -1).all()
    assert np.array_equal(found[MANY // 2 :], shuffled[MANY // 2 :])
    kept = np.sort(shuffled[MANY // 2 :])
    expected = column.take(kept)
    column.keep(kept)
    assert column.take(np.arange(len(kept))).equals(expected)
    assert column.audit(np.arange(len(kept), dtype=np.int32)) == []


def test_an_emptied_column_forgets_its_kind() -> None:
    column = filled("a")
    column.remove_many(rows_of(0))
    column.keep(rows_of())
    assert (column.kind, len(column), column.arrow_type) == (None, 0, pa.string())
    assert column.add_many([5]).tolist() == [0]


def restored(column: IdColumn, **changed: Any) -> IdColumn:
    arrays = {name: array.copy() for name, array in column.arrays().items()} | changed
    for array in arrays.values():
        array.flags.writeable = False
    again = IdColumn()
    again.restore(arrays, column.header())
    return again


@pytest.mark.parametrize("ids", [[3, 1, 2], ["x", "y", "zz"]])
def test_a_restored_column_copies_before_it_writes(ids: list[Any]) -> None:
    column = filled(*ids)
    column.remove_many(rows_of(1))
    again = restored(column)
    again.check()
    again.add_many([ids[1]])
    again.remove_many(rows_of(0))
    assert [again.find(each) for each in ids] == [-1, 3, 2]
    assert [column.find(each) for each in ids] == [0, -1, 2]


def test_a_damaged_hash_table_is_noticed_and_harmless() -> None:
    column = filled("a", "b", "c")
    slots = column.arrays()["slots"].copy()
    full = np.flatnonzero(slots >= 0)
    beyond = slots.copy()
    beyond[full[0]] |= 0x7FFFFFF0
    crowded = np.full_like(slots, -2)
    for damaged in (beyond, crowded, np.full_like(slots, -3)):
        again = restored(column, slots=damaged)
        assert {again.find(each) for each in ("a", "b", "c", "d")} <= {-1, 0, 1, 2}
        with pytest.raises(CorruptSnapshot, match="hash table"):
            again.check()
    with pytest.raises(CorruptSnapshot, match="cannot have 15 slots"):
        restored(column, slots=slots[:-1])
    with pytest.raises(CorruptSnapshot, match="do not fit ids of kind 'str'"):
        restored(column, integers=np.zeros(3, np.int64))


def test_audit_notices_an_id_that_leads_elsewhere() -> None:
    column = filled("a", "b", "c")
    slots = column._slots.writable()
    slots[:] = np.where(slots >= 0, slots ^ 1, slots)
    assert any("is not found by its id" in problem for problem in column.audit(rows_of(0, 1, 2)))
    assert any("2 live rows, but 3 ids" in problem for problem in filled(1, 2, 3).audit(rows_of(0, 1)))


@pytest.mark.parametrize("first", [0, 7, -3])
def test_ids_that_count_on_are_taken_as_any_others(first: int) -> None:
    column = IdColumn()
    column.add_many(list(range(first, first + 10)))
    rows = rows_of(9, 0, 3)
    assert column.take(rows).to_pylist() == [first + 9, first, first + 3]
    column.add_many([first + 10, first + 11])
    assert column.take(rows_of(11, 10, 2)).to_pylist() == [first + 11, first + 10, first + 2]
    column.add_many([first + 100, first + 13])
    assert column.take(rows_of(12, 13, 1, 0)).to_pylist() == [first + 100, first + 13, first + 1, first]
    column.keep(np.array([13, 12], np.int32))
    assert column.take(rows_of(0, 1)).to_pylist() == [first + 13, first + 100]


@pytest.mark.parametrize("ids", [[3, 4, 5], [3, 5, 4]])
@pytest.mark.parametrize("row", [3, -1])
def test_a_row_without_id_is_refused_however_ids_are_taken(ids: list[int], row: int) -> None:
    column = IdColumn()
    column.add_many(ids)
    assert column.take(rows_of(0, 1, 2)).to_pylist() == ids
    with pytest.raises(IndexError, match="a row has no id"):
        column.take(rows_of(0, row))


@pytest.mark.parametrize("first", [-1000, 0, 2**62])
def test_ids_that_increase_are_found_as_any_others(first: int) -> None:
    """Whoever is beyond all ids so far is not looked up; one that only seems to be is."""
    ids = IdColumn()
    ids.add_many(np.arange(first, first + 100))
    ids.add_many(np.arange(first + 200, first + 300))
    wanted = np.arange(first + 250, first + 350)
    rows, firsts = ids.locate(wanted)
    assert rows.tolist() == list(range(150, 200)) + 50 * [-1]
    assert firsts.tolist() == list(range(100))
    assert ids.locate(wanted + 50)[0].tolist() == 100 * [-1]
    rows, firsts = ids.locate(np.append(wanted, wanted[:1]))
    assert (rows[-1], firsts[-1]) == (150, 0)
    with pytest.raises(InvalidArgument, match="is already in the index"):
        ids.add_many(wanted)
    ids.remove_many(np.arange(100, 200, dtype=np.int32))
    assert (ids.locate(wanted)[0] == -1).all()
    ids.keep(np.arange(50))
    assert ids.locate(np.arange(first, first + 60))[0].tolist() == list(range(50)) + 10 * [-1]
    assert ids.add_many(np.arange(first + 50, first + 90)).tolist() == list(range(50, 90))
    assert ids.audit(np.arange(90, dtype=np.int32)) == []
