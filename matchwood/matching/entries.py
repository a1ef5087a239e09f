"""Rules with their texts, in rule order: what `index.items()` and `index.values()` walk through."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchwood.index import Index

PIECE = 4096
"""Texts taken at once: the lock is free between two pieces."""


class Items(ItemsView[Any, str]):
    """Ids and texts, of the rules that are there when the walk begins. One deleted before its turn is left out."""

    _mapping: Index

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return _entries(self._mapping)


class RuleValues(ValuesView[str]):
    """Texts, as `Items` walks them."""

    _mapping: Index

    def __iter__(self) -> Iterator[str]:
        return (text for _, text in _entries(self._mapping))


def _entries(index: Index) -> Iterator[tuple[Any, str]]:
    ids = list(index)
    for start in range(0, len(ids), PIECE):
        yield from index._entries_of(ids[start : start + PIECE])
