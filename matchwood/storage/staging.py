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
from dataclasses import dataclass
from typing import Any

from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.storage.arrays import entry_of, storable
from matchwood.storage.checksum import octets
from matchwood.storage.current import current_bytes, read_current
from matchwood.storage.damage import damaged, explained
from matchwood.storage.entries import ArrayEntry, PartEntry, part_entry
from matchwood.storage.location import Location, Path, location_of
from matchwood.storage.manifest import Manifest, manifest_bytes, manifest_checksum
from matchwood.storage.naming import (
    CURRENT,
    MANIFEST,
    array_file,
    check_name,
    part_directory,
    version_name,
    version_number,
)
from matchwood.storage.part import SavedPart
from matchwood.storage.strictjson import encoded


class Overtaken(MatchwoodError):
    """Another writer has published first: begin again from what is current now."""


def save(path: Path, parts: Mapping[str, SavedPart], header: Mapping[str, Any]) -> int:
    """Publish a new version with these parts; returns its number."""
    with begin(path) as staging:
        return staging.publish([staging.write_part(name, part) for name, part in parts.items()], header)


def begin(path: Path) -> Staging:
    """Claim the next version number at a path; nothing is visible to readers before `publish`."""
    place = location_of(path)
    with explained(f"save a snapshot to {place}"):
        number = _next_number(place)
        while not place.claim(version_name(number)):
            number = max(number + 1, _next_number(place))
    return Staging(place, number)


def _next_number(place: Location) -> int:
    try:
        taken = [version_number(name) or 0 for name in place.names()]
    except FileNotFoundError:
        taken = []
    return max(taken, default=0) + 1


@dataclass(frozen=True)
class Staging:
    """A claimed version. Pickled, it lets other processes write parts; as a context, it aborts on an error."""

    place: Location
    version: int

    def write_part(self, name: str, part: SavedPart) -> dict[str, Any]:
        """Write one part's arrays; returns a small JSON-able description for `publish`.

        A part may be written again, by a retried task for instance: only the description that is published counts.
        """
        check_name("a part", name)
        header = dict(part.header)
        encoded(f"the header of part {name!r}", header)
        directory = part_directory(name)
        with explained(f"save part {name!r} to {self.place}"):
            self.place.make(f"{self._directory}/{directory}")
            arrays = self._write_arrays(directory, part)
            self.place.settle(f"{self._directory}/{directory}")
        return {"name": name, **PartEntry(directory, header, arrays).to_json()}

    def link_part(self, name: str, part: PartEntry, version: int) -> dict[str, Any]:
        """Take over a part of a published version, without a copy where that can be done; returns its description."""
        source, target = f"{version_name(version)}/{part.directory}", f"{self._directory}/{part.directory}"
        with explained(f"link part {name!r} of version {version} at {self.place}"):
            self.place.make(target)
            for entry in part.arrays.values():
                self.place.link(f"{source}/{entry.file}", f"{target}/{entry.file}")
            self.place.settle(target)
        return {"name": name, **part.to_json()}

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
                if after is not None and read_current(self.place).version != after:
                    raise Overtaken(f"version {after} of {self.place} was replaced while a change of it was prepared")
                self.place.replace(f"{self._directory}/{MANIFEST}", data)
                self.place.settle("")
                self.place.replace(CURRENT, current_bytes(self.version, manifest_checksum(data)))
        return self.version

    def abort(self) -> None:
        """Remove what was written; a version that has its manifest stays, as it may be current already."""
        if MANIFEST not in self.place.files(self._directory):
            self.place.remove(self._directory)

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is not None:
            self.abort()

    @property
    def _directory(self) -> str:
        return version_name(self.version)

    def _write_arrays(self, directory: str, part: SavedPart) -> dict[str, ArrayEntry]:
        entries: dict[str, ArrayEntry] = {}
        for position, (name, value) in enumerate(part.arrays.items()):
            check_name("an array", name)
            array = storable(name, value)
            entries[name] = entry_of(array_file(position, name), array)
            self.place.write(f"{self._directory}/{directory}/{entries[name].file}", octets(array))
        return entries

    def _check_files(self, manifest: Manifest) -> None:
        """Compare the files with the descriptions, and remove what failed attempts have left."""
        found = self.place.files(self._directory)
        if MANIFEST in found:
            raise InvalidArgument(f"version {self.version} of {self.place} has already been published")
        for file, size in manifest.files().items():
            if found.get(file) != size:
                name = f"{self.place}/{self._directory}/{file}"
                raise damaged(name, "is not there as described", "write the part again")
        wanted = {part.directory for part in manifest.parts.values()}
        for directory in {file.split("/")[0] for file in found if "/" in file} - wanted:
            self.place.remove(f"{self._directory}/{directory}")


def _parts(descriptions: Iterable[Mapping[str, Any]]) -> dict[str, PartEntry]:
    parts: dict[str, PartEntry] = {}
    for description in descriptions:
        name = str(description.get("name"))
        if name in parts:
            raise InvalidArgument(f"part {name!r} is described twice")
        try:
            parts[name] = part_entry(name, dict(description))
        except ValueError as error:
            raise InvalidArgument(f"part {name!r} is not described as write_part does: {error}") from error
    if not parts:
        raise InvalidArgument("a version needs at least one part")
    return parts
