"""The code blocks of a page, and how each kind of them is executed.

    ```python          blocks with prompts are doctests, the others plain code; all of a page share their names
    ```console         `$ command` lines, each followed by what it prints; `...` stands for anything
    ```csv rules.csv   (any language, and a file name) a file that later blocks of the page use

Other blocks are only for reading. Everything runs in the current directory.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from matchwood.commands.cli import main
from matchwood.progress import Progress

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SECONDS = re.compile(r"\b\d+\.\d s\b")


class Block(NamedTuple):
    """One block: its language, the file name beside it, its text, and its place in the page."""

    language: str
    file: str | None
    text: str
    where: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(found[1], found[2], found[3], f"{page.name}:{line}")


def run_page(page: Path) -> int:
    """Execute all blocks of a page in order; returns how many were executed."""
    names: dict[str, object] = {"__name__": page.stem}
    executed = 0
    for block in blocks(page):
        executed += run_block(block, names)
    return executed


def run_block(block: Block, names: dict[str, object]) -> bool:
    if block.file is not None:
        Path(block.file).write_text(block.text, encoding="utf-8")
    elif block.language == "python":
        run_python(block, names)
    elif block.language == "console":
        run_console(block)
    else:
        return False
    return True


def run_python(block: Block, names: dict[str, object]) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, block.where, "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(block.text, names, block.where, block.where, 0)
    output: list[str] = []
    doctest.DocTestRunner(optionflags=_FLAGS).run(example, out=output.append, clear_globs=False)
    names.update(example.globs)
    assert not output, "".join(output)


def run_console(block: Block) -> None:
    """Each command must print what stands below it, on standard output and standard error together."""
    status = 0
    for entry in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = entry.partition("\n")
        status, printed = run_command(command, status)
        same = doctest.OutputChecker().check_output(_timeless(expected), _timeless(printed), _FLAGS)
        assert same, f"{block.where}: $ {command}\nprinted\n{printed}\nwhere the page says\n{expected}"


def run_command(command: str, last_status: int) -> tuple[int, str]:
    """The exit status of a command and what it printed: `matchwood …`, `cat FILE` or `echo $?`."""
    words = shlex.split(command)
    if command == "echo $?":
        return 0, f"{last_status}\n"
    if words[0] == "cat":
        return 0, "".join(Path(word).read_text(encoding="utf-8") for word in words[1:])
    assert words[0] == "matchwood", f"cannot execute {command!r} here"
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        mock.patch.object(Progress, "QUIET_SECONDS", 3_600.0),  # a slow machine shows progress, which no page does
    ):
        status = main(words[1:])
    return status, printed.getvalue()


def _timeless(text: str) -> str:
    """Seconds differ from run to run."""
    return _SECONDS.sub("N s", text)
