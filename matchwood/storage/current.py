"""CURRENT: one line that names the current version and repeats its manifest's checksum.

The checksum ties the two together: no damage to CURRENT can make one version pass for another.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from matchwood.storage.damage import damaged, nothing_at
from matchwood.storage.location import Location, Path, location_of, read_or_none
from matchwood.storage.naming import CURRENT, version_name, version_number

_LINE = re.compile(rb"(v[0-9]{6,15}) ([0-9a-f]{16})\n")
_REPUBLISH = "rollback(path, version) makes a version current again, versions(path) lists them"


class Current(NamedTuple):
    version: int
    seal: str


def current_bytes(version: int, seal: str) -> bytes:
    return f"{version_name(version)} {seal}\n".encode()


def current_version(path: Path) -> int:
    """The number of the version that `load` opens; one small read, for those who follow a snapshot."""
    return current_of(path).version


def current_of(path: Path) -> Current:
    """The version that `load` opens, and the checksum of its manifest."""
    return read_current(location_of(path))


def read_current(place: Location) -> Current:
    """What CURRENT says."""
    return read_line(place, current_line(place))


def current_line(place: Location) -> bytes | None:
    """CURRENT as it is, None if there is none."""
    try:
        return read_or_none(place, CURRENT)
    except ValueError as error:
        raise damaged(f"{place}/{CURRENT}", str(error), _REPUBLISH) from error


def read_line(place: Location, data: bytes | None) -> Current:
    file = f"{place}/{CURRENT}"
    if data is None:
        raise _absent(place, file)
    found = _LINE.fullmatch(data)
    number = version_number(found[1].decode()) if found else None
    if found is None or number is None:
        raise damaged(file, "does not name a version", _REPUBLISH)
    return Current(number, found[2].decode())


def _absent(place: Location, file: str) -> OSError:
    try:
        names = place.names()
    except (FileNotFoundError, NotADirectoryError):
        return nothing_at(place)
    if any(version_number(name) for name in names):
        return damaged(file, "the file is missing, or no version was ever published", _REPUBLISH)
    return nothing_at(place, "not a snapshot: it has no CURRENT file")
