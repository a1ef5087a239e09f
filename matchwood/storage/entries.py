"""The entries of a manifest: one for each part, one for each array file.

They may come from anyone, so nothing is believed: names are single harmless path components, types come from a
list, a shape must multiply to the size, and sizes are later compared with the files'. What is wrong is a ValueError.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from matchwood.storage.naming import is_component, is_path

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")

CHECKSUM = re.compile(r"[0-9a-f]{16}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{40}", re.ASCII)
_MOST_BYTES = 2**62
_MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class PatchEntry:
    """The blocks that an array has otherwise than its file, which has `base_bytes` bytes (`patches.py`)."""

    file: str
    bytes: int
    blocks: int
    base_bytes: int


@dataclass(frozen=True)
class ArrayEntry:
    """An array: its type, shape and checksum, and the file with its bytes, which a patch may change.

    `file`    in the part's directory, or, with slashes, below the snapshot's path: in any version's directory
    `digest`  of the file's own bytes, which hosts call their copy by; remote versions have one
    """

    file: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    checksum: str
    patch: PatchEntry | None = None
    digest: str | None = None

    @property
    def stored(self) -> int:
        """The size of the file itself."""
        return self.patch.base_bytes if self.patch else self.bytes

    def files(self) -> dict[str, int]:
        """The files that the array is read from, with their sizes."""
        return {self.file: self.stored} | ({self.patch.file: self.patch.bytes} if self.patch else {})

    def to_json(self) -> dict[str, Any]:
        body = {**asdict(self), "shape": list(self.shape)}
        return {name: value for name, value in body.items() if value is not None}

    def renamed(self, name: Callable[[str], str]) -> ArrayEntry:
        """The same array with other names of its files."""
        patch = replace(self.patch, file=name(self.patch.file)) if self.patch else None
        return replace(self, file=name(self.file), patch=patch)


@dataclass(frozen=True)
class PartEntry:
    directory: str
    header: dict[str, Any]
    arrays: dict[str, ArrayEntry]

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.arrays.values())

    def files(self) -> dict[str, int]:
        """The files in the part's directory, with their sizes."""
        return {file: size for entry in self.arrays.values() for file, size in entry.files().items()}

    def only(self, names: Container[str] | None) -> PartEntry:
        """The part with some of its arrays; None for all."""
        if names is None:
            return self
        return replace(self, arrays={name: entry for name, entry in self.arrays.items() if name in names})

    def path(self, version: str, file: str) -> str:
        """A file's name below the snapshot's path; `version` is the directory of the version that has the part."""
        return file_path(version, self.directory, file)

    def renamed(self, name: Callable[[str], str]) -> PartEntry:
        """The same part with other names of its files."""
        return replace(self, arrays={key: entry.renamed(name) for key, entry in self.arrays.items()})

    def to_json(self) -> dict[str, Any]:
        arrays = {name: entry.to_json() for name, entry in self.arrays.items()}
        return {"directory": self.directory, "header": self.header, "arrays": arrays}


def file_path(version: str, directory: str, file: str) -> str:
    """Where a part's file is, below the snapshot's path: names with slashes say so themselves."""
    if "/" in file:
        return file
    return f"{directory}/{file}" if "/" in directory else f"{version}/{directory}/{file}"


def part_entry(name: str, body: Any) -> PartEntry:
    directory = field_of(body, "directory", str)
    if not is_component(directory):
        raise ValueError(f"part {name!r} has the directory {directory!r}, which is not a plain name")
    arrays = {key: array_entry(key, entry) for key, entry in field_of(body, "arrays", dict).items()}
    return PartEntry(directory, field_of(body, "header", dict), arrays)


def array_entry(name: str, body: Any) -> ArrayEntry:
    entry = ArrayEntry(
        file=field_of(body, "file", str),
        dtype=field_of(body, "dtype", str),
        shape=_shape(name, field_of(body, "shape", list)),
        bytes=field_of(body, "bytes", int),
        checksum=field_of(body, "checksum", str),
        patch=_patch_entry(field_of(body, "patch", dict)) if "patch" in body else None,
        digest=field_of(body, "digest", str) if "digest" in body else None,
    )
    _check_array_entry(name, entry)
    return entry


def _patch_entry(body: Any) -> PatchEntry:
    numbers = {name: field_of(body, name, int) for name in ("bytes", "blocks", "base_bytes")}
    patch = PatchEntry(file=field_of(body, "file", str), **numbers)
    if not all(0 <= number < _MOST_BYTES for number in numbers.values()) or 8 * patch.blocks > patch.bytes:
        raise ValueError(f"patch {patch.file!r} has impossible sizes")
    return patch


def field_of(body: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    """A field of the right type; bool is not an int here."""
    if not isinstance(body, dict) or name not in body:
        raise ValueError(f"{name!r} is missing")
    value = body[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name!r} has the wrong type ({type(value).__name__})")
    return value


def _shape(name: str, sizes: list[Any]) -> tuple[int, ...]:
    if len(sizes) > _MOST_DIMENSIONS or not all(type(size) is int and 0 <= size < _MOST_BYTES for size in sizes):
        raise ValueError(f"array {name!r} has an impossible shape")
    return tuple(sizes)


def _check_array_entry(name: str, entry: ArrayEntry) -> None:
    for file in entry.files():
        if not is_component(file) and not is_path(file):
            raise ValueError(f"array {name!r} has the file {file!r}, which is not a plain name")
    if entry.dtype not in DTYPES:
        raise ValueError(f"array {name!r} has the type {entry.dtype!r}, which is none of {', '.join(DTYPES)}")
    width = np.dtype(entry.dtype).itemsize
    span = width * math.prod(size or 1 for size in entry.shape)  # what NumPy computes even for an empty array
    if span > _MOST_BYTES or width * math.prod(entry.shape) != entry.bytes:
        raise ValueError(f"array {name!r} has {entry.bytes} bytes, which do not fit its shape")
    if entry.patch and entry.bytes > entry.stored + entry.patch.bytes - 8 * entry.patch.blocks:
        raise ValueError(f"array {name!r} has more bytes than its files")
    if entry.digest is not None and not _DIGEST.fullmatch(entry.digest):
        raise ValueError(f"array {name!r} has no valid digest")
    if not CHECKSUM.fullmatch(entry.checksum):
        raise ValueError(f"array {name!r} has no valid checksum")
