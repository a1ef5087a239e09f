"""Why rules do not match: which of their predicates keep them from being TRUE, counted over many events.

Every distinct predicate of the rules becomes two rules of a small index of its own, `p` and `(p) is unknown`. So a
batch of events is matched once, and the rest is NumPy over whole columns of verdicts
(`matchwood/insight/explain/blame.py`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type

from matchwood.index import Index
from matchwood.insight import FALSE, NULL, TRUE, FlatTree, reading_settings, reasons, tally, verdicts_of
from matchwood.language import parse
from matchwood.matching import ALL_RULES, EngineEvents, EngineMatcher
from matchwood.spark.frames import checked_frame
from matchwood.spark.insight.rule_texts import RuleTexts, rule_texts
from matchwood.spark.match.event_columns import by_position, column_named, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNTS = ("alone_false", "alone_null", "among_several", "events")
_CELLS = 16_000_000
"""Verdicts that are held at once: a rule's nodes times events."""


def why_not(events: DataFrame, path: str | os.PathLike[str], rules: Sequence[Any]) -> DataFrame:
    """DataFrame(rule, predicate, alone_false, alone_null, among_several, events): what keeps rules from matching.

    A predicate is a *reason* in an event of which the rule is not TRUE, if it stands in the way of that: below an AND,
    operands that are not TRUE do; below an OR, all do; `not` turns round what is needed of its operand; below `xor` and
    `xnor` the NULL operands do, or all if none is NULL; `is [not] true | false | unknown` needs what makes it TRUE.

    `alone_false`    events in which it is the only reason, and known: its verdict is the wrong one
    `alone_null`     events in which it is the only reason, because it is NULL
    `among_several`  events in which it is one of several reasons
    `events`         events looked at

    The predicates of a rule stand in the order of its text. A value that does not fit its attribute counts as missing.
    """
    checked_frame(events, "events")
    asked = rule_texts(path, rules)
    names = columns_of(events.schema, asked.attributes)
    columns = [column_named(events, name) for name in names] or [sf.lit(None).cast("boolean")]
    names = names or [""]
    schema = st.StructType(
        [
            st.StructField("rule", from_arrow_type(asked.id_type)),
            st.StructField("predicate", st.StringType()),
            st.StructField("place", st.IntegerType()),
            *(st.StructField(count, st.LongType()) for count in COUNTS),
        ]
    )
    counted = by_position(events).select(*columns).mapInArrow(_counter(asked, names), schema)
    together = counted.groupBy("place", "rule", "predicate").agg(*(sf.sum(count).alias(count) for count in COUNTS))
    return together.orderBy("place").select("rule", "predicate", *COUNTS)


def _counter(asked: RuleTexts, names: list[str]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What the workers do with the columns of these names: one row for each rule and predicate, at the end."""

    def count_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = _BlameCounts(asked)
        for batch in batches:
            counts.add(batch.rename_columns(names))
        yield counts.table()

    return count_batches


class _BlameCounts:
    """The counts of one task, for each rule an array (predicate × count)."""

    def __init__(self, asked: RuleTexts) -> None:
        self.trees = {rule: FlatTree(parse(text)) for rule, text in asked.texts.items()}
        self.numbers: dict[str, int] = {}
        for tree in self.trees.values():
            for predicate in tree.predicates:
                self.numbers.setdefault(str(predicate), len(self.numbers))
        self.counts = {
            rule: np.zeros((len(tree.predicates), len(COUNTS)), np.int64) for rule, tree in self.trees.items()
        }
        self.index, self.id_type = _index_of(list(self.numbers), asked), asked.id_type

    def add(self, batch: pa.RecordBatch) -> None:
        largest = max(len(tree.nodes) for tree in self.trees.values())
        rows = max(1, _CELLS // max(largest, 2 * len(self.numbers)))
        for first in range(0, batch.num_rows, rows):
            some = batch.slice(first, rows)
            verdicts = _verdicts(self.index, some, len(self.numbers))
            for rule, tree in self.trees.items():
                self.counts[rule] += self._counted(tree, verdicts, some.num_rows)

    def _counted(self, tree: FlatTree, verdicts: NDArray[np.uint8], events: int) -> NDArray[np.int64]:
        if not tree.predicates:
            return np.zeros((0, len(COUNTS)), np.int64)
        own = [verdicts[self.numbers[str(predicate)]] for predicate in tree.predicates]
        found = tally(reasons(tree, verdicts_of(tree, own, events)), own)
        columns = [found.get(count, np.full(len(own), events)) for count in COUNTS]
        return np.stack(columns, axis=1).astype(np.int64)

    def table(self) -> pa.RecordBatch:
        """The rule's id and the predicate's text beside the counts; places are those of all predicates in order."""
        rules = [rule for rule, tree in self.trees.items() for _ in tree.predicates]
        texts = [str(predicate) for tree in self.trees.values() for predicate in tree.predicates]
        counts = np.concatenate(list(self.counts.values()))
        columns = [pa.array(rules, self.id_type), pa.array(texts, pa.string()), pa.array(range(len(texts)), pa.int32())]
        columns += [pa.array(counts[:, number]) for number in range(len(COUNTS))]
        return pa.record_batch(columns, names=["rule", "predicate", "place", *COUNTS])


def _index_of(predicates: list[str], asked: RuleTexts) -> Index:
    """Predicate n is the rules 2n (TRUE) and 2n + 1 (NULL)."""
    index = Index(**reading_settings(asked.types, asked.timezone, asked.settings))
    texts = [text for predicate in predicates for text in (predicate, f"({predicate}) is unknown")]
    index.insert_many(list(enumerate(texts)), on_error="raise")
    return index


def _verdicts(index: Index, events: pa.RecordBatch, predicates: int) -> NDArray[np.uint8]:
    """Masks, predicate × event."""
    found, matcher = np.zeros((2 * predicates, events.num_rows), dtype=bool), index._matcher
    assert isinstance(matcher, EngineMatcher)
    for chunk in index._encoder.event_chunks(events, "null", "null"):
        asked, first = EngineEvents(matcher, chunk, ALL_RULES), 0
        while first < chunk.size:
            rows = asked.rows(first)
            owners = rows.first + np.repeat(np.arange(rows.count), np.diff(rows.offsets))
            found[rows.rows, owners] = True
            first += rows.count
    return np.where(found[0::2], TRUE, np.where(found[1::2], NULL, FALSE)).astype(np.uint8)
