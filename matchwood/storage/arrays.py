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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.storage.checksum import checksum
from matchwood.storage.damage import damaged
from matchwood.storage.entries import DTYPES, ArrayEntry

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


def entry_of(file: str, array: NDArray[Any]) -> ArrayEntry:
    return ArrayEntry(file, array.dtype.str, array.shape, array.nbytes, checksum(array))


def map_array(path: str, entry: ArrayEntry) -> NDArray[Any]:
    """The array in a file, without reading it; shared with every process that maps it."""
    descriptor = _opened(path)
    try:
        _check_size(path, descriptor, entry)
        if entry.bytes == 0:
            return _empty(entry)
        mapped = mmap.mmap(descriptor, entry.bytes, access=mmap.ACCESS_READ, **_UNTRACKED)
    finally:
        os.close(descriptor)
    return np.frombuffer(mapped, dtype=entry.dtype).reshape(entry.shape)


def check_array(path: str, entry: ArrayEntry) -> None:
    """Read the whole file and compare its checksum."""
    if checksum(map_array(path, entry)) != entry.checksum:
        raise damaged(path, "its contents do not have the checksum that the manifest gives")


def _opened(path: str) -> int:
    try:
        return os.open(path, _SAFELY)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        raise damaged(path, "the file is missing, or not a regular file") from error


def _check_size(path: str, descriptor: int, entry: ArrayEntry) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise damaged(path, "not a regular file")
    if status.st_size != entry.bytes:
        raise damaged(path, f"has {status.st_size} bytes where the manifest says {entry.bytes}")


def _empty(entry: ArrayEntry) -> NDArray[Any]:
    array: NDArray[Any] = np.empty(entry.shape, dtype=entry.dtype)
    array.flags.writeable = False
    return array
