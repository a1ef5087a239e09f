"""Hits as the Arrow data that users get."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood._locks import ReadersWriterLock
from matchwood.rules import Rows, RuleTable


def hits_schema(table: RuleTable) -> pa.Schema:
    """The columns of a match: the event's row position and the rule's id."""
    return pa.schema([pa.field("event", pa.int64(), False), pa.field("rule", table.id_type, False)])


def record_batches(table: RuleTable, batches: Iterator[Rows]) -> Iterator[pa.RecordBatch]:
    """One record batch for each stretch of events that has hits."""
    for batch in batches:
        if len(batch.rows):
            yield pa.record_batch([pa.array(_events(batch)), table.ids(batch.rows)], schema=hits_schema(table))


def locked(lock: ReadersWriterLock, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take the read lock for each batch, not for the whole iteration: its consumer may be slow, or a writer itself."""
    while True:
        with lock.reading():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _events(batch: Rows) -> NDArray[np.int64]:
    """The row position of the event of each hit."""
    positions = np.arange(batch.first, batch.first + batch.count, dtype=np.int64)
    return np.repeat(positions, np.diff(batch.offsets))
