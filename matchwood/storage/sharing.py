"""What a new version shares with the current one: the files of arrays that are equal, and locally also of others.

In a local directory they are hard links, with patches where an array changed: every version's directory is complete by
itself. A remote version names the file where it lies, in the directory of the version that wrote it; arrays are
compared by their digests, since anything else would fetch what is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from matchwood.errors import CorruptSnapshot, SnapshotNotFound
from matchwood.storage.arrays import entry_of, map_file
from matchwood.storage.checksum import octets
from matchwood.storage.entries import ArrayEntry, PartEntry, PatchEntry
from matchwood.storage.location import Location
from matchwood.storage.naming import patch_file, version_name
from matchwood.storage.patches import BLOCK, Octets, changed_blocks, patch_of
from matchwood.storage.snapshot import open_manifest

_SMALL = 16 * 2**10
"""Arrays up to this are written whole when they change: a patch is a file as well."""
_MOST_PATCHED = 0.5
"""Beyond this share of an array's bytes, it is written whole, and later patches are against that."""


@dataclass(frozen=True)
class EarlierArray:
    """An array as it was written, and its file below the snapshot's path."""

    place: Location
    entry: ArrayEntry
    file: str

    def mapped(self) -> Octets:
        """The bytes of its file, which must be local."""
        return map_file(f"{self.place}/{self.file}", self.entry.stored)


@dataclass(frozen=True)
class EarlierPart:
    """A part of a version that is published, whose files a new version may share."""

    place: Location
    version: int
    entry: PartEntry

    def array(self, name: str) -> EarlierArray | None:
        entry = self.entry.arrays.get(name)
        if entry is None:
            return None
        return EarlierArray(self.place, entry, self.entry.path(version_name(self.version), entry.file))


def earlier_parts(place: Location) -> dict[str, EarlierPart]:
    """The parts of the current version; none where there is no sound one."""
    try:
        manifest = open_manifest(place, None).manifest
    except (CorruptSnapshot, SnapshotNotFound):
        return {}
    return {name: EarlierPart(place, manifest.version, part) for name, part in manifest.parts.items()}


def same_array(array: NDArray[Any], named: str, earlier: EarlierArray | None) -> ArrayEntry | None:
    """The entry of an array whose file an earlier version has, by the digest that names its contents."""
    if earlier is None or earlier.entry.patch or earlier.entry.digest != named:
        return None
    return replace(entry_of(earlier.file, array), digest=named)


def share_array(
    place: Location, into: str, file: str, array: NDArray[Any], earlier: EarlierArray | None
) -> ArrayEntry | None:
    """Link the earlier file of an array and write what changed; None, and nothing done, if that is not worth it."""
    if earlier is None or earlier.entry.dtype != array.dtype.str:
        return None
    stored = earlier.entry.stored
    try:
        blocks = changed_blocks(octets(array), earlier.mapped())
        is_same = not len(blocks) and stored == array.nbytes
        if not is_same and (array.nbytes <= _SMALL or len(blocks) * BLOCK > _MOST_PATCHED * array.nbytes):
            return None
        place.link(earlier.file, f"{into}/{file}")
    except (CorruptSnapshot, FileNotFoundError):  # damaged, or vacuumed meanwhile
        return None
    if is_same:
        return entry_of(file, array)
    patch = patch_of(octets(array), blocks)
    place.write(f"{into}/{patch_file(file)}", patch)
    return entry_of(file, array, PatchEntry(patch_file(file), len(patch), len(blocks), stored))
