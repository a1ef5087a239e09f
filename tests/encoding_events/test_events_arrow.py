"""Every Arrow type that an attribute can be given in, with NULLs, offsets and extremes."""

from __future__ import annotations

import datetime
import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from events_support import (
    EVERY_KIND,
    PlainDerived,
    PlainEncoder,
    batch_rows,
    column_codes,
    plain_source,
    single_rows,
)
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.attribute import Source, Target
from matchwood.errors import EventError

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
MISFIT = "'x' must be"


@pytest.mark.parametrize("kind", ["int", "number", "double"])
@pytest.mark.parametrize("width", INTEGERS, ids=str)
def test_integers(kind: str, width: pa.DataType) -> None:
    column = pa.array([99, 0, None, 1, 5, 100, 9], width).slice(1, 5)
    assert column_codes(kind, (1, 5), column) == [0, None, 10, 20, 20]


def test_integers_beyond_64_bits() -> None:
    column = pa.array([1, None, 2**63 - 1, 2**63], pa.uint64())
    assert column_codes("int", (2**63 - 1,), column[:3]) == [0, None, 10]
    with pytest.raises(EventError) as caught:
        column_codes("number", (1,), column)
    assert str(caught.value) == "event 3: 'x' must be number (got 9223372036854775808, an int beyond 64 bits)"


@pytest.mark.parametrize("width", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_doubles(width: pa.DataType) -> None:
    column = pa.array(np.array([7, 0.5, math.nan, -math.inf, 0.0, -0.0], width.to_pandas_dtype()), width).slice(1)
    assert column_codes("double", (0, 0.5, math.nan), column) == [20, 30, 0, 10, 10]
    with pytest.raises(EventError, match=r"event 0: 'x' must be int \(got 0.5, a float\)"):
        column_codes("int", (0,), column)


def test_narrow_doubles_widen_exactly() -> None:
    tenth = pa.array([0.1], pa.float32())
    assert column_codes("number", (0.1, float(np.float32(0.1))), tenth) == [20]
    assert column_codes("number", (0.1, math.nextafter(float(np.float32(0.1)), 1)), tenth) == [10]


@pytest.mark.parametrize("width", [pa.decimal32(5, 2), pa.decimal64(9, 2), pa.decimal128(20, 2), pa.decimal256(50, 2)])
def test_decimals(width: pa.DataType) -> None:
    column = pa.array([Decimal("9"), Decimal("0.50"), None, Decimal("3"), Decimal("3.00"), Decimal("0.25")], width)[1:]
    assert column_codes("number", (0.5, 3), column) == [10, None, 20, 20, 0]
    assert column_codes("int", (3,), column[1:4]) == [None, 10, 10]
    with pytest.raises(EventError, match=r"event 0: 'x' must be int \(got Decimal\('0.50'\), a Decimal\)"):
        column_codes("int", (3,), column)
    tenths = pa.array([Decimal("0.5"), Decimal("0.1"), Decimal("-0.05")], width)
    assert column_codes("double", (Decimal("0.1"), 0.5), tenths) == [20, 10, 0]


def test_decimals_beyond_64_bits() -> None:
    column = pa.array(
        [Decimal(2**70), Decimal(2**63 - 1), Decimal(2**70 + 1), Decimal(-(10**37))], pa.decimal128(38, 0)
    )
    assert column_codes("number", (2**63 - 1, 2.0**70, 2**70 + 1), column) == [20, 10, 30, 0]
    with pytest.raises(EventError, match="beyond 64 bits"):
        column_codes("int", (1,), column)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_strings(kind: pa.DataType) -> None:
    column = pa.array(["zz", "", None, "b", "é", "\U0001f600", "b"], kind).slice(1)
    assert column_codes("string", ("a", "b", "é", "\U0001f600"), column) == [0, None, 20, 30, 40, 20]
    with pytest.raises(EventError, match=r"event 0: 'x' must be bool \(got '', a str\)"):
        column_codes("bool", (1,), column)


def test_booleans() -> None:
    assert column_codes("bool", (1,), pa.array([True, None, False, True]).slice(1)) == [None, 0, 10]
    with pytest.raises(EventError, match=r"'x' must be int \(got True, a bool\)"):
        column_codes("int", (1,), pa.array([True]))


@pytest.mark.parametrize("kind", ["bool", "int", "number", "string", "date", "timestamp", "list<int>", "any"])
def test_columns_of_nulls(kind: str) -> None:
    assert column_codes(kind, (), pa.nulls(3)) == [None] * 3
    assert column_codes(kind, (), pa.nulls(3, pa.float64())) == [None] * 3


def test_dictionaries() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([3, 0, None, 1, 2, 0], pa.uint8()), ["b", "a", None, "unused"])
    assert column_codes("string", ("b",), words) == [10, 10, None, 0, None, 10]
    assert column_codes("string", ("b",), words[3:]) == [0, None, 10]
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int64()), [5, 2**53 + 1])
    assert column_codes("number", (2**53 + 1,), numbers) == [10, 0, None]
    days = pa.DictionaryArray.from_arrays([0, 1], ["1970-01-02", "1970-01-01"])
    assert column_codes("date", (1,), days) == [10, 0]


