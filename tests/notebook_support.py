"""Notebooks, executed from their first cell to their last by a kernel of their own."""

from __future__ import annotations

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


def pictures(book: Any) -> int:
    """How many outputs of a notebook are pictures."""
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    return sum("image/png" in output.get("data", {}) for output in outputs)
