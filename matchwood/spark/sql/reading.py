"""Columns as an index reads them: converted where it asks for it, NaN what it says, NULL where a value does not fit.

What is converted is what `encoding/events/coercion.py` says, here in Spark's own functions; a second opinion on hits
rests on it. Numbers in text are doubles here: digits that no double has are lost to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_type

from matchwood.encoding import INTEGER, NUMBER, SPACES, Coercion, EventSettings, can_fit
from matchwood.spark.sql.text import ISO_MOMENT

if TYPE_CHECKING:
    from pyspark.sql import Column

_INTEGER, _NUMBER = rf"\A{INTEGER[1:-1]}\z", rf"\A{NUMBER[1:-1]}\z"
"""Java's $ would also stand before a last line break."""
_DAY = r"\A\d{4}-\d\d-\d\d\z"
_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_MOST = 2**63
_YEAR_OR_DAY = 8
"""Four digits are a year and eight a day, so that so short a text is no count since 1970."""

Typed: TypeAlias = "tuple[Column, st.DataType]"


class IndexReading(NamedTuple):
    """The types of an index's attributes, and its settings for events."""

    types: Mapping[str, str]
    settings: EventSettings


_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
"""PySpark 4.1 has no such argument, and takes UTC."""


def arrow_type_of(kind: st.DataType) -> pa.DataType | None:
    """What a column becomes on its way to Python; None if Arrow does not carry it."""
    try:
        return to_arrow_type(kind, **_IN_UTC)
    except (PySparkException, TypeError):
        return None


def reads_lists_of_text(attribute: str, kind: st.DataType, reading: IndexReading) -> bool:
    """Whether the index reads JSON arrays in a column of text, which Spark would take for more than it does."""
    how = reading.settings.coercion_of(attribute)
    return how is not None and how.kind.startswith("list") and isinstance(kind, st.StringType)


def as_read(attribute: str, column: Column, kind: st.DataType, reading: IndexReading) -> Typed | None:
    """The values that the index sees in a column, with their type; None if it sees none at all."""
    wanted, how = reading.types[attribute], reading.settings.coercion_of(attribute)
    if how is not None:
        column, kind = _converted(column, kind, how)
    if wanted in _LISTS and isinstance(kind, st.ArrayType) and not isinstance(kind.elementType, _LISTS[wanted]):
        return _empty_lists(column, wanted)
    arrow = arrow_type_of(kind)
    if wanted != "any" and (arrow is None or not can_fit(wanted, arrow)):
        return None
    if reading.settings.nan == "null" and isinstance(kind, st.FloatType | st.DoubleType):
        column = sf.when(~sf.isnan(column), column)
    return _fitting(column, kind, wanted)


def _empty_lists(column: Column, wanted: str) -> Typed:
    """Lists whose elements have another type, of which those without any still fit."""
    kind = st.ArrayType(st.StringType() if wanted == "list<string>" else st.LongType())
    return sf.when(sf.size(sf.array_compact(column)) == 0, sf.array().cast(kind)), kind


def _fitting(column: Column, kind: st.DataType, wanted: str) -> Typed:
    """The values of a column that fit, where its type alone does not tell."""
    if wanted == "int" and isinstance(kind, st.DecimalType):
        return sf.when(column % 1 == 0, column.try_cast("bigint")), st.LongType()
    if wanted in ("date", "timestamp") and isinstance(kind, st.StringType):
        return _moment_in(column, _DAY if wanted == "date" else ISO_MOMENT), st.TimestampType()
    return column, kind


def _moment_in(text: Column, pattern: str) -> Column:
    return sf.when(text.rlike(pattern), text.try_cast("timestamp"))


def _converted(column: Column, kind: st.DataType, how: Coercion) -> Typed:
    """The column by the converter for both types; as it is if there is none."""
    for (to, given), convert in _CONVERTERS.items():
        if to == how.kind and isinstance(kind, given):
            return convert(column, how)
    return column, kind


def _bare(text: Column) -> Column:
    return sf.btrim(text, sf.lit(SPACES))


