"""How storage words its errors: the file, what is wrong with it, and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from matchwood.errors import CorruptSnapshot, SnapshotNotFound

RESTORE = "restore it from a copy, or see versions(path) and bring another one back with rollback(path, version)"


def damaged(file: object, what: str, advice: str = RESTORE) -> CorruptSnapshot:
    return CorruptSnapshot(f"{file}: {what} ({advice})")


def nothing_at(place: object, what: str = "no snapshot is there") -> SnapshotNotFound:
    return SnapshotNotFound(f"{place}: {what} (check the path; save(path) makes one)")


@contextmanager
def explained(action: str) -> Iterator[None]:
    """Say what was being done, and what helps, when the operating system refuses.

    The class stays the system's own (PermissionError and so on), so callers can still tell them apart.
    """
    try:
        yield
    except (CorruptSnapshot, SnapshotNotFound):
        raise
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0)
        if advice is None:
            raise
        raise type(error)(error.errno, f"cannot {action}: {error.strerror} ({advice})", error.filename) from error


_ADVICE = {
    errno.EACCES: "give this user the right to it, or choose another path",
    errno.EPERM: "give this user the right to it, or choose another path",
    errno.EROFS: "choose a path on a file system that can be written to",
    errno.ENOTDIR: "the path must be a directory, or not exist yet",
    errno.EEXIST: "the path must be a directory, or not exist yet",
    errno.ENOSPC: "free some space, vacuum(path) removes old versions; nothing was published",
    errno.EDQUOT: "free some space, vacuum(path) removes old versions; nothing was published",
    errno.EMFILE: "every mapped array holds a file open before Python 3.13: raise the limit, ulimit -n",
}
