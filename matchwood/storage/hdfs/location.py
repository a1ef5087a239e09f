"""Snapshots on HDFS, through hdfs-native: neither Java nor Hadoop's libraries are needed.

HDFS creates a file only if there is none, and renames one onto a name only if that is free, each in one step. So a
version is claimed by creating `claim` in its directory, its manifest appears by a rename, and what is current is the
last of a row of small files, of which a writer may only add the next:

    <path>/publications/000000000007        one line, as CURRENT has it elsewhere

Of two writers that add the same number one is told. There is no lock, and no host's clock is asked. CURRENT is a copy
of the last line, for those who read or take away the files by other means.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from hdfs_native import Client, WriteOptions

from matchwood.storage.cache import cached_files, kept_files
from matchwood.storage.entries import PartEntry
from matchwood.storage.hdfs.client import client_of, with_short_errors
from matchwood.storage.location import SMALL
from matchwood.storage.naming import CLAIM, CURRENT, GIVEN_UP, MANIFEST, PUBLICATIONS, token, unfinished_name

_CHUNK = 8 * 2**20
_KEPT, _KEPT_MS = 100, 3600 * 1000
"""Publications that stay: so many, and those of the last hour before the newest, by the name node's own times.

A writer that was stopped between its look at the last one and its rename must not find the next number free again.
"""


@dataclass(frozen=True)
class HdfsLocation:
    """A directory of HDFS: `address` names the cluster, and `settings` are Hadoop's, before those of its files."""

    address: str
    root: str
    uri: str
    settings: tuple[tuple[str, str], ...] = ()
    is_local = False

    def __str__(self) -> str:
        return self.uri

    @with_short_errors
    def names(self) -> list[str]:
        return [each.path.rpartition("/")[2] for each in self._hdfs.list_status(self._at(""))]

    @with_short_errors
    def files(self, directory: str) -> dict[str, int]:
        top = f"{self._at(directory)}/"
        below = self._hdfs.list_status(self._at(directory), recursive=True)
        return {each.path.removeprefix(top): each.length for each in below if not each.isdir}

    @with_short_errors
    def read(self, name: str, limit: int) -> bytes:
        if name == CURRENT and (published := self._published()):
            return self._read(f"{PUBLICATIONS}/{published[-1]}", limit)
        return self._read(name, limit)

    @with_short_errors
    def claim(self, directory: str) -> bool:
        return self._created(f"{directory}/{CLAIM}", token().encode())

    @with_short_errors
    def make(self, directory: str) -> None:
        self._hdfs.mkdirs(self._at(directory), create_parent=True)

    @with_short_errors
    def write(self, name: str, data: Any) -> None:
        self._put(name, data)

    @with_short_errors
    def link(self, source: str, target: str) -> None:
        """A copy: HDFS has no links."""
        with self._hdfs.create(self._at(target), WriteOptions(overwrite=False)) as copy:
            for chunk in self._chunks(source):
                copy.write(chunk)

    def settle(self, directory: str) -> None:
        """A closed file is already safe."""

    @with_short_errors
    def replace(self, name: str, data: bytes) -> None:
        self._appear(name, data, overwrite=True)

    def alone(self) -> AbstractContextManager[None]:
        """Nobody need be: `create` and `swap` have conditions."""
        return nullcontext()

    @with_short_errors
    def create(self, name: str, data: bytes) -> bool:
        return self._created(name, data)

    @with_short_errors
    def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        assert name == CURRENT, "nothing else is replaced under a condition"
        published = self._published()
        last = f"{PUBLICATIONS}/{published[-1]}" if published else CURRENT
        if self._read_or_none(last) != old:
            return self._is(last, new)
        number = int(published[-1]) + 1 if published else 1
        if not self._created(f"{PUBLICATIONS}/{number:012d}", new):
            return False
        with suppress(OSError, RuntimeError):  # it is published, whatever happens now
            self._copy_last()
            self._forget_old()
        return True

    @with_short_errors
    def changed(self, name: str) -> float:
        try:
            top = self._hdfs.get_file_info(self._at(name))
            inside = list(self._hdfs.list_status(self._at(name), recursive=True)) if top.isdir else []
        except FileNotFoundError:
            return 0.0
        return max(float(each.modification_time) for each in [top, *inside]) / 1000

    @with_short_errors
    def remove(self, name: str) -> None:
        """The manifest goes first: what is half removed is no version any more."""
        with suppress(FileNotFoundError):
            if self._hdfs.get_file_info(self._at(name)).isdir:
                self._hdfs.delete(self._at(f"{name}/{MANIFEST}"))
        self._hdfs.delete(self._at(name), recursive=True)

    @with_short_errors
    def give_up(self, directory: str) -> None:
        claim = f"{directory}/{CLAIM}"
        self.remove_files(f"{directory}/{file}" for file in self.files(directory) if file != CLAIM)
        self._appear(claim, GIVEN_UP, overwrite=True)

    @with_short_errors
    def remove_files(self, names: Iterable[str]) -> None:
        for name in names:
            self._hdfs.delete(self._at(name))

    def paths(self, version: str, part: PartEntry) -> dict[str, str]:
        return cached_files(str(self), version, part, self._download)

    def kept(self, version: str, part: PartEntry) -> dict[str, str] | None:
        return kept_files(str(self), version, part)

    @with_short_errors
    def _download(self, name: str, target: str) -> None:
        with open(target, "xb") as copy:
            for chunk in self._chunks(name):
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())

    @property
    def _hdfs(self) -> Client:
        return client_of(os.getpid(), self.address, self.settings)

    def _at(self, name: str) -> str:
        return f"{self.root}/{name}".rstrip("/") or "/"

    def _published(self) -> list[str]:
        """The numbers of all publications that are left, in order."""
        try:
            found = [each.path.rpartition("/")[2] for each in self._hdfs.list_status(self._at(PUBLICATIONS))]
        except FileNotFoundError:
            return []
        return sorted(name for name in found if name.isdigit())

    def _copy_last(self) -> None:
        """Let CURRENT say what the last publication does: whoever comes late looks again whether it is the last."""
        told = None
        while told != (last := self._published()[-1]):
            self._appear(CURRENT, self._read(f"{PUBLICATIONS}/{last}", SMALL), overwrite=True)
            told = last

    def _forget_old(self) -> None:
        found = sorted(self._hdfs.list_status(self._at(PUBLICATIONS)), key=lambda each: str(each.path))
        newest = max(each.modification_time for each in found)
        for each in found[:-_KEPT]:
            if newest - each.modification_time > _KEPT_MS:
                self._hdfs.delete(each.path)

    def _read(self, name: str, limit: int) -> bytes:
        reader = self._hdfs.read(self._at(name))
        if len(reader) > limit:
            raise ValueError(f"larger than {limit} bytes")
        return bytes(reader.read())

    def _read_or_none(self, name: str) -> bytes | None:
        try:
            return self._read(name, SMALL)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _is(self, name: str, data: bytes) -> bool:
        return self._read_or_none(name) == data

    def _chunks(self, name: str) -> Iterator[bytes]:
        reader = self._hdfs.read(self._at(name))
        size = len(reader)
        for start in range(0, size, _CHUNK):
            yield reader.read_range(start, min(_CHUNK, size - start))

    def _put(self, name: str, data: Any) -> None:
        """A new file; FileExistsError if there is one."""
        with self._hdfs.create(self._at(name), WriteOptions(overwrite=False)) as file:
            view = memoryview(data)
            for start in range(0, len(view), _CHUNK):
                file.write(view[start : start + _CHUNK])

    def _created(self, name: str, data: bytes) -> bool:
        """Whoever is refused looks whether what is there is its own: a client may have asked twice."""
        try:
            self._appear(name, data, overwrite=False)
        except (FileExistsError, FileNotFoundError) as error:
            if not self._is(name, data) and isinstance(error, FileNotFoundError):
                raise
            return self._is(name, data)
        return True

    def _appear(self, name: str, data: bytes, overwrite: bool) -> None:
        """A file that readers see whole or not at all, by one rename."""
        temporary = unfinished_name(name)
        self._put(temporary, data)
        try:
            self._hdfs.rename(self._at(temporary), self._at(name), overwrite)
        except BaseException:
            with suppress(OSError, RuntimeError):
                self._hdfs.delete(self._at(temporary))
            raise
