"""Why rules do not match: which of their predicates keep them from being TRUE, counted over many events by all tasks
(`matchwood/insight/explain/blame_counts.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type

from matchwood import storage
from matchwood.index import Index
from matchwood.insight import BLAME_COUNTS, BlameCounts, reading_settings
from matchwood.spark.frames import checked_frame
from matchwood.spark.insight.rule_texts import RuleTexts, rule_texts
from matchwood.spark.locations import location_for
from matchwood.spark.match.event_columns import by_position, column_named, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def why_not(events: DataFrame, path: storage.Path, rules: Sequence[Any]) -> DataFrame:
    """DataFrame(rule, predicate, alone_false, alone_null, among_several, events): why rules do not match.

    When a rule is not TRUE for an event, some of its predicates are the *reasons*: below `and`, the operands that are
    not TRUE; below `or`, all operands; `not` inverts what its operand must be; below `xor` and `xnor`, the NULL
    operands, or all if none is NULL; `is [not] true | false | unknown` looks for the value that would make it TRUE.

    `alone_false`    events in which it is the only reason, and is not NULL
    `alone_null`     events in which it is the only reason, because it is NULL
    `among_several`  events in which it is one of several reasons
    `events`         all events

    The predicates of a rule are in the order of its text. A value that does not fit its attribute counts as missing.
    """
    checked_frame(events, "events")
    asked = rule_texts(location_for(events.sparkSession, path), rules)
    names = columns_of(events.schema, asked.attributes)
    columns = [column_named(events, name) for name in names] or [sf.lit(None).cast("boolean")]
    names = names or [""]
    schema = st.StructType(
        [
            st.StructField("rule", from_arrow_type(asked.id_type)),
            st.StructField("predicate", st.StringType()),
            st.StructField("place", st.IntegerType()),
            *(st.StructField(count, st.LongType()) for count in BLAME_COUNTS),
        ]
    )
    counted = by_position(events).select(*columns).mapInArrow(_counter(asked, names), schema)
    sums = [sf.sum(count).alias(count) for count in BLAME_COUNTS]
    together = counted.groupBy("place", "rule", "predicate").agg(*sums)
    return together.orderBy("place").select("rule", "predicate", *BLAME_COUNTS)


def _counter(asked: RuleTexts, names: list[str]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What the workers do with the columns of these names: one row for each rule and predicate, at the end."""

    def count_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settings = reading_settings(asked.types, asked.timezone, asked.settings)
        counts = BlameCounts(asked.texts, asked.id_type, lambda: Index(**settings))
        for batch in batches:
            counts.add(batch.rename_columns(names))
        yield counts.table()

    return count_batches
