"""One event after the other: what a thread keeps ready, as long as no rule changes, so that an event costs little more
than what the engine takes for it.

A call that sets all up anew takes some 50 µs before it looks at the first rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from matchwood.encoding import EventReader, event_plan
from matchwood.matching.parts import busy

if TYPE_CHECKING:
    from matchwood.matching.engine_matcher import EngineMatcher


class OneEventMatching:
    """A matcher as it is, made ready for single events in one thread.

    There is something to make ready if one part alone holds rules, and its engine has `one_event`.
    """

    __slots__ = ("_encoder", "_engine", "_generation", "_ids", "_matcher", "_note", "_read", "_search")

    def __init__(self, matcher: EngineMatcher) -> None:
        part, *others = busy(matcher.parts)
        engine, workspace = part.engine, matcher.workspace
        self._matcher, self._generation, self._engine = matcher, matcher.generation, engine
        self._encoder, self._read, self._note = matcher.encoder, EventReader().read, matcher.ledger.note_one
        self._search = None if others else engine.one_event(workspace)
        if self._search is not None:
            self._ids = matcher.table.one_event(self._search.units, part.kind, workspace)

    @property
    def holds(self) -> bool:
        """Whether nothing has changed since."""
        return self._generation == self._matcher.generation

    def ids(self, event: Mapping[str, Any]) -> list[Any] | None:
        """The ids of the rules that are true of an event; None if it must be looked at more closely."""
        search = self._search
        pairs = None if search is None else self._read(event_plan(self._encoder), event)
        if search is None or pairs is None:
            return None
        started = perf_counter()
        hits = search.hits(pairs)
        seconds = perf_counter() - started
        if hits is None:
            return None
        self._note(self._engine, pairs, search.work.tolist(), seconds)
        return self._ids.of(hits) if hits else []
