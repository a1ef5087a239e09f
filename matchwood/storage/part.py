"""What is saved and loaded: named arrays with a small header; and a part that describes itself.

A version of thousands of parts would have a manifest of hundreds of megabytes, all of which every reader would read. So
such a part has the file part.json in its directory, with its header and its arrays as a manifest has them, and the
manifest only says where it lies, how large it is, and the checksum of that file: some 150 bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from matchwood.storage.checksum import checksum
from matchwood.storage.entries import CHECKSUM, PartEntry, field_of, file_path, part_entry
from matchwood.storage.naming import is_component, is_directory
from matchwood.storage.strictjson import decoded

ENTRY = "part.json"


@dataclass(frozen=True)
class SavedPart:
    """One shard of a version (an embedded index has a single one, "0"): a JSON-able header and arrays by name."""

    header: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class PartReference:
    """What a manifest says of a part that describes itself; all files of the part are in its directory.

    `directory`         in the version's, or, with a slash, below the snapshot's path: in any version's
    `bytes`, `count`    the size of its arrays, and how many files they are
    `size`, `checksum`  of part.json
    """

    directory: str
    bytes: int
    count: int
    size: int
    checksum: str

    def files(self) -> dict[str, int]:
        """The file that must be read to know the others."""
        return {ENTRY: self.size}

    def path(self, version: str, file: str) -> str:
        """A file's name below the snapshot's path; `version` is the directory of the version that has the part."""
        return file_path(version, self.directory, file)

    def within(self, version: str) -> PartReference:
        """The same part, as another version refers to it."""
        return self if "/" in self.directory else replace(self, directory=f"{version}/{self.directory}")

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def apart(entry: PartEntry) -> tuple[PartReference, bytes]:
    """A reference to a part, and what its part.json has to say."""
    body = entry.to_json()
    data = json.dumps({"header": body["header"], "arrays": body["arrays"]}, allow_nan=False).encode()
    return PartReference(entry.directory, entry.bytes, len(entry.files()), len(data), checksum(data)), data


def part_of(name: str, body: Any) -> PartEntry | PartReference:
    """A part as a manifest has it; ValueError if it says what cannot be."""
    if isinstance(body, dict) and "arrays" in body:
        return part_entry(name, body)
    numbers = {key: field_of(body, key, int) for key in ("bytes", "count", "size")}
    reference = PartReference(field_of(body, "directory", str), checksum=field_of(body, "checksum", str), **numbers)
    if not is_component(reference.directory) and not is_directory(reference.directory):
        raise ValueError(f"part {name!r} has the directory {reference.directory!r}, which is not a plain name")
    if min(numbers.values()) < 0 or not CHECKSUM.fullmatch(reference.checksum):
        raise ValueError(f"part {name!r} has impossible sizes, or no valid checksum")
    return reference


def described_bytes(description: Mapping[str, Any]) -> int:
    """The size of the arrays of a part, from what `Staging.write_part` told of it."""
    return part_of(str(description["name"]), dict(description)).bytes


def read_entry(name: str, reference: PartReference, data: bytes) -> PartEntry:
    """The entry that a part.json holds; ValueError if it is not the one that the manifest means."""
    if len(data) != reference.size or checksum(data) != reference.checksum:
        raise ValueError("its contents do not have the checksum that the manifest gives")
    body = decoded(data)
    entry = part_entry(name, {**body, "directory": "own"} if isinstance(body, dict) else body)
    if not all(map(is_component, entry.files())) or any(array.patch for array in entry.arrays.values()):
        raise ValueError(f"part {name!r} names files outside of its directory")
    if (entry.bytes, len(entry.files())) != (reference.bytes, reference.count):
        raise ValueError(f"part {name!r} is not as large as the manifest says")
    return replace(entry, directory=reference.directory)
