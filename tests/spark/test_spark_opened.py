"""Versions that a worker has open: each opened once, none waiting for another, shards kept as far as there is room."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from match_support import save_shards, some_rules

from matchwood import storage
from matchwood.errors import SnapshotNotFound
from matchwood.spark.match.opened import OpenedIndex, open_version

WAIT = 60.0


@pytest.fixture
def place(tmp_path: Path) -> storage.Location:
    for number in range(2):
        save_shards(str(tmp_path / "index"), some_rules(20, seed=number), 3)
    return storage.location_of(tmp_path / "index")


def test_a_long_opening_keeps_nobody_else_waiting(place: storage.Location, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, opened = threading.Event(), threading.Event(), list[int]()

    def slow(path: Any, version: int, room: int | None) -> OpenedIndex:
        opened.append(version)
        if version == 1:
            begun.set()
            assert go_on.wait(WAIT)
        return OpenedIndex(path, version, room)

    monkeypatch.setattr(sys.modules["matchwood.spark.match.opened"], "OpenedIndex", slow)
    with ThreadPoolExecutor(2) as pool:
        first, again = (pool.submit(open_version, place, 1) for _ in range(2))
        assert begun.wait(WAIT)
        assert open_version(place, 2) is open_version(place, 2)
        assert not first.done()
        go_on.set()
        assert first.result(WAIT) is again.result(WAIT)
    assert sorted(opened) == [1, 2]


def test_an_opening_that_failed_is_tried_anew(tmp_path: Path) -> None:
    place = storage.location_of(tmp_path / "later")
    with pytest.raises(SnapshotNotFound):
        open_version(place, 1)
    save_shards(str(tmp_path / "later"), some_rules(5, seed=1), 2)
    assert len(open_version(place, 1).shards) == 2


def test_shards_stay_open_where_there_is_room(place: storage.Location) -> None:
    events = pa.table({"id": [1, 2]})
    names, sizes = OpenedIndex(place, 1, 0).shards, storage.load(place, 1).sizes
    for room, kept in ((None, (0, 1, 2)), (0, (0,)), (sizes[names[2]], (2, 0))):
        index = OpenedIndex(place, 1, room)
        for shard in (2, 1, 0):
            list(index.answer(events, "null", "raise", shard))
        assert {shard.name for shard in index.kept()} == {names[number] for number in kept}
