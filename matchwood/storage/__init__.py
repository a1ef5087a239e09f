"""Snapshots: named arrays and small headers on disk, in versions that are published whole or not at all.

    save(path, {"0": Part(header, arrays)}, header)      load(path).parts["0"].arrays["offsets"]

Knows nothing of what the arrays mean. `docs/snapshots.md` describes the format.
"""

from matchwood.storage.current import current_version
from matchwood.storage.history import VersionInfo, rollback, vacuum, versions
from matchwood.storage.part import Part
from matchwood.storage.place import Place, place_of
from matchwood.storage.snapshot import Snapshot, load
from matchwood.storage.staging import Overtaken, Staging, begin, save

__all__ = [
    "Overtaken",
    "Part",
    "Place",
    "Snapshot",
    "Staging",
    "VersionInfo",
    "begin",
    "current_version",
    "load",
    "place_of",
    "rollback",
    "save",
    "vacuum",
    "versions",
]
