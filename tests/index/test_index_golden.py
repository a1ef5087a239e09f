"""Snapshots that earlier releases wrote, kept as files, still open and answer as they did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import matchwood as mw
from tests.index.index_samples import answers

GOLDEN = sorted((Path(__file__).parent / "golden").iterdir())


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_every_format_opens_and_answers(path: Path, tmp_path: Path) -> None:
    asked = json.loads((path / "asked.json").read_text())
    shutil.copytree(path / "index", tmp_path / "index")
    index = mw.open(tmp_path / "index", verify="full")
    assert dict(index) == asked["rules"]
    assert answers(index, asked["events"]) == asked["hits"]
    assert len(asked["hits"]["rule"]) > 100
    assert index.audit() == []
    index["new"] = "age = 5"
    del index["minor"]
    index.save(tmp_path / "index")
    again = mw.open(tmp_path / "index")
    assert "new" in again.match({"age": 5})
    assert again.audit() == []


def test_there_is_a_golden_index_of_this_format() -> None:
    assert [path.name for path in GOLDEN] == ["format_1"]
    size = sum(file.stat().st_size for path in GOLDEN for file in path.rglob("*") if file.is_file())
    assert size < 100_000
