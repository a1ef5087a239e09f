"""Hits as the Arrow data that users get."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.engines.scoring import Ranked
from matchwood.errors import MatchwoodError
from matchwood.indexing.event_weights import Wanted
from matchwood.indexing.matchers import EventsAsked, EventsRanked
from matchwood.rules import Rows, RuleTable


def hits_schema(table: RuleTable) -> pa.Schema:
    """The columns of a match: the event's row position and the rule's id."""
    return pa.schema([pa.field("event", pa.int64(), False), pa.field("rule", table.id_type, False)])


def record_batches(
    table: RuleTable,
    schema: pa.Schema,
    asked: Iterator[EventsAsked],
    turn: Callable[[], AbstractContextManager[Any]],
) -> Iterator[pa.RecordBatch]:
    """One record batch for each stretch of events that has hits; each is made within a `turn` of its own.

    Between two turns, while the events' source or the consumer takes its time, the rules may change.
    """
    for events in asked:
        first, done = 0, False
        while not done:
            with turn():
                rows = events.rows(first)
                batch = _batch(table, schema, rows) if len(rows.rows) else None
            if batch is not None:
                yield batch
            first += rows.count
            done = first >= events.size


def ranks_schema(table: RuleTable) -> pa.Schema:
    """The columns of a ranking: the event's row position, the rank from 1, the rule's id and its score."""
    event, rule = hits_schema(table)
    return pa.schema([event, pa.field("rank", pa.int64(), False), rule, pa.field("score", pa.float64(), False)])


def ranked_batches(
    table: RuleTable,
    schema: pa.Schema,
    asked: Iterator[EventsRanked],
    wanted: Wanted,
) -> Iterator[pa.RecordBatch]:
    """One record batch for each stretch of events that has hits."""
    count = 0
    for events in asked:
        first, done = 0, False
        wanted.weights.check_count(count + events.size, done=False)
        while not done:
            ranked = events.ranked(first)
            if len(ranked.rows):
                yield _ranked_batch(table, schema, ranked)
            first += ranked.count
            done = first >= events.size
        count += events.size
    wanted.weights.check_count(count, done=True)


def _ranked_batch(table: RuleTable, schema: pa.Schema, ranked: Ranked) -> pa.RecordBatch:
    counts = np.diff(ranked.offsets)
    events = np.repeat(np.arange(ranked.first, ranked.first + ranked.count, dtype=np.int64), counts)
    ranks = np.arange(1, len(ranked.rows) + 1, dtype=np.int64) - np.repeat(ranked.offsets[:-1], counts)
    columns = [pa.array(events), pa.array(ranks), table.ids(ranked.rows), pa.array(ranked.scores)]
    return pa.record_batch(columns, schema=schema)


def _batch(table: RuleTable, schema: pa.Schema, rows: Rows) -> pa.RecordBatch:
    ids = table.ids(rows.rows)
    if ids.type != schema.field("rule").type:
        raise MatchwoodError(
            f"the ids of the index became {ids.type} while batches with ids of {schema.field('rule').type} were read"
        )
    return pa.record_batch([pa.array(_events(rows)), ids], schema=schema)


def _events(rows: Rows) -> NDArray[np.int64]:
    """The row position of the event of each hit."""
    positions = np.arange(rows.first, rows.first + rows.count, dtype=np.int64)
    return np.repeat(positions, np.diff(rows.offsets))
