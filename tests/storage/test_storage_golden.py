"""Snapshots that earlier releases wrote, kept as files, still open; each format has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from matchwood.storage import load
from matchwood.storage.manifest import FORMAT
from tests.storage.snapshot_samples import HEADER, content, save_sample

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("path", sorted(GOLDEN.iterdir()), ids=lambda path: path.name)
def test_every_format_opens(path: Path, tmp_path: Path) -> None:
    save_sample(tmp_path)
    snapshot = load(path, verify="full")
    assert snapshot.header == HEADER
    assert content(snapshot) == content(load(tmp_path))


def test_every_format_is_kept() -> None:
    assert [path.name for path in sorted(GOLDEN.iterdir())] == [f"format_{number + 1}" for number in range(FORMAT)]
