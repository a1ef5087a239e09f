"""One event after the other: what a thread keeps ready, as long as no rule changes, so that an event costs little more
than what the engine takes for it.

A call that sets all up anew takes some 50 µs before it looks at the first rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import event_plan, sorted_pairs
from matchwood.engines import Work
from matchwood.matching.parts import busy

if TYPE_CHECKING:
    from matchwood.matching.engine_matcher import EngineMatcher


class OneEventMatching:
    """A matcher as it is, made ready for single events in one thread.

    There is something to make ready if one part alone holds rules, and its engine has `one_event`.
    """

    __slots__ = ("_edition", "_engine", "_generation", "_matcher", "_rows", "_search")

    def __init__(self, matcher: EngineMatcher) -> None:
        part, *others = busy(matcher.parts)
        engine, workspace = part.engine, matcher.workspace
        self._matcher, self._generation, self._engine = matcher, matcher.generation, engine
        self._search = None if others else engine.one_event(workspace)
        self._edition = engine.edition
        if self._search is not None:
            self._rows = matcher.table.one_event(self._search.units, part.kind, workspace)

    @property
    def holds(self) -> bool:
        """Whether nothing has changed since."""
        matcher, engine = self._matcher, self._engine
        return (
            self._generation == matcher.generation
            and engine is matcher.parts[0].engine
            and self._edition == engine.edition
        )

    def rows(self, event: Mapping[str, Any]) -> NDArray[np.int32] | None:
        """The rows of the rules that are true of an event; None if it must be looked at more closely."""
        search, matcher = self._search, self._matcher
        pairs = None if search is None else sorted_pairs(event_plan(matcher.encoder), event)
        if search is None or pairs is None:
            return None
        started = perf_counter()
        hits = search.hits(pairs)
        seconds = perf_counter() - started
        if hits is None:
            return None
        matcher.ledger.note_one(self._engine, search.codes, Work(*search.work.tolist()[1:]), seconds)
        return self._rows.of(hits)
