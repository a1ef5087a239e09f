"""Why rules are true, false or unknown of events: one row for each event and rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type

from matchwood import storage
from matchwood.errors import EventError, InvalidArgument
from matchwood.insight import Explanation, explain_expression
from matchwood.language import Predicate, parse
from matchwood.semantics import ReadEvent, evaluate_predicate
from matchwood.spark.frames import checked_frame
from matchwood.spark.insight.rule_texts import RuleTexts, rule_texts
from matchwood.spark.locations import location_for
from matchwood.spark.match.event_columns import by_position, column_named, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explain(events: DataFrame, path: storage.Path, rules: Sequence[Any], key: str) -> DataFrame:
    """DataFrame(key, rule, verdict, decided_by array<string>): every event with every one of these rules.

    `rules`  ids; each pair is examined separately, so give few rules and few events
    `key`    the column of the events that becomes the column `key` of the result

    `verdict` is true, false, or NULL; `decided_by` holds the predicates that decide it. A value that does
    not fit its attribute counts as missing.
    """
    checked_frame(events, "events")
    if key not in events.columns:
        raise InvalidArgument(f"the events have no column {key!r} (they have {', '.join(events.columns)})")
    asked = rule_texts(location_for(events.sparkSession, path), rules)
    names = columns_of(events.schema, asked.attributes)
    columns = [column_named(events, name) for name in names]
    kept = by_position(events).select(column_named(events, key).alias("key"), *columns)
    schema = st.StructType(
        [
            st.StructField("key", events.schema.fields[events.columns.index(key)].dataType),
            st.StructField("rule", from_arrow_type(asked.id_type)),
            st.StructField("verdict", st.BooleanType()),
            st.StructField("decided_by", st.ArrayType(st.StringType(), False)),
        ]
    )
    return kept.mapInArrow(_explainer(asked, names), schema)


def _explainer(asked: RuleTexts, names: list[str]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What the workers do; `names` are those of the columns after the first, the key."""

    def explain_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        trees = {rule: parse(text) for rule, text in asked.texts.items()}
        evaluate = _evaluation(asked)
        for batch in batches:
            events = batch.select(range(1, batch.num_columns)).rename_columns(names)
            rows = events.to_pylist(maps_as_pydicts="lossy") if names else [{}] * batch.num_rows
            found = [explain_expression(tree, event, evaluate) for event in rows for tree in trees.values()]
            yield _answer(batch.column(0), pa.array(trees, asked.id_type), found)

    return explain_batches


def _answer(keys: pa.Array, rules: pa.Array, found: list[Explanation]) -> pa.RecordBatch:
    """Every event's explanations, rule by rule."""
    event, rule = np.divmod(np.arange(len(found)), len(rules))
    return pa.record_batch(
        {
            "key": keys.take(pa.array(event)),
            "rule": rules.take(pa.array(rule)),
            "verdict": pa.array([each.verdict for each in found], pa.bool_()),
            "decided_by": pa.array([each.decided_by for each in found], pa.list_(pa.string())),
        }
    )


def _evaluation(asked: RuleTexts) -> Callable[[Predicate, Mapping[str, Any]], bool | None]:
    """The oracle's verdict on a predicate; a value that does not fit counts as missing."""

    nan_is_null = asked.settings.nan_is_null(from_pandas=False)

    def evaluate(predicate: Predicate, event: Mapping[str, Any]) -> bool | None:
        read = ReadEvent(event, asked.types, asked.timezone, nan_is_null, asked.settings.coerce)
        try:
            return evaluate_predicate(predicate, read, asked.types, asked.timezone)
        except EventError:
            return evaluate_predicate(predicate, {}, asked.types, asked.timezone)

    return evaluate
