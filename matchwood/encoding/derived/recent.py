"""Results kept for values seen lately, within a number of bytes: what comes in may be as large as it likes."""

from __future__ import annotations

from typing import Any

KEPT_BYTES = 32 * 2**20
"""Room of all results of one attribute: with 10,000 patterns the verdicts on one text may take 80,000 bytes."""

KEPT_LENGTH = 1_024
"""Values of more characters, or elements, are not kept."""

_ENTRY = 256
"""About what a dict, a short key and an array's header take."""


class Recent:
    """Results by value; all are dropped when the room is used up. Threads that share it at worst do work twice.

    >>> recent = Recent(room=2_000)
    >>> recent.keep("a", "verdicts on a", 16)
    >>> recent.get("a"), recent.get("b")
    ('verdicts on a', None)
    """

    __slots__ = ("_held", "_left", "_room", "get")

    def __init__(self, room: int = KEPT_BYTES) -> None:
        self._room = room
        self.clear()

    def __len__(self) -> int:
        return len(self._held)

    def clear(self) -> None:
        self._held: dict[Any, Any] = {}
        self._left = self._room
        self.get = self._held.get

    def keep(self, value: str | tuple[Any, ...], result: Any, size: int) -> None:
        """Keep a result of so many bytes."""
        length = _length(value)
        size += _ENTRY + 4 * length
        if length > KEPT_LENGTH or size > self._room:
            return
        if size > self._left:
            self.clear()
        self._left -= size
        self._held[value] = result


def _length(value: str | tuple[Any, ...]) -> int:
    """The characters of a text, and about as many as a list would have as text."""
    if isinstance(value, str):
        return len(value)
    return sum(len(element) if isinstance(element, str) else 8 for element in value) + 8 * len(value)
