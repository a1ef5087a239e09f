"""Snapshots that earlier releases wrote, kept as files, still open and answer as they did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import matchwood as mw
from matchwood import storage
from matchwood.encoding.encoder_state import READABLE
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
    assert [path.name for path in GOLDEN] == [f"format_{number}" for number in READABLE]
    saved = [storage.load(path / "index").header_of("0")["encoder"]["format"] for path in GOLDEN]
    assert saved == list(READABLE)
    size = sum(file.stat().st_size for path in GOLDEN for file in path.rglob("*") if file.is_file())
    assert size < 200_000


def test_format_2_keeps_decimals_and_settings(tmp_path: Path) -> None:
    """What the first format had no room for: all digits of a constant, what text becomes, what NaN means."""
    shutil.copytree(GOLDEN[1] / "index", tmp_path / "index")
    index = mw.open(tmp_path / "index")
    asked = {"fine", "finer", "price", "above", "no score"}
    amounts = ["0.1234567890123456789", "0.1234567890123456788", "10.05", "10.0500000000000000001"]
    found = [asked & set(index.match({"amount": amount, "score": 1.0})) for amount in amounts]
    assert found == [{"fine", "finer"}, {"finer"}, {"price"}, {"above"}]
    assert "no score" in index.match({"score": float("nan")})
