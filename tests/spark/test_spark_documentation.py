"""The pages on Spark and the docstrings of this room are executed, with the tests' own session."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import matchwood.spark
from tests.documentation_support import run_page

DOCS = Path(__file__).parent.parent.parent / "docs"
MODULES = [module.name for module in pkgutil.walk_packages(matchwood.spark.__path__, "matchwood.spark.")]


@pytest.mark.parametrize(("page", "blocks"), [("first-spark.md", 5), ("spark.md", 10), ("spark-executors.md", 1)])
def test_the_guides_run(page: str, blocks: int, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(DOCS / page) >= blocks


@pytest.mark.parametrize("name", MODULES)
def test_the_docstrings_of_a_module_run(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
