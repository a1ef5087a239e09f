"""The host's copies of remote parts: fetched once, checked in full, mapped by all processes.

    <cache>/<hash of the URI>/v000012-<manifest's checksum>/part-0-…/0000-offsets.bin

The manifest's checksum in the name keeps a snapshot that was deleted and built anew apart from the old one. A part
appears by one rename. Copies of versions that nobody has opened for a day are removed when a new one is fetched.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from matchwood.storage.arrays import check_array
from matchwood.storage.entries import PartEntry
from matchwood.storage.naming import token

_UNUSED_SECONDS = 24 * 3600.0


def cached_directory(uri: str, version: str, part: PartEntry, fetch: Callable[[str, str], None]) -> str:
    """The local directory of a part; `fetch(file, target)` copies one of its files."""
    snapshot = _copies_of(uri)
    (snapshot / version).mkdir(parents=True, exist_ok=True)
    os.utime(snapshot / version)
    final = snapshot / version / part.directory
    if not final.is_dir():
        with _one_at_a_time(snapshot / version / f".{part.directory}.lock"):
            if not final.is_dir():
                _fetch_part(final, part, fetch)
        _forget_unused(snapshot, keep=version)
    return str(final)


def kept_directory(uri: str, version: str, part: PartEntry) -> str | None:
    """The local directory of a part that was fetched before."""
    final = _copies_of(uri) / version / part.directory
    return str(final) if final.is_dir() else None


def _copies_of(uri: str) -> Path:
    return cache_root() / hashlib.sha256(uri.encode()).hexdigest()[:32]


def cache_root() -> Path:
    """MATCHWOOD_CACHE_DIR, else the user's cache directory, else a private temporary one."""
    base = os.environ.get("MATCHWOOD_CACHE_DIR")
    if base:
        return Path(base)
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


def _fetch_part(final: Path, part: PartEntry, fetch: Callable[[str, str], None]) -> None:
    copy = final.parent / f".{token()}"
    copy.mkdir()
    try:
        for file in part.files():
            fetch(file, str(copy / file))
        for entry in part.arrays.values():
            check_array(str(copy), entry)
        _appear(copy, final)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _appear(copy: Path, final: Path) -> None:
    try:
        os.rename(copy, final)
    except OSError:
        if not final.is_dir():  # else another process was first, with the same files
            raise


def _forget_unused(snapshot: Path, keep: str) -> None:
    """Maps of removed files stay good; a part that is opened again is fetched again."""
    limit = time.time() - _UNUSED_SECONDS
    for version in snapshot.iterdir():
        with suppress(FileNotFoundError):  # another process may be about the same
            if version.name != keep and version.is_dir() and version.stat().st_mtime < limit:
                shutil.rmtree(version, ignore_errors=True)


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
