"""Arrays as files: raw little-endian values in C order, mapped read-only.

A raw file begins on a page, so its map is aligned for every type. The type and shape stand in the manifest. Types
come from a fixed list: nothing that is read from a file is ever unpickled.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.storage.checksum import checksum
from matchwood.storage.damage import damaged
from matchwood.storage.entries import DTYPES, ArrayEntry, PatchEntry
from matchwood.storage.patches import apply_patch

# A map keeps its own descriptor of the file before Python 3.13, although the system does not need one.
_UNTRACKED: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}
_SAFELY = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def storable(name: str, value: Any) -> NDArray[Any]:
    """The array as it is written: C order, little-endian, of a type that can be saved."""
    array = np.asarray(value, order="C")
    little = array.dtype.newbyteorder("<")
    if little.str not in DTYPES:
        raise InvalidArgument(f"array {name!r} has the type {array.dtype}, which cannot be saved ({', '.join(DTYPES)})")
    return np.asarray(array, dtype=little, order="C")


def entry_of(file: str, array: NDArray[Any], patch: PatchEntry | None = None) -> ArrayEntry:
    return ArrayEntry(file, array.dtype.str, array.shape, array.nbytes, checksum(array), patch)


def map_array(paths: Mapping[str, str], entry: ArrayEntry) -> NDArray[Any]:
    """The array in a file, without reading it; shared with every process that maps it. `paths` tells where files are.

    One with a patch is a private map of which only the patched pages are memory of our own; if the array has grown
    since the file was written, it is a copy.
    """
    flat = _patched(paths, entry, entry.patch) if entry.patch else map_file(paths[entry.file], entry.bytes)
    flat.flags.writeable = False
    return flat.view(entry.dtype).reshape(entry.shape)


def check_array(paths: Mapping[str, str], entry: ArrayEntry) -> None:
    """Read the whole file and compare its checksum."""
    if checksum(map_array(paths, entry)) != entry.checksum:
        file = paths[entry.patch.file if entry.patch else entry.file]
        raise damaged(file, "its contents do not have the checksum that the manifest gives")


def map_file(path: str, size: int, access: int = mmap.ACCESS_READ, used: int | None = None) -> NDArray[np.uint8]:
    """The bytes of a file of a known size, or the first of them that are `used`."""
    length = size if used is None else used
    descriptor = _opened(path)
    try:
        _check_size(path, descriptor, size)
        mapped = mmap.mmap(descriptor, length, access=access, **_UNTRACKED) if length else bytearray()
    finally:
        os.close(descriptor)
    return np.frombuffer(mapped, dtype=np.uint8)


def _patched(paths: Mapping[str, str], entry: ArrayEntry, patch: PatchEntry) -> NDArray[np.uint8]:
    base, file = paths[entry.file], paths[patch.file]
    if entry.bytes <= patch.base_bytes:
        flat = map_file(base, patch.base_bytes, mmap.ACCESS_COPY, used=entry.bytes)
    else:
        flat = np.zeros(entry.bytes, np.uint8)
        flat[: patch.base_bytes] = map_file(base, patch.base_bytes)
    try:
        apply_patch(flat, map_file(file, patch.bytes), patch.blocks)
    except ValueError as error:
        raise damaged(file, str(error)) from error
    return flat


def _opened(path: str) -> int:
    try:
        return os.open(path, _SAFELY)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        raise damaged(path, "the file is missing, or not a regular file") from error


def _check_size(path: str, descriptor: int, size: int) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise damaged(path, "not a regular file")
    if status.st_size != size:
        raise damaged(path, f"has {status.st_size} bytes where the manifest says {size}")
