"""The oracle shares no code with what it judges: its imports are read from its source."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import matchwood.semantics

FILES = sorted(Path(str(matchwood.semantics.__file__)).parent.glob("[!_]*.py"))
ALLOWED = {"matchwood.errors", "matchwood.language"}


def imported(source: str) -> set[str]:
    """Every module that a source imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
        elif isinstance(node, ast.Name) and node.id in ("__import__", "importlib"):
            found.add(node.id)
    return found


def foreign(modules: set[str]) -> set[str]:
    """What neither the standard library, Arrow's RE2, nor the oracle itself provides."""
    own = {f"matchwood.semantics.{path.stem}" for path in FILES}
    plain = {module for module in modules if module.split(".")[0] in {*sys.stdlib_module_names, "pyarrow"}}
    return modules - plain - own - ALLOWED


def test_the_oracle_imports_only_the_tree_and_the_errors() -> None:
    assert len(FILES) == 6
    for path in FILES:
        assert foreign(imported(path.read_text())) == set(), path.name


def test_arrow_is_used_for_regular_expressions_alone() -> None:
    users = [path.stem for path in FILES if any(each.startswith("pyarrow") for each in imported(path.read_text()))]
    assert users == ["patterns"]
    source = next(path for path in FILES if path.stem == "patterns").read_text()
    used = {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("pa", "pc")
    }
    assert used == {"match_substring_regex", "scalar", "string", "ArrowInvalid"}


def test_a_forbidden_import_is_seen() -> None:
    assert foreign(imported("def f():\n    from matchwood.logic import cuts")) == {"matchwood.logic"}
    assert foreign(imported("import matchwood.encoding.codes, numpy")) == {"matchwood.encoding.codes", "numpy"}
    assert foreign(imported("from .base import Engine")) == {".base"}
    assert foreign(imported("__import__('matchwood.logic')")) == {"__import__"}
