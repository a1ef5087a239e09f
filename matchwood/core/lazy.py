"""Packages that load what they export when somebody asks for it.

A room is imported through its package, and a package that imported all of its files would make everyone pay for
everything: `matchwood --help` would compile-decorate every kernel. So the imports of a package's `__init__` stand under
`TYPE_CHECKING`, where type checkers and readers see them, and

    __getattr__ = exports(__name__)

follows them one name at a time.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from typing import Any


def exports(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: imports a name from where the package's own source says it is."""
    places: dict[str, tuple[str, str]] = {}

    def load(name: str) -> Any:
        if not places:
            places.update(_places(package))
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = places[name]
        value = getattr(importlib.import_module(module), original)
        setattr(sys.modules[package], name, value)
        return value

    return load


def _places(package: str) -> dict[str, tuple[str, str]]:
    """Each exported name, with its module and its name there."""
    spec = sys.modules[package].__spec__
    assert spec is not None
    tree = ast.parse(spec.loader.get_source(package))  # type: ignore[union-attr]
    blocks = [node for node in tree.body if isinstance(node, ast.If) and _is_type_checking(node.test)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: (node.module or "", alias.name) for node in imports for alias in node.names}


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
