"""The table of rules as Spark columns: found by name, checked, and laid out shard by shard in the order of ids."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from matchwood.errors import InvalidArgument
from matchwood.spark.frames import checked_frame
from matchwood.spark.match.event_columns import by_position, column_named

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_log = logging.getLogger("matchwood.spark")
_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_NUMBERS = (*_INTEGERS, T.FloatType, T.DoubleType, T.DecimalType)


class RuleColumns(NamedTuple):
    """The names of the columns that hold rules; `order` tells which of several rules with one id is the last."""

    id: str
    expression: str
    weight: str | None = None
    weights: str | None = None
    order: str | None = None


def checked_rules(rules: DataFrame, names: RuleColumns) -> DataFrame:
    """Columns id (bigint or string), expression, weight, weights and, if there is one, order."""
    checked_frame(rules, "rules")
    columns = [
        _id_column(rules, names.id).alias("id"),
        _typed(rules, names.expression, "expression", T.StringType).cast("string").alias("expression"),
        _weight_column(rules, names.weight).cast("double").alias("weight"),
        _weights_column(rules, names.weights).cast("string").alias("weights"),
    ]
    if names.order is not None:
        columns.append(_column(rules, names.order, "order").alias("order"))
    return by_position(rules).select(*columns)


@contextlib.contextmanager
def read_once(rules: DataFrame) -> Iterator[None]:
    """Keep the rules on the executors' disks for the block, which looks at them several times, so that their source is
    read once.

    Some serverless platforms keep nothing: there the source is read each time.
    """
    try:
        rules.persist(StorageLevel.DISK_ONLY)
    except PySparkException as error:
        _log.warning("the table of rules is read several times, as it cannot be kept here: %s", error)
        yield
        return
    try:
        yield
    finally:
        rules.unpersist()


def in_shards(rules: DataFrame, shards: int) -> DataFrame:
    """One partition a shard: the rules are spread by a hash of their ids, and ordered by id, then `order`."""
    return _ordered(_with_shard(rules, shards).repartitionById(shards, "shard"))


def in_ranges(rules: DataFrame, shards: int, tasks: int) -> DataFrame:
    """So many partitions of about one size, each with a range of shards and ids, ordered likewise."""
    return _ordered(_with_shard(rules, shards).repartitionByRange(tasks, "shard", "id"))


def _with_shard(rules: DataFrame, shards: int) -> DataFrame:
    return rules.withColumn("shard", F.pmod(F.xxhash64("id"), F.lit(shards)).cast("int"))


def _ordered(placed: DataFrame) -> DataFrame:
    return placed.sortWithinPartitions(*(name for name in ("shard", "id", "order") if name in placed.columns))


def id_type(rules: DataFrame) -> str:
    """The kind of ids that plain rules have: `int64` or `string`."""
    return "string" if isinstance(rules.schema["id"].dataType, T.StringType) else "int64"


def _column(rules: DataFrame, name: str, what: str) -> Column:
    found = rules.columns.count(name)
    if found != 1:
        have = f"{found} columns {name!r}" if found else f"no column {name!r}"
        shown = ", ".join(rules.columns) or "none"
        raise InvalidArgument(f"{what}: the table of rules has {have} (its columns: {shown})")
    return column_named(rules, name)


def _typed(rules: DataFrame, name: str, what: str, *types: type[T.DataType]) -> Column:
    column, kind = _column(rules, name, what), rules.schema[name].dataType
    if not isinstance(kind, types):
        wanted = " or ".join(dict.fromkeys(each().simpleString() for each in types if each is not T.DecimalType))
        raise InvalidArgument(f"{what}: column {name!r} must be {wanted} (it is {kind.simpleString()})")
    return column


def _id_column(rules: DataFrame, name: str) -> Column:
    column, kind = _typed(rules, name, "id", *_INTEGERS, T.StringType), rules.schema[name].dataType
    return column.cast("string" if isinstance(kind, T.StringType) else "bigint")


def _weight_column(rules: DataFrame, name: str | None) -> Column:
    return F.lit(None) if name is None else _typed(rules, name, "weight", *_NUMBERS)


def _weights_column(rules: DataFrame, name: str | None) -> Column:
    """Weights by attribute or value: JSON text, or a map or struct that becomes such."""
    if name is None:
        return F.lit(None)
    column, kind = _column(rules, name, "weights"), rules.schema[name].dataType
    if isinstance(kind, T.StringType):
        return column
    if isinstance(kind, T.MapType | T.StructType):
        return F.to_json(column)
    raise InvalidArgument(
        f"weights: column {name!r} must be JSON text, a map or a struct (it is {kind.simpleString()})"
    )