def test_dictionaries_with_values_that_do_not_occur() -> None:
    """A value of the wrong kind that no row has is nobody's error; a large dictionary is not looked through."""
    numbers = pa.DictionaryArray.from_arrays(pa.array([2, None, 2]), pa.array([2**64 - 1, 7, 5], pa.uint64()))
    assert column_codes("int", (5,), numbers) == [10, None, 10]
    words = pa.DictionaryArray.from_arrays(pa.array([700, None, 3, 3]), [f"{i:03}" for i in range(1_000)])
    assert column_codes("string", ("004",), words) == [10, None, 0, 0]


def test_chunks_with_different_dictionaries() -> None:
    chunks = [pa.array(words).dictionary_encode() for words in (["a", "b"], ["b", None, "c"])]
    assert column_codes("string", ("b", "c"), pa.chunked_array(chunks)) == [0, 10, 10, None, 20]


def test_run_ends_and_extension_types() -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2, 3, 5], [1, None, 7])
    assert column_codes("int", (5,), runs) == [0, 0, None, 10, 10]
    words = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["a", None]))
    assert column_codes("string", ("a",), words) == [10, None]


def test_null_tests_see_through_every_encoding() -> None:
    words = pa.DictionaryArray.from_arrays([0, 1, None], ["a", None])
    runs = pa.RunEndEncodedArray.from_arrays([1, 3], [1, None])
    union = pa.UnionArray.from_dense(
        pa.array([0, 0, 0], pa.int8()), pa.array([0, 1, 2], pa.int32()), [pa.array([1, None, None])]
    )
    for column in (words, runs, union):
        assert column_codes("any", (), column) == [0, None, None]


def test_strings_that_are_not_utf8_are_misfits() -> None:
    broken = pa.array([b"a", b"\xff", None, b"\xff", b"b"]).view(pa.string())
    encoder = PlainEncoder([plain_source("x", "string", 0, "b")])
    assert batch_rows(encoder, pa.table({"x": broken}), on_error="null") == [[(0, 0)], [], [], [], [(0, 10)]]
    with pytest.raises(EventError, match=r"event 1: 'x' must be string \(got bytes that are not UTF-8\)"):
        batch_rows(encoder, pa.table({"x": broken}))


def test_unions_are_read_value_by_value() -> None:
    union = pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 9]), pa.array([2.5])]
    )
    assert column_codes("number", (2, 9), union) == [0, 10, 20]
    with pytest.raises(EventError, match=r"event 1: 'x' must be int \(got 2.5, a float\)"):
        column_codes("int", (2,), union)


LISTS = [
    pa.list_(pa.string()),
    pa.large_list(pa.large_string()),
    pa.list_view(pa.string()),
    pa.large_list_view(pa.large_string()),
    pa.list_(pa.string_view()),
    pa.list_(pa.dictionary(pa.int8(), pa.string())),
]


def list_encoder(kind: str, first: Any, second: Any) -> PlainEncoder:
    return PlainEncoder([Source("x", kind, (Target(1, None),), PlainDerived({0: first, 2: second}))])


@pytest.mark.parametrize("kind", LISTS, ids=str)
def test_lists_of_strings(kind: pa.DataType) -> None:
    lists: list[Any] = [["zz"], ["a", None, "b"], None, [], ["c"], [None]]
    encoder = list_encoder("list<string>", "a", "b")
    expected = single_rows(encoder, [{"x": value} for value in lists[1:]])
    assert expected == [[(0, 1), (1, 0), (2, 1)], [], [(1, 0)], [(0, 0), (1, 0), (2, 0)], [(1, 0)]]
    assert batch_rows(encoder, pa.table({"x": pa.array(lists, kind).slice(1)})) == expected


