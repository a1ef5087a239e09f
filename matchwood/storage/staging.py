"""Writing a version: claim a number, write the parts, publish.

    staging = begin(path)                                        # one process
    descriptions = [staging.write_part(name, part)]              # any number of processes or machines, in any order
    staging.publish(descriptions, header)                        # one process

A version directory without a manifest is no version. The manifest is written when every array is safe on disk, and
CURRENT is replaced when the manifest is: whenever the power fails, readers find the old version or the new one.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from matchwood.core import in_parallel
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.storage.arrays import entry_of, storable
from matchwood.storage.checksum import octets
from matchwood.storage.current import current_bytes, current_line, read_line
from matchwood.storage.damage import damaged, explained
from matchwood.storage.entries import ArrayEntry, PartEntry
from matchwood.storage.location import Location, Path, location_of
from matchwood.storage.manifest import Manifest, manifest_bytes, manifest_checksum
from matchwood.storage.naming import (
    CLAIM,
    CURRENT,
    MANIFEST,
    array_file,
    check_name,
    part_directory,
    version_name,
    version_number,
)
from matchwood.storage.part import ENTRY, PartReference, SavedPart, apart, part_of
from matchwood.storage.sharing import EarlierPart, earlier_parts, named_array, share_array
from matchwood.storage.strictjson import encoded

_HARMLESS = ("lost+found", "publishing", "streams")
"""What a new file system has, a writer's lock, and records of streams."""

_NOTES, _LONGEST_NOTE = "notes", 1 << 16
_ASIDE, _LONGEST_ASIDE = "aside", 1 << 31


class Overtaken(MatchwoodError):
    """Another writer has published first: begin again from what is current now."""


def save(path: Path, parts: Mapping[str, SavedPart], header: Mapping[str, Any]) -> int:
    """Publish a new version with these parts; returns its number. Writes what the current version does not have."""
    with begin(path) as staging:
        earlier = earlier_parts(staging.place)
        written = [staging.write_part(name, part, earlier.get(name)) for name, part in parts.items()]
        return staging.publish(written, header)


def begin(path: Path, apart: bool = False) -> Staging:
    """Claim the next version number at a path; nothing is visible to readers before `publish`.

    `apart`  whether parts describe themselves, so that the manifest has room for many thousands of them
    """
    place = location_of(path)
    with explained(f"save a snapshot to {place}"):
        number = _next_number(place)
        while not place.claim(version_name(number)):
            number = max(number + 1, _next_number(place))
    return Staging(place, number, apart)


def _next_number(place: Location) -> int:
    try:
        names = place.names()
    except FileNotFoundError:
        names = []
    taken = [number for name in names if (number := version_number(name))]
    if not taken:
        _check_free(place, names)
    return max(taken, default=0) + 1


def _check_free(place: Location, names: list[str]) -> None:
    """Refuse a directory with other people's files; hidden ones and our own leftovers do not count."""
    others = sorted(name for name in names if not (name[0] == "." or name.startswith(CURRENT) or name in _HARMLESS))
    if others:
        shown = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
        advice = "give a path that does not exist yet, or an empty directory"
        raise InvalidArgument(f"cannot save to {place}: the directory holds something else ({shown}); {advice}")


