"""What a Python worker does with the Arrow batches of a task: events in, their rules out.

A worker may answer one batch in several pieces, so that a batch of events with very many hits each needs no more memory
than others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood import storage
from matchwood.errors import EventError
from matchwood.matching import ALL_RULES, Request, ranks_of
from matchwood.sharding import Answered
from matchwood.spark.match.event_forms import Read, read_json, read_maps
from matchwood.spark.match.layout import Layout, table_of
from matchwood.spark.match.opened import OpenedIndex, open_version
from matchwood.spark.match.options import RANKED

FOUND, ERROR, MISFITS, WORK = "found", "error", "misfits", "work"
"""The fields of what a worker returns for an event; the second only with on_error="report", the others for metrics."""

WORK_TYPE = pa.struct(
    [
        ("engine", pa.string()),
        ("candidates", pa.int64()),
        ("encode", pa.float64()),
        ("match", pa.float64()),
        ("emit", pa.float64()),
    ]
)
"""What a piece of events took, told with the first of them: the engine, candidates, and seconds."""


class Task(NamedTuple):
    """All that a worker must know; it is pickled into the plan.

    `form`      how events come: `columns` (then `layout` tells them), `map` or `json`
    `output`    `rows`, `array` or `count`
    `strategy`  `partitioned` adds an argument, the first: the shard that is to answer
    `top`       how many rules an event gets at most, the best ones; None for all
    `weights`   what events weigh, by attribute
    `weighs`    whether there is an argument, the last, that tells it of each event
    `observes`  whether the attributes that did not fit, and the work, are told
    `room`      bytes of shards that stay open between batches; None for all
    """

    path: storage.Location
    version: int
    form: str
    layout: Layout
    output: str
    missing: str
    on_error: str
    strategy: str
    top: int | None = None
    weights: Mapping[str, float] | None = None
    weighs: bool = False
    observes: bool = False
    room: int | None = None

    @property
    def fields(self) -> list[str]:
        """What is told of each event."""
        told = {FOUND: True, ERROR: self.on_error == "report", MISFITS: self.observes, WORK: self.observes}
        return [name for name, is_told in told.items() if is_told]


def found_type(output: str, id_type: pa.DataType, ranked: bool = False) -> pa.DataType:
    """The type of what is found for an event; Spark calls the elements of a list so."""
    if output == "count":
        return pa.int64()
    return pa.list_(pa.field("element", ranked_type(id_type) if ranked else id_type))


def ranked_type(id_type: pa.DataType) -> pa.DataType:
    """What is told of each rule with `top`."""
    return pa.struct(list(zip(RANKED, (pa.int32(), id_type, pa.float64()), strict=True)))


def answers(task: Task, batches: Iterator[Any]) -> Iterator[pa.Array]:
    """A struct for each event of the batches, in their order."""
    index = open_version(task.path, task.version, task.room)
    for batch in batches:
        arguments = batch if isinstance(batch, tuple) else (batch,)
        if not len(arguments[0]):
            continue
        if task.strategy != "partitioned":
            yield from _answered(task, index, arguments, None)
            continue
        for number, run in _runs(arguments):
            yield from _answered(task, index, run, number)


def _runs(arguments: Sequence[pa.Array]) -> Iterator[tuple[int, list[pa.Array]]]:
    """The stretches of a batch that are for one shard each; mostly one."""
    shards = arguments[0].to_numpy()
    edges = [0, *(np.flatnonzero(np.diff(shards)) + 1).tolist(), len(shards)]
    for start, stop in pairwise(edges):
        yield int(shards[start]), [array.slice(start, stop - start) for array in arguments[1:]]


def _answered(task: Task, index: OpenedIndex, arguments: Sequence[pa.Array], shard: int | None) -> Iterator[pa.Array]:
    request: Request = ALL_RULES
    if task.top is not None:
        request = index.best(task.top, arguments[-1] if task.weighs else task.weights)
        arguments = arguments[: len(arguments) - task.weighs]
    read = _read(task, arguments, index.asked(request.ranks))
    found, fields = found_type(task.output, index.id_type, request.ranks), task.fields
    told = _by_row(read.errors) if ERROR in fields else {}
    on_error = "report" if task.observes and task.on_error == "null" else task.on_error
    first = 0
    clock = time.perf_counter()
    for piece in index.answer(read.events, task.missing, on_error, shard, request):
        answered = time.perf_counter()
        count = len(piece.offsets) - 1
        made = {FOUND: found_array(piece, found)}
        if ERROR in fields:
            made[ERROR] = _messages(told, _by_row(piece.errors), first, count)
        if MISFITS in fields:
            made[MISFITS] = _attributes(piece.errors, count)
        if WORK in fields:
            took = answered - clock, time.perf_counter() - answered
            made[WORK] = _work(index.engine, piece, *took)
        yield pa.StructArray.from_arrays(list(made.values()), names=list(made))
        first += count
        clock = time.perf_counter()


def _work(engine: str, piece: Answered, answering: float, emitting: float) -> pa.Array:
    """The work of a piece, beside its first event."""
    told = (engine, piece.candidates, piece.encoding, max(0.0, answering - piece.encoding), emitting)
    count = len(piece.offsets) - 1
    first = pa.array([dict(zip(WORK_TYPE.names, told, strict=True))], WORK_TYPE)
    return pa.concat_arrays([first, pa.nulls(count - 1, WORK_TYPE)]) if count else first.slice(0, 0)


def _read(task: Task, arguments: Sequence[pa.Array], kinds: Mapping[str, str]) -> Read:
    if task.form == "columns":
        return Read(table_of(task.layout, arguments), [])
    if task.form == "map":
        return read_maps(arguments[0], kinds, presence=task.missing == "error")
    read = read_json(arguments[0])
    if read.errors and task.on_error == "raise":
        raise read.errors[0][1]
    return read


def found_array(piece: Answered, kind: pa.DataType) -> pa.Array:
    """What is found for events, as `found_type` has it."""
    if pa.types.is_int64(kind):
        return pa.array(np.diff(piece.offsets))
    values = piece.ids
    if piece.scores is not None:
        ranks = pa.array(ranks_of(piece.offsets).astype(np.int32))
        values = pa.StructArray.from_arrays([ranks, values, pa.array(piece.scores)], names=RANKED)
    return pa.ListArray.from_arrays(pa.array(piece.offsets.astype(np.int32)), values, type=kind)


def _by_row(errors: Sequence[tuple[int, str | EventError]]) -> dict[int, list[str]]:
    """Messages by row; the position of an event in its batch means nothing to a user of Spark."""
    told: dict[int, list[str]] = {}
    for row, error in errors:
        told.setdefault(row, []).append(str(error).split(": ", 1)[-1])
    return told


def _attributes(errors: Sequence[tuple[int, str]], count: int) -> pa.Array:
    """The attributes that did not fit, by event."""
    names: list[list[str] | None] = [None] * count
    for row, error in errors:
        held = names[row] = names[row] or []
        held.append(getattr(error, "attribute", ""))
    return pa.array(names, pa.list_(pa.field("element", pa.string())))


def messages_of(errors: Sequence[tuple[int, str | EventError]], count: int) -> pa.Array:
    """One text an event, NULL where nothing is wrong."""
    return _messages({}, _by_row(errors), 0, count)


def _messages(read: Mapping[int, list[str]], matched: Mapping[int, list[str]], first: int, count: int) -> pa.Array:
    """One text an event, NULL where nothing is wrong; `read` counts from the batch's first event."""
    if not read and not matched:
        return pa.nulls(count, pa.string())
    rows = ([*read.get(first + row, ()), *matched.get(row, ())] for row in range(count))
    return pa.array(["; ".join(messages) or None for messages in rows], pa.string())
