"""Declared types, in every form in which a schema may be given."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from matchwood.encoding.schema.declared import read_schema
from matchwood.encoding.schema.types import TYPES
from matchwood.errors import InvalidArgument

ALIASES = {
    "bool": ["bool", "boolean", "BOOLEAN"],
    "int": ["int", "integer", "long", "bigint", "short", "smallint", "tinyint", "byte", "int8", "uint32", "uint64"],
    "double": ["double", "float", "real", "float32", "float64", "Float"],
    "string": ["string", "str", "text", "varchar(20)", "char(3)", "large_string"],
    "date": ["date", "date32"],
    "timestamp": ["timestamp", "datetime", "timestamp_ntz", "timestamp[us]"],
    "list<int>": ["list<int>", "array<int>", "array<bigint>", "list<long>", "ARRAY<INT>", "int[]", "list[int]"],
    "list<string>": ["list<string>", "array<string>", "list<str>", "VARCHAR[]", "list[str]"],
}


@pytest.mark.parametrize(("kind", "spelling"), [(kind, each) for kind, held in ALIASES.items() for each in held])
def test_aliases(kind: str, spelling: str) -> None:
    assert read_schema({"x": spelling}).types == {"x": kind}


@pytest.mark.parametrize("spelling", ["int[3]", "int[][]", "double[]", "list[list[int]]", "timestamp[]", "list<int[]>"])
def test_brackets_that_make_no_list_of_int_or_string_are_refused(spelling: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot have the type"):
        read_schema({"x": spelling})


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (list[int], "list<int>"),
        (list[str], "list<string>"),
        (np.int16, "int"),
        (np.float32, "double"),
        (np.dtype("datetime64[us]"), "timestamp"),
        (np.dtype("<U5"), "string"),
        (np.bool_, "bool"),
        (pa.list_view(pa.string()), "list<string>"),
    ],
)
def test_types_of_python_numpy_and_arrow(given: object, kind: str) -> None:
    assert read_schema({"x": given}).types == {"x": kind}


@pytest.mark.parametrize("given", [list[float], dict[str, int], np.dtype("O"), np.complex128, list, bytes])
def test_types_without_a_place_are_refused_by_name(given: object) -> None:
    with pytest.raises(InvalidArgument, match="'x' cannot have the type"):
        read_schema({"x": given})


def test_every_type_has_an_alias_of_its_own_name() -> None:
    assert set(ALIASES) == set(TYPES)
    assert read_schema({kind: kind for kind in TYPES}).types == {kind: kind for kind in TYPES}


def test_ddl() -> None:
    text = (
        "age int NOT NULL COMMENT 'in years', `odd name` array<string>, geo struct<city: string, at struct<lat double>>"
    )
    declared = read_schema(text)
    assert declared.types == {"age": "int", "odd name": "list<string>", "geo.city": "string", "geo.at.lat": "double"}
    assert declared.structs == {"geo", "geo.at"}


def test_ddl_may_be_nested_ten_thousand_deep() -> None:
    declared = read_schema("a " + "struct<x " * 1_000 + "int" + ">" * 1_000)
    assert list(declared.types.values()) == ["int"]
    with pytest.raises(InvalidArgument, match="expected '>'"):
        read_schema("a " + "struct<x " * 10_000 + "int")


def test_arrow_schema() -> None:
    schema = pa.schema(
        [
            ("a", pa.dictionary(pa.int8(), pa.string())),
            ("t", pa.timestamp("ns", "UTC")),
            ("d", pa.date64()),
            ("u", pa.uint64()),
            ("f", pa.float32()),
            ("s", pa.struct([("x.y", pa.int8()), ("z", pa.large_list(pa.int64()))])),
            ("m", pa.map_(pa.string(), pa.float64())),
            ("fixed", pa.list_(pa.string(), 3)),
            ("n", pa.null()),
        ]
    )
    declared = read_schema(schema)
    assert declared.types == {
        "a": "string", "t": "timestamp", "d": "date", "u": "int", "f": "double",
        "s.`x.y`": "int", "s.x.y": "int", "s.z": "list<int>", "fixed": "list<string>", "n": "any",
    }  # fmt: skip
    assert declared.type_of("m.anything.at.all") == "double"
    assert declared.type_of("m") is None


def test_a_key_with_dots_is_declared_under_both_spellings() -> None:
    assert read_schema({"a.b": "int"}).types == {"`a.b`": "int", "a.b": "int"}
    assert read_schema({"`a.b`": "int"}).types == {"`a.b`": "int"}
    assert read_schema({"a": {"b": "int"}}).types == {"a.b": "int"}


class _Field:
    def __init__(self, name: str, data_type: object) -> None:
        self.name, self.dataType = name, data_type


class _Simple:
    def __init__(self, text: str) -> None:
        self.text = text

    def simpleString(self) -> str:  # noqa: N802
        return self.text


class _Struct:
    def __init__(self, *fields: _Field) -> None:
        self.fields = list(fields)


class _Array:
    def __init__(self, element: object) -> None:
        self.elementType = element

    def simpleString(self) -> str:  # noqa: N802
        return "array<...>"


def test_spark_schema_is_told_by_its_shape() -> None:
    inner = _Struct(_Field("q", _Array(_Simple("string"))))
    schema = _Struct(_Field("a b", _Simple("bigint")), _Field("s", inner), _Field("t", _Simple("timestamp")))
    assert read_schema(schema).types == {"a b": "int", "s.q": "list<string>", "t": "timestamp"}


def test_python_types() -> None:
    given = {"a": bool, "b": int, "c": float, "d": str, "e": datetime.date, "f": datetime.datetime}
    assert list(read_schema(given).types.values()) == ["bool", "int", "double", "string", "date", "timestamp"]


def test_decimals_are_numbers() -> None:
    from pyspark.sql import types as st

    expected = {"price": "number"}
    for spelling in ("decimal(10,2)", "DECIMAL(38, 18)", "decimal", "numeric(5)", Decimal, pa.decimal128(10, 2)):
        assert read_schema({"price": spelling}).types == expected
    for width in (pa.decimal32(5, 2), pa.decimal64(9, 2), pa.decimal128(20, 2), pa.decimal256(50, 2)):
        assert read_schema(pa.schema([("price", width)])).types == expected
    assert read_schema("price decimal(10, 2)").types == expected
    assert read_schema(st.StructType([st.StructField("price", st.DecimalType(10, 2))])).types == expected


@pytest.mark.parametrize(
    "spelling",
    [
        "binary", "time", "interval", "array<double>", "array<array<int>>", "map<int, string>",
        "map<string, struct<x int>>", "array<struct<x int>>", "money",
    ],
)  # fmt: skip
def test_what_cannot_be_held_is_refused(spelling: str) -> None:
    with pytest.raises(InvalidArgument, match=r"schema: 'x' cannot have the type .*; the types are bool, int"):
        read_schema({"x": spelling})


def test_arrow_types_that_cannot_be_held_are_refused() -> None:
    for kind in (
        pa.list_(pa.decimal128(10, 2)),
        pa.binary(),
        pa.time64("us"),
        pa.duration("s"),
        pa.list_(pa.float64()),
    ):
        with pytest.raises(InvalidArgument, match="'x' cannot have the type"):
            read_schema(pa.schema([("x", kind)]))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (5, "schema must be a dict of names and types"),
        ("age", "expected a type at character 4 of 'age'"),
        ("age int,, b int", "expected a field name at character 9"),
        ("age int b", "expected a comma at character 8"),
        ("a array<int", "expected '>'"),
        ({"a": "list"}, "'list' is not a type"),
        ({1: "int"}, "a name must be a str"),
        ({"a.b": "int", "`a.b`": "string"}, "'a.b' is declared twice, as int and as string"),
    ],
)
def test_broken_schemas(schema: object, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_schema(schema)
    assert message in str(caught.value)