@dataclass(frozen=True)
class Staging:
    """A claimed version. Pickled, it lets other processes write parts; as a context, it aborts on an error."""

    place: Location
    version: int
    apart: bool = False

    def write_part(self, name: str, part: SavedPart, earlier: EarlierPart | None = None) -> dict[str, Any]:
        """Write one part's arrays; returns a small JSON-able description for `publish`.

        A part may be written again, by a retried task for instance: only the description that is published counts.
        What an `earlier` state of the part has already is linked, and only what changed is written.
        """
        check_name("a part", name)
        assert earlier is None or not self.apart, "a part that describes itself has all of its files"
        header = dict(part.header)
        encoded(f"the header of part {name!r}", header)
        directory = part_directory(name)
        with explained(f"save part {name!r} to {self.place}"):
            self.place.make(f"{self._directory}/{directory}")
            write = self._write_arrays if self.place.is_local else self._put_arrays
            entry = PartEntry(directory, header, write(directory, part, earlier))
            described = self._described_apart(entry) if self.apart else entry
            self.place.settle(f"{self._directory}/{directory}")
        return {"name": name, **described.to_json()}

    def _described_apart(self, entry: PartEntry) -> PartReference:
        reference, data = apart(entry.renamed(_last_step))
        self.place.write(f"{self._directory}/{entry.directory}/{ENTRY}", data)
        return reference

    def link_part(self, name: str, part: PartEntry | PartReference, version: int) -> dict[str, Any]:
        """Take over a part of a published version, without a copy; returns its description."""
        source = version_name(version)
        if self.place.is_local:
            return {"name": name, **self._linked(name, part, source).to_json()}
        if isinstance(part, PartReference):
            return {"name": name, **part.within(source).to_json()}
        return {"name": name, **part.renamed(lambda file: part.path(source, file)).to_json()}

    def _linked(self, name: str, part: PartEntry | PartReference, source: str) -> PartEntry | PartReference:
        """The part with links to its files in a directory of this version."""
        directory = _last_step(part.directory)
        target = f"{self._directory}/{directory}"
        with explained(f"link part {name!r} of {source} at {self.place}"):
            files: Iterable[str] = part.files()
            if isinstance(part, PartReference):
                files = self.place.files(part.within(source).directory)
            self.place.make(target)
            for file in files:
                self.place.link(part.path(source, file), f"{target}/{_last_step(file)}")
            self.place.settle(target)
        return replace(part, directory=directory) if isinstance(part, PartReference) else part.renamed(_last_step)

    def note(self, name: str, text: bytes) -> None:
        """Write down something for whoever began this version; what is noted goes when the version is published."""
        with suppress(FileExistsError):
            self.place.make(f"{self._directory}/{_NOTES}")
        self.place.replace(f"{self._directory}/{_NOTES}/{name}", text)

    def noted(self) -> list[str]:
        """The names of all notes, which have no dots; unfinished ones do."""
        try:
            files = self.place.files(f"{self._directory}/{_NOTES}")
        except FileNotFoundError:
            return []
        return [name for name in files if "." not in name]

    def noted_text(self, name: str) -> bytes:
        """What a note says."""
        return self.place.read(f"{self._directory}/{_NOTES}/{name}", _LONGEST_NOTE)

    def set_aside(self, name: str, data: bytes) -> None:
        """Keep something for another task of those that write this version; it goes when the version is published."""
        with suppress(FileExistsError):
            self.place.make(f"{self._directory}/{_ASIDE}")
        self.place.write(f"{self._directory}/{_ASIDE}/{name}", data)

    def taken_aside(self, name: str) -> bytes:
        """What a task has set aside."""
        return self.place.read(f"{self._directory}/{_ASIDE}/{name}", _LONGEST_ASIDE)

    def publish(
        self,
        descriptions: Iterable[Mapping[str, Any]],
        header: Mapping[str, Any],
        restored_from: int | None = None,
        after: int | None = None,
    ) -> int:
        """Make the described parts the current version; returns its number.

        `after`  the version that this one was made from: raises `Overtaken` if another one is current by now
        """
        encoded("the version's header", dict(header))
        now = datetime.datetime.now(datetime.UTC)
        manifest = Manifest(self.version, now, restored_from, dict(header), _parts(descriptions))
        data = manifest_bytes(manifest)
        with explained(f"publish version {self.version} at {self.place}"):
            self._check_files(manifest)
            with self.place.alone():
                self._check_current(current_line(self.place), after)
                if not self.place.create(f"{self._directory}/{MANIFEST}", data):
                    raise self._published_already()
                self.place.settle("")
                self._make_current(current_bytes(self.version, manifest_checksum(data)), after)
        return self.version

    def _check_current(self, line: bytes | None, after: int | None) -> None:
        if after is not None and read_line(self.place, line).version != after:
            raise Overtaken(f"version {after} of {self.place} was replaced while a change of it was prepared")

    def _make_current(self, new: bytes, after: int | None) -> None:
        """Where nobody is alone another writer may be quicker, again and again."""
        is_current = False
        while not is_current:
            old = current_line(self.place)
            try:
                self._check_current(old, after)
            except Overtaken:
                self.place.remove(f"{self._directory}/{MANIFEST}")
                raise
            is_current = self.place.swap(CURRENT, old, new)

    def _published_already(self) -> InvalidArgument:
        return InvalidArgument(f"version {self.version} of {self.place} has already been published")

    def abort(self) -> None:
        """Remove what was written; a version that has its manifest stays, as it may be current already."""
        if MANIFEST not in self.place.files(self._directory):
            self.place.give_up(self._directory)

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is not None:
            self.abort()

    @property
    def _directory(self) -> str:
        return version_name(self.version)

    def _put_arrays(self, directory: str, part: SavedPart, earlier: EarlierPart | None) -> dict[str, ArrayEntry]:
        """As `_write_arrays`, to a store: several at once, and files of other versions where they are."""
        entries: dict[str, ArrayEntry] = {}
        new: list[tuple[str, Any]] = []
        for position, (name, value) in enumerate(part.arrays.items()):
            check_name("an array", name)
            file = f"{self._directory}/{directory}/{array_file(position, name)}"
            entry, data = named_array(storable(name, value), file, earlier.array(name) if earlier else None)
            if data is not None:
                new.append((entry.patch.file if entry.patch else entry.file, data))
            entries[name] = entry
        in_parallel(lambda each: self.place.write(*each), new)
        return entries

    def _write_arrays(self, directory: str, part: SavedPart, earlier: EarlierPart | None) -> dict[str, ArrayEntry]:
        entries: dict[str, ArrayEntry] = {}
        into = f"{self._directory}/{directory}"
        for position, (name, value) in enumerate(part.arrays.items()):
            check_name("an array", name)
            array, file = storable(name, value), array_file(position, name)
            shared = share_array(self.place, into, file, array, earlier.array(name)) if earlier else None
            if shared is None:
                self.place.write(f"{into}/{file}", octets(array))
            entries[name] = shared or entry_of(file, array)
        return entries

    def _check_files(self, manifest: Manifest) -> None:
        """Compare the files with the descriptions, and remove what failed attempts have left."""
        found = self.place.files(self._directory)
        if MANIFEST in found:
            raise self._published_already()
        if not self.place.is_local and not any(file.startswith(CLAIM) for file in found):
            raise damaged(f"{self.place}/{self._directory}", "was removed while it was written", "begin again")
        top = f"{self._directory}/"
        own = {file.removeprefix(top): size for file, size in manifest.files().items() if file.startswith(top)}
        for file, size in own.items():
            if found.get(file) != size:
                raise damaged(f"{self.place}/{top}{file}", "is not there as described", "write the part again")
        self._check_directories(manifest, found)
        wanted = {file.split("/")[0] for file in own}
        for directory in {file.split("/")[0] for file in found if "/" in file} - wanted:
            self.place.remove(f"{self._directory}/{directory}")

    def _check_directories(self, manifest: Manifest, found: Mapping[str, int]) -> None:
        """Of parts that describe themselves, compare how many files there are, and how large they are together."""
        sizes: dict[str, list[int]] = {}
        for file, size in found.items():
            sizes.setdefault(file.rpartition("/")[0], []).append(size)
        for part in manifest.references().values():
            own = sizes.get(part.directory, [])
            if "/" not in part.directory and (len(own) - 1, sum(own) - part.size) != (part.count, part.bytes):
                where = f"{self.place}/{self._directory}/{part.directory}"
                raise damaged(where, "is not there as described", "write the part again")


def _last_step(file: str) -> str:
    return file.rpartition("/")[2]


def _parts(descriptions: Iterable[Mapping[str, Any]]) -> dict[str, PartEntry | PartReference]:
    parts: dict[str, PartEntry | PartReference] = {}
    for description in descriptions:
        name = str(description.get("name"))
        if name in parts:
            raise InvalidArgument(f"part {name!r} is described twice")
        try:
            parts[name] = part_of(name, dict(description))
        except ValueError as error:
            raise InvalidArgument(f"part {name!r} is not described as write_part does: {error}") from error
    if not parts:
        raise InvalidArgument("a version needs at least one part")
    return parts
