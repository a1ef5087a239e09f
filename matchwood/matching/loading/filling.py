"""Several chunks of rules that fill an empty index: its engine takes all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matchwood.index import Index


class Filling:
    """What engines lay out chunk by chunk they lay out again in the end: into an empty index, only then.

    Until then no event matches any of the rules, as if none had come yet.
    """

    def __init__(self, index: Index) -> None:
        self._index, self.fills, self._waits = index, not len(index._table), False
        """`fills` while all rules are of this load, and none of them was replaced."""

    def begin(self) -> None:
        """More chunks will follow: new units wait in their store, if the index was empty."""
        if self.fills and not self._waits:
            self._waits = self._index._matcher.hold_back()

    def end(self) -> bool:
        """Let the engine take what waits; whether anything did. From then on nothing does."""
        self.fills, waited, self._waits = False, self._waits, False
        if waited:
            with self._index._storing():
                self._index._matcher.take_held_back()
        return waited
