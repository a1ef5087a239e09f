"""The notebooks run, and show what they say."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from notebook_support import (
    KAFKA_NOTEBOOKS,
    LAKE_NOTEBOOKS,
    NOTEBOOKS,
    SPARK_NOTEBOOKS,
    executed,
    pictures,
    pictures_here,
)

from tests.conftest import SOAK

NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
ELSEWHERE = SPARK_NOTEBOOKS | LAKE_NOTEBOOKS | KAFKA_NOTEBOOKS


@pytest.mark.long(1)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ELSEWHERE])
def test_a_notebook_runs_and_has_pictures(name: str, tmp_path: Path) -> None:
    assert (pictures(executed(name, tmp_path)) if SOAK else pictures_here(name, tmp_path)) >= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_with_its_pictures(name: str) -> None:
    book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(book)
    assert pictures(book) >= 1
    assert not [cell for cell in book.cells if cell.cell_type == "code" and cell.execution_count is None]


def test_there_are_notebooks_for_both() -> None:
    assert set(NAMES) > ELSEWHERE
