"""Where the attributes of rules stand in a DataFrame: columns, fields of structs, keys of maps, by exact names.

Spark ignores the case of names; rules do not. So columns are taken by position, and fields by exact name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf
from pyspark.sql import types as st

from matchwood.encoding import Node, key_trie
from matchwood.spark.sql.reading import IndexReading, as_read, reads_lists_of_text
from matchwood.spark.sql.text import Slot

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_WHOLE = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
_TIMES = (st.DateType, st.TimestampType, st.TimestampNTZType)
_TEXTS = (st.StringType, st.CharType, st.VarcharType)


def by_position(frame: DataFrame) -> DataFrame:
    """The same columns, called _0, _1, …: names that differ in case only, or have dots, stand in nobody's way."""
    return frame.toDF(*(f"_{position}" for position in range(len(frame.columns))))


def column_named(frame: DataFrame, name: str) -> Column:
    """The column of `by_position(frame)` that has exactly this name in the frame."""
    return sf.col(f"_{frame.columns.index(name)}")


def attribute_columns(
    schema: st.StructType, attributes: Iterable[str], reading: IndexReading | None = None
) -> tuple[list[Column], dict[str, Slot]]:
    """One column for each attribute, made from those of `by_position`; and where each attribute stands.

    With `reading`, columns hold what that index sees in them.
    """
    columns, slots = [], {}
    for number, attribute in enumerate(sorted(set(attributes))):
        places = list(_places(schema, attribute))
        if reading is None or attribute not in reading.types or len(places) != 1:
            slots[attribute], column = _slot(f"a{number}", places)
        else:
            slots[attribute], column = _read_slot(f"a{number}", attribute, places[0], reading)
        if column is not None:
            columns.append(column.alias(f"a{number}"))
    return columns, slots


def columns_of(schema: st.StructType, attributes: Iterable[str]) -> list[str]:
    """The names of the columns in which some attribute can stand, in the order of the schema."""
    trie = key_trie(sorted(set(attributes)))
    return [field.name for field in schema.fields if field.name in trie]


def _slot(name: str, places: list[tuple[Column, st.DataType]]) -> tuple[Slot, Column | None]:
    if not places:
        return Slot(name, "missing"), None
    column, kind = places[0]
    if len(places) > 1:
        return Slot(name, "other", "which two columns have"), column
    return _brought_to_kind(name, column, kind)


def _read_slot(
    name: str, attribute: str, place: tuple[Column, st.DataType], reading: IndexReading
) -> tuple[Slot, Column | None]:
    if reads_lists_of_text(attribute, place[1], reading):
        return Slot(name, "unread", "text that the index reads as a list"), None
    read = as_read(attribute, *place, reading)
    return _slot(name, [] if read is None else [read])


def _brought_to_kind(name: str, column: Column, kind: st.DataType) -> tuple[Slot, Column | None]:
    if isinstance(kind, st.NullType):
        return Slot(name, "missing"), None
    if isinstance(kind, st.ArrayType):
        return _list(name, column, kind)
    if isinstance(kind, _WHOLE):
        return Slot(name, "int"), column.cast("bigint")
    if isinstance(kind, st.FloatType | st.DoubleType):
        return Slot(name, "double"), column.cast("double") + sf.lit(0.0)
    if isinstance(kind, st.DecimalType):
        return Slot(name, f"decimal({kind.precision},{kind.scale})"), column
    if isinstance(kind, _TIMES):
        return Slot(name, "time"), column.cast("timestamp")
    if isinstance(kind, _TEXTS):
        return Slot(name, "string"), column.cast("string")
    simple = "bool" if isinstance(kind, st.BooleanType) else "other"
    return Slot(name, simple, kind.simpleString()), column


def _list(name: str, column: Column, kind: st.ArrayType) -> tuple[Slot, Column]:
    """Lists without their NULL elements."""
    if isinstance(kind.elementType, _TEXTS):
        return Slot(name, "list<string>"), sf.array_compact(column.cast("array<string>"))
    if isinstance(kind.elementType, _WHOLE):
        return Slot(name, "list<int>"), sf.array_compact(column.cast("array<bigint>"))
    return Slot(name, "other", kind.simpleString()), column


def _places(schema: st.StructType, attribute: str) -> Iterator[tuple[Column, st.DataType]]:
    """Every place of the schema where an attribute can stand; columns are called by their positions."""
    waiting: list[tuple[Node, Column | None, Any]] = [(key_trie([attribute]), None, schema)]
    while waiting:
        node, column, kind = waiting.pop()
        for key, edge in node.items():
            for found, its_kind in _below(column, kind, key):
                if edge.here:
                    yield found, its_kind
                waiting += [(below, found, its_kind) for below in edge.below]


def _below(column: Column | None, kind: st.DataType, key: str) -> Iterator[tuple[Column, st.DataType]]:
    """What stands under a key of a row, a struct or a map."""
    if isinstance(kind, st.StructType):
        for position, field in enumerate(kind.fields):
            if field.name == key:
                taken = sf.col(f"_{position}") if column is None else _field(column, kind, position)
                yield taken, field.dataType
    elif isinstance(kind, st.MapType) and isinstance(kind.keyType, st.StringType) and column is not None:
        yield sf.try_element_at(column, sf.lit(key)), kind.valueType


def _field(column: Column, kind: st.StructType, position: int) -> Column:
    """A field of a struct; one that another differs from in case only is taken by its position."""
    names = [field.name.lower() for field in kind.fields]
    if names.count(names[position]) == 1:
        return column.getField(kind.fields[position].name)
    renamed = [st.StructField(f"_{number}", field.dataType) for number, field in enumerate(kind.fields)]
    return column.cast(st.StructType(renamed)).getField(f"_{position}")
