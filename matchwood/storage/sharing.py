"""What a new version shares with the current one: the files of arrays, as hard links, and patches where they changed.

Every version's directory is complete by itself, so that any other may be removed. On a remote file system a link is a
copy that the store makes, and nothing is fetched to compare with: where this host has no copy of the current version,
arrays are shared whole, by their checksums.
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
from matchwood.storage.patches import BLOCK, changed_blocks, patch_of
from matchwood.storage.snapshot import OpenedManifest, open_manifest

_SMALL = 16 * 2**10
"""Arrays up to this are written whole when they change: a patch is a file as well."""
_MOST_PATCHED = 0.5
"""Beyond this share of an array's bytes, it is written whole, and later patches are against that."""


@dataclass(frozen=True)
class EarlierArray:
    """An array as it was written, and the directory of its file: the local one, if any, and the one below the path."""

    entry: ArrayEntry
    local: str | None
    below: str


@dataclass(frozen=True)
class EarlierPart:
    """A part of a version that is published, whose files a new version may share."""

    version: int
    local: str | None
    entry: PartEntry

    def array(self, name: str) -> EarlierArray | None:
        entry = self.entry.arrays.get(name)
        return (
            EarlierArray(entry, self.local, f"{version_name(self.version)}/{self.entry.directory}") if entry else None
        )


def earlier_parts(place: Location) -> dict[str, EarlierPart]:
    """The parts of the current version; none where there is no sound one."""
    try:
        manifest = open_manifest(place, None)
    except (CorruptSnapshot, SnapshotNotFound):
        return {}
    return {name: _earlier(manifest, name) for name in manifest.manifest.parts}


def _earlier(manifest: OpenedManifest, name: str) -> EarlierPart:
    return EarlierPart(manifest.manifest.version, manifest.kept(name), manifest.manifest.parts[name])


def share_array(
    place: Location, into: str, file: str, array: NDArray[Any], earlier: EarlierArray | None
) -> ArrayEntry | None:
    """Link the earlier file of an array and write what changed; None, and nothing done, if that is not worth it."""
    if earlier is None or earlier.entry.dtype != array.dtype.str:
        return None
    try:
        share = _copied if earlier.local is None else _patched
        return share(place, into, file, array, earlier)
    except (CorruptSnapshot, FileNotFoundError):  # damaged, or vacuumed meanwhile
        return None
    except (OSError, NotImplementedError):
        if place.is_local:
            raise
        return None  # a store that cannot copy


def _patched(place: Location, into: str, file: str, array: NDArray[Any], earlier: EarlierArray) -> ArrayEntry | None:
    """By comparison with the file."""
    stored = earlier.entry.stored
    blocks = changed_blocks(octets(array), map_file(f"{earlier.local}/{earlier.entry.file}", stored))
    is_same = not len(blocks) and stored == array.nbytes
    if not is_same and (array.nbytes <= _SMALL or len(blocks) * BLOCK > _MOST_PATCHED * array.nbytes):
        return None
    place.link(f"{earlier.below}/{earlier.entry.file}", f"{into}/{file}")
    if is_same:
        return entry_of(file, array)
    patch = patch_of(octets(array), blocks)
    place.write(f"{into}/{patch_file(file)}", patch)
    return entry_of(file, array, PatchEntry(patch_file(file), len(patch), len(blocks), stored))


def _copied(place: Location, into: str, file: str, array: NDArray[Any], earlier: EarlierArray) -> ArrayEntry | None:
    """By the checksum alone: all of the array, with the patch that it may have."""
    entry, known = entry_of(file, array), earlier.entry
    if (known.bytes, known.checksum) != (entry.bytes, entry.checksum):
        return None
    place.link(f"{earlier.below}/{known.file}", f"{into}/{file}")
    if known.patch is None:
        return entry
    place.link(f"{earlier.below}/{known.patch.file}", f"{into}/{patch_file(file)}")
    return replace(entry, patch=replace(known.patch, file=patch_file(file)))
