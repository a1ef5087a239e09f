"""A second opinion on hits: a sample of rules and events, evaluated by Spark SQL itself."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as sf

from matchwood import storage
from matchwood.errors import InvalidArgument, ParseError
from matchwood.language import Expression, Predicate, parse, postorder
from matchwood.spark.frames import checked_frame
from matchwood.spark.jobs import described
from matchwood.spark.locations import location_for
from matchwood.spark.match.event_columns import attribute_columns, by_position, column_named
from matchwood.spark.match.opened import current, open_version
from matchwood.spark.sql.reading import IndexReading
from matchwood.spark.sql.text import sql_text
from matchwood.spark.sql.values import Untranslatable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType


class NotVerified(UserWarning):
    """Rules of the sample that cannot be written in Spark SQL, each with the reason."""


def verify(
    events: DataFrame,
    rules: DataFrame,
    hits: DataFrame,
    key: str = "event_id",
    rules_sample: int = 100,
    events_sample: int = 1000,
    path: storage.Path | None = None,
    version: int | None = None,
) -> DataFrame:
    """The pairs on which `hits` and Spark SQL disagree: DataFrame(key, rule, ours, theirs), empty when all is well.

    `events`         as they were matched, one attribute per column, with a column `key` that identifies them
    `rules`          columns id and expression, as they were built
    `hits`           what `match` returned, with `key` and either `rule` (rows) or `rules` (array); write it to a
                     table first if it is large, because it is read twice
    `rules_sample`   how many rules; half of them, if possible, match at least one sampled event
    `events_sample`  how many events
    `path`           the index that was matched: values are read in the same way, with its types, `nan` and `coerce`,
                     and those that do not fit are NULL; without it, NaN is a value and nothing is converted
    `version`        the version that was matched; the current one by default

    `ours` says whether the pair is among the hits, `theirs` is Spark's answer: TRUE, FALSE or NULL. The sample depends
    only on the data. A `NotVerified` warning names the rules of the sample that cannot be written in Spark SQL, with
    the reason. Times are read in the session's time zone, which should be that of the index.
    """
    _check(events, "events", key)
    _check(rules, "rules", "id", "expression")
    checked_frame(hits, "hits")
    named = by_position(events).withColumn("key", column_named(events, key))
    sampled = _first_by_hash(named.where("key IS NOT NULL"), "key", events_sample)
    seen = _pairs(hits, key).join(sf.broadcast(sampled.select("key")), "key", "left_semi")
    with described(events.sparkSession, f"sampling {rules_sample:,} rules to verify"):
        chosen = _sampled_rules(rules, seen, rules_sample)
    columns = _ColumnsRead(
        events.schema, None if path is None else _reading(location_for(events.sparkSession, path), version)
    )
    theirs = _verdicts(sampled, columns, chosen, rules.schema["id"].dataType)
    ours = seen.where(sf.col("rule").isin(list(chosen))).distinct().withColumn("ours", sf.lit(True))
    both = theirs.join(ours, ["key", "rule"], "left")
    told = both.select("key", "rule", sf.coalesce("ours", sf.lit(False)).alias("ours"), "theirs")
    return told.where(sf.col("ours") != sf.coalesce("theirs", sf.lit(False)))


class _ColumnsRead(NamedTuple):
    """What attributes are read from, and by which index's settings."""

    schema: StructType
    reading: IndexReading | None


def _reading(place: storage.Location, version: int | None) -> IndexReading:
    index = open_version(place, current(place, version), room=0)
    return IndexReading(index.asked(True), index.event_settings)


def _check(frame: DataFrame, what: str, *names: str) -> None:
    checked_frame(frame, what)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InvalidArgument(f"{what} have no column {missing[0]!r} (they have {', '.join(frame.columns)})")


def _pairs(hits: DataFrame, key: str) -> DataFrame:
    """Hits as (key, rule), from either output of `match`."""
    _check(hits, "hits", key)
    column = "rule" if "rule" in hits.columns else "rules"
    _check(hits, "hits", column)
    rule = column_named(hits, column)
    rule = rule if column == "rule" else sf.explode(rule)
    return by_position(hits).select(column_named(hits, key).alias("key"), rule.alias("rule"))


def _first_by_hash(frame: DataFrame, column: str, count: int) -> DataFrame:
    """So many rows, in an order that has nothing to do with what they hold, and is always the same."""
    return frame.orderBy(sf.xxhash64(column), column).limit(count)


def _sampled_rules(rules: DataFrame, seen: DataFrame, count: int) -> dict[Any, str]:
    """Texts by id: rules with hits, then any rules."""
    named = by_position(rules).select(
        column_named(rules, "id").alias("rule"), column_named(rules, "expression").alias("expression")
    )
    named = named.where("rule IS NOT NULL AND expression IS NOT NULL")
    hitting = named.join(seen.select("rule").distinct(), "rule", "left_semi")
    chosen = {row["rule"]: row["expression"] for row in _first_by_hash(hitting, "rule", count // 2).collect()}
    for row in _first_by_hash(named, "rule", count).collect():
        if len(chosen) < count:
            chosen.setdefault(row["rule"], row["expression"])
    return chosen


def _verdicts(sampled: DataFrame, read: _ColumnsRead, chosen: dict[Any, str], id_type: DataType) -> DataFrame:
    """Spark's verdict on every sampled pair; `chosen` loses the rules that cannot be asked."""
    refused: dict[Any, str] = {}
    trees = {rule: tree for rule, text in chosen.items() if (tree := _parsed(rule, text, refused)) is not None}
    columns, slots = attribute_columns(read.schema, _attributes(trees.values()), read.reading)
    texts: dict[Any, str] = {}
    for rule, tree in trees.items():
        try:
            texts[rule] = sql_text(tree, slots)
        except Untranslatable as error:
            refused[rule] = str(error)
    for rule in refused:
        del chosen[rule]
    _tell(refused, len(texts) + len(refused))
    pairs = [
        sf.struct(sf.lit(rule).cast(id_type).alias("rule"), sf.expr(text).alias("theirs"))
        for rule, text in texts.items()
    ]
    nothing = sf.lit(None).cast(f"array<struct<rule:{id_type.simpleString()},theirs:boolean>>")
    verdicts = interpreted(sf.array(*pairs)) if pairs else nothing
    made = sampled.select("key", *columns).select("key", verdicts.alias("verdicts"))
    return made.selectExpr("key", "inline(verdicts)")


def interpreted(array: Column) -> Column:
    """The same array, which Spark evaluates without compiling it.

    Java code for sixty rules takes ten seconds to compile, their evaluation on a thousand events less than one.
    Higher-order functions are never compiled, and what they are given neither.
    """
    return sf.transform(array, lambda element: element)


def _parsed(rule: Any, text: str, refused: dict[Any, str]) -> Expression | None:
    try:
        return parse(text)
    except ParseError as error:
        refused[rule] = str(error).split("\n")[0]
        return None


def _attributes(trees: Any) -> set[str]:
    return {node.attr for tree in trees for node in postorder(tree) if isinstance(node, Predicate)}


def _tell(refused: dict[Any, str], asked: int) -> None:
    if refused:
        named = "; ".join(f"{rule}: {reason}" for rule, reason in refused.items())
        message = f"{len(refused)} of {asked} sampled rules are not verified: {named}"
        warnings.warn(message, NotVerified, stacklevel=4)
