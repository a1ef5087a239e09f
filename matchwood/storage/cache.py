"""The host's copies of remote files: fetched once, checked in full, mapped by all processes.

    <cache>/3f/3f9c…            one file each, named by its contents; by its place where the manifest has no digest

So a version fetches what no earlier one had, wherever it lies. A file appears by one rename. Whoever fetches also
removes the files that were not used for the longest time, while all together are larger than the limit.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from matchwood.core import in_parallel
from matchwood.errors import CorruptSnapshot, InvalidArgument
from matchwood.storage.arrays import check_array, map_file
from matchwood.storage.checksum import digest
from matchwood.storage.damage import damaged
from matchwood.storage.entries import ArrayEntry, PartEntry
from matchwood.storage.naming import token

LIMIT = "MATCHWOOD_CACHE_BYTES"
_SHARE_OF_DISK = 0.5
"""Of what its file system could give to the cache."""
_IN_USE_SECONDS = 300.0
"""Files that were asked for so lately are about to be mapped, in another process perhaps."""
_LEFT_SECONDS = 24 * 3600.0
_BYTES = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE | re.ASCII)

Download = Callable[[str, str], None]


def cached_files(uri: str, version: str, part: PartEntry, download: Download) -> dict[str, str]:
    """The local path of each of a part's files; `download(name, target)` copies one from below the snapshot's path."""
    root, paths = cache_root(), _paths(uri, version, part)
    if _used(paths):
        return paths
    with _one_at_a_time(root / f".lock-{os.path.basename(min(paths.values()))}"):
        missing = [file for file, path in paths.items() if not os.path.exists(path)]
        _fetch(root, part, paths, {file: part.path(version, file) for file in missing}, download)
    _evict(root)
    return paths


def kept_files(uri: str, version: str, part: PartEntry) -> dict[str, str] | None:
    """The same, if nothing has to be fetched for it."""
    paths = _paths(uri, version, part)
    return paths if _used(paths) else None


def _paths(uri: str, version: str, part: PartEntry) -> dict[str, str]:
    root = cache_root()
    keys = {file: key for entry in part.arrays.values() for file, key in _keys(uri, version, part, entry).items()}
    return {file: str(root / key[:2] / key) for file, key in keys.items()}


def _keys(uri: str, version: str, part: PartEntry, entry: ArrayEntry) -> dict[str, str]:
    """What a file is called here."""

    def by_place(file: str) -> str:
        told = f"{uri}\0{part.path(version, file)}\0{entry.checksum}"
        return hashlib.blake2b(told.encode(), digest_size=20).hexdigest()

    keys = {file: by_place(file) for file in entry.files()}
    return {**keys, entry.file: entry.digest} if entry.digest else keys


def _used(paths: Mapping[str, str]) -> bool:
    """Whether all files are here, which are the last used from now on."""
    try:
        for path in paths.values():
            os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _fetch(root: Path, part: PartEntry, paths: dict[str, str], names: Mapping[str, str], download: Download) -> None:
    """Fetch files, and let them appear when all arrays that need them are found sound."""
    new = {file: str(root / f".new-{token()}") for file in names}
    try:
        in_parallel(lambda file: download(names[file], new[file]), names)
        for entry in part.arrays.values():
            if not new.keys().isdisjoint(entry.files()):
                _check({**paths, **new}, entry, names)
        for file, copy in new.items():
            os.makedirs(os.path.dirname(paths[file]), exist_ok=True)
            os.replace(copy, paths[file])
    finally:
        for copy in new.values():
            with suppress(FileNotFoundError):
                os.unlink(copy)


def _check(paths: Mapping[str, str], entry: ArrayEntry, names: Mapping[str, str]) -> None:
    """Compare an array, and the file that is named by its contents; errors name what was fetched, not the copy."""
    try:
        check_array(paths, entry)
    except CorruptSnapshot as error:
        told = functools.reduce(lambda text, file: text.replace(paths[file], names[file]), names, str(error))
        raise CorruptSnapshot(told) from error
    if entry.digest and entry.file in names and digest(map_file(paths[entry.file], entry.stored)) != entry.digest:
        raise damaged(names[entry.file], "its contents are not those that its digest names")


def cache_root() -> Path:
    """MATCHWOOD_SNAPSHOTS_DIR, else in MATCHWOOD_CACHE_DIR, the user's cache directory, or a private temporary one."""
    given, shared = os.environ.get("MATCHWOOD_SNAPSHOTS_DIR"), os.environ.get("MATCHWOOD_CACHE_DIR")
    if given or shared:
        base = Path(given or os.path.join(shared or "", "snapshots"))
        base.mkdir(parents=True, exist_ok=True)
        return base
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    user = Path(home, "matchwood", "snapshots")
    try:
        user.mkdir(parents=True, exist_ok=True)
    except OSError:
        return _temporary_root()
    return user if os.access(user, os.W_OK) else _temporary_root()


def _temporary_root() -> Path:
    """Ours alone: another user must not be able to put files there."""
    owner = os.getuid() if hasattr(os, "getuid") else 0
    path = Path(tempfile.gettempdir(), f"matchwood-snapshots-{owner}")
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    private = stat.S_ISDIR(status.st_mode) and status.st_uid == owner and not status.st_mode & 0o022
    return path if private or os.name == "nt" else Path(tempfile.mkdtemp(prefix="matchwood-snapshots-"))


def _limit(root: Path, held: int) -> float:
    """MATCHWOOD_CACHE_BYTES, such as 20GB; by default half of what the file system has for the cache.

    >>> import os; os.environ[LIMIT] = "1.5 GiB"; _limit(Path("/"), 0)
    1610612736.0
    >>> del os.environ[LIMIT]
    """
    given = os.environ.get(LIMIT)
    if not given:
        return _SHARE_OF_DISK * (shutil.disk_usage(root).free + held)
    found = _BYTES.fullmatch(given)
    if found is None:
        raise InvalidArgument(f"{LIMIT} must be a number of bytes such as 20GB or 512MiB (got {given!r})")
    power = " kmgt".index(found[2].lower() or " ")
    return float(found[1]) * (1024.0**power if found[3] else 1000.0**power)


def _evict(root: Path) -> None:
    """Maps of removed files stay good; what is asked for again is fetched again."""
    now, files = time.time(), sorted(_files(root))
    total = sum(size for _, size, _ in files)
    limit = _limit(root, total)
    for used, size, path in files:
        is_ours = os.path.basename(path)[0] != "."
        if now - used < _IN_USE_SECONDS:
            return
        if total > limit if is_ours else now - used > _LEFT_SECONDS:
            with suppress(FileNotFoundError):  # another process may be about the same
                os.unlink(path)
            total -= size


def _files(root: Path) -> Iterator[tuple[float, int, str]]:
    """When each file was last used, its size, and its path."""
    for directory in (root, *(path for path in root.iterdir() if path.is_dir())):
        with suppress(FileNotFoundError), os.scandir(directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        yield status.st_mtime, status.st_size, entry.path


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """So that ten processes of a host fetch a part once; without file locks each fetches its own, and one stays."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        yield
