"""Names that are paths: nested dicts, structs and maps flatten with dots, and nothing may stand twice."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from events_support import PlainEncoder, batch_rows, batches_of, plain_source, rows_of, single_rows
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.events.entry import encode_event
from matchwood.encoding.events.paths import MAX_JOINED_PATH, key_trie, positions_below
from matchwood.errors import EventError

NAMES = ["a", "a.b", "a.b.c", "`a.b`", "`a.b`.c", "d"]
ENCODER = PlainEncoder([plain_source(name, "any", number) for number, name in enumerate(NAMES)])


def found(event: dict[str, Any]) -> list[str]:
    """The names that an event has a value for, the same in both ways."""
    (row,) = batch_rows(ENCODER, [event])
    assert single_rows(ENCODER, [event]) == [row]
    return [NAMES[number] for number, _ in row]


@pytest.mark.parametrize(
    ("event", "names"),
    [
        ({"a": 1}, ["a"]),
        ({"a": {}}, ["a"]),
        ({"a": {"b": 1}}, ["a", "a.b"]),
        ({"a.b": 1}, ["a.b", "`a.b`"]),
        ({"a": {"b": {"c": 1}}}, ["a", "a.b", "a.b.c"]),
        ({"a.b": {"c": 1}}, ["a.b", "a.b.c", "`a.b`", "`a.b`.c"]),
        ({"a": {"b.c": 1}}, ["a", "a.b.c"]),
        ({"a.b.c": 1}, ["a.b.c"]),
        ({"a": None, "a.b": 1}, ["a.b", "`a.b`"]),
        ({"a": {"b": None}}, ["a"]),
        ({"a": 5, "a.b": 1}, ["a", "a.b", "`a.b`"]),
        ({"a": {"x": {"b": 1}}, "b": 2, "A": 3, 7: 8, None: 9}, ["a"]),
        ({}, []),
    ],
)
def test_where_names_lead(event: dict[str, Any], names: list[str]) -> None:
    assert found(event) == names


@pytest.mark.parametrize(
    ("event", "what", "got"),
    [
        ({"a": {"b": 1}, "a.b": 2}, "a.b", "both a.b and `a.b`"),
        ({"a": {"b": None}, "a.b": 2}, "a.b", "both a.b and `a.b`"),
        ({"a": {"b": 1}, "a.b": None}, "a.b", "both a.b and `a.b`"),
        ({"a": {"b.c": 1}, "a.b.c": 2}, "a.b.c", "both `a.b.c` and a.`b.c`"),
        ({"a": {"b": {"c": 1}, "b.c": 2}}, "a.b.c", "both a.`b.c` and a.b.c"),
    ],
)
def test_two_places_in_one_event(event: dict[str, Any], what: str, got: str) -> None:
    for encode in (lambda: encode_event(ENCODER, event), lambda: batch_rows(ENCODER, [{}, event])[0]):
        with pytest.raises(EventError) as caught:
            encode()
        assert (caught.value.what, caught.value.expected) == (what, "given only once")
        assert set(caught.value.got.split()) == set(got.split())


def test_two_places_in_different_events_are_fine() -> None:
    events = [{"a": {"b": 1}}, {"a.b": 2}, {"a": None, "a.b": 3}, {"d": 1}]
    assert batch_rows(ENCODER, events) == single_rows(ENCODER, events)


def test_conflicts_count_as_misfits() -> None:
    events = [{"a": {"b": 1}, "a.b": 2, "d": 1}, {"a": {"b": 1}}]
    (batch,) = batches_of(ENCODER, events, on_error="report")
    assert batch.errors == [(0, "event 0: 'a.b' must be given only once (got both a.b and `a.b`)")]
    assert batch.events.attributes.tolist() == [0, 3, 5, 0, 1]


STRUCT = pa.struct([("b", pa.int64()), ("x", pa.int64())])


def test_structs() -> None:
    structs = pa.array([{"b": 9}, {"b": 1}, None, {"b": None}, {"x": 5}], STRUCT).slice(1)
    table = pa.table({"a": structs, "d": [1, 2, 3, None]})
    assert batch_rows(ENCODER, table) == single_rows(ENCODER, table.to_pylist())
    assert batch_rows(ENCODER, table)[0] == [(0, 0), (1, 0), (5, 0)]


def test_structs_beside_columns_with_dots() -> None:
    """A row in which the struct is NULL has the column alone; otherwise it has both."""
    structs = pa.array([None, {"b": 1}, None], STRUCT)
    table = pa.table({"a": structs, "a.b": [5, None, None]})
    (batch,) = batches_of(ENCODER, table, on_error="report")
    assert batch.errors == [(1, "event 1: 'a.b' must be given only once (got both a.b and `a.b`)")]
    assert batch.events.offsets.tolist() == [0, 2, 3, 3]
    (same,) = batches_of(ENCODER, table.to_pylist(), on_error="report")
    assert same.errors == batch.errors
    assert same.events.labels.tolist() == batch.events.labels.tolist()


def test_deep_structs_and_views() -> None:
    inner = pa.struct([("c", pa.list_(pa.string_view()))])
    rows: list[Any] = [{"b": {"c": ["x"]}}, {"b": None}, None, {"b": {"c": None}}]
    table = pa.table({"a": pa.array(rows, pa.struct([("b", inner)]))})
    assert batch_rows(ENCODER, table) == single_rows(ENCODER, table.to_pylist())


def as_dicts(table: pa.Table) -> list[dict[str, Any]]:
    return table.to_pylist(maps_as_pydicts="lossy")


@pytest.mark.parametrize("values", [pa.int64(), pa.string(), pa.string_view(), pa.list_(pa.string_view())], ids=str)
def test_maps(values: pa.DataType) -> None:
    value: Any = {"int64": 7, "list<item: string_view>": ["x"]}.get(str(values), "x")
    rows = [[("zz", value)], [("b", value), ("x", None)], None, [], [("b.c", value)], [("b", None)], [("b", value)]]
    table = pa.table({"a": pa.array(rows, pa.map_(pa.string(), values)).slice(1)})
    assert batch_rows(ENCODER, table) == single_rows(ENCODER, as_dicts(table))
    assert batch_rows(ENCODER, table)[0] == [(0, 0), (1, 0)]


def test_of_a_key_that_comes_twice_in_a_map_the_last_counts() -> None:
    encoder = PlainEncoder([plain_source("m.k", "int", 0, 5)])
    maps = pa.array([[("k", 9), ("j", 9), ("k", 1)], [("k", 1), ("k", 9)]], pa.map_(pa.string(), pa.int64()))
    assert batch_rows(encoder, pa.table({"m": maps})) == [[(0, 0)], [(0, 10)]]


def test_maps_of_structs_of_maps() -> None:
    encoder = PlainEncoder([plain_source("m.k.f.j", "int", 0, 5), plain_source("m.k.g", "string", 1, "b")])
    kind = pa.map_(pa.string(), pa.struct([("f", pa.map_(pa.string(), pa.int8())), ("g", pa.string())]))
    rows: list[Any] = [
        [("k", {"f": [("j", 7)], "g": "a"})],
        [("i", None), ("k", {"f": None, "g": "c"})],
        [("k", None)],
        None,
        [("k", {"f": [("i", 1)], "g": None})],
    ]
    table = pa.table({"m": pa.array(rows, kind)})
    assert batch_rows(encoder, table) == [[(0, 10), (1, 0)], [(1, 10)], [], [], []]
    assert batch_rows(encoder, table) == single_rows(encoder, as_dicts(table))


def test_maps_with_other_keys_hold_no_attributes() -> None:
    table = pa.table({"a": pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64()))})
    assert batch_rows(ENCODER, table) == [[(0, 0)]]


def test_wrong_values_inside_structs_and_maps_name_their_row() -> None:
    encoder = PlainEncoder([plain_source("a.b", "int", 0)])
    maps = pa.array([[], [("x", "y")], [("b", "y")]], pa.map_(pa.string(), pa.string()))
    with pytest.raises(EventError, match=r"event 2: 'a\.b' must be int \(got 'y', a str\)"):
        batch_rows(encoder, pa.table({"a": maps}))
    structs = pa.array([None, {"b": None}, {"b": "y"}], pa.struct([("b", pa.string())]))
    with pytest.raises(EventError, match=r"event 2: 'a\.b' must be int \(got 'y', a str\)"):
        batch_rows(encoder, pa.table({"a": structs}))


def test_scalars_where_a_struct_is_expected_hold_nothing() -> None:
    encoder = PlainEncoder([plain_source("a.b", "int", 0)])
    assert batch_rows(encoder, pa.table({"a": [1, 2]})) == [[], []]
    assert batch_rows(encoder, [{"a": 1}, {"a": "x"}, {"a": ["b"]}]) == [[], [], []]


KEYS = st.sampled_from(["a", "b", "c", "d", "a.b", "b.c", "a.b.c"])


@given(st.lists(st.recursive(st.none() | st.integers(0, 3), lambda inner: st.dictionaries(KEYS, inner, max_size=3))))
def test_chunks_and_single_events_agree_on_any_nesting(values: list[Any]) -> None:
    events = [value for value in values if isinstance(value, dict)]
    (*batches,) = batches_of(ENCODER, events, on_error="null")
    encoded = [row for batch in batches for row in rows_of(batch.events)]
    for event, row in zip(events, encoded, strict=True):
        single, chunk = outcome(single_rows, event), outcome(batch_rows, event)
        assert single == chunk
        assert chunk == [row] or "given only once" in chunk


def outcome(encode: Any, event: dict[str, Any]) -> Any:
    """The pairs of one event, or what is wrong with it."""
    try:
        return encode(ENCODER, [event])
    except EventError as error:
        return str(error)


def test_long_paths_cost_no_more_than_their_length() -> None:
    long = ".".join(["k"] * 10_000)
    trie = key_trie([long])
    assert set(trie) == {"k", long}
    assert positions_below(trie) == {0}
    event: dict[str, Any] = {"k": 1}
    for _ in range(9_999):
        event = {"k": event}
    encoder = PlainEncoder([plain_source(long, "int", 0, 1)])
    assert single_rows(encoder, [event, {long: 1}]) == batch_rows(encoder, [event, {long: 1}]) == [[(0, 10)]] * 2
    short = ".".join(["k"] * MAX_JOINED_PATH)
    assert len(key_trie([short])) == MAX_JOINED_PATH
