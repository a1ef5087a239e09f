"""How much there is to do for an index: so little that its kernels may be interpreted until they are compiled?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core import MOST_EVENTS, MOST_RULES, LittleTurn, may_interpret

if TYPE_CHECKING:
    from matchwood.index import Index


def little_turn_of(index: Index) -> LittleTurn | None:
    """The turn of a reader of an index that is so small that it need not wait for compiled code; None if it is not."""
    small = may_interpret() and not index._rehearses and len(index._table) <= MOST_RULES
    return LittleTurn(index._lock.reading()) if small else None


def is_little(index: Index, rules: float = 0, events: float = 1) -> bool:
    """Whether so many more rules, or so many events, are little work."""
    return index._little_turn is not None and len(index._table) + rules <= MOST_RULES and events <= MOST_EVENTS
