"""Where a snapshot lives: the few operations that versions need from a file system, and how a path finds one.

Local directories are the main case (`local.py`); everything that PyArrow reaches by a URI is the other (`remote.py`).
Names are relative to the snapshot's path, with `/` between steps.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, runtime_checkable

from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.storage.entries import PartEntry

# Two letters at least, so that a Windows drive is no scheme; one slash is enough, or dbfs:/x would become a directory.
_HADOOP = ("hdfs:", "viewfs:")
_HADOOP_NEEDS = (
    "pip install 'matchwood[hdfs]', which needs neither Java nor Hadoop. Without it PyArrow reaches HDFS through "
    "Hadoop's own libraries: install Hadoop, set JAVA_HOME and HADOOP_HOME (or ARROW_LIBHDFS_DIR, the folder of "
    "libhdfs.so), and CLASSPATH to what `hadoop classpath --glob` prints"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@runtime_checkable
class Location(Protocol):
    """A file system directory that holds one snapshot. `str()` is what messages call it."""

    @property
    def is_local(self) -> bool:
        """Whether files can be mapped where they are."""

    def names(self) -> list[str]:
        """What the snapshot's path contains; FileNotFoundError if there is no such directory."""

    def files(self, directory: str) -> dict[str, int]:
        """Regular files below a version's directory, at most one directory deep, with their sizes."""

    def read(self, name: str, limit: int) -> bytes:
        """A whole small file; FileNotFoundError if there is none, ValueError if it is larger than `limit`."""

    def claim(self, directory: str) -> bool:
        """Make the directory of a new version; False if another writer has it."""

    def make(self, directory: str) -> None:
        """Make a directory inside a claimed one."""

    def write(self, name: str, data: Any) -> None:
        """A new file from bytes (or a flat array of them), safe from a power cut on return."""

    def link(self, source: str, target: str) -> None:
        """The same contents under a second name, without a copy where that can be done."""

    def settle(self, directory: str) -> None:
        """Make the names in a directory (empty: the snapshot's path) safe from a power cut."""

    def replace(self, name: str, data: bytes) -> None:
        """A file whose readers see its old or its new contents, nothing else."""

    def alone(self) -> AbstractContextManager[None]:
        """A time in which no other writer can `create` or `swap` here: what they need where puts have no conditions."""

    def create(self, name: str, data: bytes) -> bool:
        """A new file that readers see whole or not at all; False, and nothing done, if there is one."""

    def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Replace a file that still is `old` (None: that is not there); False, and nothing done, if it is not."""

    def changed(self, name: str) -> float:
        """When a file, or something in a directory, last changed: seconds since 1970; 0 if it has gone meanwhile."""

    def remove(self, name: str) -> None:
        """Remove a file or a directory with all it contains; nothing happens if it is gone."""

    def give_up(self, directory: str) -> None:
        """Remove what was written for a version that was claimed; remote ones keep the claim, marked as given up.

        So no number is given twice, and what is still being removed is never a new writer's.
        """

    def remove_files(self, names: Iterable[str]) -> None:
        """Remove some files."""

    def paths(self, version: str, part: PartEntry) -> dict[str, str]:
        """Where on this host the part's files are; those that had to be copied have been checked in full."""

    def kept(self, version: str, part: PartEntry) -> dict[str, str] | None:
        """The same, if this host has all of them already."""


SMALL = 4096
"""More than a file has that is swapped."""


def read_or_none(place: Location, name: str) -> bytes | None:
    """A small file, None if there is none."""
    try:
        return place.read(name, SMALL)
    except (FileNotFoundError, NotADirectoryError):
        return None


def swapped_alone(place: Location, name: str, old: bytes | None, new: bytes) -> bool:
    """`Location.swap` where nothing but being alone keeps others from the same."""
    if read_or_none(place, name) != old:
        return False
    place.replace(name, new)
    return True


Path: TypeAlias = str | os.PathLike[str] | Location


def location_of(path: Path, settings: Mapping[str, Any] | None = None) -> Location:
    """The place a path or URI names; a Location is taken as it is.

    `settings`  credentials and the like for object stores, by obstore's names; what the URI says counts first
    """
    from matchwood.storage.local import LocalLocation

    if isinstance(path, Location) and not isinstance(path, (str, os.PathLike)):
        return path
    text = os.fspath(path)
    if not isinstance(text, str) or not text:
        raise InvalidArgument(f"a snapshot's path must be text, a path or a URI (got {path!r})")
    return _by_uri(text, settings or {}) if _URI.match(text) else LocalLocation(os.path.abspath(text))


def _by_uri(uri: str, settings: Mapping[str, Any]) -> Location:
    from matchwood.storage.local import LocalLocation
    from matchwood.storage.uris import hdfs_location, mounted, object_location

    path = mounted(uri)
    if path:
        return LocalLocation(path)
    return object_location(uri, settings) or hdfs_location(uri, settings) or _by_arrow(uri)


def _by_arrow(uri: str) -> Location:
    import pyarrow
    from pyarrow import fs

    from matchwood.storage.local import LocalLocation
    from matchwood.storage.remote import RemoteLocation

    try:
        filesystem, inside = fs.FileSystem.from_uri(uri)
    except (pyarrow.ArrowException, ValueError) as error:
        known = "a local path, file://, s3://, gs://, abfss:// or hdfs://"
        raise InvalidArgument(f"cannot use {uri!r}: {error} (try {known})") from error
    except OSError as error:
        if not uri.startswith(_HADOOP):
            raise
        raise MatchwoodError(f"cannot use {uri!r}: {str(error).splitlines()[0]}; {_HADOOP_NEEDS}") from error
    return (
        LocalLocation(inside) if isinstance(filesystem, fs.LocalFileSystem) else RemoteLocation(filesystem, inside, uri)
    )
