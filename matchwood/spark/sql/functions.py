"""SQL functions: match from `spark.sql`, with the index named by its path, or one index under a name of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf

from matchwood import storage
from matchwood.encoding import Strictness, key_trie
from matchwood.errors import InvalidArgument
from matchwood.sharding import Answered
from matchwood.spark.match.opened import OpenedIndex, open_version
from matchwood.spark.match.options import ERROR_COLUMN
from matchwood.spark.match.task import messages_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Registered(NamedTuple):
    """What `register` has made.

    `array_function`  a function of an event: the rules that are true of it
    `table_function`  a table function of a table of events: one row a hit
    `columns`         for one index, the columns that its rules can ask for; give the functions these and no others, and
                      nothing else travels to Python
    """

    array_function: str
    table_function: str
    columns: list[str] | None = None


def register(
    spark: SparkSession,
    path: str | os.PathLike[str] | None = None,
    name: str | None = None,
    on_error: str = "raise",
    missing: str = "null",
) -> Registered:
    """Register SQL functions that match.

    Without `path`, for any index:

        SELECT match_rules_array('path', struct(age, country)) FROM t      -- array<string>
        SELECT * FROM match_rules(TABLE(t), 'path', 'key')                 -- (key string, rule string)

    each of whose tasks uses the version that is current when it runs. With `path` and a `name`, such as campaigns, for
    one index as it is now, with ids of their true type:

        SELECT campaigns_array(struct(age, country)) FROM t                -- array<bigint> or array<string>
        SELECT * FROM campaigns(TABLE(t), 'key')                           -- (key string, rule bigint or string)

    `on_error`  for a value that does not fit its attribute, as in `match`: `raise` (or `fail`) fails the query; `null`:
                it counts as missing; `report`: so it does, and is told: the array comes as
                struct<rules, match_error>, and the table has a column match_error, with a row without rule for an event
                that has an error but no hit
    `missing`   for an attribute that rules name and the event has no field or column for: `null`, or an `error`
    """
    how = Strictness.of(missing, on_error)
    if (path is None) != (name is None):
        raise InvalidArgument("register takes both path= and name=, for one index, or neither, for any")
    if path is None or name is None:
        return _register_any(spark, how)
    if not name.isidentifier():
        raise InvalidArgument(f"name must be an identifier, as it becomes the name of functions (got {name!r:.80})")
    return _register_one(spark, str(storage.location_of(path)), name, how)


def _register_any(spark: SparkSession, how: Strictness) -> Registered:
    spark.udf.register("match_rules_array", sf.arrow_udf(_array_of_any(how), _array_type("string", how)))
    spark.udtf.register("match_rules", sf.arrow_udtf(_table_of_any(how), returnType=_row_type("string", how)))
    return Registered("match_rules_array", "match_rules")


def _reports(how: Strictness) -> bool:
    return how.on_error == "report"


def _array_type(kind: str, how: Strictness) -> str:
    return f"struct<rules: array<{kind}>, {ERROR_COLUMN}: string>" if _reports(how) else f"array<{kind}>"


def _row_type(kind: str, how: Strictness) -> str:
    return f"key string, rule {kind}" + f", {ERROR_COLUMN} string" * _reports(how)


def _array_of_any(how: Strictness) -> Callable[..., Any]:
    def matchwood_array(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for paths, events in batches:
            yield from _lists(_current(_only(paths, "path")), events, pa.string(), how)

    return matchwood_array


def _table_of_any(how: Strictness) -> type:
    class TableOfAny:
        """The table function for any index."""

        def eval(self, events: pa.RecordBatch, path: pa.Array, key: pa.Array) -> Iterator[pa.RecordBatch]:
            if events.num_rows:
                yield from _hits(_current(_only(path, "path")), events, _only(key, "key"), pa.string(), how)

    return TableOfAny


def _register_one(spark: SparkSession, path: str, name: str, how: Strictness) -> Registered:
    version = storage.current_version(path)
    index = open_version(path, version)
    kind = "bigint" if pa.types.is_integer(index.id_type) else "string"
    array, table = _array_of_one(path, version, how), _table_of_one(path, version, how)
    spark.udf.register(f"{name}_array", sf.arrow_udf(array, _array_type(kind, how)))
    spark.udtf.register(name, sf.arrow_udtf(table, returnType=_row_type(kind, how)))
    return Registered(f"{name}_array", name, sorted(key_trie(sorted(index.attributes))))


def _array_of_one(path: str, version: int, how: Strictness) -> Callable[..., Any]:
    def matchwood_array(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        index = open_version(path, version)
        for events in batches:
            yield from _lists(index, events, index.id_type, how)

    return matchwood_array


def _table_of_one(path: str, version: int, how: Strictness) -> type:
    class TableOfOne:
        """The table function for one version of an index."""

        def eval(self, events: pa.RecordBatch, key: pa.Array) -> Iterator[pa.RecordBatch]:
            index = open_version(path, version)
            if events.num_rows:
                yield from _hits(index, events, _only(key, "key"), index.id_type, how)

    return TableOfOne


def _current(path: str) -> OpenedIndex:
    place = str(storage.location_of(path))
    return open_version(place, storage.current_version(place))


def _only(given: pa.Array, what: str) -> str:
    """The value of an argument that must be the same in all rows."""
    values = given.unique().to_pylist()
    if len(values) != 1 or not isinstance(values[0], str):
        raise InvalidArgument(f"the {what} must be one text for all rows (got {values!r:.80})")
    return values[0]


def _lists(index: OpenedIndex, events: pa.StructArray, id_type: pa.DataType, how: Strictness) -> Iterator[pa.Array]:
    """The rules of each event; a NULL event is one without attributes."""
    if not isinstance(events, pa.StructArray):
        raise InvalidArgument(f"an event must be a struct (got {events.type})")
    names = [field.name for field in events.type]
    columns = events.flatten() if names else [pa.nulls(len(events))]
    for piece in index.answer(pa.record_batch(columns, names=names or [""]), how.missing, how.on_error):
        rules = pa.ListArray.from_arrays(pa.array(piece.offsets.astype(np.int32)), piece.ids.cast(id_type))
        if _reports(how):
            told = messages_of(piece.errors, len(rules))
            yield pa.StructArray.from_arrays([rules, told], names=["rules", ERROR_COLUMN])
        else:
            yield rules


def _hits(
    index: OpenedIndex, events: pa.RecordBatch, key: str, id_type: pa.DataType, how: Strictness
) -> Iterator[pa.RecordBatch]:
    if key not in events.schema.names:
        raise InvalidArgument(f"the table has no column {key!r} (it has {', '.join(events.schema.names)})")
    rows = _told_rows if _reports(how) else _rows
    keys, first = events.column(key).cast(pa.string()), 0
    for piece in index.answer(events, how.missing, how.on_error):
        count = len(piece.offsets) - 1
        yield rows(piece, keys.slice(first, count), id_type)
        first += count


def _rows(piece: Answered, keys: pa.Array, id_type: pa.DataType) -> pa.RecordBatch:
    """A row a hit."""
    rows = np.repeat(np.arange(len(keys)), np.diff(piece.offsets))
    return pa.record_batch([keys.take(pa.array(rows)), piece.ids.cast(id_type)], names=["key", "rule"])


def _told_rows(piece: Answered, keys: pa.Array, id_type: pa.DataType) -> pa.RecordBatch:
    """The same with the errors of each event; one that has no hit has a row without rule."""
    told, hits = messages_of(piece.errors, len(keys)), np.diff(piece.offsets)
    shown = np.where((hits == 0) & told.is_valid().to_numpy(zero_copy_only=False), 1, hits)
    rows = np.repeat(np.arange(len(keys)), shown)
    places = np.full(len(rows), -1, np.int64)
    places[(hits > 0)[rows]] = np.arange(len(piece.ids))
    rules = piece.ids.cast(id_type).take(pa.array(places, mask=places < 0))
    taken = pa.array(rows)
    return pa.record_batch([keys.take(taken), rules, told.take(taken)], names=["key", "rule", ERROR_COLUMN])
