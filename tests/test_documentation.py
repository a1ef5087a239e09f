"""Every example in the documentation is executed, from the text itself."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import matchwood

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LAZY = {"matchwood.spark"}
"""Packages that need an extra; their doctests run with the tests of that extra."""


def _modules() -> list[str]:
    found = pkgutil.walk_packages(matchwood.__path__, "matchwood.")
    return [module.name for module in found if not any(module.name.startswith(lazy) for lazy in LAZY)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks with prompts are doctests, the others plain code; all of a page share their names."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    text = page.read_text()
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        _run(found.group(1), names, f"{page.name}:{line}")


def _run(block: str, names: dict[str, object], where: str) -> None:
    if ">>>" not in block:
        exec(compile(block, where, "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(block, names, where, where, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    output: list[str] = []
    runner.run(example, out=output.append, clear_globs=False)
    names.update(example.globs)
    assert not output, "".join(output)


@pytest.mark.parametrize("name", _modules())
def test_the_docstrings_of_a_module_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_there_are_examples_to_run() -> None:
    assert sum(len(BLOCK.findall(page.read_text())) for page in PAGES) >= 10


def test_a_wrong_example_is_noticed() -> None:
    with pytest.raises(AssertionError):
        _run(">>> 1 + 1\n3\n", {}, "here")
    with pytest.raises(ZeroDivisionError):
        _run("1 / 0", {}, "here")
