"""Reading a version: check the manifest and the sizes, then map arrays on demand.

Opening costs the same whatever the size: nothing but the manifest is read, unless the arrays are small enough, or
`verify="full"` asks, to compare all of their checksums. Parts that describe themselves are read and
checked when they are looked at.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from matchwood.core import Later
from matchwood.errors import InvalidArgument
from matchwood.storage.arrays import check_array, map_array
from matchwood.storage.current import read_current
from matchwood.storage.damage import damaged, explained, nothing_at
from matchwood.storage.entries import ArrayEntry, PartEntry
from matchwood.storage.location import Location, Path, location_of
from matchwood.storage.manifest import MANIFEST_LIMIT, Manifest, manifest_checksum, read_manifest
from matchwood.storage.naming import MANIFEST, version_name, version_number
from matchwood.storage.part import PartReference, SavedPart, read_entry

if TYPE_CHECKING:
    from matchwood.storage.staging import Staging

VERIFY_LIMIT = 256 * 2**20
VERIFY = ("auto", "full")
_ENTRIES_KEPT = 16
"""Of the parts that describe themselves: opening one asks for its entry a few times."""


@dataclass(frozen=True)
class Snapshot:
    """One version. `parts[name]` maps that part's arrays at each look: keep the Part, not the name."""

    version: int
    header: Mapping[str, Any]
    parts: Mapping[str, SavedPart]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The bytes of each part's arrays."""
    seal: str = ""
    """The checksum of the manifest, which tells this version from one of the same number at the same path."""

    def link_parts(self, names: Iterable[str], staging: Staging) -> list[dict[str, Any]]:
        """Take parts over into a new version at the same place; returns their descriptions."""
        parts = self._loaded.manifest.manifest.parts
        return [staging.link_part(name, parts[name], self.version) for name in names]

    def header_of(self, part: str) -> Mapping[str, Any]:
        """A part's own header, without a look at its arrays."""
        return self._loaded.entry(part).header

    def some_of(self, part: str, prefix: str = "", later: Sequence[str] = ()) -> SavedPart:
        """A part with the arrays whose names begin so: others are not fetched.

        `later`  beginnings of names: what this host lacks of the arrays that begin with one is fetched when somebody
                 first looks at one of them
        """
        if not isinstance(self.parts, _MappedParts):  # a version that was made, not loaded: all of it is here
            held = self.parts[part]
            return SavedPart(held.header, {name: held.arrays[name] for name in held.arrays if name.startswith(prefix)})
        wanted = [name for name in self._loaded.entry(part).arrays if name.startswith(prefix)]
        groups = [tuple(name for name in wanted if name.startswith(each)) for each in later]
        return self._loaded.gradually(part, wanted, [group for group in groups if group])

    @property
    def _loaded(self) -> _MappedParts:
        assert isinstance(self.parts, _MappedParts), "only a version that was loaded knows its files"
        return self.parts


@dataclass(frozen=True)
class OpenedManifest:
    """A manifest that has been checked, and where it lies."""

    place: Location
    manifest: Manifest
    seal: str

    def paths(self, part: PartEntry) -> dict[str, str]:
        """Where on this host the files of a part are."""
        return self.place.paths(version_name(self.manifest.version), part)

    def kept(self, part: PartEntry) -> dict[str, str] | None:
        """The same, if nothing has to be fetched for it."""
        return self.place.kept(version_name(self.manifest.version), part)

    def entry(self, name: str) -> PartEntry:
        """What a part consists of: from the manifest, or from its own file."""
        part = self.manifest.parts[name]
        if not isinstance(part, PartReference):
            return part
        (file,) = part.files()
        where = part.path(version_name(self.manifest.version), file)
        try:
            return read_entry(name, part, self.place.read(where, MANIFEST_LIMIT))
        except FileNotFoundError as error:
            raise damaged(f"{self.place}/{where}", "the file is missing") from error
        except (ValueError, RecursionError) as error:
            raise damaged(f"{self.place}/{where}", str(error)) from error


def load(path: Path, version: int | None = None, verify: str = "auto") -> Snapshot:
    """The current version at a path, or the one asked for.

    `verify="auto"` checks the manifest and all sizes, and all contents up to 256 MiB; "full" checks all contents.
    Parts on remote file systems are copied to this host at the first look, once, and checked in full.
    """
    if verify not in VERIFY:
        raise InvalidArgument(f"verify must be one of {', '.join(VERIFY)} (got {verify!r})")
    place = location_of(path)
    with explained(f"read the snapshot at {place}"):
        manifest = open_manifest(place, version)
        check_sizes(manifest)
        checks, waits = place.is_local and manifest.manifest.bytes <= VERIFY_LIMIT, bool(manifest.manifest.references())
        if verify == "full" or (checks and not waits):
            check_contents(manifest)
    sizes = {name: part.bytes for name, part in manifest.manifest.parts.items()}
    parts = _MappedParts(manifest, checks and waits and verify != "full")
    return Snapshot(manifest.manifest.version, manifest.manifest.header, parts, sizes, manifest.seal)


def header_of(path: Path) -> tuple[int, Mapping[str, Any]]:
    """The current version's number and header, from two small reads."""
    manifest = open_manifest(location_of(path), None).manifest
    return manifest.version, manifest.header


def seal_of(path: Path, version: int) -> str:
    """The checksum of a version's manifest."""
    return open_manifest(location_of(path), version).seal


