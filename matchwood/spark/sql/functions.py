"""SQL functions: match from `spark.sql`, with the index named by its path, or one index under a name of its own."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as sf

from matchwood import storage
from matchwood.encoding import key_trie
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.spark.locations import location_for
from matchwood.spark.match.opened import OpenedIndex, current, open_version
from matchwood.spark.match.options import MatchOptions
from matchwood.spark.sql.replies import array_type, hits, lists, row_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXECUTION = "spark.sql.execution.id"


class Registered(NamedTuple):
    """What `register` has made.

    `array_function`  a function of an event: the rules that are true for it
    `table_function`  a table function of a table of events: one row per hit
    `columns`         for one index, the columns that its rules can name; pass only these to the functions, because
                      every column that you pass is sent to Python
    """

    array_function: str
    table_function: str
    columns: list[str] | None = None


def register(
    spark: SparkSession,
    path: storage.Path | None = None,
    name: str | None = None,
    on_error: str = "raise",
    missing: str = "null",
    top: int | None = None,
    weights: Any = None,
    weight: str = "added",
    version: int | None = None,
) -> Registered:
    """Register SQL functions that match.

    Without `path`, for any index:

        SELECT match_rules_array('path', struct(age, country)) FROM t      -- array<string>
        SELECT * FROM match_rules(TABLE(t), 'path', 'key')                 -- (key string, rule string)

    A query uses one version, the one that is current when its first task begins, or the one that the
    last argument gives: `match_rules_array('path', struct(age), 7)`. With `path` and a `name`, such as campaigns,
    for one index in its current version, or in `version`, with ids of their real type:

        SELECT campaigns_array(struct(age, country)) FROM t                -- array<bigint> or array<string>
        SELECT * FROM campaigns(TABLE(t), 'key')                           -- (key string, rule bigint or string)

    `on_error`  for a value that does not fit its attribute, as in `match`: `raise` (or `fail`) fails the query; `null`:
                it counts as missing; `report`: the same, and the error is part of the result: the array
                function returns struct<rules, match_error>, and the table has a column match_error, with a row without
                a rule for an event that has an error but no hit
    `missing`   for an attribute that rules name and the event has no field or column for: `null`, or an `error`
    `top`       only the best rules of each event, at most this many: arrays of struct<rank, rule, score>, or rows with
                these columns
    `weights`   for `top`, the weights of events: a mapping from attributes to numbers, or the name of a field of the
                event, or of a column of the table, that has maps or structs of these
    `weight`    for `top`, as in `match`
    """
    ranking = {"top": top, "weights": weights, "weight": weight}
    options = MatchOptions(on_error=on_error, missing=missing, version=version, **ranking)
    if (path is None) != (name is None):
        raise InvalidArgument("register takes both path= and name=, for one index, or neither, for any")
    if path is None or name is None:
        return _register_any(spark, options)
    if not name.isidentifier():
        raise InvalidArgument(f"name must be an identifier, as it becomes the name of functions (got {name!r:.80})")
    return _register_one(spark, location_for(spark, path), name, options)


def _register_any(spark: SparkSession, options: MatchOptions) -> Registered:
    if options.version is not None:
        raise InvalidArgument(
            "version= is for one index, with path= and name=; those for any take it as their last argument: "
            "match_rules_array(path, event, version), match_rules(TABLE(t), path, key, version)"
        )
    made, ids = uuid.uuid4().hex[:16], pa.string()
    array, table = _array_of_any(made, options), _table_of_any(made, options)
    spark.udf.register("match_rules_array", sf.arrow_udf(array, array_type(ids, options)))
    spark.udtf.register("match_rules", sf.arrow_udtf(table, returnType=row_type(ids, options)))
    return Registered("match_rules_array", "match_rules")


def _array_of_any(made: str, options: MatchOptions) -> Callable[..., Any]:
    def matchwood_array(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for paths, events, *version in batches:
            yield from lists(_pinned(made, paths, *version), events, pa.string(), options)

    return matchwood_array


def _table_of_any(made: str, options: MatchOptions) -> type:
    class TableOfAny:
        """The table function for any index."""

        def eval(
            self, events: pa.RecordBatch, path: pa.Array, key: pa.Array, version: pa.Array | None = None
        ) -> Iterator[pa.RecordBatch]:
            if events.num_rows:
                yield from hits(_pinned(made, path, version), events, _only(key, "key"), pa.string(), options)

    return TableOfAny


def _register_one(spark: SparkSession, path: storage.Location, name: str, options: MatchOptions) -> Registered:
    version = current(path, options.version)
    index = open_version(path, version)
    array, table = _array_of_one(path, version, options), _table_of_one(path, version, options)
    spark.udf.register(f"{name}_array", sf.arrow_udf(array, array_type(index.id_type, options)))
    spark.udtf.register(name, sf.arrow_udtf(table, returnType=row_type(index.id_type, options)))
    return Registered(f"{name}_array", name, sorted(key_trie(sorted(index.asked(options.top is not None)))))


def _array_of_one(path: storage.Location, version: int, options: MatchOptions) -> Callable[..., Any]:
    def matchwood_array(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        index = open_version(path, version)
        for events in batches:
            yield from lists(index, events, index.id_type, options)

    return matchwood_array


def _table_of_one(path: storage.Location, version: int, options: MatchOptions) -> type:
    class TableOfOne:
        """The table function for one version of an index."""

        def eval(self, events: pa.RecordBatch, key: pa.Array) -> Iterator[pa.RecordBatch]:
            index = open_version(path, version)
            if events.num_rows:
                yield from hits(index, events, _only(key, "key"), index.id_type, options)

    return TableOfOne


# ----------------------------------------------------------------- one version a query


def _pinned(made: str, paths: pa.Array, version: pa.Array | None = None) -> OpenedIndex:
    """The version that this query uses; `made` tells the functions of one `register` from those of others."""
    place = str(storage.location_of(_only(paths, "path")))
    if version is not None:
        return open_version(place, _only(version, "version", int))
    return open_version(place, _version_of_query(place, f"{made}-{_execution()}"))


def _execution() -> str:
    """What Spark calls the query that this task belongs to."""
    from pyspark import TaskContext  # workers have it; a client of Spark Connect need not

    context = TaskContext.get()
    if context is None:
        return "no-task"
    return str(context.getLocalProperty(_EXECUTION) or f"stage-{context.stageId()}")


@functools.lru_cache(maxsize=64)
def _version_of_query(place: str, query: str) -> int:
    try:
        return storage.version_of_query(place, query)
    except PermissionError as error:
        raise MatchwoodError(
            f"{place}: the tasks of this query cannot agree on a version, as they may not write there ({error}): name "
            "it, match_rules_array(path, event, version), or register(spark, path=…, name=…), which pins one"
        ) from error


def _only(given: pa.Array, what: str, kind: type = str) -> Any:
    """The value of an argument that must be the same in all rows."""
    values = given.unique().to_pylist()
    if len(values) != 1 or not isinstance(values[0], kind):
        wanted = {str: "text", int: "whole number"}[kind]
        raise InvalidArgument(f"the {what} must be one {wanted} for all rows (got {values!r:.80})")
    return values[0]
