"""Hits as the Arrow data that users get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.errors import MatchwoodError
from matchwood.matching.matcher import EventsAsked, EventsRanked
from matchwood.matching.threads import in_order, in_turns
from matchwood.ranking import Wanted
from matchwood.rules import RuleRows, RuleTable

ERROR_COLUMN = "match_error"


def hits_schema(table: RuleTable) -> pa.Schema:
    """The columns of a match: the event's row position and the rule's id."""
    return pa.schema([pa.field("event", pa.int64(), False), pa.field("rule", table.id_type, False)])


Turn: TypeAlias = Callable[[], AbstractContextManager[Any]]


def record_batches(
    table: RuleTable, schema: pa.Schema, asked: Iterator[EventsAsked], turn: Turn, threads: int = 1
) -> Iterator[pa.RecordBatch]:
    """One record batch for each stretch of events that has hits; each is made within a `turn` of its own.

    Between two turns, while the events' source or the consumer takes its time, the rules may change. Several threads
    have one turn for a part of the events each.
    """
    if threads == 1:
        return chain.from_iterable(_batches(table, schema, events, turn) for events in asked)
    return in_turns(asked, partial(_all_batches, table, schema), threads, turn)


def all_batches(
    table: RuleTable, schema: pa.Schema, asked: Iterator[EventsAsked], threads: int = 1
) -> list[pa.RecordBatch]:
    """The same in one turn, which is the caller's."""
    found = in_order(asked, partial(_all_batches, table, schema), threads)
    return list(chain.from_iterable(found))


def _all_batches(table: RuleTable, schema: pa.Schema, events: EventsAsked) -> list[pa.RecordBatch]:
    return list(_batches(table, schema, events, nullcontext))


def _batches(table: RuleTable, schema: pa.Schema, events: EventsAsked, turn: Turn) -> Iterator[pa.RecordBatch]:
    first, done = 0, False
    while not done:
        with turn():
            rows = events.rows(first)
            batch = _batch(table, schema, rows) if len(rows.rows) else None
        if batch is not None:
            yield batch
        first += rows.count
        done = first >= events.size


def with_errors(found: pa.Table, told: Sequence[tuple[int, str]]) -> pa.Table:
    """The same with a column `match_error`; an event that has an error and no hit has a row without rule."""
    texts: dict[int, list[str]] = {}
    for row, message in sorted(told, key=lambda each: each[0]):
        texts.setdefault(row, []).append(message.split(": ", 1)[-1])
    rows = pa.array(list(texts), pa.int64())
    messages = pa.array(["; ".join(each) for each in texts.values()], pa.string())
    schema = pa.schema([field.with_nullable(True) for field in found.schema]).append(
        pa.field(ERROR_COLUMN, pa.string())
    )
    own = messages.take(pc.index_in(found["event"], rows).combine_chunks())
    hits = pa.table([*found.columns, own], schema=schema)
    alone = pc.invert(pc.is_in(rows, found["event"].combine_chunks()))
    added = {"event": rows.filter(alone), ERROR_COLUMN: messages.filter(alone)}
    more = [added[field.name] if field.name in added else pa.nulls(len(added["event"]), field.type) for field in schema]
    every = pa.concat_tables([hits, pa.table(more, schema=schema)])
    return every.take(pa.array(np.argsort(every["event"].to_numpy(), kind="stable")))


def ranks_schema(table: RuleTable) -> pa.Schema:
    """The columns of a ranking: the event's row position, the rank from 1, the rule's id and its score."""
    return ranks_schema_of(table.id_type)


def ranks_schema_of(id_type: pa.DataType) -> pa.Schema:
    """The same for ids of a type."""
    columns = {"event": pa.int64(), "rank": pa.int64(), "rule": id_type, "score": pa.float64()}
    return pa.schema([pa.field(name, kind, False) for name, kind in columns.items()])


def ranked_batches(
    table: RuleTable, schema: pa.Schema, asked: Iterator[EventsRanked], wanted: Wanted, threads: int = 1
) -> list[pa.RecordBatch]:
    """One record batch for each stretch of events that has hits."""
    count, batches = 0, list[pa.RecordBatch]()
    for size, found in in_order(asked, partial(_ranked, table, schema), threads):
        count += size
        batches += found
    wanted.weights.check_all_used(count)
    return batches


def _ranked(table: RuleTable, schema: pa.Schema, events: EventsRanked) -> tuple[int, list[pa.RecordBatch]]:
    """How many events these are, and their best rules."""
    first, done, batches = 0, False, []
    while not done:
        ranked = events.ranked(first)
        if len(ranked.rows):
            ids = table.ids(ranked.rows)
            batches.append(ranked_batch(schema, ranked.first, ranked.offsets, ids, ranked.scores))
        first += ranked.count
        done = first >= events.size
    return events.size, batches


def ranked_batch(
    schema: pa.Schema, first: int, offsets: NDArray[np.int64], ids: pa.Array, scores: NDArray[np.float64]
) -> pa.RecordBatch:
    """The best rules of the events from `first` on: the i-th has those at offsets[i] : offsets[i + 1]."""
    counts = np.diff(offsets)
    events = np.repeat(np.arange(first, first + len(counts), dtype=np.int64), counts)
    columns = [pa.array(events), pa.array(ranks_of(offsets)), ids, pa.array(scores)]
    return pa.record_batch(columns, schema=schema)


def ranks_of(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank of each rule among those of its event, from 1 on."""
    return np.arange(1, offsets[-1] + 1, dtype=np.int64) - np.repeat(offsets[:-1], np.diff(offsets))


def _batch(table: RuleTable, schema: pa.Schema, rows: RuleRows) -> pa.RecordBatch:
    ids = table.ids(rows.rows)
    if ids.type != schema.field("rule").type:
        raise MatchwoodError(
            f"the ids of the index became {ids.type} while batches with ids of {schema.field('rule').type} were read"
        )
    return pa.record_batch([pa.array(rows.events()), ids], schema=schema)
