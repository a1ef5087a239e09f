"""What a Python worker does with the Arrow batches of a task: events in, their rules out.

A worker may answer one batch in several pieces, so that a batch of events with very many hits each needs no more memory
than others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.errors import InvalidArgument
from matchwood.spark.event_forms import Read, read_json, read_maps
from matchwood.spark.layout import Layout, table_of
from matchwood.spark.opened import Answered, opened

FOUND, ERROR = "found", "error"
"""The fields of what a worker returns for an event; the second only with on_error="report"."""


class Task(NamedTuple):
    """All that a worker must know; it is pickled into the plan.

    `form`    how events come: `columns` (then `layout` tells them), `map` or `json`
    `output`  `rows`, `array` or `count`
    """

    path: str
    version: int
    form: str
    layout: Layout
    output: str
    missing: str
    on_error: str


def found_type(output: str, id_type: pa.DataType) -> pa.DataType:
    """The type of what is found for an event; Spark calls the elements of a list so."""
    return pa.int64() if output == "count" else pa.list_(pa.field("element", id_type))


def answers(task: Task, batches: Iterator[Any]) -> Iterator[pa.Array]:
    """A struct for each event of the batches, in their order."""
    index = opened(task.path, task.version)
    found = found_type(task.output, index.id_type)
    on_error = "raise" if task.on_error == "fail" else task.on_error
    for arguments in batches:
        read = _read(task, arguments if isinstance(arguments, tuple) else (arguments,), index.attributes)
        told, first = dict[int, list[str]](), 0
        _note(told, read.errors if task.on_error == "report" else [])
        for piece in index.answer(read.events, task.missing, on_error):
            count = len(piece.offsets) - 1
            _note(told, [(first + row, message) for row, message in piece.errors])
            fields = [_found(piece, found)]
            if task.on_error == "report":
                fields.append(_messages(told, first, count))
            yield pa.StructArray.from_arrays(fields, names=[FOUND, ERROR][: len(fields)])
            first += count


def _read(task: Task, arguments: Sequence[pa.Array], kinds: Mapping[str, str]) -> Read:
    if task.form == "columns":
        return Read(table_of(task.layout, arguments), [])
    if task.form == "map":
        return read_maps(arguments[0], kinds, presence=task.missing == "error")
    read = read_json(arguments[0])
    if read.errors and task.on_error == "fail":
        raise InvalidArgument(read.errors[0][1])
    return read


def _found(piece: Answered, kind: pa.DataType) -> pa.Array:
    if pa.types.is_int64(kind):
        return pa.array(np.diff(piece.offsets))
    return pa.ListArray.from_arrays(pa.array(piece.offsets.astype(np.int32)), piece.ids, type=kind)


def _note(told: dict[int, list[str]], errors: list[tuple[int, str]]) -> None:
    """The position of an event in its batch means nothing to a user of Spark."""
    for row, message in errors:
        told.setdefault(row, []).append(message.split(": ", 1)[-1])


def _messages(told: Mapping[int, list[str]], first: int, count: int) -> pa.Array:
    if not told:
        return pa.nulls(count, pa.string())
    rows = (told.get(row) for row in range(first, first + count))
    return pa.array(["; ".join(messages) if messages else None for messages in rows], pa.string())
