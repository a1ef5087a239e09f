"""Snapshots in a local directory: exclusive mkdir, fsync, rename, hard links."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from matchwood.storage.entries import PartEntry
from matchwood.storage.location import swapped_alone
from matchwood.storage.naming import MANIFEST, unfinished_name

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True)
class LocalLocation:
    """A directory; it is made when the first version is saved."""

    root: str
    is_local = True

    def __str__(self) -> str:
        return self.root

    def names(self) -> list[str]:
        return os.listdir(self.root)

    def files(self, directory: str) -> dict[str, int]:
        """Symbolic links count as absent, whatever they lead to."""
        found: dict[str, int] = {}
        top = self._at(directory)
        if not stat.S_ISDIR(os.lstat(top).st_mode):
            raise FileNotFoundError(top)
        with os.scandir(top) as entries:  # closed also when a part is vacuumed under our hands
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    found.update((f"{entry.name}/{name}", size) for name, size in _regular_files(entry.path))
        found.update(_regular_files(top))
        return found

    def read(self, name: str, limit: int) -> bytes:
        status = os.lstat(self._at(name))
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            raise ValueError(f"not a regular file of at most {limit} bytes")
        with open(os.open(self._at(name), os.O_RDONLY | _NO_LINKS), "rb") as file:
            return file.read(limit)

    def claim(self, directory: str) -> bool:
        _make_lasting(self.root)
        try:
            os.mkdir(self._at(directory))
        except FileExistsError:
            return False
        return True

    def make(self, directory: str) -> None:
        os.mkdir(self._at(directory))

    def write(self, name: str, data: Any) -> None:
        descriptor = os.open(self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o666)
        try:
            _write_all(descriptor, memoryview(data))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, source: str, target: str) -> None:
        try:
            os.link(self._at(source), self._at(target), follow_symlinks=False)
        except OSError:  # a file system without hard links
            shutil.copyfile(self._at(source), self._at(target), follow_symlinks=False)
            _sync(self._at(target))

    def settle(self, directory: str) -> None:
        _sync(self._at(directory))

    def replace(self, name: str, data: bytes) -> None:
        temporary = unfinished_name(name)
        self.write(temporary, data)
        try:
            os.replace(self._at(temporary), self._at(name))
        except BaseException:
            self.remove(temporary)
            raise
        self.settle(os.path.dirname(name))

    def create(self, name: str, data: bytes) -> bool:
        if os.path.lexists(self._at(name)):
            return False
        self.replace(name, data)
        return True

    def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        return swapped_alone(self, name, old, new)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """By a lock on the directory itself, which a process that is killed gives back."""
        try:
            import fcntl
        except ImportError:
            yield
            return
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def changed(self, name: str) -> float:
        top, inside = self._at(name), []
        with suppress(FileNotFoundError, NotADirectoryError):
            inside = os.listdir(top)
        return max(_changed(path) for path in [top, *(os.path.join(top, step) for step in inside)])

    def remove(self, name: str) -> None:
        """The manifest goes first: what is half removed is no version any more."""
        path = self._at(name)
        if os.path.isdir(path) and not os.path.islink(path):
            _unlink(os.path.join(path, MANIFEST))
            shutil.rmtree(path, ignore_errors=True)
        else:
            _unlink(path)

    def give_up(self, directory: str) -> None:
        self.remove(directory)

    def remove_files(self, names: Iterable[str]) -> None:
        for name in names:
            _unlink(self._at(name))

    def paths(self, version: str, part: PartEntry) -> dict[str, str]:
        return {file: self._at(part.path(version, file)) for file in part.files()}

    kept = paths

    def _at(self, name: str) -> str:
        return os.path.join(self.root, *name.split("/"))


def _regular_files(directory: str) -> list[tuple[str, int]]:
    with os.scandir(directory) as entries:
        regular = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
    return [(entry.name, entry.stat(follow_symlinks=False).st_size) for entry in regular]


def _changed(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except FileNotFoundError:
        return 0.0


def _write_all(descriptor: int, data: memoryview) -> None:
    """One call writes 2 GiB at most."""
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written : written + 2**30])


def _sync(path: str) -> None:
    if os.name == "nt" and os.path.isdir(path):  # Windows cannot open a directory
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_lasting(path: str) -> None:
    """Make a directory and those above it, safe from a power cut."""
    missing = [path]
    while not os.path.isdir(missing[-1]):
        missing.append(os.path.dirname(missing[-1]))
    os.makedirs(path, exist_ok=True)
    for made_in in missing[1:]:
        _sync(made_in)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
