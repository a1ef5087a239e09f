"""One opened shard: an index that is only read, and the rows of it that are dead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.errors import CorruptSnapshot
from matchwood.index import Index
from matchwood.insight import Query, found_rows
from matchwood.matching import Matcher
from matchwood.rules import RuleTable

ROWS_AT_ONCE = 16_384


class RuleShard:
    """The rules of a shard, of which dead rows count for nothing.

    `dead`  rows, ascending: of rules that a later shard replaces, or that were deleted
    """

    def __init__(self, name: str, table: RuleTable, dead: NDArray[np.int32]) -> None:
        self.name, self.table = name, table
        if len(dead) and (dead.min() < 0 or dead.max() >= self.table.row_count):
            raise CorruptSnapshot(f"a tombstone of shard {name!r} lies beyond its rules")
        self.dead: NDArray[np.bool_] | None = None
        if len(dead):
            self.dead = np.zeros(self.table.row_count, np.bool_)
            self.dead[dead] = True

    def live_rows(self) -> NDArray[np.int32]:
        rows = self.table.live_rows()
        return rows if self.dead is None else rows[~self.dead[rows]]

    def find(self, rule_id: object) -> int:
        """The row of a live rule, or -1."""
        row = self.table.find(rule_id)
        return -1 if row < 0 or (self.dead is not None and self.dead[row]) else row

    def find_many(self, ids: Any) -> NDArray[np.int32]:
        """The row of each live rule, or -1."""
        rows = self.table.rows_of(ids)
        if self.dead is not None:
            rows = np.where((rows >= 0) & self.dead[rows], np.int32(-1), rows)
        return rows

    def rules(self) -> Iterator[pa.RecordBatch]:
        """The live rules as batches of id, expression, weight and weights, in the shard's order."""
        rows = self.live_rows()
        for start in range(0, len(rows), ROWS_AT_ONCE):
            yield self.rules_at(rows[start : start + ROWS_AT_ONCE])

    def rules_at(self, rows: NDArray[np.int32]) -> pa.RecordBatch:
        """Some rules as a batch; weights that are not given are NULL."""
        constants = self.table.weights()[rows]
        columns = {
            "id": self.table.ids(rows),
            "expression": self.table.texts(rows),
            "weight": pa.array(constants, mask=constants == 0),
            "weights": pa.array([self.table.weights_json(row) or None for row in rows.tolist()], pa.string()),
        }
        return pa.record_batch(list(columns.values()), names=list(columns))


class Shard(RuleShard):
    """An index whose dead rows count for nothing; `matcher` is the engine that was built, over its saved arrays."""

    def __init__(self, name: str, index: Index, dead: NDArray[np.int32]) -> None:
        super().__init__(name, index._table, dead)
        self.index = index
        self.matcher: Matcher = index._matcher
        self._checked = False

    @property
    def candidates(self) -> int:
        """What its engine has looked at so far."""
        return self.matcher.ledger.work.candidates

    def found(self, query: Query) -> pa.Array:
        """The ids of the live rules that answer a query of `find`, in the shard's order."""
        if not self._checked:
            self.matcher.check()
            self._checked = True
        rows = found_rows(self.matcher, query)
        return self.table.ids(rows if self.dead is None else rows[~self.dead[rows]])
