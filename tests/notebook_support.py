"""Notebooks, executed from their first cell to their last: by a kernel of their own, or in the process of the tests."""

from __future__ import annotations

import ast
import contextlib
import os
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "notebooks"
SPARK_NOTEBOOKS = {"ad_targeting_spark", "alerts_on_a_stream"}
"""They need an extra, and run with the tests of that extra."""
LAKE_NOTEBOOKS = {"data_quality_on_delta"}
"""They need Delta's jars, and run with the tests of `make test-systems`."""
KAFKA_NOTEBOOKS = {"alerts_with_kafka"}
"""They need a Kafka broker, and run with the tests of `make test-systems`."""


def executed(name: str, folder: Path) -> Any:
    """A notebook after its execution in a folder; any error in a cell is an error here."""
    book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    client = NotebookClient(book, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    paths = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with mock.patch.dict(os.environ, {"PYTHONPATH": paths}):
        client.execute()
    return book


def pictures_here(name: str, folder: Path) -> int:
    """How many pictures a notebook shows if its cells run in this process: the short form, no kernel is started."""
    book, names = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4), {"__name__": "__main__"}
    with contextlib.chdir(folder):
        return sum(_is_picture(_shown(cell.source, names)) for cell in book.cells if cell.cell_type == "code")


def _shown(source: str, names: dict[str, Any]) -> Any:
    """What a cell shows: the value of its last line, if that is an expression."""
    *before, last = ast.parse(source).body
    exec(compile(ast.Module([*before, *([] if isinstance(last, ast.Expr) else [last])], []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def _is_picture(value: Any) -> bool:
    if not hasattr(value, "_repr_mimebundle_"):
        return False
    bundle = value._repr_mimebundle_()
    return "image/png" in (bundle[0] if isinstance(bundle, tuple) else bundle or {})


def pictures(book: Any) -> int:
    """How many outputs of a notebook are pictures."""
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    return sum("image/png" in output.get("data", {}) for output in outputs)
