"""Snapshots: named arrays and small headers on disk, in versions that are published whole or not at all.

    save(path, {"0": Part(header, arrays)}, header)      load(path).parts["0"].arrays["offsets"]

Knows nothing of what the arrays mean. `docs/snapshots.md` describes the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.storage.checksum import ready_to_save
    from matchwood.storage.current import current_of, current_version
    from matchwood.storage.lent import lent_directory
    from matchwood.storage.location import Location, Path, location_of
    from matchwood.storage.naming import CURRENT
    from matchwood.storage.part import SavedPart, described_bytes
    from matchwood.storage.query_record import version_of_query
    from matchwood.storage.snapshot import Snapshot, header_of, load, seal_of
    from matchwood.storage.staging import Overtaken, Staging, begin, save
    from matchwood.storage.stream_record import StreamInfo, drop_stream, pinned_version, streams
    from matchwood.storage.uris import AZURE, GOOGLE, HDFS, S3
    from matchwood.storage.version_log import FOLLOWS, VersionInfo, duration_of, rollback, vacuum, versions

__all__ = [
    "AZURE",
    "CURRENT",
    "FOLLOWS",
    "GOOGLE",
    "HDFS",
    "S3",
    "Location",
    "Overtaken",
    "Path",
    "SavedPart",
    "Snapshot",
    "Staging",
    "StreamInfo",
    "VersionInfo",
    "begin",
    "current_of",
    "current_version",
    "described_bytes",
    "drop_stream",
    "duration_of",
    "header_of",
    "lent_directory",
    "load",
    "location_of",
    "pinned_version",
    "ready_to_save",
    "rollback",
    "save",
    "seal_of",
    "streams",
    "vacuum",
    "version_of_query",
    "versions",
]

__getattr__ = exports(__name__)
