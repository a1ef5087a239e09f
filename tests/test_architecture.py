"""The rooms of the house: which package may import which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "matchwood"

ROOMS = [
    "language",
    "logic",
    "encoding",
    "engines",
    "choosing",
    "rules",
    "ranking",
    "storage",
    "explain",
    "index",
    "sharding",
    "spark",
    "workloads",
    "bench",
    "demo",
    "commands",
    "cli",
    "__main__",
]
"""From the ground up: a room imports only from itself and from rooms above it in this list."""

ONE_ROOM = {"indexing": "index"}
"""The façade is a file for its users and a package for its parts; the parts name the façade in their types."""

COMMON = {"errors", "_arrays", "_bits", "_hashing", "_jit", "_locks", "_prefetch", "progress"}
FOUNDATION = {"_hashing": {"_jit"}}


def _room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    name = first.removesuffix(".py")
    return ONE_ROOM.get(name, name)


def _imports(path: Path) -> set[str]:
    """The rooms that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "matchwood":
            names = [f"matchwood.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        found.update(name.split(".")[1] for name in names if name.startswith("matchwood."))
    return {ONE_ROOM.get(name, name) for name in found}


def _violations(room: str, imported: set[str]) -> set[str]:
    if room == "__init__":
        return set()
    if room in COMMON:
        return imported - FOUNDATION.get(room, set())
    allowed = {*ROOMS[: ROOMS.index(room) + 1], *COMMON}
    return imported - allowed


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_rooms_above_it(path: Path) -> None:
    assert _violations(_room(path), _imports(path)) == set()


def test_the_check_can_fail() -> None:
    assert _violations("language", {"engines", "errors"}) == {"engines"}
    assert _violations("_arrays", {"language"}) == {"language"}
    assert {"encoding", "engines"} <= _imports(PACKAGE / "indexing" / "compiled.py")


def test_no_file_is_longer_than_600_lines() -> None:
    assert [path.name for path in FILES if len(path.read_text().splitlines()) > 600] == []
