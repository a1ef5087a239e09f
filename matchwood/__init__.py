"""Matchwood finds, for every event, all of the Boolean expressions that are true of it, among millions.

>>> import matchwood as mw
>>> index = mw.Index()
>>> index["r1"] = "age >= 18 and country in ('US', 'CA')"
>>> index.match({"age": 20, "country": "US"})
['r1']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matchwood.core.lazy import exports
from matchwood.errors import (
    CorruptSnapshot,
    EventError,
    InvalidArgument,
    LimitExceeded,
    MatchwoodError,
    ParseError,
    SnapshotNotFound,
    TypeConflict,
    UnknownRule,
)

if TYPE_CHECKING:
    from matchwood.index import Index
    from matchwood.language import Expression, attr, parse
    from matchwood.sharding import open_index as open
    from matchwood.storage import rollback, vacuum, versions

    __version__: str

__all__ = [
    "CorruptSnapshot",
    "EventError",
    "Expression",
    "Index",
    "InvalidArgument",
    "LimitExceeded",
    "MatchwoodError",
    "ParseError",
    "SnapshotNotFound",
    "TypeConflict",
    "UnknownRule",
    "attr",
    "open",
    "parse",
    "rollback",
    "vacuum",
    "versions",
]

_exported = exports(__name__)


def __getattr__(name: str) -> Any:
    return _version() if name == "__version__" else _exported(name)


def _version() -> str:
    """The version of the installed package, which the build takes from the tag; a bare checkout has none."""
    from importlib.metadata import PackageNotFoundError, version  # slow to load, and seldom asked for

    try:
        return version("matchwood")
    except PackageNotFoundError:
        return "0+unknown"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
