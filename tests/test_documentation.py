"""Every example in the documentation is executed, from the text itself."""

from __future__ import annotations

import argparse
import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from documentation_support import Block, blocks, run_block, run_page

import matchwood
from matchwood.commands.cli import parser

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SPARK_PAGES = {
    DOCS / name for name in ("spark.md", "first-spark.md", "spark-executors.md", "lakehouse.md", "guides/kafka.md")
}
"""Pages that need an extra, or servers; they run with the tests of these, which share a session."""
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if page not in SPARK_PAGES)]
NEEDED = {"service.md": "fastapi"}
"""Packages that the examples of a page import beside Matchwood."""
LAZY = {"matchwood.spark", "matchwood.__main__"}
"""Packages that need an extra, whose doctests run with the tests of that extra, and what runs when it is imported."""


def _modules() -> list[str]:
    found = pkgutil.walk_packages(matchwood.__path__, "matchwood.")
    return [module.name for module in found if not any(module.name.startswith(lazy) for lazy in LAZY)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # a page may import a file that it shows
    run_page(page)


def test_the_service_of_the_guide_is_the_one_that_its_image_has() -> None:
    shown = [block.text for block in blocks(DOCS / "guides" / "service.md") if block.file == "service.py"]
    assert shown == [(ROOT / "docker" / "service.py").read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", _modules())
def test_the_docstrings_of_a_module_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_there_are_examples_to_run() -> None:
    executed = [block.language for page in PAGES for block in blocks(page)]
    assert executed.count("python") >= 10
    assert executed.count("console") >= 5


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", ">>> 1 + 1\n3\n"),
        ("python", "1 / 0\n"),
        ("console", "$ matchwood --version\nmatchwood 0\n"),
        ("console", "$ matchwood frobnicate\n...\n$ echo $?\n0\n"),
        ("console", "$ rm -rf /\n"),
    ],
)
def test_a_wrong_example_is_noticed(language: str, text: str) -> None:
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_block(Block(language, None, text, "here"), {})


def test_a_right_example_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_block(Block("csv", "a.csv", "id\n1\n", "here"), {})
    assert run_block(
        Block("console", None, "$ cat a.csv\nid\n1\n$ matchwood frobnicate\n...\n$ echo $?\n2\n", "here"), {}
    )
    assert not run_block(Block("text", None, "only for reading", "here"), {})


def _options(actions: argparse._SubParsersAction[argparse.ArgumentParser], prefix: str = "") -> dict[str, list[str]]:
    """Every option of every command, by the command's words."""
    found: dict[str, list[str]] = {}
    for name, command in actions.choices.items():
        words = f"{prefix}{name}"
        found[words] = [max(action.option_strings, key=len) for action in command._actions if action.option_strings]
        for action in command._actions:
            if isinstance(action, argparse._SubParsersAction):
                found.update(_options(action, f"{words} "))
    return found


def test_the_page_of_commands_names_every_command_and_option() -> None:
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    commands = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    for command, options in _options(commands).items():
        if command.startswith("bench ") and command.split()[1] not in ("list", "run", "report", "pages"):
            continue
        section = re.search(rf"^#+ `matchwood {command}`.*?(?=^#+ |\Z)", page, re.MULTILINE | re.DOTALL)
        assert section, f"no section for {command}"
        missing = [option for option in options if option != "--help" and f"`{option}" not in section[0]]
        assert not missing, f"{command}: {missing}"