def _int_of_text(text: Column, how: Coercion) -> Typed:
    bare = _bare(text)
    return sf.when(bare.rlike(_INTEGER), bare.try_cast("bigint")), st.LongType()


def _int_of_double(number: Column, how: Coercion) -> Typed:
    number = number.cast("double")
    whole = (number == sf.rint(number)) & (number >= float(-_MOST)) & (number < float(_MOST))
    return sf.when(whole, number.cast("bigint")), st.LongType()


def _double_of_text(text: Column, how: Coercion) -> Typed:
    bare = _bare(text)
    return sf.when(bare.rlike(_NUMBER), bare.try_cast("double")), st.DoubleType()


def _bool_of_text(text: Column, how: Coercion) -> Typed:
    word = sf.lower(_bare(text))
    return _truth(word.isin("true", "1"), word.isin("false", "0"))


def _bool_of_int(number: Column, how: Coercion) -> Typed:
    return _truth(number == 1, number == 0)


def _truth(true: Column, false: Column) -> Typed:
    return sf.when(true, sf.lit(True)).when(false, sf.lit(False)), st.BooleanType()


def _text_of(column: Column, how: Coercion) -> Typed:
    return column.cast("string"), st.StringType()


def _day_of(moment: Column, how: Coercion) -> Typed:
    return moment.cast("date"), st.DateType()


def _moment_of_int(number: Column, how: Coercion) -> Typed:
    """Counts since 1970; NULL beyond 64 bits of microseconds."""
    number = number.cast("bigint")
    if how.unit == "ns":
        exact = number.cast("decimal(20,0)") * sf.lit("0.001").cast("decimal(3,3)")
        return sf.timestamp_micros(sf.floor(exact).cast("bigint")), st.TimestampType()
    unit = _MICROS[how.unit]
    held = number.between(-(_MOST // unit), (_MOST - 1) // unit)
    return sf.when(held, sf.timestamp_micros(number * unit)), st.TimestampType()


def _moment_of_double(number: Column, how: Coercion) -> Typed:
    number = number.cast("double")
    if how.unit == "ns":
        micros = (number - sf.pmod(number, sf.lit(1_000.0))) / 1_000.0
    else:
        micros = number * float(_MICROS[how.unit])
    held = (micros >= float(-_MOST)) & (micros < float(_MOST))
    return sf.when(held, sf.timestamp_micros(sf.floor(micros))), st.TimestampType()


def _moment_of_text(text: Column, how: Coercion) -> Typed:
    (whole, _), (real, _), bare = _int_of_text(text, how), _double_of_text(text, how), _bare(text)
    counts = (sf.length(bare) > _YEAR_OR_DAY) & bare.rlike(_NUMBER)
    counted = sf.when(bare.rlike(_INTEGER), _moment_of_int(whole, how)[0]).otherwise(_moment_of_double(real, how)[0])
    return sf.when(counts, counted).otherwise(_moment_in(text, ISO_MOMENT)), st.TimestampType()


_WHOLE = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
_REAL = (st.FloatType, st.DoubleType)
_TEXT = (st.StringType,)
_LISTS: dict[str, tuple[type[st.DataType], ...]] = {"list<int>": (*_WHOLE, st.DecimalType), "list<string>": _TEXT}
_CONVERTERS: dict[tuple[str, tuple[type[st.DataType], ...]], Callable[[Column, Coercion], Typed]] = {
    ("int", _TEXT): _int_of_text,
    ("int", _REAL): _int_of_double,
    ("double", _TEXT): _double_of_text,
    ("bool", _TEXT): _bool_of_text,
    ("bool", _WHOLE): _bool_of_int,
    ("string", (*_WHOLE, st.BooleanType)): _text_of,
    ("date", (st.TimestampNTZType,)): _day_of,
    ("timestamp", _WHOLE): _moment_of_int,
    ("timestamp", _REAL): _moment_of_double,
    ("timestamp", _TEXT): _moment_of_text,
}
