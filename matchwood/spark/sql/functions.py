"""SQL functions: match from `spark.sql`, with the index named by its path, or one index under a name of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf

from matchwood import storage
from matchwood.encoding import key_trie
from matchwood.errors import InvalidArgument
from matchwood.spark.match.opened import OpenedIndex, open_version

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


def register(spark: SparkSession, path: str | os.PathLike[str] | None = None, name: str | None = None) -> Registered:
    """Register SQL functions that match.

    Without `path`, for any index:

        SELECT match_rules_array('path', struct(age, country)) FROM t      -- array<string>
        SELECT * FROM match_rules(TABLE(t), 'path', 'key')                 -- (key string, rule string)

    each of whose tasks uses the version that is current when it runs. With `path` and a `name`, such as campaigns, for
    one index as it is now, with ids of their true type:

        SELECT campaigns_array(struct(age, country)) FROM t                -- array<bigint> or array<string>
        SELECT * FROM campaigns(TABLE(t), 'key')                           -- (key string, rule bigint or string)
    """
    if (path is None) != (name is None):
        raise InvalidArgument("register takes both path= and name=, for one index, or neither, for any")
    if path is None or name is None:
        return _register_any(spark)
    if not name.isidentifier():
        raise InvalidArgument(f"name must be an identifier, as it becomes the name of functions (got {name!r:.80})")
    return _register_one(spark, str(storage.location_of(path)), name)


def _register_any(spark: SparkSession) -> Registered:
    spark.udf.register("match_rules_array", sf.arrow_udf(_array_of_any, "array<string>"))
    spark.udtf.register("match_rules", sf.arrow_udtf(_TableOfAny, returnType="key string, rule string"))
    return Registered("match_rules_array", "match_rules")


def _array_of_any(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
    for paths, events in batches:
        yield from _lists(_current(_only(paths, "path")), events, pa.string())


class _TableOfAny:
    """The table function for any index."""

    def eval(self, events: pa.RecordBatch, path: pa.Array, key: pa.Array) -> Iterator[pa.RecordBatch]:
        if events.num_rows:
            yield from _hits(_current(_only(path, "path")), events, _only(key, "key"), pa.string())


def _register_one(spark: SparkSession, path: str, name: str) -> Registered:
    version = storage.current_version(path)
    index = open_version(path, version)
    kind = "bigint" if pa.types.is_integer(index.id_type) else "string"
    spark.udf.register(f"{name}_array", sf.arrow_udf(_array_of_one(path, version), f"array<{kind}>"))
    spark.udtf.register(name, sf.arrow_udtf(_table_of_one(path, version), returnType=f"key string, rule {kind}"))
    return Registered(f"{name}_array", name, sorted(key_trie(sorted(index.attributes))))


def _array_of_one(path: str, version: int) -> Callable[..., Any]:
    def matchwood_array(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        index = open_version(path, version)
        for events in batches:
            yield from _lists(index, events, index.id_type)

    return matchwood_array


def _table_of_one(path: str, version: int) -> type:
    class TableOfOne:
        """The table function for one version of an index."""

        def eval(self, events: pa.RecordBatch, key: pa.Array) -> Iterator[pa.RecordBatch]:
            index = open_version(path, version)
            if events.num_rows:
                yield from _hits(index, events, _only(key, "key"), index.id_type)

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


def _lists(index: OpenedIndex, events: pa.StructArray, id_type: pa.DataType) -> Iterator[pa.Array]:
    """The rules of each event; a NULL event is one without attributes."""
    if not isinstance(events, pa.StructArray):
        raise InvalidArgument(f"an event must be a struct (got {events.type})")
    names = [field.name for field in events.type]
    columns = events.flatten() if names else [pa.nulls(len(events))]
    for piece in index.answer(pa.record_batch(columns, names=names or [""]), "null", "null"):
        offsets = pa.array(piece.offsets.astype(np.int32))
        yield pa.ListArray.from_arrays(offsets, piece.ids.cast(id_type))


def _hits(index: OpenedIndex, events: pa.RecordBatch, key: str, id_type: pa.DataType) -> Iterator[pa.RecordBatch]:
    if key not in events.schema.names:
        raise InvalidArgument(f"the table has no column {key!r} (it has {', '.join(events.schema.names)})")
    keys, first = events.column(key).cast(pa.string()), 0
    for piece in index.answer(events, "null", "null"):
        count = len(piece.offsets) - 1
        rows = np.repeat(np.arange(first, first + count), np.diff(piece.offsets))
        yield pa.record_batch([keys.take(pa.array(rows)), piece.ids.cast(id_type)], names=["key", "rule"])
        first += count
