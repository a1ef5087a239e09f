"""Events through the compiled engines: codes to hits, hits to rows, in pieces that fit into the output buffers."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import STRICT, EncodedEvents, EventChunk, Strictness
from matchwood.engines import Hits
from matchwood.matching.parts import MatcherPart, busy
from matchwood.rules import RuleRows

if TYPE_CHECKING:
    from matchwood.matching.engine_matcher import EngineMatcher

_NO_EVENTS = np.zeros(1, np.int64)


def rows_of_event(
    matcher: EngineMatcher, event: Mapping[str, Any], strictness: Strictness = STRICT
) -> NDArray[np.int32]:
    """The rows of the rules that are true of one event."""
    codes = matcher.encoder.encode_event(event, strictness)
    hits = _HitsOfParts(matcher, codes, 0)
    matcher.observe(codes)
    return hits.rows(matcher, 0).rows


class EngineEvents:
    """A chunk of events that is matched piece by piece.

    Codes are those of one generation of the rules. When the rules change between two pieces, boundaries may have
    come, gone or got other labels, so the chunk is encoded again, and the next piece is matched by the new rules.
    """

    def __init__(self, matcher: EngineMatcher, chunk: EventChunk) -> None:
        self.size = chunk.size
        self._matcher, self._chunk = matcher, chunk
        self._generation = -1
        self._codes: EncodedEvents
        self.errors: list[tuple[int, str]] = []
        """Row and message of each value that does not fit, once rows were asked for, if the chunk collects them."""
        self._found: _HitsOfParts | None = None

    def _is_stale(self) -> bool:
        return self._generation != self._matcher.generation

    def _encode(self) -> None:
        batch = self._chunk.encode()
        self._codes, self.errors = batch.events, batch.errors
        self._generation, self._found = self._matcher.generation, None
        self._matcher.observe(self._codes)

    def rows(self, first: int) -> RuleRows:
        if self._is_stale():
            self._encode()
        if not self.size:
            return RuleRows(self._chunk.first_row, _NO_EVENTS, np.empty(0, np.int32))
        if self._found is None or not self._found.covers(first):
            self._found = _HitsOfParts(self._matcher, self._codes, first)
        found = self._found.rows(self._matcher, first)
        return found._replace(first=self._chunk.first_row + found.first)


class _HitsOfParts:
    """The hits of some events from `first` on, as far as the output of all parts reaches."""

    def __init__(self, matcher: EngineMatcher, events: EncodedEvents, first: int) -> None:
        self._first = first
        self._hits = {part.kind: _match(matcher, part, events, first) for part in busy(matcher.parts)}
        self._end = first + min([each.count for each in self._hits.values()])

    def covers(self, first: int) -> bool:
        return self._first <= first < self._end

    def rows(self, matcher: EngineMatcher, first: int) -> RuleRows:
        """The rows of the events from `first` on; positions are those of the codes."""
        return matcher.table.rows(self._hits, first, matcher.workspace)


def _match(matcher: EngineMatcher, part: MatcherPart, events: EncodedEvents, first: int) -> Hits:
    # Threads that share a core do not slow each other down by this clock, but asking it takes half a microsecond.
    clock = thread_time if events.count > 1 else perf_counter
    started = clock()
    hits: Hits = part.engine.match(events, first, matcher.workspace)
    matcher.note(part, hits.count, hits.work, clock() - started)
    return hits
