"""Snapshots on object stores, by puts that have a condition: S3, Google Cloud Storage and Azure, through obstore.

A version's number is claimed by creating `claim` in its directory, its manifest is created, and CURRENT is replaced
only if it is what was read (`If-None-Match`, `If-Match`, a generation's number). So there is no lock, no clock is
asked, and of two writers one is told. A put that a client repeats, because the answer to the first was lost, may find
its own work: whoever is refused looks whether what is there is its own.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import obstore
from obstore import exceptions

from matchwood.storage.cache import cached_files, kept_files
from matchwood.storage.entries import PartEntry
from matchwood.storage.naming import CLAIM, GIVEN_UP, MANIFEST, token

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_CHUNK = 8 * 2**20
_REFUSED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)
_TAKEN = (exceptions.AlreadyExistsError, exceptions.PreconditionError)
_MOST_AT_ONCE = 1000


def _with_system_errors(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Errors of the store as those of an operating system, which callers tell apart."""

    @functools.wraps(method)
    def told(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return method(*arguments, **named)
        except _REFUSED as error:
            raise PermissionError(errno.EACCES, _first_line(error)) from error
        except exceptions.BaseError as error:
            raise OSError(errno.EIO, _first_line(error)) from error

    return told


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:500]


@dataclass(frozen=True)
class ObjectLocation:
    """What lies below one prefix of an object store; `uri` names it in messages and on the host's cache."""

    store: Any = field(compare=False)
    uri: str
    is_local = False

    def __str__(self) -> str:
        return self.uri

    @_with_system_errors
    def names(self) -> list[str]:
        found = obstore.list_with_delimiter(self.store)
        paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
        if not paths:
            raise FileNotFoundError(errno.ENOENT, "nothing is there", self.uri)
        return [path.rstrip("/").rpartition("/")[2] for path in paths]

    @_with_system_errors
    def files(self, directory: str) -> dict[str, int]:
        return {each["path"][len(directory) + 1 :]: each["size"] for each in self._below(directory)}

    @_with_system_errors
    def read(self, name: str, limit: int) -> bytes:
        return self._get(name, limit)[0]

    @_with_system_errors
    def claim(self, directory: str) -> bool:
        return self._created(f"{directory}/{CLAIM}", token().encode())

    def make(self, directory: str) -> None:
        """A store has no directories."""

    @_with_system_errors
    def write(self, name: str, data: Any) -> None:
        obstore.put(self.store, name, memoryview(data) if len(data) else b"", chunk_size=_CHUNK)

    @_with_system_errors
    def link(self, source: str, target: str) -> None:
        obstore.copy(self.store, source, target)

    def settle(self, directory: str) -> None:
        """A finished put is already safe."""

    @_with_system_errors
    def replace(self, name: str, data: bytes) -> None:
        obstore.put(self.store, name, data)

    def alone(self) -> AbstractContextManager[None]:
        """Nobody need be: `create` and `swap` have conditions."""
        return nullcontext()

    @_with_system_errors
    def create(self, name: str, data: bytes) -> bool:
        return self._created(name, data)

    @_with_system_errors
    def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        if old is None:
            return self._created(name, new)
        try:
            data, state = self._get(name, len(old) + len(new))
            if data == old:
                obstore.put(self.store, name, new, mode=state)
                return True
        except (*_TAKEN, FileNotFoundError, ValueError):
            pass
        return self._is(name, new)

    @_with_system_errors
    def changed(self, name: str) -> float:
        below = list(self._below(name))
        if not below:
            try:
                below = [obstore.head(self.store, name)]
            except FileNotFoundError:
                return 0.0
        return max(float(each["last_modified"].timestamp()) for each in below)

    @_with_system_errors
    def remove(self, name: str) -> None:
        """The manifest goes first: what is half removed is no version any more."""
        paths = [each["path"] for each in self._below(name)] or [name]
        self._delete(path for path in paths if path == f"{name}/{MANIFEST}")
        self._delete(path for path in paths if path != f"{name}/{MANIFEST}")

    @_with_system_errors
    def give_up(self, directory: str) -> None:
        claim = f"{directory}/{CLAIM}"
        self._delete(each["path"] for each in self._below(directory) if each["path"] != claim)
        obstore.put(self.store, claim, GIVEN_UP)

    @_with_system_errors
    def remove_files(self, names: Iterable[str]) -> None:
        self._delete(names)

    def paths(self, version: str, part: PartEntry) -> dict[str, str]:
        return cached_files(str(self), version, part, self._download)

    def kept(self, version: str, part: PartEntry) -> dict[str, str] | None:
        return kept_files(str(self), version, part)

    @_with_system_errors
    def _download(self, name: str, target: str) -> None:
        """Copy a file into a new one of this host."""
        with open(target, "xb") as copy:
            for chunk in obstore.get(self.store, name).stream(min_chunk_size=_CHUNK):
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())

    def _get(self, name: str, limit: int) -> tuple[bytes, dict[str, str]]:
        """A small object, and what a put may demand to find unchanged."""
        found = obstore.get(self.store, name)
        if found.meta["size"] > limit:
            raise ValueError(f"larger than {limit} bytes")
        state = {key: found.meta[key] for key in ("e_tag", "version") if found.meta[key] is not None}
        return bytes(found.bytes()), state

    def _created(self, name: str, data: bytes) -> bool:
        try:
            obstore.put(self.store, name, data, mode="create")
        except _TAKEN:
            return self._is(name, data)
        return True

    def _is(self, name: str, data: bytes) -> bool:
        try:
            return self._get(name, len(data))[0] == data
        except (FileNotFoundError, ValueError):
            return False

    def _below(self, directory: str) -> Iterator[Any]:
        for chunk in obstore.list(self.store, prefix=directory):
            yield from chunk

    def _delete(self, paths: Iterable[str]) -> None:
        known = list(paths)
        for start in range(0, len(known), _MOST_AT_ONCE):
            try:
                obstore.delete(self.store, known[start : start + _MOST_AT_ONCE])
            except FileNotFoundError:  # some stores say so; the object is as gone as was wished
                continue
