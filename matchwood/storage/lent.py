"""A directory beside the versions of a snapshot, for what is needed while a job runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from matchwood.storage.location import Path, location_of
from matchwood.storage.naming import token

LENT = "lent"


@contextmanager
def lent_directory(path: Path) -> Iterator[str]:
    """The path of a directory that every reader of the snapshot can reach; it goes at the end, with all it contains.

    What a process leaves that is killed goes when `vacuum` finds it old.
    """
    place, name = location_of(path), f"{LENT}/{token()}"
    try:
        yield f"{place}/{name}"
    finally:
        place.remove(name)
