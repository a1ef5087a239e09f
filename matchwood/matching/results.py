"""Rows as the Arrow data that users get, whatever was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matchwood.core import begun_again
from matchwood.errors import MatchwoodError
from matchwood.matching.matcher import EventsAsked
from matchwood.matching.request import Request
from matchwood.matching.threads import in_order, in_turns
from matchwood.rules import RuleRows, RuleTable

ERROR_COLUMN = "match_error"

Turn: TypeAlias = Callable[[], AbstractContextManager[Any]]
Piece: TypeAlias = tuple[int, pa.RecordBatch | None]
"""How many events one turn covers, and their record batch if they have hits."""


class ResultFormat(NamedTuple):
    """What users get of rows, and its columns."""

    table: RuleTable
    request: Request
    schema: pa.Schema

    @classmethod
    def of(cls, table: RuleTable, request: Request) -> ResultFormat:
        return cls(table, request, request.schema(table.id_type))

    def batch(self, rows: RuleRows) -> pa.RecordBatch:
        ids, wanted = self.table.ids_of(rows), self.schema.field("rule").type
        if ids.type != wanted:
            raise MatchwoodError(f"the ids of the index became {ids.type} while batches with ids of {wanted} were read")
        return self.request.batch(self.schema, rows.first, rows.offsets, ids, rows.scores)


def record_batches(
    results: ResultFormat, asked: Iterator[EventsAsked], turn: Turn, threads: int = 1
) -> Iterator[pa.RecordBatch]:
    """One record batch for each stretch of events that has hits; each is made within a `turn` of its own.

    Between two turns, while the events' source or the consumer takes its time, the rules may change. Several threads
    have one turn for a part of the events each.
    """
    counted = _Counted(asked)
    if threads == 1:
        piece = partial(_piece_of_a_turn, results, turn)
        yield from chain.from_iterable(_batches(piece, events) for events in counted)
    else:
        yield from in_turns(counted, partial(_all_batches, results), threads, turn)
    results.request.check_events(counted.events)


def all_batches(results: ResultFormat, asked: Iterator[EventsAsked], threads: int = 1) -> list[pa.RecordBatch]:
    """The same in one turn, which is the caller's."""
    counted = _Counted(asked)
    found = list(chain.from_iterable(in_order(counted, partial(_all_batches, results), threads)))
    results.request.check_events(counted.events)
    return found


class _Counted(Iterator[EventsAsked]):
    """Counts the events that were taken."""

    def __init__(self, asked: Iterator[EventsAsked]) -> None:
        self._asked, self.events = asked, 0

    def __next__(self) -> EventsAsked:
        taken = next(self._asked)
        self.events += taken.size
        return taken


def _all_batches(results: ResultFormat, events: EventsAsked) -> list[pa.RecordBatch]:
    return list(_batches(partial(_piece, results, nullcontext), events))


def _batches(piece: Callable[[EventsAsked, int], Piece], events: EventsAsked) -> Iterator[pa.RecordBatch]:
    first, done = 0, False
    while not done:
        count, batch = piece(events, first)
        if batch is not None:
            yield batch
        first += count
        done = first >= events.size


def _piece_of_a_turn(results: ResultFormat, turn: Turn, events: EventsAsked, first: int) -> Piece:
    return begun_again(partial(_piece, results, turn, events, first))


def _piece(results: ResultFormat, turn: Turn, events: EventsAsked, first: int) -> Piece:
    with turn():
        rows = events.rows(first)
        return rows.count, results.batch(rows) if rows.total else None


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
