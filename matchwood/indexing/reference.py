"""Matching by the oracle: every rule's tree evaluated on every event, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Encoder
from matchwood.engines.base import Work
from matchwood.engines.oracle import evaluate
from matchwood.errors import EventError, InvalidArgument
from matchwood.indexing.event_rows import event_rows
from matchwood.indexing.preparation import Prepared, uses_of
from matchwood.indexing.work import WorkCounters
from matchwood.language import Expression, parse
from matchwood.rules import Rows, RuleTable


class OracleMatcher:
    """Slow and exact: the definition that every other engine is held against."""

    name = "oracle"

    def __init__(self, encoder: Encoder, table: RuleTable, options: Mapping[str, Any]) -> None:
        if options:
            raise InvalidArgument(f"engine 'oracle' has no option {next(iter(options))!r} (its options: none)")
        self.encoder, self.table = encoder, table
        self.work = WorkCounters()
        self._trees: dict[int, Expression] = {}

    def insert(self, ids: Sequence[Any], prepared: Sequence[Prepared]) -> None:
        rows = self.table.insert_many(
            ids,
            [rule.text for rule in prepared],
            weights=[rule.weights.constant for rule in prepared],
            weights_json=[rule.weights.by_attribute for rule in prepared],
        )
        for row, rule in zip(rows.tolist(), prepared, strict=True):
            self._trees[row] = parse(rule.text)

    def flush(self) -> None:
        """Nothing waits: a rule is matched as soon as it is inserted."""

    def replace(self, row: int, prepared: Prepared) -> None:
        self._forget_types(row)
        self.table.replace_text(row, prepared.text, prepared.weights.constant, prepared.weights.by_attribute)
        self._trees[row] = parse(prepared.text)

    def remove(self, row: int) -> None:
        self._forget_types(row)
        self.table.remove(row)
        del self._trees[row]

    def _forget_types(self, row: int) -> None:
        self.encoder.schema.remove(uses_of(self.table.text(row)))

    def rows_of(self, event: Mapping[str, Any]) -> NDArray[np.int32]:
        types, timezone = self.encoder.schema.types(), self.encoder.timezone
        rows = [row for row, tree in sorted(self._trees.items()) if evaluate(tree, event, types, timezone) is True]
        self.work.fold(1, Work(len(self._trees), len(self._trees), len(rows)))
        return np.array(rows, dtype=np.int32)

    def _rows_at(self, position: int, event: Mapping[str, Any]) -> NDArray[np.int32]:
        try:
            return self.rows_of(event)
        except EventError as error:
            raise EventError(error.what, where=f"event {position}", got=error.got, expected=error.expected) from None

    def row_batches(self, events: Any, missing: str) -> Iterator[Rows]:
        first = 0
        names = {name for name, _ in self.encoder.schema.counts()}
        for chunk in event_rows(events, names, missing):
            found = [self._rows_at(first + position, event) for position, event in enumerate(chunk)]
            offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
            yield Rows(first, offsets, np.concatenate(found) if found else np.empty(0, np.int32))
            first += len(chunk)

    def compact(self) -> None:
        self.table.compact(None, None)
        self._trees = {row: parse(self.table.text(row)) for row in self.table.live_rows().tolist()}

    def stats(self) -> dict[str, Any]:
        return {"units": len(self._trees), "fallback_rules": 0, "bytes_index": 0, "bytes_verify": 0, "matching": self.work.as_dict()}

    def audit(self) -> list[str]:
        live = self.table.live_rows().tolist()
        return [] if sorted(self._trees) == live else ["oracle: its trees are not those of the live rules"]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Nothing beyond the table of rules: trees are parsed again when a snapshot is opened."""
        return {}

    def header(self) -> dict[str, Any]:
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self._trees = {row: parse(self.table.text(row)) for row in self.table.live_rows().tolist()}
