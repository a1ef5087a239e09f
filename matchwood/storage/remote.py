"""Snapshots on any file system that PyArrow reaches: object stores, HDFS, fsspec.

There is no exclusive creation and, on object stores, no rename. So a version is claimed by a claim file: write one,
list the directory, and back off if another writer's is there too. Where a listing shows every finished write (S3,
Google Cloud Storage, Azure, HDFS do), two writers never get one number. CURRENT is one put, which the
store makes whole; PyArrow has no conditional put, so of two writers the later wins.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyarrow import fs, py_buffer

from matchwood.storage.cache import cached_directory, kept_directory
from matchwood.storage.entries import PartEntry
from matchwood.storage.naming import MANIFEST, token, unfinished_name

_WHOLE_PUTS = ("s3", "gcs", "abfs")
_CLAIM = "claim-"
_LOCK, _LOCK_SECONDS = "publishing", 60.0
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
        mine = _CLAIM + token()
        try:
            self.write(f"{directory}/{mine}", b"")
            is_alone = set(self.files(directory)) == {mine}
        except FileNotFoundError:  # one that gave up is just removing the directory, with all that is in it
            return None
        if is_alone:
            return f"{directory}/{mine}"
        self.remove(f"{directory}/{mine}")
        return None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """By a claim in a directory that stays, since others may be about to claim it when it is given back."""
        while (mine := self._claimed_lock()) is None:
            time.sleep(0.05 + 0.1 * random.random())  # two that always come together would wait for each other
        try:
            yield
        finally:
            self.remove(mine)

    def _claimed_lock(self) -> str | None:
        """A claim that nobody gave back in a minute was left by a writer that is gone."""
        self.make(_LOCK)
        for name in self.files(_LOCK):
            since = self.changed(f"{_LOCK}/{name}")
            if since and time.time() - since > _LOCK_SECONDS:
                self.remove(f"{_LOCK}/{name}")
        return self._claimed(_LOCK)

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

    def directory(self, version: str, seal: str, part: PartEntry) -> str:
        def fetch(file: str, target: str) -> None:
            self._download(f"{version}/{part.directory}/{file}", target)

        return cached_directory(str(self), f"{version}-{seal}", part, fetch)

    def kept(self, version: str, seal: str, part: PartEntry) -> str | None:
        return kept_directory(str(self), f"{version}-{seal}", part)

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
