"""Snapshots on any file system that PyArrow reaches: fsspec, and where their own clients are not installed, HDFS and
object stores.

There is no exclusive creation and, on object stores, no rename. So a version is claimed by a claim file: write one,
list the directory, and back off if another writer's is there too. Where a listing shows every finished write (S3,
Google Cloud Storage, Azure, HDFS do), two writers never get one number. PyArrow has no conditional put either, so
writers publish one at a time, under a lock of the same kind. Nobody takes it from another, however long that has had
it: without conditions nobody can know that its owner is gone, whatever the clocks say.
"""

from __future__ import annotations

import errno
import os
import random
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyarrow import fs, py_buffer

from matchwood.errors import MatchwoodError
from matchwood.storage.cache import cached_files, kept_files
from matchwood.storage.entries import PartEntry
from matchwood.storage.location import swapped_alone
from matchwood.storage.naming import CLAIM, CURRENT, GIVEN_UP, MANIFEST, PUBLICATIONS, token, unfinished_name

_WHOLE_PUTS = ("s3", "gcs", "abfs")
_LOCK, _PATIENCE = "publishing", 60.0
_TRIES = 4
_CHUNK = 8 * 2**20


@dataclass(frozen=True)
class RemoteLocation:
    """A directory of a PyArrow file system; `uri` names it in messages and on the host's cache."""

    filesystem: fs.FileSystem
    root: str
    uri: str = ""
    is_local = False

    def __str__(self) -> str:
        return self.uri or f"{self.filesystem.type_name}:{self.root}"

    def names(self) -> list[str]:
        return [info.base_name for info in self.filesystem.get_file_info(fs.FileSelector(self._at("")))]

    def files(self, directory: str) -> dict[str, int]:
        top = self._at(directory)
        infos = self.filesystem.get_file_info(fs.FileSelector(top, recursive=True))
        return {info.path[len(top) :].lstrip("/"): info.size for info in infos if info.type == fs.FileType.File}

    def read(self, name: str, limit: int) -> bytes:
        """A file that is being replaced is away for a moment on some file systems: there, look again."""
        for _ in range(_TRIES - 1 if name == CURRENT else 0):
            try:
                return self._read_once(name, limit)
            except OSError:
                time.sleep(0.05)
        return self._read_once(name, limit)

    def _read_once(self, name: str, limit: int) -> bytes:
        with self.filesystem.open_input_stream(self._at(name), compression=None) as stream:
            data: bytes = stream.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"larger than {limit} bytes")
        return data

    def claim(self, directory: str) -> bool:
        return self._claimed(directory) is not None

    def _claimed(self, directory: str) -> str | None:
        """The name of a claim that stands alone in the directory; None, and no claim, if others are there."""
        self.make(directory)
        mine = f"{CLAIM}-{token()}"
        try:
            self.write(f"{directory}/{mine}", f"{socket.gethostname()} {os.getpid()}\n".encode())
            is_alone = set(self.files(directory)) == {mine}
        except FileNotFoundError:  # the directory was removed meanwhile
            return None
        if is_alone:
            return f"{directory}/{mine}"
        self.remove(f"{directory}/{mine}")
        return None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """By a claim in a directory that stays, since others may be about to claim it when it is given back."""
        if self.filesystem.get_file_info(self._at(PUBLICATIONS)).type != fs.FileType.NotFound:
            raise MatchwoodError(
                f"{self} is published through hdfs-native, by everybody: pip install 'matchwood[hdfs]'"
            )
        give_up = time.monotonic() + _PATIENCE
        while (mine := self._claimed(_LOCK)) is None:
            if time.monotonic() > give_up:
                raise self._locked()
            time.sleep(0.05 + 0.1 * random.random())  # two that always come together would wait for each other
        try:
            yield
        finally:
            self.remove(mine)

    def _locked(self) -> OSError:
        held = ", ".join(f"{self}/{_LOCK}/{name}" for name in self.files(_LOCK)) or f"{self}/{_LOCK}"
        return TimeoutError(
            errno.ETIMEDOUT,
            f"nothing was published: another writer has been publishing for {_PATIENCE:.0f} seconds, or was killed "
            f"meanwhile ({held}, which tells its host and process; remove the file if that one is gone). On object "
            "stores, pip install 'matchwood[objects]' publishes without a lock",
        )

    def create(self, name: str, data: bytes) -> bool:
        """The caller is alone."""
        if self.filesystem.get_file_info(self._at(name)).type != fs.FileType.NotFound:
            return False
        self.replace(name, data)
        return True

    def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """The caller is alone."""
        return swapped_alone(self, name, old, new)

    def give_up(self, directory: str) -> None:
        for file in self.files(directory):
            if file.startswith(CLAIM):
                self.replace(f"{directory}/{file}", GIVEN_UP)
            else:
                self._remove_file(f"{directory}/{file}")

    def make(self, directory: str) -> None:
        self.filesystem.create_dir(self._at(directory), recursive=True)

    def write(self, name: str, data: Any) -> None:
        with self.filesystem.open_output_stream(self._at(name), compression=None) as stream:
            stream.write(py_buffer(data))

    def link(self, source: str, target: str) -> None:
        self.filesystem.copy_file(self._at(source), self._at(target))

    def settle(self, directory: str) -> None:
        """A finished write is already safe."""

    def replace(self, name: str, data: bytes) -> None:
        if self.filesystem.type_name in _WHOLE_PUTS:
            self.write(name, data)
            return
        temporary = unfinished_name(name)
        self.write(temporary, data)
        self._move_over(temporary, name)

    def _move_over(self, temporary: str, name: str) -> None:
        """HDFS refuses to rename over a file: there, readers find none for a moment, and look again."""
        try:
            self.filesystem.move(self._at(temporary), self._at(name))
        except OSError:
            self.remove(name)
            self.filesystem.move(self._at(temporary), self._at(name))

    def changed(self, name: str) -> float:
        top = self.filesystem.get_file_info(self._at(name))
        is_directory = top.type == fs.FileType.Directory
        inside = self.filesystem.get_file_info(fs.FileSelector(top.path, recursive=True)) if is_directory else []
        return max((info.mtime_ns or 0) / 1e9 for info in [top, *inside])

    def remove(self, name: str) -> None:
        """The manifest goes first: what is half removed is no version any more."""
        info = self.filesystem.get_file_info(self._at(name))
        if info.type == fs.FileType.Directory:
            self._remove_file(f"{name}/{MANIFEST}")
            self._remove_directory(info.path)
        else:
            self._remove_file(name)

    def _remove_directory(self, path: str) -> None:
        """Others may come and go in it meanwhile: with a claim that loses, for one."""
        for tries_left in (2, 1, 0):
            try:
                self.filesystem.delete_dir(path)
                return
            except OSError:
                if self.filesystem.get_file_info(path).type == fs.FileType.NotFound:
                    return
                if not tries_left:
                    raise

    def remove_files(self, names: Iterable[str]) -> None:
        for name in names:
            self._remove_file(name)

    def paths(self, version: str, part: PartEntry) -> dict[str, str]:
        return cached_files(str(self), version, part, self._download)

    def kept(self, version: str, part: PartEntry) -> dict[str, str] | None:
        return kept_files(str(self), version, part)

    def _download(self, name: str, target: str) -> None:
        with self.filesystem.open_input_stream(self._at(name), compression=None) as source, open(target, "xb") as copy:
            while chunk := source.read(_CHUNK):
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())

    def _remove_file(self, name: str) -> None:
        if self.filesystem.get_file_info(self._at(name)).type == fs.FileType.File:
            self.filesystem.delete_file(self._at(name))

    def _at(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}".rstrip("/")
