"""Running a program on one configuration, until an answer is wrong."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from matchwood.errors import LimitExceeded, MatchwoodError
from tests.contract.restless import make_restless
from tests.fuzz.insight import wrong_find, wrong_lint
from tests.fuzz.program import IMPORTS, Line, Program, opening
from tests.fuzz.worlds import Find, Put, World

_MEMORY = "/dev/shm"
"""Saving waits for the disk, file by file: a quarter of the time of all worlds."""


@dataclass(frozen=True)
class Setup:
    """An engine and its options; `bounds` of weights may be named `tight` or `loose`."""

    engine: str
    options: Mapping[str, Any]

    @property
    def is_restless(self) -> bool:
        """Whether `auto` changes engines all the time: it may, where all of them have its options."""
        return self.engine == "auto" and not self.options.keys() - {"spaces"}

    def for_world(self, world: World) -> dict[str, Any]:
        options = dict(self.options)
        if isinstance(options.get("bounds"), str):
            options["bounds"] = _bounds(world, loose=options["bounds"] == "loose")
        return options


@dataclass
class Failure:
    """Where a program went wrong, and how."""

    setup: Setup
    program: Program
    place: int
    told: str

    @property
    def kind(self) -> str:
        """What a smaller failure must have in common with it: the exception, or the way in which it was asked."""
        line = self.program.lines[self.place]
        return self.told.split(":")[0] if self.told.startswith("raised") else line.source.split("(")[0].split("[")[-1]

    def snippet(self) -> str:
        """A program of its own that shows it."""
        world, line = self.program.world, self.program.lines[self.place]
        before = [each.source for each in self.program.lines[: self.place] if each.changes or each.cases]
        own = self.setup.for_world(world)
        restless = _RESTLESS if self.setup.is_restless else ""
        lines = [restless + IMPORTS, "path = tempfile.mkdtemp()", opening(world, self.setup.engine, own), *before]
        if line.kind == "change":
            lines.append(line.source)
        else:
            lines.append(f"found = {line.source}")
            if line.kind != "lint":
                lines.append(f"assert found == {line.answer!r}, found")
        return "\n".join([*lines, *(f"# {part}" for part in self.told.splitlines()[:12])])


_RESTLESS = "import pytest\nfrom tests.contract.restless import make_restless\nmake_restless(pytest.MonkeyPatch())\n"


def run(program: Program, setup: Setup) -> Failure | None:
    """The first thing that is wrong; None if nothing is."""
    with _restless(setup), _opened(program, setup) as names:
        if isinstance(names, str):
            return Failure(setup, program, 0, names)
        for place, line in enumerate(program.lines):
            if line.kind == "oracle" != setup.engine:
                continue
            told = _wrong(line, names, program.world, setup.engine)
            if told is not None:
                return Failure(setup, program, place, told)
    return None


@contextlib.contextmanager
def _restless(setup: Setup) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if setup.is_restless:
            make_restless(patch)
        yield


def learn_finds(program: Program) -> None:
    """Ask the oracle what `find` must answer."""
    if not any(line.kind == "find" for line in program.lines):
        return
    with _opened(program, Setup("oracle", {})) as names:
        assert not isinstance(names, str), names
        for line in program.lines:
            if line.changes:
                exec(line.source, names)
            elif line.kind == "find":
                line.answer = _found(line, names)


@contextlib.contextmanager
def _opened(program: Program, setup: Setup) -> Iterator[dict[str, Any] | str]:
    names: dict[str, Any] = {"path": tempfile.mkdtemp(dir=_MEMORY if os.path.isdir(_MEMORY) else None)}
    exec(IMPORTS, names)
    try:
        try:
            exec(opening(program.world, setup.engine, setup.for_world(program.world)), names)
        except Exception as error:
            yield _raised(error)
        else:
            yield names
    finally:
        shutil.rmtree(names["path"], ignore_errors=True)


def _wrong(line: Line, names: dict[str, Any], world: World, engine: str) -> str | None:
    try:
        if line.kind == "change":
            exec(line.source, names)
            return None
        if line.kind == "find":
            return _wrong_find(line, _found(line, names), world if engine == "oracle" else None)
        found = eval(line.source, names)
    except Exception as error:
        return _raised(error)
    if line.kind == "lint":
        assert line.known is not None
        return wrong_lint(found, line.known, world)
    # Scores are compared to the bit, and none of them is NaN.
    return None if found == line.answer else f"answered: {found!r:.300}, and not {line.answer!r:.300}"


def _wrong_find(line: Line, found: Any, world: World | None) -> str | None:
    """The oracle is held against the events, all others against the oracle."""
    if LimitExceeded.__name__ in (found, line.answer):
        return None
    if found != line.answer:
        return f"answered: {found!r:.300}, and the oracle {line.answer!r:.300}"
    if world is None or not isinstance(found, list):
        return None
    assert isinstance(line.step, Find)
    assert line.known is not None
    return wrong_find(line.step, found, line.known, world)


def _found(line: Line, names: dict[str, Any]) -> Any:
    """The answer, or the name of the error: a query that nothing satisfies is one everywhere."""
    try:
        return eval(line.source, names)
    except MatchwoodError as error:
        return type(error).__name__


def _raised(error: Exception) -> str:
    told = io.StringIO(str(error)).readline().strip()
    return f"raised {type(error).__name__}: {told:.300}"


def _bounds(world: World, loose: bool) -> dict[str, float]:
    """The most that any rule of the world weighs, by attribute; and some of that more."""
    most: dict[str, float] = {}
    for rule in (rule for step in world.steps if isinstance(step, Put) for rule in step.rules):
        for name, weight in rule.weights.items():
            own = max([1.0, *weight.values()]) if isinstance(weight, dict) else max(weight, 1.0)
            most[name] = max(most.get(name, 0.0), own)
    return {name: (most[name] * 2 if loose else most[name]) for name in sorted(most)}
