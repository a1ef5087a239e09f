"""The versions of an index: listed, brought back, removed when nobody needs them any more."""

from __future__ import annotations

import datetime
from typing import Any

from matchwood import storage
from matchwood.spark.stream.record import recorded_versions


def versions(path: Any) -> list[storage.VersionInfo]:
    """All versions, oldest first: number, whether it is current, when it was made, parts and bytes."""
    return storage.versions(path)


def rollback(path: Any, version: int) -> int:
    """Publish a new version equal to an old one; returns its number."""
    return storage.rollback(path, version)


def vacuum(path: Any, keep: int = 3, grace: str | datetime.timedelta = "1 day") -> list[int]:
    """Remove old versions; returns their numbers.

    Kept are the newest `keep`, the current one, those that were replaced less than `grace` ago, and those that a
    stream has recorded for one of its latest batches.
    """
    return storage.vacuum(path, keep, grace, protected=recorded_versions(path))
