"""Matching by the oracle: every rule's tree evaluated on every event, in plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Encoder
from matchwood.engines import AS_PUBLISHED, Ranked, Work, asked
from matchwood.errors import EventError, InvalidArgument
from matchwood.language import Expression, parse
from matchwood.logic import Bind, Conjunction, Form, dnf_of
from matchwood.matching.event_rows import RowChunk, row_chunks
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.live_rules import insert_rules, remove_rules, replace_rules
from matchwood.matching.loading.preparation import PreparedRule
from matchwood.matching.work import WorkCounters
from matchwood.ranking import NO_WORK, RuleWeights, Wanted, joined, nothing_ranked
from matchwood.rules import ROOM, RuleRows, RuleTable
from matchwood.semantics import evaluate, score


class OracleMatcher:
    """Slow and exact: the definition that every other engine is held against."""

    name = setting = "oracle"
    reconsider_due = False
    merge_due = False
    given: RuleWeights | None = None

    def __init__(self, encoder: Encoder, table: RuleTable, options: Mapping[str, Any], dnf_limit: int) -> None:
        unknown = sorted(set(options) - {AS_PUBLISHED})
        if unknown:
            raise InvalidArgument(f"engine 'oracle' has no option {unknown[0]!r} (its options: {AS_PUBLISHED})")
        self._as_published = asked(options, self.name)
        self.encoder, self.table = encoder, table
        self.work = WorkCounters()
        self._trees: dict[int, Expression] = {}
        self.dnf_limit = dnf_limit

    def normal(self, expression: Expression, bind: Bind | None = None) -> list[Conjunction] | Form:
        return dnf_of(expression, bind or self.encoder.bind, self.dnf_limit)

    takes_columns = None

    def insert(self, batch: Batch) -> None:
        self._plant(insert_rules(self.table, self.encoder.schema, batch), batch.prepared)

    def replace(self, rows: NDArray[np.int32], prepared: Sequence[PreparedRule]) -> None:
        replace_rules(self.table, self.encoder.schema, rows, prepared)
        self._plant(rows, prepared)

    def _plant(self, rows: NDArray[np.int32], prepared: Sequence[PreparedRule]) -> None:
        for row, rule in zip(rows.tolist(), prepared, strict=True):
            self._trees[row] = parse(rule.text)

    def remove(self, rows: NDArray[np.int32]) -> None:
        remove_rules(self.table, self.encoder.schema, rows)
        for row in rows.tolist():
            del self._trees[row]

    def clear(self) -> None:
        self.table.remove_many(self.table.live_rows())
        self.encoder.schema.restore({})
        self.compact()

    def reconsider(self) -> None:
        """There is nothing to lay out."""

    def merged(self) -> None:
        """There is nothing to merge."""

    def adopt(self, built: None) -> None:
        """There is nothing to put in place."""

    def rebuild(self) -> None:
        """Parse every rule again."""
        self._trees = {row: parse(self.table.text(row)) for row in self.table.live_rows().tolist()}

    def compact(self) -> None:
        moved = self.table.compact()
        self._trees = {int(moved[row]): tree for row, tree in self._trees.items() if moved[row] >= 0}

    def rows_of(self, event: Mapping[str, Any]) -> NDArray[np.int32]:
        types, timezone = self.encoder.schema.types(), self.encoder.timezone
        rows = [row for row, tree in sorted(self._trees.items()) if evaluate(tree, event, types, timezone) is True]
        self.work.fold(1, Work(len(self._trees), len(self._trees), len(rows)))
        return np.array(rows, dtype=np.int32)

    def ask(self, events: Any, missing: str, threads: int = 1) -> Iterator[OracleEvents]:
        return (OracleEvents(self, chunk) for chunk in row_chunks(events, missing))

    def trees(self) -> Iterator[tuple[int, Expression]]:
        """Every live rule's row and tree, in rule order."""
        return iter(sorted(self._trees.items()))

    def top_of(self, event: Mapping[str, Any], wanted: Wanted, position: int = 0) -> Ranked:
        rows = self.rows_of(event).tolist()
        weights, types, timezone = wanted.weights.of(position), self.encoder.schema.types(), self.encoder.timezone
        found = []
        for row in rows:
            own = json.loads(self.table.weights_json(row) or "{}")
            scored = score(self._trees[row], event, own, weights, types, timezone)
            found.append((-((scored or 0.0) + self.table.weight(row)), row))
        best = sorted(found)[: wanted.n]
        self.work.fold(0, NO_WORK, len(rows))
        scores = np.array([-negative + 0.0 for negative, _ in best], np.float64)
        ends = np.array([0, len(best)], np.int64)
        return Ranked(position, ends, np.array([row for _, row in best], np.int32), scores, NO_WORK, len(rows))

    def ask_top(self, events: Any, missing: str, wanted: Wanted, threads: int = 1) -> Iterator[OracleRanked]:
        return (OracleRanked(self, chunk, wanted) for chunk in row_chunks(events, missing))

    def stats(self) -> dict[str, Any]:
        return {
            "options": {AS_PUBLISHED: self._as_published},
            "units": len(self._trees),
            "fallback_rules": 0,
            "bytes_verify": 0,
            "always_candidates": len(self._trees),
            "bytes_index": 0,
            "bytes_shared": 0,
            "bytes_scoring": 0,
            "matching": self.work.as_dict(),
        }

    def check(self) -> None:
        self.table.check()

    def audit(self) -> list[str]:
        live = self.table.live_rows().tolist()
        return [] if sorted(self._trees) == live else ["oracle: its trees are not those of the live rules"]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Nothing beyond the table of rules: trees are parsed again when a snapshot is opened."""
        return {}

    def header(self) -> dict[str, Any]:
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self.rebuild()


class OracleEvents:
    """A chunk of events, evaluated as it is asked for."""

    def __init__(self, matcher: OracleMatcher, chunk: RowChunk) -> None:
        self.size = chunk.size
        self._matcher, self._chunk = matcher, chunk

    def _events(self, first: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
        names = {name for name, _ in self._matcher.encoder.schema.counts()}
        return enumerate(self._chunk.events(names)[first:], self._chunk.first + first)

    def rows(self, first: int) -> RuleRows:
        found: list[NDArray[np.int32]] = []
        room = ROOM
        for position, event in self._events(first):
            found.append(_told(position, self._matcher.rows_of, event))
            room -= len(found[-1])
            if room <= 0:
                break
        offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
        return RuleRows(self._chunk.first + first, offsets, np.concatenate([np.empty(0, np.int32), *found]))


class OracleRanked(OracleEvents):
    """A chunk of events and the best rules of each."""

    def __init__(self, matcher: OracleMatcher, chunk: RowChunk, wanted: Wanted) -> None:
        super().__init__(matcher, chunk)
        self._wanted = wanted

    def ranked(self, first: int) -> Ranked:
        events = self._events(first)
        parts = [_told(position, self._matcher.top_of, event, self._wanted, position) for position, event in events]
        return joined(parts) if parts else nothing_ranked(self._chunk.first + first)


def _told(position: int, answer: Callable[..., Any], event: Mapping[str, Any], *asked: Any) -> Any:
    """An answer, or an EventError that says which event it is."""
    try:
        return answer(event, *asked)
    except EventError as error:
        raise EventError(error.what, where=f"event {position}", got=error.got, expected=error.expected) from None
