"""Names inside a snapshot: version directories, part directories, array files.

Files are found by the names in a manifest, which nobody need trust: a name is one path component of harmless
characters, never `..`, never absolute. Parts and arrays may have other names than their files.
"""

from __future__ import annotations

import re
import secrets

from matchwood.errors import InvalidArgument

CURRENT = "CURRENT"
MANIFEST = "manifest.json"
CLAIM = "claim"
"""What a remote version's directory has from its beginning on: the file, or the first half of its name."""
PUBLICATIONS = "publications"
"""On HDFS, the directory whose last file says what is current (`hdfs/location.py`)."""
GIVEN_UP = b"given up\n"
"""What a claim says whose writer publishes nothing; it stays, so that no number is given twice."""

_UNFINISHED = ".new-"
_VERSION = re.compile(r"v([0-9]{6,15})", re.ASCII)
_COMPONENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)


def version_name(number: int) -> str:
    """
    >>> version_name(12)
    'v000012'
    """
    return f"v{number:06d}"


def version_number(name: str) -> int | None:
    """The number of a version directory, None for any other name."""
    found = _VERSION.fullmatch(name)
    return int(found[1]) if found and version_name(int(found[1])) == name else None


def is_component(name: object) -> bool:
    """Whether a name from a manifest can be used as one step of a path."""
    return isinstance(name, str) and _COMPONENT.fullmatch(name) is not None


def is_path(name: object) -> bool:
    """Whether a name from a manifest is that of a file of some version, below the snapshot's path.

    >>> is_path("v000001/part-0-1f/0000-offsets.bin"), is_path("v000001/../x")
    (True, False)
    """
    steps = name.split("/") if isinstance(name, str) else []
    return len(steps) == 3 and is_directory("/".join(steps[:2])) and is_component(steps[2])


def is_directory(name: str) -> bool:
    """Whether a name from a manifest is that of a part's directory in some version, below the snapshot's path."""
    version, slash, directory = name.partition("/")
    return bool(slash) and version_number(version) is not None and is_component(directory)


def token() -> str:
    """Random digits that keep the files of two writers apart."""
    return secrets.token_hex(6)


def unfinished_name(name: str) -> str:
    """A temporary name beside `name`, for a file that will replace it."""
    return f"{name}{_UNFINISHED}{token()}"


def is_unfinished(name: str) -> bool:
    return name.startswith(CURRENT + _UNFINISHED)


def part_directory(name: str) -> str:
    """A new directory name for a part: two attempts at one part never share files."""
    return f"part-{_slug(name)}-{token()}"


def array_file(position: int, name: str) -> str:
    """The position keeps names apart that a file system takes for one (`A` and `a`)."""
    return f"{position:04d}-{_slug(name)}.bin"


def patch_file(array: str) -> str:
    """The patch beside an array's file."""
    return f"{array.removesuffix('.bin')}.patch"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]


def check_name(kind: str, name: object) -> None:
    """Names of parts and arrays, as the caller gave them."""
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
        raise InvalidArgument(f"the name of {kind} must be 1 to 200 printable characters (got {name!r})")
