"""The way of a rule and of events through the house, seen by a tracer: what `docs/walk.md` shows.

`python -m tests.walk` writes the page anew; a test compares it with what the code does today.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pyarrow as pa

import matchwood as mw
from matchwood.core import always_compiled
from matchwood.encoding import QUIET

PACKAGE = Path(str(mw.__file__)).parent
PAGE = PACKAGE.parent / "docs" / "walk.md"

RULE = "age >= 18 and country in ('US', 'CA') and not (plan like 'free%' or device = 'tv')"
EVENT = {"age": 20, "country": "US", "plan": "gold", "device": "phone"}

HEAD = """# The walk

This page follows a rule, one event and many events through the code, file by file, in the order in which each file is
first entered. A tracer in the tests writes it (`python -m tests.walk`), and a test fails when it is no longer true.
*Changes of room* counts how often a call leads from one package ("room") to another. All rooms use `core/`: arrays
that grow, locks, declared state. The last column does not count calls into it. Compiled kernels do not appear: they
are beside the files that call them.
"""


class Walk(NamedTuple):
    """One way: its title, what is traced, and the files in the order of first entrance."""

    title: str
    files: list[str]
    changes: int
    between_rooms: int


FLOOR = "core"


TIMES = 5


def traced(title: str, action: Callable[[], Any]) -> Walk:
    """What an action enters; it has run before, twice since the first may do what others do not (insert what is then
    replaced), so that nothing is imported or compiled on the way. Now and then there is something more to do, such as
    to see whether a trial is due on a slow machine: the shortest of several walks is the usual one."""
    for _ in range(2):
        action()
    return min((_once(title, action) for _ in range(TIMES)), key=lambda walk: walk.changes)


def _once(title: str, action: Callable[[], Any]) -> Walk:
    files: list[str] = []
    rooms: list[str] = []
    names: dict[str, str | None] = {}

    def enter(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        path = frame.f_code.co_filename
        if path not in names:
            inside = path.startswith(f"{PACKAGE}/") and path.endswith(".py")
            names[path] = Path(path).relative_to(PACKAGE).as_posix() if inside else None
        name = names[path]
        if name is None or frame.f_code.co_name in ("<module>", "<lambda>"):
            return
        if name not in files:
            files.append(name)
        room = name.partition("/")[0]
        if not rooms or rooms[-1] != room:
            rooms.append(room)

    sys.setprofile(enter)
    try:
        action()
    finally:
        sys.setprofile(None)
    return Walk(title, files, _changes(rooms), _changes([room for room in rooms if room != FLOOR]))


def _changes(rooms: list[str]) -> int:
    return sum(before != after for before, after in itertools.pairwise(rooms))


@always_compiled()
def walks() -> list[Walk]:
    """The four walks, on an index of the default engine, whose kernels are compiled."""
    index = mw.Index()
    index.insert_many({f"rule {number}": f"{RULE} and score > {number}" for number in range(20)})
    table = pa.Table.from_pylist([EVENT, {**EVENT, "age": 12}, {**EVENT, "plan": "free"}])
    numbers = iter(range(1000))

    def insert() -> None:
        index["one more"] = f"{RULE} and score between {next(numbers)} and 2000"

    return [
        traced("One rule, from text to arrays: `index[id] = text`", insert),
        traced("One event: `index.match(dict)`", lambda: index.match(EVENT)),
        traced("A table of events: `index.match_many(table)`", lambda: index.match_many(table)),
        traced("A batch of events on Spark: what a Python worker does", _spark_batch(index, table)),
    ]


def _spark_batch(index: mw.Index, table: pa.Table) -> Callable[[], Any]:
    import tempfile

    from matchwood.sharding import open_shards

    path = tempfile.mkdtemp(prefix="matchwood-walk-")
    index.save(path)
    shards = open_shards(path)
    batch = table.combine_chunks().to_batches()[0]
    return lambda: [answer.ids for answer in shards.answers(batch, QUIET)]


def summary(name: str) -> str:
    """The first sentence of a file's docstring."""
    text = ast.get_docstring(ast.parse((PACKAGE / name).read_text())) or ""
    return text.split("\n\n")[0].replace("\n", " ").strip()


def page(found: list[Walk]) -> str:
    """The page in Markdown."""
    lines = [HEAD, "| walk | files | changes of room | without `core/` |", "|---|---|---|---|"]
    lines += [f"| {walk.title} | {len(walk.files)} | {walk.changes} | {walk.between_rooms} |" for walk in found]
    for walk in found:
        lines += ["", f"## {walk.title}", ""]
        lines += [f"{number}. `{name}`: {summary(name)}" for number, name in enumerate(walk.files, 1)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(walks()))
    print(PAGE)
