"""The site: pages that are written from the code, what the link checker sees, and the build itself."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import matchwood
from matchwood.commands.names import HELP
from matchwood.engines import engine_class, engine_names

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"website_{name}", ROOT / "website" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _documented() -> set[str]:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    return set(re.findall(r"^::: (\S+)$", pages, re.MULTILINE))


def _exported_by_spark() -> list[str]:
    tree = ast.parse((ROOT / "matchwood" / "spark" / "__init__.py").read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    lists = [node.value for node in assigned if ast.unparse(node.targets[0]) == "__all__"]
    return [str(name) for name in ast.literal_eval(lists[0])]


def test_the_reference_has_every_public_name() -> None:
    names = {f"matchwood.{name}" for name in matchwood.__all__}
    names |= {f"matchwood.spark.{name}" for name in set(_exported_by_spark()) - set(matchwood.__all__)}
    assert names <= _documented()


def test_the_page_of_commands_is_written_from_the_parser() -> None:
    page = _module("pages").commands()
    for name, told in HELP.items():
        assert f"## `matchwood {name}`\n\n{told[0].upper()}" in page
    assert "| `--max-rejected N` |" in page
    assert "## `matchwood spark build`" in page


def test_the_page_of_options_has_every_option_of_every_engine() -> None:
    page = _module("pages").engine_options()
    for name in engine_names():
        section = re.search(rf"^## `{name}`$.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        assert section, name
        assert all(f"| `{option}` | `" in section[0] for option in engine_class(name).options), name


def test_the_arguments_of_a_docstring_become_a_table() -> None:
    pytest.importorskip("griffe")
    with_tables = _module("docstrings").with_tables
    text = "Match.\n\n`on_error`, `missing`  what happens | or not\n                       to values\n\n>>> 1\n1"
    assert with_tables(text).splitlines() == [
        "Match.",
        "",
        "| | |",
        "|---|---|",
        "| `on_error`, `missing` | what happens \\| or not to values |",
        "",
        ">>> 1",
        "1",
    ]
    assert with_tables("Nothing to list.") == "Nothing to list."


def test_the_examples_of_a_docstring_become_code() -> None:
    pytest.importorskip("griffe")
    with_blocks = _module("docstrings").with_blocks
    assert with_blocks("Add.\n\n>>> 1 + 1\n2") == "Add.\n\n```pycon\n>>> 1 + 1\n2\n```"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="nowhere/">x</a>', "index.html: nowhere/ leads nowhere"),
        ('<a href="other/#missing">x</a>', "index.html: other/#missing leads nowhere"),
        ('<a href="#here">x</a>', "index.html: #here leads nowhere"),
        ('<script src="https://cdn.example/x.js"></script>', "index.html: https://cdn.example/x.js is loaded from"),
    ],
)
def test_a_broken_link_is_noticed(body: str, problem: str, tmp_path: Path) -> None:
    _site(tmp_path, body)
    found = _module("check").problems(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_sound_links_are_accepted(tmp_path: Path) -> None:
    _site(tmp_path, '<a href="other/#there" id="top">x</a> <a href="#top">y</a> <a href="https://example.org">z</a>')
    assert _module("check").problems(tmp_path) == []


def _site(folder: Path, body: str) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "index.html").write_text('<h2 id="there">There</h2>', encoding="utf-8")
    (folder / "index.html").write_text(body, encoding="utf-8")


@pytest.mark.long
def test_the_site_is_built_strictly_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    for needed in ("mkdocs", "material", "mkdocstrings", "mike"):
        pytest.importorskip(needed)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert _module("check").problems(tmp_path) == []
    front = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "all the rules that are true of it" in front
    assert (tmp_path / "the-index" / "index.html").is_file()
    assert "insert_many" in (tmp_path / "reference" / "python" / "index.html").read_text(encoding="utf-8")


def test_flowcharts_are_drawn() -> None:
    text = """flowchart TD
    R["root"] -->|"7"| A["leaf 1"]
    R ==> B(["inner #62; 2"])
    B -.-> C[["leaf<br/>3"]]
    A <--> C
"""
    drawn = _module("mermaid").drawn(text)
    texts = re.findall(r"<text[^>]*>(.*?)</text>", drawn)
    assert sorted(texts) == sorted(["7", "root", "leaf 1", "inner &gt; 2", "leaf", "3"])
    assert drawn.count("<line") == 4
    assert "\n\n" not in drawn
    with pytest.raises(ValueError, match="not known here"):
        _module("mermaid").drawn('flowchart TD\n  A["x"] ~~~ B["y"]')