def open_manifest(place: Location, version: int | None) -> OpenedManifest:
    """The manifest of a version, or of the current one, tied to CURRENT by its checksum."""
    current = read_current(place) if version is None else None
    number = current.version if current else _checked_number(version)
    try:
        opened = manifest_at(place, number)
    except (FileNotFoundError, NotADirectoryError) as error:
        if current is None:
            _check_exists(place, number)
        raise damaged(f"{place}/{version_name(number)}/{MANIFEST}", "the file is missing") from error
    if current and current.seal != opened.seal:
        raise damaged(f"{place}/{version_name(number)}/{MANIFEST}", "is not the manifest of this version")
    return opened


def manifest_at(place: Location, number: int) -> OpenedManifest:
    """The manifest of a version: one read; FileNotFoundError if there is none."""
    file = f"{place}/{version_name(number)}/{MANIFEST}"
    try:
        data = place.read(f"{version_name(number)}/{MANIFEST}", MANIFEST_LIMIT)
    except ValueError as error:
        raise damaged(file, str(error)) from error
    manifest = read_manifest(data, file)
    if manifest.version != number:
        raise damaged(file, "is not the manifest of this version")
    return OpenedManifest(place, manifest, manifest_checksum(data))


def _checked_number(version: Any) -> int:
    if not isinstance(version, int) or isinstance(version, bool):
        raise InvalidArgument(f"a version is a whole number (got {version!r})")
    return version


def _check_exists(place: Location, version: int) -> None:
    found = version_numbers(place)
    if version not in found:
        raise InvalidArgument(f"{place} has no version {version} (it has {', '.join(map(str, found)) or 'none'})")


def version_numbers(place: Location) -> list[int]:
    """Versions by number; directories without a manifest are saves that are not finished, or never were."""
    try:
        numbers = sorted(number for name in place.names() if (number := version_number(name)))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise nothing_at(place) from error
    return [number for number in numbers if _has_manifest(place, number)]


def _has_manifest(place: Location, number: int) -> bool:
    try:
        return MANIFEST in place.files(version_name(number))
    except OSError:
        return False


def check_sizes(manifest: OpenedManifest) -> None:
    """Of files that can be mapped where they are; those that must be fetched are checked then, whole.

    Where parts describe themselves, the sizes of all files are compared as they are mapped, and not before.
    """
    if not manifest.place.is_local or manifest.manifest.references():
        return
    files = manifest.manifest.files()
    found: dict[str, int] = {}
    for where in sorted({version_name(manifest.manifest.version), *(file.split("/")[0] for file in files)}):
        try:
            found |= {f"{where}/{file}": size for file, size in manifest.place.files(where).items()}
        except (FileNotFoundError, NotADirectoryError) as error:
            raise damaged(f"{manifest.place}/{where}", "not a directory") from error
    for file, size in files.items():
        if file not in found:
            raise damaged(f"{manifest.place}/{file}", "the file is missing, or not a regular file")
        if found[file] != size:
            raise damaged(f"{manifest.place}/{file}", f"has {found[file]} bytes where the manifest says {size}")


def check_contents(manifest: OpenedManifest) -> None:
    for name in manifest.manifest.parts:
        part = manifest.entry(name)
        paths = manifest.paths(part)
        for entry in part.arrays.values():
            check_array(paths, entry)


class _MappedParts(Mapping[str, SavedPart]):
    """Parts by name, mapped when they are looked at; `checks` tells whether contents are then compared."""

    def __init__(self, manifest: OpenedManifest, checks: bool) -> None:
        self.manifest, self._checks = manifest, checks
        self.entry = functools.lru_cache(_ENTRIES_KEPT)(manifest.entry)

    def __getitem__(self, name: str) -> SavedPart:
        return self.some(name, None)

    def some(self, name: str, wanted: Container[str] | None) -> SavedPart:
        """A part with some of its arrays; None for all."""
        with explained(f"read part {name!r} of the snapshot at {self.manifest.place}"):
            entry = self.entry(name).only(wanted)
            paths = self.manifest.paths(entry)
            for array in entry.arrays.values() if self._checks else ():
                check_array(paths, array)
            arrays = {key: map_array(paths, array) for key, array in entry.arrays.items()}
        return SavedPart(entry.header, arrays)

    def gradually(self, name: str, wanted: Sequence[str], groups: Sequence[tuple[str, ...]]) -> SavedPart:
        """Some of a part's arrays, of which groups are fetched later, each as a whole, unless this host has them."""
        entry = self.entry(name)
        lacking = [group for group in groups if self.manifest.kept(entry.only(group)) is None]
        arrays: dict[str, Any] = {}
        for group in lacking:
            fetched = functools.cache(functools.partial(self._fetched, name, group))
            arrays |= {key: _later(entry.arrays[key], key, fetched) for key in group}
        now = self.some(name, [key for key in wanted if key not in arrays])
        arrays |= now.arrays
        return SavedPart(now.header, {key: arrays[key] for key in wanted})

    def _fetched(self, name: str, group: Sequence[str]) -> Mapping[str, NDArray[Any]]:
        try:
            return self.some(name, group).arrays
        except FileNotFoundError as error:
            place, version = self.manifest.place, self.manifest.manifest.version
            gone = f"version {version} has been vacuumed since it was opened, before {group[0]!r} was fetched"
            raise damaged(place, gone, "open the index again") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self.manifest.manifest.parts)

    def __len__(self) -> int:
        return len(self.manifest.manifest.parts)


def _later(entry: ArrayEntry, name: str, fetched: Callable[[], Mapping[str, NDArray[Any]]]) -> Later:
    return Later(entry.dtype, entry.shape, lambda: fetched()[name])
