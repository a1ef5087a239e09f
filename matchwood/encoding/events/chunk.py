"""One chunk of events to codes: column by column, or, where each attribute has few values, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.events.assembly import Assembly
from matchwood.encoding.events.columns.fixed import PlainColumns
from matchwood.encoding.events.containers import Container, MappingContainer
from matchwood.encoding.events.errors import Faults
from matchwood.encoding.events.missing import check_present
from matchwood.encoding.events.pieces import Pieces
from matchwood.encoding.events.plan import EventPlan
from matchwood.encoding.events.single import events_of_pairs, packed_pairs, sorted_pairs
from matchwood.encoding.events.sources import Chunk

FEW_VALUES = 48
"""A column costs some 40 µs before its first value, a value alone less than 1: below that many, columns do not pay."""


class EncodedBatch(NamedTuple):
    """Some rows of the input, encoded.

    `first_row`  the position of its first event in the whole input
    `events`     the codes
    `errors`     with on_error="report": row and message of each value that does not fit, ordered by row
    `misfits`    how many values did not fit, and count as missing
    """

    first_row: int
    events: EncodedEvents
    errors: list[tuple[int, str]]
    misfits: int


def encode_chunk(plan: EventPlan, chunk: Chunk, missing: str, on_error: str) -> tuple[EncodedBatch, int]:
    """The chunk's codes, and how many labels were held for them at once."""
    if chunk.mappings is None or missing == "error" or not _few_values(chunk.mappings, plan):
        return _by_columns(plan, chunk, missing, on_error)
    batch = _one_by_one(plan, chunk.mappings, chunk.first_row, on_error)
    return batch, len(batch.events.labels)


def _few_values(events: Sequence[Mapping[Any, Any]], plan: EventPlan) -> bool:
    return sum(map(len, events)) < FEW_VALUES * len(plan.sources)


def encode_mapping(plan: EventPlan, event: Mapping[Any, Any], row: int = 0, on_error: str = "raise") -> EncodedBatch:
    """One event that is not a plain one, or does not fit."""
    return _by_columns(plan, Chunk(row, 1, MappingContainer([event]), [event]), "null", on_error)[0]


def _by_columns(plan: EventPlan, chunk: Chunk, missing: str, on_error: str) -> tuple[EncodedBatch, int]:
    plain = PlainColumns(chunk.size)
    pieces = Pieces(chunk.rows if missing == "error" else _without_plain(plan, chunk, plain), plan.trie)
    if missing == "error":
        check_present([source.name for source in plan.sources], pieces, chunk)
    reading = plan.reading._replace(nan_is_null=chunk.nan_is_null)
    assembly, faults = Assembly(chunk.size, plain), Faults(chunk.first_row, [])
    for position in sorted(pieces.found):
        source = plan.sources[position]
        whole = pieces.whole(position)
        if whole is not None and plain.add_array(source, whole):
            continue
        for column in pieces.columns(position, source.kind, reading, chunk.size):
            faults.misfits.extend((source, misfits) for misfits in column.misfits)
            for part in column.parts:
                assembly.add(source, part)
    if on_error == "raise" and (error := faults.first()) is not None:
        raise error
    errors = faults.report() if on_error == "report" else []
    batch = EncodedBatch(chunk.first_row, assembly.finish(), errors, faults.total)
    return batch, max(assembly.held, len(batch.events.labels))


def _without_plain(plan: EventPlan, chunk: Chunk, plain: PlainColumns) -> Container:
    """What a chunk holds but plain columns, which are taken all at once where they lie as they should."""
    if chunk.table is None or not chunk.size:
        return chunk.rows
    layout = plan.layouts.of(chunk.table.schema)
    batch = chunk.table.batch(layout.positions) if layout.positions else None
    if batch is None:
        return chunk.rows
    plain.add_batch(layout.targets, layout.kinds, batch)
    return chunk.table.some(layout.others)


def _one_by_one(plan: EventPlan, events: Sequence[Mapping[Any, Any]], first_row: int, on_error: str) -> EncodedBatch:
    pairs: list[int] = []
    offsets, errors, misfits = np.zeros(len(events) + 1, np.int64), [], 0
    for row, event in enumerate(events):
        held = sorted_pairs(plan, event)
        if held is None:
            looked_at = encode_mapping(plan, event, first_row + row, on_error)
            held = packed_pairs(looked_at.events)
            errors += looked_at.errors
            misfits += looked_at.misfits
        pairs += held
        offsets[row + 1] = len(pairs)
    return EncodedBatch(first_row, events_of_pairs(offsets, pairs), errors, misfits)
