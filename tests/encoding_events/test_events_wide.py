"""Plain columns, which are read all at once: the same codes as the same events have as dicts, wherever they lie."""

from __future__ import annotations

import ctypes
import datetime
import itertools
import math
import mmap
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.encoding import Encoder, Schema
from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.events.columns._fixed_kernels import number_key
from matchwood.encoding.events.columns.fixed import BatchPlaces, FixedColumns
from matchwood.encoding.spaces.keys import integer_keys
from matchwood.errors import EventError, InvalidArgument
from matchwood.language import parse
from matchwood.logic import Conjunction, dnf_of

RANGES = {
    pa.int8(): 2**7,
    pa.int16(): 2**15,
    pa.int32(): 2**31,
    pa.int64(): 2**63,
    pa.uint8(): 2**8,
    pa.uint16(): 2**16,
    pa.uint32(): 2**32,
}
NUMBERS = [*RANGES, pa.float32(), pa.float64()]
ROWS = 203


def encoder_of(*rules: str, schema: Any = None) -> Encoder:
    """An encoder with the boundaries of some rules: the first ones at once, the last one beside them."""
    encoder = Encoder(Schema(schema))
    for some in (rules[:-1], rules[-1:]):
        encoder.encode([row for rule in some for row in rows_of_rule(encoder, rule)])
    return encoder


def rows_of_rule(encoder: Encoder, rule: str) -> list[Conjunction]:
    rows = dnf_of(parse(rule), encoder.bind, 1_000)
    assert isinstance(rows, list)
    return rows


def codes(encoder: Encoder, events: Any) -> list[list[tuple[int, int]]]:
    return [row for batch in encoder.event_batches(events) for row in rows_of_codes(batch.events)]


def rows_of_codes(events: EncodedEvents) -> list[list[tuple[int, int]]]:
    pairs = list(zip(events.attributes.tolist(), events.labels.tolist(), strict=True))
    return [pairs[start:stop] for start, stop in itertools.pairwise(events.offsets.tolist())]


def as_dicts(table: pa.Table) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]


def values_of(random: np.random.Generator, kind: pa.DataType, count: int) -> list[Any]:
    if kind in RANGES:
        low = -RANGES[kind] if pa.types.is_signed_integer(kind) else 0
        edges = [low, RANGES[kind] - 1, 0, 1, min(100, RANGES[kind] - 1)]
        near = np.clip(random.integers(-20, 20, count), low, None).tolist()
        return [edges[place % 5] if place % 3 == 0 else near[place] for place in range(count)]
    if pa.types.is_floating(kind):
        edges = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -5.5]
        return [edges[place % 7] if place % 3 == 0 else float(np.float32(random.normal())) for place in range(count)]
    if kind == pa.bool_():
        return (random.random(count) < 0.5).tolist()
    if kind == pa.date32():
        return [datetime.date(1970, 1, 1) + datetime.timedelta(days=int(day)) for day in random.integers(-9, 9, count)]
    if pa.types.is_timestamp(kind):
        return [
            datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=7 * i)
            for i in range(count)
        ]
    if pa.types.is_null(kind):
        return [None] * count
    return [f"w{number}" for number in random.integers(0, 5, count)]


def column_of(random: np.random.Generator, kind: pa.DataType, density: float, offset: int) -> pa.Array:
    """A slice of a longer array, so that its bits begin anywhere in a byte."""
    values = values_of(random, kind, ROWS + offset + 5)
    held = [value if keep else None for value, keep in zip(values, random.random(len(values)) < density, strict=True)]
    plain = pa.string() if pa.types.is_dictionary(kind) else kind
    array = pa.array(held, plain)
    return (array.dictionary_encode() if pa.types.is_dictionary(kind) else array).slice(offset, ROWS)


KINDS = [*NUMBERS, pa.bool_(), pa.date32(), pa.timestamp("us", "UTC"), pa.null(), pa.string()]
KINDS += [pa.dictionary(pa.int32(), pa.string())]


def rule_for(name: str, kind: pa.DataType) -> str:
    if kind in NUMBERS or pa.types.is_null(kind):
        return f"{name} > 3 or {name} in (-5.5, 0, 1, 100, 127) or {name} between 7 and 9223372036854775806"
    if kind == pa.bool_():
        return f"{name} = true"
    if kind == pa.date32():
        return f"{name} >= date '1970-01-03' or {name} = date '1969-12-30'"
    if pa.types.is_timestamp(kind):
        return f"{name} > timestamp '2020-01-01 00:00:00.000700+00:00'"
    return f"{name} in ('w1', 'w3')"


def random_table(seed: int, density: Callable[[int], float]) -> tuple[pa.Table, list[str]]:
    random = np.random.default_rng(seed)
    kinds = [KINDS[place % len(KINDS)] for place in random.permutation(2 * len(KINDS))]
    columns = {
        f"c{i}": column_of(random, kind, density(i), int(random.integers(0, 70))) for i, kind in enumerate(kinds)
    }
    rules = [rule_for(f"c{i}", kind) for i, kind in enumerate(kinds)]
    # Rules only ask for the NULL of one more column, and name one that is not there.
    return pa.table({**columns, "held": columns["c0"]}), [*rules, "held is not null", "absent = 1"]


