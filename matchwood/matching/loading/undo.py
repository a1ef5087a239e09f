"""Taking out again what a load has stored, when it turns out that nothing of it is to be taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.live_rules import forget_types
from matchwood.matching.loading.preparation import Preparation, stored_uses
from matchwood.rules import Ids

if TYPE_CHECKING:
    from matchwood.index import Index


class _Before(NamedTuple):
    """A rule as it was."""

    row: int
    id: Any
    text: str
    options: dict[str, Any]


class _Inserted(NamedTuple):
    """The ids of rules that are new."""

    ids: Ids


class Undo:
    """What the chunks of one load did to an index, in their order."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._done: list[list[_Before] | _Inserted] = []

    def note_inserted(self, ids: Ids) -> None:
        """New rules have these ids."""
        if len(ids):
            self._done.append(_Inserted(ids))

    def note_replaced(self, rows: NDArray[np.int32]) -> None:
        """The rules of these rows are about to be replaced."""
        table = self._index._table
        ids = table.id_list(rows)
        self._done.append([self._before(row, ids[place]) for place, row in enumerate(rows.tolist())])

    def _before(self, row: int, rule_id: Any) -> _Before:
        table = self._index._table
        given = {"weight": table.weight(row) or None, "weights": table.weights_json(row)}
        options = {name: value for name, value in given.items() if value is not None}
        return _Before(row, rule_id, table.text(row), options)

    def undo(self) -> None:
        """The last first."""
        index = self._index
        while self._done:
            done = self._done.pop()
            if not isinstance(done, _Inserted):
                self._put_back(done)
                continue
            with index._storing():
                index._matcher.remove(index._table.rows_of(done.ids))

    def _put_back(self, old: list[_Before]) -> None:
        index = self._index
        schema = index._encoder.schema.copy()
        for before in old:
            forget_types(schema, stored_uses(schema, index._table.text(before.row)))
        preparation = Preparation(index._encoder, index._matcher.normal, schema, index._matcher.weight_caps)
        prepared = [preparation.prepare(before.id, before.text, before.options or None) for before in old]
        with index._storing():
            rows = np.array([before.row for before in old], np.int32)
            index._matcher.replace(rows, Batch.of([before.id for before in old], prepared))
