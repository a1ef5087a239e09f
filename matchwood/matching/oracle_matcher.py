"""Matching by the oracle: every rule's tree evaluated on every event, in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import QUIET, STRICT, Chunk, Complaint, Encoder, Pace, Strictness
from matchwood.engines import AS_PUBLISHED, Work, asked
from matchwood.errors import EventError, InvalidArgument
from matchwood.language import Expression, parse
from matchwood.logic import Bind, Conjunction, Form, dnf_of
from matchwood.matching.event_rows import RowChunk, check_row, row_chunks, rows_of_chunk
from matchwood.matching.ledger.ledger import Ledger
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.live_rules import OldUses, insert_rules, remove_rules, replace_rules
from matchwood.matching.loading.preparation import PreparedRule
from matchwood.matching.request import Dead, Request
from matchwood.ranking import RuleWeights
from matchwood.rules import ROOM, RuleRows, RuleTable
from matchwood.semantics import ReadEvent, evaluate, score


class OracleMatcher:
    """Slow and exact: the definition that every other engine is held against."""

    name = setting = "oracle"
    reconsider_due = False
    merge_due = False
    weight_caps: RuleWeights | None = None

    def make_room(self) -> None:
        """It keeps trees alone, which take no time to add."""

    def __init__(self, encoder: Encoder, table: RuleTable, options: Mapping[str, Any], dnf_limit: int) -> None:
        unknown = sorted(set(options) - {AS_PUBLISHED})
        if unknown:
            raise InvalidArgument(f"engine 'oracle' has no option {unknown[0]!r} (its options: {AS_PUBLISHED})")
        self._as_published = asked(options, self.name)
        self.encoder, self.table = encoder, table
        self.ledger = Ledger(encoder.event_statistics)
        self._trees: dict[int, Expression] = {}
        self._agreed: Mapping[str, str] | None = None
        self.dnf_limit = dnf_limit

    def normal(self, expression: Expression, bind: Bind | None = None) -> list[Conjunction] | Form:
        return dnf_of(expression, bind or self.encoder.bind, self.dnf_limit)

    takes_columns = None

    def insert(self, batch: Batch) -> None:
        self._plant(insert_rules(self.table, self.encoder.schema, batch), batch.prepared)

    def hold_back(self) -> bool:
        return False

    def take_held_back(self) -> None:
        """Nothing waits here."""

    def forget_scratch(self) -> None:
        """Threads keep nothing here."""

    def replace(self, rows: NDArray[np.int32], batch: Batch, old: OldUses = None) -> None:
        replace_rules(self.table, self.encoder.schema, rows, batch, old)
        self._plant(rows, batch.prepared)

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

    def agree(self, types: Mapping[str, str]) -> None:
        self._agreed = dict(types)

    def names(self) -> list[str]:
        """The names that rules ask events for, sorted."""
        asked = self._agreed if self._agreed is not None else {name for name, _ in self.encoder.schema.counts()}
        return sorted(asked)

    def _types(self) -> Mapping[str, str]:
        own: Mapping[str, str] = self.encoder.schema.types()
        return own if self._agreed is None else {name: kind for name, kind in self._agreed.items() if kind != "any"}

    def listed(self, event: Mapping[str, Any], request: Request, strictness: Strictness = STRICT) -> list[Any]:
        return request.listed(self.table, self.rows_of(event, request, strictness))

    def rows_of(
        self,
        event: Mapping[str, Any],
        request: Request,
        strictness: Strictness = STRICT,
        position: int = 0,
        dead: Dead = None,
    ) -> RuleRows:
        types, timezone = self._types(), self.encoder.timezone
        event = self._read(event, strictness, position)
        trees = [(row, tree) for row, tree in self.trees() if dead is None or not dead[row]]
        rows = [row for row, tree in trees if evaluate(tree, event, types, timezone) is True]
        work = Work(len(trees), len(trees), len(rows))
        self.ledger.work.fold(1, work, len(rows) if request.ranks else 0)
        return request.chosen(rows, partial(self._score, event, types), position)

    def _score(
        self, event: Mapping[str, Any], types: Mapping[str, str], row: int, weights: Mapping[str, float]
    ) -> float:
        own = json.loads(self.table.weights_json(row) or "{}")
        scored = score(self._trees[row], event, own, weights, types, self.encoder.timezone)
        return (scored or 0.0) + self.table.weight(row)

    def _read(self, event: Mapping[str, Any], strictness: Strictness, position: int) -> Mapping[str, Any]:
        """An event as this index reads it: with what NaN means, what is converted, and what does not fit left out."""
        settings, names = self.encoder.event_settings, self.names()
        if strictness.missing == "error":
            check_row(event, position, names)
        nan_is_null = settings.nan_is_null(from_pandas=False)
        read = ReadEvent(event, self._types(), self.encoder.timezone, nan_is_null, settings.coerce)
        if strictness.on_error != "raise":
            misfits = read.leave_out(names, f"event {position}")
            self.encoder.misfits.add(dict.fromkeys(misfits, 1) if strictness.counted else {})
            if strictness.told is not None:
                told = ((position, Complaint(str(error), name)) for name, error in misfits.items())
                strictness.told.extend(told)
        return read

    def ask(
        self, events: Any, request: Request, strictness: Strictness = STRICT, threads: int = 1, dead: Dead = None
    ) -> Iterator[OracleEvents]:
        chunks = row_chunks(events, strictness.missing, self._keeps_nan)
        return (OracleEvents(self, chunk, request, strictness, dead) for chunk in chunks)

    @property
    def _keeps_nan(self) -> bool:
        return not self.encoder.event_settings.nan_is_null(from_pandas=True)

    def show(self, chunk: Chunk, pace: Pace, request: Request, dead: Dead) -> OracleEvents:
        return OracleEvents(self, rows_of_chunk(chunk, self._keeps_nan), request, QUIET, dead)

    def trees(self) -> Iterator[tuple[int, Expression]]:
        """Every live rule's row and tree, in rule order."""
        return iter(sorted(self._trees.items()))

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
            "matching": self.ledger.work.as_dict(),
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

    def __init__(
        self, matcher: OracleMatcher, chunk: RowChunk, request: Request, strictness: Strictness, dead: Dead = None
    ) -> None:
        self.size, self.first_row = chunk.size, chunk.first
        self._matcher, self._chunk, self._request, self._dead = matcher, chunk, request, dead
        self.errors: list[tuple[int, str]] = []
        self.encoding = 0.0
        # Whether something is missing was found for the chunk.
        self._strictness = strictness._replace(missing="null", told=None if strictness.told is None else self.errors)
        self._all_told = strictness.told

    def rows(self, first: int) -> RuleRows:
        found, room, before = list[RuleRows](), ROOM, len(self.errors)
        for position, event in enumerate(self._chunk.events(self._matcher.names())[first:], self._chunk.first + first):
            found.append(self._told(position, event))
            room -= len(found[-1].rows)
            if room <= 0:
                break
        if self._all_told is not None:
            self._all_told.extend(self.errors[before:])
        return RuleRows.joined(self._chunk.first + first, found)

    def _told(self, position: int, event: Mapping[str, Any]) -> RuleRows:
        """The answer to one event, or an EventError that says which it is."""
        try:
            return self._matcher.rows_of(event, self._request, self._strictness, position, self._dead)
        except EventError as error:
            raise EventError(
                error.what, where=f"event {position}", got=error.got, expected=error.expected, hint=error.hint
            ) from None
