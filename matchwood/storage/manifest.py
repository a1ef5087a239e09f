"""The manifest of a version: what it consists of, file by file.

The file is JSON. Its first line holds the format number and the checksum of everything else:

    {"format": 1, "checksum": "0123456789abcdef",
    "version": 12, "created": "2026-01-01T00:00:00.000000+00:00", "restored_from": null, "header": {…},
     "parts": {"0": {"directory": "part-0-1f…", "header": {…}, "arrays": {"offsets":
         {"file": "0000-offsets.bin", "dtype": "<i8", "shape": [7], "bytes": 56, "checksum": "…"}}}}}

An array that was changed since its file was written also has "patch": {"file": "0000-offsets.patch", "bytes": 4104,
"blocks": 1, "base_bytes": 48}, and the format is 2. Remote versions have format 3: a file's name may be one below
the snapshot's path, "v000011/part-0-5e…/0000-offsets.bin", and a "digest" names its contents. With format 4 a part may
describe itself: {"directory": "part-0-1f…", "bytes": 56, "count": 1, "size": 187, "checksum": "…"} (`part.py`).
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matchwood.errors import LimitExceeded
from matchwood.storage.checksum import checksum
from matchwood.storage.damage import damaged
from matchwood.storage.entries import PartEntry, field_of
from matchwood.storage.naming import version_name
from matchwood.storage.part import PartReference, part_of
from matchwood.storage.strictjson import decoded

FORMAT = 4
"""Since 2, arrays may have patches; since 3, files of other versions, and digests; since 4, parts may describe
themselves."""
MANIFEST_LIMIT = 32 * 2**20

_FIRST_LINE = re.compile(rb'\{"format": ([0-9]{1,9}), "checksum": "([0-9a-f]{16})",\n')


@dataclass(frozen=True)
class Manifest:
    version: int
    created: datetime.datetime
    restored_from: int | None
    header: dict[str, Any]
    parts: dict[str, PartEntry | PartReference]

    @property
    def bytes(self) -> int:
        """The size of all arrays."""
        return sum(part.bytes for part in self.parts.values())

    def files(self) -> dict[str, int]:
        """Every file that the manifest names, below the snapshot's path, with its size."""
        own, parts = version_name(self.version), self.parts.values()
        return {part.path(own, file): size for part in parts for file, size in part.files().items()}

    def references(self) -> dict[str, PartReference]:
        """The parts that describe themselves."""
        return {name: part for name, part in self.parts.items() if isinstance(part, PartReference)}

    def directories(self) -> set[str]:
        """The directories, below the snapshot's path, of which every file belongs to this version."""
        own = version_name(self.version)
        return {part.within(own).directory for part in self.references().values()}

    @property
    def format(self) -> int:
        """The oldest format that can say it: older readers need not know of what is not used."""
        parts = [part for part in self.parts.values() if isinstance(part, PartEntry)]
        entries = [entry for part in parts for entry in part.arrays.values()]
        if len(parts) < len(self.parts):
            return FORMAT
        if any(entry.digest or "/" in entry.file for entry in entries):
            return 3
        return 2 if any(entry.patch for entry in entries) else 1


def manifest_bytes(manifest: Manifest) -> bytes:
    """The file's contents; `manifest_checksum` of them is what CURRENT repeats."""
    body = json.dumps(
        {
            "version": manifest.version,
            "created": manifest.created.isoformat(timespec="microseconds"),
            "restored_from": manifest.restored_from,
            "header": manifest.header,
            "parts": {name: part.to_json() for name, part in manifest.parts.items()},
        },
        allow_nan=False,
    )
    rest = body[1:].encode()
    number = manifest.format
    data = f'{{"format": {number}, "checksum": "{_sealed(number, rest)}",\n'.encode() + rest
    if len(data) > MANIFEST_LIMIT:
        size = f"{len(data)} bytes, the limit is {MANIFEST_LIMIT}"
        raise LimitExceeded(f"the manifest would have {size}: put what is large in the headers into arrays")
    return data


def manifest_checksum(data: bytes) -> str:
    """The checksum that a manifest carries (it covers the whole file)."""
    first = _FIRST_LINE.match(data)
    return first[2].decode() if first else ""


def read_manifest(data: bytes, file: str) -> Manifest:
    """A manifest from a file's contents, with everything checked that can be checked without the other files."""
    rest = _unsealed(data, file)
    try:
        return _manifest(decoded(b"{" + rest))
    except (ValueError, RecursionError) as error:
        raise damaged(file, f"not a valid manifest: {error}") from error


def _unsealed(data: bytes, file: str) -> bytes:
    first = _FIRST_LINE.match(data)
    if first is None:
        raise damaged(file, "does not begin like a manifest")
    number, rest = int(first[1]), data[first.end() :]
    if number > FORMAT:
        what = f"has format {number}, this Matchwood reads up to {FORMAT}"
        raise damaged(file, what, "upgrade Matchwood, or save again with this one")
    if number < 1 or _sealed(number, rest) != first[2].decode():
        raise damaged(file, "its contents do not have the checksum in its first line")
    return rest


def _sealed(number: int, rest: bytes) -> str:
    return checksum(b"%d\n" % number + rest)


def _manifest(body: Any) -> Manifest:
    restored = field_of(body, "restored_from", (int, type(None)))
    parts: Mapping[str, Any] = field_of(body, "parts", dict)
    return Manifest(
        version=field_of(body, "version", int),
        created=_instant(field_of(body, "created", str)),
        restored_from=restored,
        header=field_of(body, "header", dict),
        parts={name: part_of(name, part) for name, part in parts.items()},
    )


def _instant(text: str) -> datetime.datetime:
    instant = datetime.datetime.fromisoformat(text)
    if instant.utcoffset() is None:
        raise ValueError(f"the time {text!r} has no offset from UTC")
    return instant
