"""Events through the compiled engines: codes to what parts find, and that to rows, in pieces that fit the output."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from matchwood.encoding import STRICT, EncodedEvents, EventChunk, Strictness
from matchwood.engines import Workspace
from matchwood.matching.ledger.ledger import EngineCall
from matchwood.matching.parts import busy
from matchwood.matching.request import Dead, PartFound, Question, Request
from matchwood.rules import RuleRows, UnitKind

if TYPE_CHECKING:
    from matchwood.matching.engine_matcher import EngineMatcher

_NO_EVENTS = np.zeros(1, np.int64)


def rows_of_event(
    matcher: EngineMatcher, event: Mapping[str, Any], request: Request, strictness: Strictness = STRICT
) -> RuleRows:
    """What is asked for of one event."""
    codes = matcher.encoder.encode_event(event, strictness)
    question = request.question(matcher, lambda: matcher.score_programs.encode_event(event))
    return _FoundByParts(matcher, question, codes, 0).rows(0)


class EngineEvents:
    """A chunk of events that a request is answered for, piece by piece.

    Codes are those of one generation of the rules. When the rules change between two pieces, boundaries may have
    come, gone or got other labels, so the chunk is encoded again, and the next piece is matched by the new rules.
    """

    def __init__(self, matcher: EngineMatcher, chunk: EventChunk, request: Request, dead: Dead = None) -> None:
        self.size, self.first_row = chunk.size, chunk.first_row
        self._matcher, self._chunk, self._request, self._dead = matcher, chunk, request, dead
        self._generation = -1
        self._codes: EncodedEvents
        self._question: Question
        self.errors: list[tuple[int, str]] = []
        """Row and message of each value that does not fit, once rows were asked for, if the chunk collects them."""
        self._found: _FoundByParts | None = None
        self.encoding = 0.0
        """Seconds that encoding took so far."""

    def rows(self, first: int) -> RuleRows:
        """The rows for its events from `first` on, as far as the output reaches; positions are those of the input."""
        if self._generation != self._matcher.generation:
            self._encode()
        if not self.size:
            return RuleRows(self._chunk.first_row, _NO_EVENTS, np.empty(0, np.int32))
        if self._found is None or not self._found.covers(first):
            self._found = _FoundByParts(self._matcher, self._question, self._codes, first)
        found = self._found.rows(first)
        return found._replace(first=self._chunk.first_row + found.first)

    def _encode(self) -> None:
        started = perf_counter()
        batch = self._chunk.encode()
        self.encoding += perf_counter() - started
        self._codes, self.errors = batch.events, batch.errors
        self._generation, self._found = self._matcher.generation, None
        scoring = self._chunk.first_row, self._dead
        self._question = self._request.question(self._matcher, self._score_codes, *scoring)

    def _score_codes(self) -> EncodedEvents:
        return self._matcher.score_programs.encode_chunk(self._chunk.given)


class _FoundByParts:
    """What the parts found for events from `first` on, as far as the output of all of them reaches."""

    def __init__(self, matcher: EngineMatcher, question: Question, events: EncodedEvents, first: int) -> None:
        self._matcher, self._question, self._first = matcher, question, first
        # Threads that share a core do not slow each other down by this clock, but asking it takes half a microsecond.
        clock = thread_time if len(events.offsets) > 2 else perf_counter
        calls: list[EngineCall] = []
        self._found: dict[UnitKind, PartFound] = {}
        workspace, parts = matcher.workspace, busy(matcher.parts)
        self._lent = workspace.lends = len(parts) == 1
        try:
            for part in parts:
                started = clock()
                found = self._found[part.kind] = question.ask(part, events, first, workspace)
                seconds = clock() - started
                calls.append((part.engine, found.count, found.work, found.scored, seconds))
        finally:
            workspace.lends = False
        matcher.ledger.note(events, first, calls)
        self._end = first + min([call[1] for call in calls])
        self._ahead: dict[int, RuleRows] = {}

    def covers(self, first: int) -> bool:
        return first in self._ahead if self._lent else self._first <= first < self._end

    def rows(self, first: int) -> RuleRows:
        """The rows of the events from `first` on; positions are those of the codes.

        What was found may lie where the next call writes, so the rows of all of it are made now. They are wanted in a
        moment, and copying what was found takes a tenth of the time that matching does.
        """
        workspace = self._matcher.workspace
        if not self._lent:
            return self._question.rows(self._found, first, workspace)
        if not self._ahead:
            self._make_all(workspace)
        self._ahead = {place: rows for place, rows in self._ahead.items() if place >= first}
        return self._ahead[first]

    def _make_all(self, workspace: Workspace) -> None:
        made = self._first
        while made < self._end:
            rows = self._ahead[made] = self._question.rows(self._found, made, workspace)
            made += rows.count
