"""Generated workloads as Spark DataFrames, and the verdicts of Spark and of the oracle on them."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from matchwood.language import Predicate, postorder
from matchwood.semantics.evaluation import evaluate
from matchwood.spark.insight.verify import interpreted
from matchwood.spark.match.event_columns import attribute_columns, by_position
from matchwood.spark.sql.text import sql_text
from tests.cases import Workload
from tests.sql import field

ARROW = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "double": pa.float64(),
    "number": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "list<int>": pa.list_(pa.int64()),
    "list<string>": pa.list_(pa.string()),
}


def plain_event(event: dict[str, Any], work: Workload, timezone: str = "UTC") -> dict[str, Any]:
    """The event with every attribute under its own name, and values that a column of one type can hold."""
    return {name: _typed(field(event, name), kind, timezone) for name, kind in work.attributes.items()}


def _typed(value: Any, kind: str, timezone: str) -> Any:
    if value is None:
        return None
    if kind == "number":
        return float(value)
    if kind == "date":
        return datetime.date.fromisoformat(value) if isinstance(value, str) else value
    if kind == "timestamp":
        value = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
        return value if value.tzinfo else value.replace(tzinfo=ZoneInfo(timezone))
    return value


def nested_event(event: dict[str, Any]) -> dict[str, Any]:
    """The same event with paths nested, as the oracle reads it."""
    made: dict[str, Any] = {}
    for name, value in event.items():
        outer, _, inner = (name.strip("`"), "", "") if name.startswith("`") else name.partition(".")
        if inner:
            made.setdefault(outer, {})[inner] = value
        else:
            made[outer] = value
    return made


def events_frame(spark: SparkSession, events: list[dict[str, Any]], work: Workload) -> DataFrame:
    """A column for each attribute, a struct for each path, and the row's number as event_id."""
    columns: dict[str, Any] = {"event_id": pa.array(range(len(events)))}
    structs: dict[str, dict[str, pa.Array]] = {}
    for name, kind in work.attributes.items():
        array = pa.array([event[name] for event in events], ARROW[kind])
        outer, _, inner = (name.strip("`"), "", "") if name.startswith("`") else name.partition(".")
        if inner:
            structs.setdefault(outer, {})[inner] = array
        else:
            columns[outer] = array
    for outer, fields in structs.items():
        columns[outer] = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    return spark.createDataFrame(pa.table(columns))


def spark_verdicts(events: DataFrame, work: Workload, compiled: bool = False) -> list[tuple[bool | None, ...]]:
    """For each event, Spark's verdict on every rule; one query."""
    names = {node.attr for rule in work.rules for node in postorder(rule) if isinstance(node, Predicate)}
    columns, slots = attribute_columns(events.schema, names)
    asked = by_position(events).select(sf.col("_0"), *columns)
    verdicts = [sf.expr(sql_text(rule, slots)) for rule in work.rules]
    together = sf.array(*verdicts) if compiled else interpreted(sf.array(*verdicts))
    rows = asked.select("_0", together.alias("verdicts")).collect()
    return [tuple(row["verdicts"]) for row in sorted(rows)]


def disagreements(spark: SparkSession, work: Workload, timezone: str = "UTC", compiled: bool = False) -> list[str]:
    """Every pair that Spark and the oracle see differently, in words."""
    events = [plain_event(event, work, timezone) for event in work.events]
    found = []
    theirs = spark_verdicts(events_frame(spark, events, work), work, compiled)
    for event, verdicts in zip(events, theirs, strict=True):
        nested = nested_event(event)
        for rule, their in zip(work.rules, verdicts, strict=True):
            our = evaluate(rule, nested, None, timezone)
            if our is not their:
                found.append(f"{rule} of {nested}: the oracle says {our}, Spark {their}")
    return found
