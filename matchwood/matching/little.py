"""The turns of an index's readers: is there so little to do that kernels may be interpreted until they are compiled?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core import MOST_EVENTS, MOST_RULES, LittleTurn, MatchingTurn, may_interpret

if TYPE_CHECKING:
    from matchwood.index import Index


def turns_of(index: Index) -> tuple[LittleTurn | None, MatchingTurn]:
    """The turn of a reader of an index that is so small that it need not wait for compiled code, None if it is not; and
    that of a reader that matches, who leaves it for kernels that are missing."""
    small = may_interpret() and not index._rehearses and len(index._table) <= MOST_RULES
    return LittleTurn(index._lock.reading()) if small else None, matching_turn_of(index, small)


def matching_turn_of(index: Index, small: bool = False) -> MatchingTurn:
    """The second of them."""
    return MatchingTurn(index._lock, small, lambda: index._matcher.forget_scratch())


def is_little(index: Index, rules: float = 0, events: float = 1) -> bool:
    """Whether so many more rules, or so many events, are little work."""
    return index._little_turn is not None and len(index._table) + rules <= MOST_RULES and events <= MOST_EVENTS
