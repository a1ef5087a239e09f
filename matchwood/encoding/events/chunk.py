"""One chunk of events to codes: column by column, or, where each attribute has few values, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.events.assembly import Assembly
from matchwood.encoding.events.columns.fixed import FixedColumns
from matchwood.encoding.events.containers import Container, MappingContainer
from matchwood.encoding.events.errors import Faults
from matchwood.encoding.events.missing import check_present
from matchwood.encoding.events.pieces import Pieces
from matchwood.encoding.events.plan import EventPlan
from matchwood.encoding.events.single import events_of_pairs, packed_pairs, sorted_pairs
from matchwood.encoding.events.sources import Chunk
from matchwood.encoding.events.strictness import STRICT, Strictness

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


def encode_chunk(plan: EventPlan, chunk: Chunk, strictness: Strictness) -> tuple[EncodedBatch, int]:
    """The chunk's codes, and how many labels were held for them at once."""
    if chunk.mappings is None or strictness.missing == "error" or not _few_values(chunk.mappings, plan):
        return _by_columns(plan, chunk, strictness)
    batch = _one_by_one(plan, chunk.mappings, chunk.first_row, strictness)
    return batch, len(batch.events.labels)


def _few_values(events: Sequence[Mapping[Any, Any]], plan: EventPlan) -> bool:
    return sum(map(len, events)) < FEW_VALUES * len(plan.sources)


def encode_mapping(
    plan: EventPlan, event: Mapping[Any, Any], row: int = 0, strictness: Strictness = STRICT
) -> EncodedBatch:
    """One event that is not a fixed one, or does not fit."""
    return _by_columns(plan, Chunk(row, 1, MappingContainer([event]), [event]), strictness)[0]


def _by_columns(plan: EventPlan, chunk: Chunk, strictness: Strictness) -> tuple[EncodedBatch, int]:
    missing, on_error = strictness.missing, strictness.on_error
    readings = plan.of_pandas if chunk.from_pandas else plan.readings
    fixed = FixedColumns(chunk.size, bool(readings) and readings[0].nan_is_null)
    pieces = Pieces(chunk.rows if missing == "error" else _without_fixed(plan, chunk, fixed), plan.trie)
    if missing == "error":
        check_present([source.name for source in plan.sources], pieces, chunk)
    assembly, faults = Assembly(chunk.size, fixed), Faults(chunk.first_row, [])
    for position in sorted({*pieces.found, *pieces.in_lists}):
        source = plan.sources[position]
        whole = pieces.whole(position)
        if whole is not None and fixed.add_array(source, whole):
            continue
        for column in pieces.columns(position, source.kind, readings[position], chunk.size):
            faults.misfits.extend((source, misfits) for misfits in column.misfits)
            for part in column.parts:
                assembly.add(source, part)
    if on_error == "raise" and (error := faults.first()) is not None:
        raise error
    if strictness.counted and faults.misfits:
        plan.misfits.add(faults.counts())
    errors = faults.report() if on_error == "report" else []
    if strictness.told is not None:
        strictness.told.extend(errors)
    batch = EncodedBatch(chunk.first_row, assembly.finish(), errors, faults.total)
    return batch, max(assembly.held, len(batch.events.labels))


def _without_fixed(plan: EventPlan, chunk: Chunk, fixed: FixedColumns) -> Container:
    """What a chunk holds but fixed columns, which are taken all at once where they lie as they should."""
    if chunk.table is None or not chunk.size:
        return chunk.rows
    layout = plan.layouts.of(chunk.table.schema)
    found = chunk.table.places(layout.positions) if layout.positions else None
    if found is None:
        return chunk.rows
    fixed.add_batch(layout.columns, *found)
    return chunk.table.some(layout.others)


def _one_by_one(
    plan: EventPlan, events: Sequence[Mapping[Any, Any]], first_row: int, strictness: Strictness
) -> EncodedBatch:
    pairs: list[int] = []
    offsets, errors, misfits = np.zeros(len(events) + 1, np.int64), [], 0
    for row, event in enumerate(events):
        held = sorted_pairs(plan, event)
        if held is None:
            looked_at = encode_mapping(plan, event, first_row + row, strictness)
            held = packed_pairs(looked_at.events)
            errors += looked_at.errors
            misfits += looked_at.misfits
        pairs += held
        offsets[row + 1] = len(pairs)
    return EncodedBatch(first_row, events_of_pairs(offsets, pairs), errors, misfits)