DENSITIES: dict[str, Callable[[int], float]] = {
    "empty": lambda place: 0.0,
    "sparse": lambda place: 0.03,
    "half": lambda place: 0.5,
    "full": lambda place: 1.0,
    "mixed": lambda place: (0.0, 0.02, 0.1, 1.0)[place % 4],
}


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_table_has_the_codes_of_its_rows(seed: int, density: str) -> None:
    table, rules = random_table(seed, DENSITIES[density])
    encoder = encoder_of(*rules)
    expected = codes(encoder, as_dicts(table))
    assert codes(encoder, table) == expected
    assert any(expected) == (density != "empty")
    for offset, size in ((0, 1), (3, 64), (61, 77), (8, 8), (ROWS - 1, 1), (5, 0)):
        assert codes(encoder, table.slice(offset, size)) == expected[offset : offset + size]
    pieces = pa.concat_tables([table.slice(0, 50), table.slice(50, 1), table.slice(51)])
    assert codes(encoder, pieces) == expected
    assert codes(encoder, pieces.to_reader()) == expected
    assert codes(encoder, table.to_struct_array()) == expected


@pytest.mark.parametrize("offset", [0, 3])
def test_the_columns_of_a_table_are_found_once_for_all_its_chunks(offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, rules = random_table(5, DENSITIES["half"])
    encoder, looks = encoder_of(*rules), list[BatchPlaces]()
    expected = codes(encoder, as_dicts(table))[offset:]
    long = pa.table(
        {name: pa.concat_arrays(4 * column.chunks) for name, column in zip(table.column_names, table, strict=True)}
    )
    found = BatchPlaces._found

    def counted(places: BatchPlaces) -> Any:
        looks.append(places)
        return found(places)

    monkeypatch.setattr(BatchPlaces, "_found", counted)
    several = list(encoder.event_chunks(long.slice(offset), threads=3))
    rows = [row for chunk in several for row in rows_of_codes(chunk.encode().events)]
    assert (len(several), len(looks)) == (3, 1)
    assert rows[: ROWS - offset] == expected
    assert rows == codes(encoder, as_dicts(long))[offset:]


@pytest.mark.parametrize("engine", ["scan", "pstbloom", "atree"])
def test_wide_tables_match_as_the_oracle_says(engine: str) -> None:
    for density in ("sparse", "mixed"):
        table, rules = random_table(3, DENSITIES[density])
        index, oracle = mw.Index(engine=engine), mw.Index(engine="oracle")
        for each in (index, oracle):
            each.insert_many(enumerate(rules))
        expected = oracle.match_many(table)
        assert expected.num_rows > 0
        assert index.match_many(table).equals(expected)
        assert index.match_many(as_dicts(table)).equals(expected)
        frame = table.to_pandas(types_mapper=pd_type)  # in which NaN is NULL
        assert index.match_many(frame).equals(oracle.match_many(frame))


def pd_type(kind: pa.DataType) -> Any:
    """Arrow's own types in pandas: integers stay integers."""
    import pandas as pd

    return pd.ArrowDtype(kind)


def test_keys_of_integers_are_those_of_arrays() -> None:
    random = np.random.default_rng(5)
    powers = [sign * (2**bit + step) for bit in range(64) for sign in (1, -1) for step in (-2, -1, 0, 1, 2, 1023)]
    values = [value for value in powers if -(2**63) <= value < 2**63]
    values += random.integers(-(2**63), 2**63 - 1, 2_000, np.int64).tolist()
    primary, residual = integer_keys(np.array(values, np.int64))
    assert [tuple(map(int, number_key(np.int64(value)))) for value in values] == [
        (int(key), int(rest)) for key, rest in zip(primary, residual, strict=True)
    ]


@pytest.mark.parametrize("count", [0, 1, 300])
def test_boundaries_in_both_parts(count: int) -> None:
    """Large integers beside doubles, in the main part and in the tail, which no double tells apart."""
    near = [2**53 + step for step in range(-3, 4)] + [2**62 + 1, 2**63 - 1, -(2**63), -(2**53) - 1]
    encoder = encoder_of(" or ".join(f"x = {value}" for value in range(count + 1)), "x > 0.5 or x = 0.1")
    for value in near:
        encoder.encode(rows_of_rule(encoder, f"x >= {value}"))
    values = [*near, *(value + step for value in near[:7] for step in (-1, 1)), None, 0, 1, 299]
    table = pa.table({"x": pa.array(values, pa.int64())})
    assert codes(encoder, table) == codes(encoder, as_dicts(table))
    floats = pa.table({"x": pa.array([None if value is None else float(value) for value in values])})
    assert codes(encoder, floats) == codes(encoder, as_dicts(floats))


def test_rules_that_come_and_go_between_two_tables() -> None:
    table = pa.table({f"c{i}": pa.array([i, None, 5, -(2**60)] * 20) for i in range(30)})
    index = mw.Index(engine="pstbloom")
    index.insert_many((i, f"c{i} > {i % 7}") for i in range(30))
    for step in range(12):
        index[step] = f"c{step} >= {step % 4} and c{29 - step} < {step - 3}"
        index[100 + step] = f"c{step} in ({', '.join(str(value) for value in range(step, step + 40))})"
        if step % 3 == 2:
            del index[step - 1]
        assert index.match_many(table).equals(index.match_many(as_dicts(table)))


def test_names_twice_and_columns_of_the_wrong_type() -> None:
    encoder = encoder_of("a > 1", "b = 2", "c is null", schema={"b": "int"})
    twice = pa.Table.from_arrays([pa.array([1, None]), pa.array([None, 2]), pa.array([1, 2])], names=["a", "a", "b"])
    with pytest.raises(EventError, match="event 0: 'a' must be given only once"):
        codes(encoder, twice)
    with pytest.raises(EventError, match=r"event 1: 'b' must be int \(got 0.5, a float\)"):
        codes(encoder, pa.table({"a": [1, 2], "b": [None, 0.5]}))
    with pytest.raises(EventError, match=r"event 1: 'a' must be number \(got 'x', a str\)"):
        codes(encoder, pa.table({"a": [None, "x"], "b": [1, 2]}))
    with pytest.raises(EventError, match="no 'c'"):
        list(encoder.event_batches(pa.table({"a": [1], "b": [2]}), missing="error"))
    given = pa.table({"a": [1], "b": pa.array([None], pa.int64()), "c": [2]})
    (checked,) = encoder.event_batches(given, missing="error")
    assert rows_equal(checked.events, encoder, given)


def rows_equal(events: EncodedEvents, encoder: Encoder, table: pa.Table) -> bool:
    return list(zip(events.attributes.tolist(), events.labels.tolist(), strict=True)) == codes(encoder, table)[0]


def test_damaged_columns_are_refused_by_name() -> None:
    """A stream says that its columns are longer than they are."""
    sink, table = pa.BufferOutputStream(), pa.table({"b": pa.array([0] * 77), "c": pa.array([0] * 77)})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    said, wrong = struct.pack("<q", 77), struct.pack("<q", 777)
    damaged = pa.ipc.open_stream(sink.getvalue().to_pybytes().replace(said, wrong)).read_all()
    given = damaged.add_column(0, "a", pa.array([1] * 777))
    with pytest.raises(InvalidArgument, match="column 'b' of the events is damaged"):
        codes(encoder_of("a > 1", "b > 1", "c > 1"), given)
    assert len(codes(encoder_of("a > 1", "a > 2"), given)) == 777


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system for a page that nobody may read")
@pytest.mark.parametrize("rows", [1, 7, 8, 63, 64, 65, 100])
def test_nothing_is_read_beyond_a_buffer(rows: int) -> None:
    """Values and bits end where a page ends behind which reading is a crash."""
    encoder = encoder_of("a > 1", "a > 2")
    for offset in (0, 1, 5, 13):
        valid = np.packbits(np.arange(offset + rows) % 3 != 0, bitorder="little")
        values = np.arange(offset + rows, dtype=np.int64)
        buffers = [_at_the_end(valid.tobytes()), _at_the_end(values.tobytes())]
        array = pa.Array.from_buffers(pa.int64(), rows, buffers, offset=offset)
        expected = [[(0, -1)] if (offset + row) % 3 else [] for row in range(rows)]
        found = codes(encoder, pa.table({"a": array}))
        assert list(map(len, found)) == list(map(len, expected))
        sparse = pa.Array.from_buffers(pa.int64(), rows, [_at_the_end(bytes(len(valid))), buffers[1]], offset=offset)
        assert codes(encoder, pa.table({"a": sparse})) == [[]] * rows


_held: list[Any] = []


def _at_the_end(data: bytes) -> pa.Buffer:
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(start + page), page, 0) == 0
    memory[page - len(data) : page] = data
    _held.append(memory)
    return pa.foreign_buffer(start + page - len(data), len(data), memory)


def test_columns_found_one_by_one_are_plain_too() -> None:
    """Fields of structs, and columns in several pieces."""
    encoder = encoder_of("s.x > 1", "s.y < 5")
    structs = pa.StructArray.from_arrays([pa.array([1, None, 3]), pa.array([None, 5.5, 4.0])], names=["x", "y"])
    table = pa.table({"s": structs})
    plain = FixedColumns(3)
    assert plain.add_array(next(iter(encoder.sources())), structs.field(0))
    assert codes(encoder, table) == codes(encoder, as_dicts(table))
    assert codes(encoder, pa.concat_tables([table, table])) == 2 * codes(encoder, table)
