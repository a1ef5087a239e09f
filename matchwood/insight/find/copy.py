"""The rules of an index as conjunctions, kept for `find` from the first one on and brought up to date by the next.

An A-Tree alone keeps expressions whole, and the k-index keeps clauses. Taking them apart costs what building an index
does, so it is done once; after that only the rules that changed are.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchwood.insight.find.query import FIND_LIMIT, Query
from matchwood.insight.find.rows import find_rows
from matchwood.matching import Batch, Preparation, as_engine_matcher

if TYPE_CHECKING:
    from matchwood.matching import EngineMatcher


class Copy:
    """A second matcher with the rules of the first; its rows are its own, ids are shared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = -1
        self._held: EngineMatcher | None = None

    def find_rows(self, matcher: EngineMatcher, query: Query) -> NDArray[np.int32]:
        """The rows, in the table of the matcher that is copied, of all rules that answer the query."""
        with self._lock:
            held = self._current(matcher)
            ids = held.table.ids(find_rows(held, query))
        return np.sort(matcher.table.rows_of(ids))

    def _current(self, matcher: EngineMatcher) -> EngineMatcher:
        if self._held is None:
            _, _, self._held = as_engine_matcher(matcher.table, matcher.encoder, matcher, FIND_LIMIT)
        elif self._generation != matcher.generation:
            held, self._held = self._held, None
            self._held = _brought_up_to_date(held, matcher)
        self._generation = matcher.generation
        return self._held


def _brought_up_to_date(held: EngineMatcher, matcher: EngineMatcher) -> EngineMatcher:
    """Take out what is gone or was replaced, then put in what is new; an error leaves nothing behind."""
    now, then = _texts(matcher), _texts(held)
    gone = [rule_id for rule_id, text in then.items() if now.get(rule_id) != text]
    held.remove(held.table.rows_of(gone))
    fresh = [rule_id for rule_id, text in now.items() if then.get(rule_id) != text]
    prepare = Preparation(held.encoder, held.normal).prepare
    held.insert(Batch.of(fresh, [prepare(rule_id, now[rule_id]) for rule_id in fresh]))
    return held


def _texts(matcher: EngineMatcher) -> dict[Any, str]:
    rows = matcher.table.live_rows()
    return dict(zip(matcher.table.ids(rows).to_pylist(), matcher.table.texts(rows).to_pylist(), strict=True))
