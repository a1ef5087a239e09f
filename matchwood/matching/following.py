"""An index and the versions at a path: which one it is, and how it takes over another that somebody published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from matchwood import storage
from matchwood.errors import CorruptSnapshot, MatchwoodError

if TYPE_CHECKING:
    from matchwood.index import Index

Opener: TypeAlias = "Callable[[Any, storage.Snapshot, bool], Index]"

OPENERS: dict[str, Opener] = {}
"""How to open a version, by the kind that its header tells: (path, snapshot, read_only)."""

_OWN = ("_lock", "_writer")
"""What an index keeps when it becomes another version of itself: others may be waiting for it."""


@dataclass(frozen=True)
class Origin:
    """The version at a path that an index was opened from, or saved as."""

    path: Any
    version: int
    seal: str

    def is_current(self) -> bool:
        """One small read; the seal tells a path that was deleted and built anew."""
        current = storage.current_of(self.path)
        return (current.version, current.seal) == (self.version, self.seal)


def open_version(path: Any, version: int | None = None, read_only: bool = False, verify: str = "auto") -> Index:
    """The current version at a path, or another one, as an index."""
    snapshot = storage.load(path, version, verify)
    opener = OPENERS.get(str(snapshot.header.get("kind")))
    if opener is None:
        raise no_index(path, snapshot.header.get("kind"))
    return opener(path, snapshot, read_only)


def no_index(path: Any, kind: object) -> CorruptSnapshot:
    return CorruptSnapshot(f"{path}: not an index (its kind is {kind!r})")


def reload_index(index: Index, verify: str, discard: bool) -> bool:
    """Take over what is current at the index's path; returns whether that was something else.

    The caller is the only writer. The new version is opened beside the old one, which goes on matching until the two
    are exchanged.
    """
    origin = index._origin
    if origin is None:
        raise MatchwoodError("this index was neither opened nor saved, so it has no path to be loaded from again")
    lost = discard and index._unsaved
    if not lost and origin.is_current():
        return False
    if index._unsaved and not discard:
        raise MatchwoodError(
            f"this index has changes that are not saved, and {origin.path} has another version by now: save them "
            "first, or call reload(discard=True) to discard them"
        )
    other = open_version(origin.path, None, index._read_only, verify)
    with index._lock.writing():
        _become(index, other)
    return True


def _become(index: Index, other: Index) -> None:
    """Exchange the whole state. An index of shards and one without are different classes."""
    kept = {name: index.__dict__[name] for name in _OWN}
    index.__dict__ = {**other.__dict__, **kept}
    if not isinstance(index, type(other)):
        index.__class__ = type(other)
    index._watch_types()
    index._size_up()
