"""What the SQL functions return: lists of rules for events, or a row a hit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

from matchwood.errors import InvalidArgument
from matchwood.matching import ALL_RULES, Request, ranks_of
from matchwood.sharding import Answered
from matchwood.spark.match.opened import OpenedIndex
from matchwood.spark.match.options import ERROR_COLUMN, RANKED, MatchOptions
from matchwood.spark.match.task import found_array, found_type, messages_of


def array_type(id_type: pa.DataType, options: MatchOptions) -> str:
    """The type of a list of rules, in Spark's words."""
    rules = from_arrow_type(found_type("array", id_type, options.top is not None)).simpleString()
    return f"struct<rules: {rules}, {ERROR_COLUMN}: string>" if _reports(options) else rules


def row_type(id_type: pa.DataType, options: MatchOptions) -> str:
    """The columns of a row a hit."""
    rule = f"rule {from_arrow_type(id_type).simpleString()}"
    hit = rule if options.top is None else f"rank int, {rule}, score double"
    return f"key string, {hit}" + f", {ERROR_COLUMN} string" * _reports(options)


def _reports(options: MatchOptions) -> bool:
    return options.on_error == "report"


def lists(
    index: OpenedIndex, events: pa.StructArray, id_type: pa.DataType, options: MatchOptions
) -> Iterator[pa.Array]:
    """The rules of each event; a NULL event is one without attributes."""
    if not isinstance(events, pa.StructArray):
        raise InvalidArgument(f"an event must be a struct (got {events.type})")
    names = [field.name for field in events.type]
    columns = events.flatten() if names else [pa.nulls(len(events))]
    kind = found_type("array", id_type, options.top is not None)
    for piece in _answers(index, pa.record_batch(columns, names=names or [""]), id_type, options):
        rules = found_array(piece, kind)
        if _reports(options):
            told = messages_of(piece.errors, len(rules))
            rules = pa.StructArray.from_arrays([rules, told], names=["rules", ERROR_COLUMN])
        yield rules


def hits(
    index: OpenedIndex, events: pa.RecordBatch, key: str, id_type: pa.DataType, options: MatchOptions
) -> Iterator[pa.RecordBatch]:
    """A row a hit. Where errors are told, an event that has one but no hit has a row without rule."""
    if key not in events.schema.names:
        raise InvalidArgument(f"the table has no column {key!r} (it has {', '.join(events.schema.names)})")
    keys, first = events.column(key).cast(pa.string()), 0
    for piece in _answers(index, events, id_type, options):
        count = len(piece.offsets) - 1
        yield _rows(piece, keys.slice(first, count), _reports(options))
        first += count


def _answers(
    index: OpenedIndex, events: pa.RecordBatch, id_type: pa.DataType, options: MatchOptions
) -> Iterator[Answered]:
    request = _request(index, events, options)
    for piece in index.answer(events, options.missing, options.on_error, request=request):
        yield piece._replace(ids=piece.ids.cast(id_type))


def _request(index: OpenedIndex, events: pa.RecordBatch, options: MatchOptions) -> Request:
    if options.top is None:
        return ALL_RULES
    weights = options.weights
    if isinstance(weights, str):
        if weights not in events.schema.names:
            raise InvalidArgument(
                f"weights: an event has no field {weights!r} (it has {', '.join(events.schema.names)})"
            )
        weights = events.column(weights)
    return index.best(options.top, weights, options.weight)


def _rows(piece: Answered, keys: pa.Array, reports: bool) -> pa.RecordBatch:
    count, found = len(keys), np.diff(piece.offsets)
    told = messages_of(piece.errors, count) if reports else pa.nulls(count, pa.string())
    shown = np.where((found == 0) & told.is_valid().to_numpy(zero_copy_only=False), 1, found)
    rows = np.repeat(np.arange(count), shown)
    places = np.full(len(rows), -1, np.int64)
    places[(found > 0)[rows]] = np.arange(len(piece.ids))
    taken, events = pa.array(places, mask=places < 0), pa.array(rows)
    hit = {"rule": piece.ids.take(taken)}
    if piece.scores is not None:
        ranks, scores = pa.array(ranks_of(piece.offsets).astype(np.int32)), pa.array(piece.scores)
        hit = dict(zip(RANKED, (ranks.take(taken), hit["rule"], scores.take(taken)), strict=True))
    columns = {"key": keys.take(events), **hit, **({ERROR_COLUMN: told.take(events)} if reports else {})}
    return pa.record_batch(list(columns.values()), names=list(columns))
