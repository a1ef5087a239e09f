"""Why rules are true, false or unknown of events: one row for each event and rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T

from matchwood.engines.oracle import evaluate_predicate
from matchwood.errors import EventError, InvalidArgument
from matchwood.explain import explain as explain_one
from matchwood.language import Expression, Predicate, parse
from matchwood.spark.event_columns import by_position, column_named, columns_of
from matchwood.spark.rule_texts import RuleTexts, rule_texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explain(events: DataFrame, path: str | os.PathLike[str], rules: Sequence[Any], key: str) -> DataFrame:
    """DataFrame(key, rule, verdict, decided_by array<string>): every event with every one of these rules.

    `rules`  ids; each pair is judged on its own, so give few, and few events
    `key`    the column of the events that the result's column `key` repeats

    `verdict` is true, false, or NULL; `decided_by` holds the predicates whose verdicts alone fix it. A value that does not
    fit its attribute counts as missing.
    """
    if key not in events.columns:
        raise InvalidArgument(f"the events have no column {key!r} (they have {', '.join(events.columns)})")
    asked = rule_texts(path, rules)
    names = columns_of(events.schema, asked.attributes)
    columns = [column_named(events, name) for name in names]
    kept = by_position(events).select(column_named(events, key).alias("key"), *columns)
    schema = T.StructType(
        [
            T.StructField("key", events.schema.fields[events.columns.index(key)].dataType),
            T.StructField("rule", asked.id_type),
            T.StructField("verdict", T.BooleanType()),
            T.StructField("decided_by", T.ArrayType(T.StringType(), False)),
        ]
    )
    return kept.mapInArrow(_explainer(asked, names), schema)


def _explainer(asked: RuleTexts, names: list[str]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What the workers do; `names` are those of the columns after the first, the key."""

    def explain_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        trees = {rule: parse(text) for rule, text in asked.texts.items()}
        judge = _judge(asked)
        for batch in batches:
            yield _explained(batch, names, trees, judge)

    return explain_batches


def _explained(batch: pa.RecordBatch, names: list[str], trees: Mapping[Any, Expression], judge: Any) -> pa.RecordBatch:
    columns = [column.to_pylist(maps_as_pydicts="lossy") for column in batch.columns[1:]]
    events = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if names else [{}] * len(batch)
    found = [explain_one(tree, event, judge) for event in events for tree in trees.values()]
    keys = batch.column(0).take(pa.array([row for row in range(len(events)) for _ in trees], pa.int64()))
    rules = list(trees) * len(events)
    rule_type = pa.int64() if all(isinstance(rule, int) for rule in trees) else pa.string()
    return pa.record_batch(
        {
            "key": keys,
            "rule": pa.array(rules, rule_type),
            "verdict": pa.array([each.verdict for each in found], pa.bool_()),
            "decided_by": pa.array([each.decided_by for each in found], pa.list_(pa.string())),
        }
    )


def _judge(asked: RuleTexts) -> Callable[[Predicate, Mapping[str, Any]], bool | None]:
    """The oracle's verdict on a predicate; a value that does not fit counts as missing."""

    def judge(predicate: Predicate, event: Mapping[str, Any]) -> bool | None:
        try:
            return evaluate_predicate(predicate, event, asked.types, asked.timezone)
        except EventError:
            return evaluate_predicate(predicate, {}, asked.types, asked.timezone)

    return judge
