"""What a new version shares with the current one: the files of arrays, and patches where an array changed.

In a local directory files are shared as hard links: every version's directory is complete by itself. A remote version
names the file where it lies, in the directory of the version that wrote it. There, nothing is fetched to compare with:
arrays are told to be equal by their digests, and patched if this host has a copy of the earlier file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from matchwood.errors import CorruptSnapshot, SnapshotNotFound
from matchwood.storage.arrays import entry_of, map_file
from matchwood.storage.checksum import digest, octets
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
    """An array as it was written; `part` has nothing else, `file` is its file below the snapshot's path."""

    place: Location
    version: str
    part: PartEntry
    entry: ArrayEntry

    @property
    def file(self) -> str:
        return self.part.path(self.version, self.entry.file)

    def mapped(self) -> Octets | None:
        """The bytes of its file, without the patch; None if this host has none."""
        paths = self.place.kept(self.version, replace(self.part, arrays={"": replace(self.entry, patch=None)}))
        return map_file(paths[self.entry.file], self.entry.stored) if paths else None

    def whole(self) -> ArrayEntry:
        """The entry with the names that its files have below the snapshot's path."""
        return self.entry.renamed(lambda file: self.part.path(self.version, file))


@dataclass(frozen=True)
class EarlierPart:
    """A part of a version that is published, whose files a new version may share."""

    place: Location
    version: int
    entry: PartEntry

    def array(self, name: str) -> EarlierArray | None:
        entry = self.entry.arrays.get(name)
        return EarlierArray(self.place, version_name(self.version), self.entry, entry) if entry else None


def earlier_parts(place: Location) -> dict[str, EarlierPart]:
    """The parts of the current version; none where there is no sound one."""
    try:
        manifest = open_manifest(place, None).manifest
    except (CorruptSnapshot, SnapshotNotFound):
        return {}
    parts = {name: part for name, part in manifest.parts.items() if isinstance(part, PartEntry)}
    return {name: EarlierPart(place, manifest.version, part) for name, part in parts.items()}


def named_array(array: NDArray[Any], file: str, earlier: EarlierArray | None) -> tuple[ArrayEntry, Octets | None]:
    """The entry of an array of a remote version, and what has to be written: to its file, or to its patch's."""
    made = replace(entry_of(file, array), digest=digest(array))
    if earlier is None or earlier.entry.dtype != made.dtype:
        return made, octets(array)
    known = earlier.whole()
    if known.digest == made.digest:
        return replace(made, file=known.file), None
    if known.patch is not None and (known.bytes, known.checksum) == (made.bytes, made.checksum):
        return replace(known, shape=made.shape), None
    patched = _patch(array, earlier, patch_file(file)) if known.digest else None
    if patched is None:
        return made, octets(array)
    return replace(made, file=known.file, digest=known.digest, patch=patched[0]), patched[1]


def share_array(
    place: Location, into: str, file: str, array: NDArray[Any], earlier: EarlierArray | None
) -> ArrayEntry | None:
    """Link the earlier file of an array and write what changed; None, and nothing done, if that is not worth it."""
    if earlier is None or earlier.entry.dtype != array.dtype.str:
        return None
    try:
        patched = _patch(array, earlier, patch_file(file))
        if patched is None:
            return None
        place.link(earlier.file, f"{into}/{file}")
    except (CorruptSnapshot, FileNotFoundError):  # damaged, or vacuumed meanwhile
        return None
    entry, data = patched
    if not entry.blocks and entry.base_bytes == array.nbytes:
        return entry_of(file, array)
    place.write(f"{into}/{entry.file}", data)
    return entry_of(file, array, entry)


def _patch(array: NDArray[Any], earlier: EarlierArray, file: str) -> tuple[PatchEntry, Octets] | None:
    """What an array has otherwise than the earlier file; None if writing it whole is better, or nothing is known."""
    base = earlier.mapped()
    if base is None:
        return None
    blocks, stored = changed_blocks(octets(array), base), earlier.entry.stored
    is_same = not len(blocks) and stored == array.nbytes
    if not is_same and (array.nbytes <= _SMALL or len(blocks) * BLOCK > _MOST_PATCHED * array.nbytes):
        return None
    data = patch_of(octets(array), blocks)
    return PatchEntry(file, len(data), len(blocks), stored), data