@pytest.mark.parametrize("element", INTEGERS, ids=str)
def test_lists_of_integers(element: pa.DataType) -> None:
    lists: list[Any] = [[1, None], None, [], [2, 3]]
    encoder = list_encoder("list<int>", 1, 3)
    expected = single_rows(encoder, [{"x": value} for value in lists])
    for kind in (pa.list_(element), pa.large_list(element), pa.list_view(element)):
        assert batch_rows(encoder, pa.table({"x": pa.array(lists, kind)})) == expected
    pairs = pa.array([[9, 9], [1, 2], None, [3, None]], pa.list_(element, 2)).slice(1)
    assert batch_rows(encoder, pa.table({"x": pairs})) == single_rows(encoder, [{"x": [1, 2]}, {}, {"x": [3, None]}])


def test_lists_of_other_things() -> None:
    encoder = list_encoder("list<int>", 1, 3)
    empties = pa.array([[], None, [None]], pa.list_(pa.null()))
    assert batch_rows(encoder, pa.table({"x": empties})) == [[(1, 0)], [], [(1, 0)]]
    decimals = pa.array([[Decimal(1)], None], pa.list_(pa.decimal128(5, 0)))
    assert batch_rows(encoder, pa.table({"x": decimals})) == [[(0, 1), (1, 0), (2, 0)], []]
    for column, got in (
        (pa.array([[1], ["a"]][1:]), "a list with 'a', a str"),
        (pa.array([[0.5]]), "a list with 0.5, a float"),
        (pa.array([[2**63]], pa.list_(pa.uint64())), "a list with 9223372036854775808, an int beyond 64 bits"),
        (pa.array([5]), "5, an int"),
    ):
        with pytest.raises(EventError) as caught:
            batch_rows(encoder, pa.table({"x": column}))
        assert str(caught.value) == f"event 0: 'x' must be list<int> (got {got})"


WRONG: dict[str, tuple[pa.Array, str]] = {
    "bool": (pa.array([1]), "1, an int"),
    "int": (pa.array([datetime.date(1970, 1, 1)]), "datetime.date(1970, 1, 1), a date"),
    "number": (pa.array([datetime.timedelta(1)]), "datetime.timedelta(days=1), a timedelta"),
    "double": (pa.array([b"x"]), "b'x', a bytes"),
    "string": (pa.array([b"x"], pa.binary_view()), "b'x', a bytes"),
    "date": (pa.array([datetime.datetime(1970, 1, 1)]), "datetime.datetime(1970, 1, 1, 0, 0), a datetime"),
    "timestamp": (pa.array([datetime.time(1)]), "datetime.time(1, 0), a time"),
    "list<int>": (pa.array([{"a": 1}]), "{'a': 1}, a dict"),
    "list<string>": (pa.array(["x"]), "'x', a str"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_types_are_told_as_python_values(kind: str) -> None:
    column, got = WRONG[kind]
    with pytest.raises(EventError) as caught:
        column_codes(kind, (), column)
    assert str(caught.value).startswith(f"event 0: 'x' must be {kind} (got {got})")


def test_values_that_python_cannot_hold_are_told_too() -> None:
    with pytest.raises(EventError, match=r"event 0: 'x' must be int \(got .*timestamp\[s\]"):
        column_codes("int", (), pa.array([2**60], pa.timestamp("s")))


@given(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30),
    st.lists(st.integers(0, 30), max_size=4),
    st.integers(0, 5),
)
def test_any_cut_into_chunks_and_slices(values: list[int | None], cuts: list[int], start: int) -> None:
    edges = sorted({0, len(values), *(min(cut, len(values)) for cut in cuts)})
    chunks = [pa.array(values[low:high], pa.int64()) for low, high in itertools.pairwise(edges)]
    encoder = PlainEncoder([plain_source("x", "int", 0, -5, 0, 2**53 + 1)])
    table = pa.table({"x": pa.chunked_array(chunks, pa.int64())}).slice(start)
    assert batch_rows(encoder, table) == single_rows(encoder, [{"x": value} for value in values[start:]])


def test_duplicate_columns_are_refused_only_where_rules_name_them() -> None:
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4]), pa.array(["a", "b"])], ["x", "x", "count"])
    with pytest.raises(EventError, match="event 0: 'count' must be int"):
        batch_rows(PlainEncoder(EVERY_KIND), table)
    with pytest.raises(EventError) as caught:
        column_codes_of(table)
    assert str(caught.value) == "event 0: 'x' must be given only once (got x twice)"


def column_codes_of(table: pa.Table) -> Any:
    return batch_rows(PlainEncoder([plain_source("x", "int", 0, 5)]), table)
