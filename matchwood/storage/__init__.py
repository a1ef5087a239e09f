"""Snapshots: named arrays and small headers on disk, in versions that are published whole or not at all.

    save(path, {"0": Part(header, arrays)}, header)      load(path).parts["0"].arrays["offsets"]

Knows nothing of what the arrays mean. `docs/snapshots.md` describes the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.storage.current import current_of, current_version
    from matchwood.storage.location import Location, location_of
    from matchwood.storage.naming import CURRENT
    from matchwood.storage.part import SavedPart
    from matchwood.storage.snapshot import Snapshot, load, seal_of
    from matchwood.storage.staging import Overtaken, Staging, begin, save
    from matchwood.storage.stream_record import pinned_version
    from matchwood.storage.version_log import VersionInfo, rollback, vacuum, versions

__all__ = [
    "CURRENT",
    "Location",
    "Overtaken",
    "SavedPart",
    "Snapshot",
    "Staging",
    "VersionInfo",
    "begin",
    "current_of",
    "current_version",
    "load",
    "location_of",
    "pinned_version",
    "rollback",
    "save",
    "seal_of",
    "vacuum",
    "versions",
]

__getattr__ = exports(__name__)
