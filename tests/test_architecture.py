"""The rooms of the house: which package may import which, and how."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "matchwood"

ROOMS = [
    "core",
    "language",
    "logic",
    "semantics",
    "encoding",
    "engines",
    "rules",
    "ranking",
    "storage",
    "matching",
    "choosing",
    "insight",
    "index",
    "sharding",
    "spark",
    "workloads",
    "bench",
    "demo",
    "commands",
    "__main__",
]
"""From the ground up: a room imports only from itself and from rooms above it in this list."""

COMMON = {"errors", "progress"}
TOOLS = {"matchwood.core.bits", "matchwood.core.jit", "matchwood.core.lazy"}
"""What decorates functions and packages, and the instructions of compiled code: named where they are used."""
SYSTEMS = ("atree", "betree", "hem", "kindex", "pst")
"""The folders of `engines/`, one for each published system."""

FILES = sorted(PACKAGE.rglob("*.py"))


class Import(NamedTuple):
    """One `from module import names` of a file; `typing` if only type checkers see it."""

    path: Path
    module: str
    names: tuple[str, ...]
    level: int
    typing: bool

    @property
    def room(self) -> str:
        parts = self.module.split(".")
        return parts[1] if len(parts) > 1 else (self.names[0] if self.names else "")


def _is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports_of(path: Path, source: str | None = None) -> Iterator[Import]:
    """What a file imports of Matchwood."""
    tree = ast.parse(source if source is not None else path.read_text())
    typed = {id(inner) for node in ast.walk(tree) if _is_typing(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            found = Import(path, node.module or "", names, node.level, id(node) in typed)
            if node.level or found.module.split(".")[0] == "matchwood":
                yield found
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("matchwood."):
                    yield Import(path, alias.name, (), 0, id(node) in typed)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _is_kernels(name: str) -> bool:
    return name.endswith("_kernels")


def upward(found: Import) -> bool:
    """Whether an import goes to a room that comes later."""
    room = room_of(found.path)
    if room == "__init__" or found.room == room or found.room in COMMON or found.typing:
        return False
    if room in COMMON:
        return True
    return found.room not in ROOMS[: ROOMS.index(room)]


def around_the_door(found: Import) -> bool:
    """Whether an import takes something out of another room without asking its package."""
    if found.room in (room_of(found.path), *COMMON) or not (PACKAGE / found.room).is_dir():
        return False
    kernels = _is_kernels(found.path.stem) or _is_kernels(found.module.rpartition(".")[2])
    return found.module not in ("matchwood", f"matchwood.{found.room}", *TOOLS) and not kernels


def across_systems(found: Import) -> bool:
    """Whether the folder of one published system imports from that of another."""
    parts = found.path.relative_to(PACKAGE).parts
    if parts[0] != "engines" or parts[1] not in SYSTEMS or found.room != "engines":
        return False
    target = found.module.split(".")[2:3]
    return bool(target) and target[0] in SYSTEMS and target[0] != parts[1]


ALL = [found for path in FILES for found in imports_of(path)]


def _words(wrong: list[Import]) -> list[str]:
    return [f"{each.path.relative_to(PACKAGE)}: {each.module}" for each in wrong]


def test_a_room_imports_only_from_rooms_above_it() -> None:
    assert _words([found for found in ALL if upward(found)]) == []


def test_a_room_is_entered_through_its_package() -> None:
    assert _words([found for found in ALL if around_the_door(found)]) == []


def test_nothing_private_crosses_rooms() -> None:
    private = [found for found in ALL if found.room != room_of(found.path) and any(n[:1] == "_" for n in found.names)]
    assert _words([found for found in private if not _is_kernels(found.path.stem)]) == []


def test_no_system_imports_another() -> None:
    assert _words([found for found in ALL if across_systems(found)]) == []


def test_imports_are_absolute() -> None:
    """The cache of machine code follows absolute imports only (`core/jit.py`)."""
    assert _words([found for found in ALL if found.level]) == []


@pytest.mark.parametrize(
    ("check", "path", "source"),
    [
        (upward, "language/tree.py", "from matchwood.engines import Hits"),
        (around_the_door, "matching/saving.py", "from matchwood.rules.table import RuleTable"),
        (across_systems, "engines/hem/engine.py", "from matchwood.engines.atree.engine import ATree"),
        (lambda found: found.level, "engines/hem/_plan_kernels.py", "from ..base import Hits"),
    ],
)
def test_the_checks_can_fail(check: object, path: str, source: str) -> None:
    (found,) = imports_of(PACKAGE / path, source)
    assert check(found)  # type: ignore[operator]


PAPERS = {
    "atree": "SIGMOD 2021",
    "betree": "TODS 2013",
    "hem": "Sci. China 2016",
    "kindex": "VLDB 2009",
    "pst": "VLDB 2018",
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_file_of_a_system_tells_what_of_its_paper_it_is(system: str) -> None:
    files = (PACKAGE / "engines" / system).rglob("*.py")
    told = {path.name: ast.get_docstring(ast.parse(path.read_text())) for path in files}
    assert [name for name, text in told.items() if PAPERS[system] not in (text or "")] == []


ENGINES = {"atree", "betree", "counting", "hem", "kindex", "pstbloom", "psthash", "scan"}


def spelled(path: Path, source: str | None = None) -> list[str]:
    """The engines that a file names, in text that is code; the class of an engine tells its name, and no other."""
    text = source if source is not None else path.read_text()
    if not any(f'"{engine}"' in text for engine in ENGINES):
        return []
    tree = ast.parse(text)
    own = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.AnnAssign) and _is_name(each.target)}
    texts = [each for each in ast.walk(tree) if isinstance(each, ast.Constant) and id(each) not in own]
    return [f"{path.relative_to(PACKAGE)}: {each.value}" for each in texts if each.value in ENGINES]


def _is_name(target: ast.AST) -> bool:
    return isinstance(target, ast.Name) and target.id == "name"


def test_only_the_registry_names_engines() -> None:
    from matchwood.engines import engine_names

    assert set(engine_names()) == ENGINES
    others = [path for path in FILES if room_of(path) not in ("bench", "workloads")]
    assert [each for path in others if path.name != "registry.py" for each in spelled(path)] == []
    assert spelled(PACKAGE / "index.py", 'name: str = "hem"\nengine = "scan"') == ["index.py: scan"]


def test_the_parser_calls_nobody_above_it() -> None:
    """Nobody hands it a function of an upper room: what rules share is kept below, and bound when they are read."""
    import sys
    from types import FrameType

    from matchwood import Index

    calls, parser = [], f"{PACKAGE / 'language'}/"

    def watch(frame: FrameType, event: str, _: object) -> None:
        before = frame.f_back
        if event == "call" and before is not None and before.f_code.co_filename.startswith(parser):
            to, by = (Path(each.f_code.co_filename) for each in (frame, before))
            if PACKAGE in to.parents:
                calls.append((room_of(by), room_of(to)))

    index = Index("scan")
    sys.setprofile(watch)
    try:
        index.insert_many({number: f"a = {number % 3} and (b like 'x%' or not c in (1, 2))" for number in range(9)})
    finally:
        sys.setprofile(None)
    assert ("language", "language") in calls
    assert {to for _, to in calls} <= {"language", "errors", "core"}


MOST_PARAMETERS = 11
"""What kernels take beyond that are named tuples, whose arrays are documented once."""


def crowded(path: Path, source: str | None = None) -> list[str]:
    """The kernels of a file that take more arguments than anybody can tell apart."""
    text = source if source is not None else path.read_text()
    if "kernel\n" not in text:  # no decorator: the tree tells nothing
        return []
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    marks = {"kernel", "bare_kernel", "wide_kernel"}
    kernels = [each for each in functions if marks & {ast.unparse(d) for d in each.decorator_list}]
    return [f"{path.name}: {each.name}" for each in kernels if len(each.args.args) > MOST_PARAMETERS]


def test_kernels_take_named_tuples() -> None:
    assert [each for path in FILES for each in crowded(path)] == []
    parameters = ", ".join(f"array{number}" for number in range(MOST_PARAMETERS + 1))
    assert crowded(FILES[0], f"@kernel\ndef match({parameters}): ...") == [f"{FILES[0].name}: match"]


def test_no_file_is_longer_than_600_lines() -> None:
    assert [path.name for path in FILES if len(path.read_text().splitlines()) > 600] == []


def test_no_folder_is_a_drawer() -> None:
    """Folders of more than 25 files no longer show what is in them."""
    folders = {path.parent for path in FILES}
    assert [str(each) for each in folders if len(list(each.glob("*.py"))) > 25] == []


def repeated(sources: Iterable[str]) -> list[str]:
    """The names of classes that are defined more than once."""
    found = Counter(name for source in sources for name in re.findall(r"^class (\w+)", source, re.MULTILINE))
    return sorted(name for name, count in found.items() if count > 1)


def test_a_class_name_means_one_thing() -> None:
    assert repeated(["class Search(NamedTuple):", "class Other:", "class Search:"]) == ["Search"]
    assert repeated(path.read_text() for path in FILES) == []
