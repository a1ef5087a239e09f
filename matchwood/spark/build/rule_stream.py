"""Rules as a task receives them: batches ordered by shard and id, cut into shards, each id once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

SHOWN = 20
"""Ids that are listed of those that come twice."""

RULE_COLUMNS = ("id", "expression", "weight", "weights")


def by_shard(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """The shards of a partition, each with its batches; one must be read to its end before the next."""
    pieces = (piece for batch in batches for piece in _cut(batch))
    return itertools.groupby(pieces, key=lambda piece: piece.column("shard")[0].as_py())


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    runs = pc.run_end_encode(batch.column("shard"), run_end_type=pa.int64()).run_ends.to_pylist() if len(batch) else []
    for start, end in itertools.pairwise([0, *runs]):
        yield batch.slice(start, end - start)


class EachIdOnce:
    """The rules of one shard; of those with one id the last, if there is an order.

    `count`, `ids`  once the batches were read: how many ids came twice without a last one, and some of them
    """

    def __init__(self, batches: Iterable[pa.RecordBatch], keeps_last: bool) -> None:
        self._batches, self._keeps_last = batches, keeps_last
        self.count, self.ids = 0, list[Any]()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        waiting: pa.Table | None = None  # the last row, until the next one is known
        for batch in self._batches:
            table = pa.Table.from_batches([batch])
            table = table if waiting is None else pa.concat_tables([waiting, table])
            if len(table):
                yield from self._passed(table)
                waiting = table.slice(len(table) - 1)
        if waiting is not None:
            yield from waiting.select(RULE_COLUMNS).to_batches()

    def _passed(self, table: pa.Table) -> list[pa.RecordBatch]:
        """All rows but the last, without those that a later one replaces."""
        earlier = table.slice(0, len(table) - 1)
        again = _same(table.column("id"))
        unclear = again
        if self._keeps_last:
            unclear = pc.and_(again, _same(table.column("order"), nulls=True))
            earlier = earlier.filter(pc.invert(again))
            again = unclear
        self._note(table.slice(0, len(table) - 1).filter(again).column("id"))
        return list(earlier.select(RULE_COLUMNS).combine_chunks().to_batches())

    def _note(self, ids: pa.ChunkedArray) -> None:
        self.count += len(ids)
        self.ids += [each for each in dict.fromkeys(ids.to_pylist()) if each not in self.ids][: SHOWN - len(self.ids)]


def _same(column: pa.ChunkedArray, nulls: bool = False) -> pa.Array:
    """Whether a row's value is that of the next row; two NULLs are the same only if asked."""
    whole = column.combine_chunks()
    before, after = whole.slice(0, len(whole) - 1), whole.slice(1)
    same = pc.fill_null(pc.equal(before, after), False)
    return pc.or_(same, pc.and_(pc.is_null(before), pc.is_null(after))) if nulls else same
