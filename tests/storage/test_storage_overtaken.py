"""Two writers from one version: the second to publish is told, and nothing of the first is lost."""

from __future__ import annotations

import gc
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from pyarrow import fs

from matchwood import storage
from matchwood.storage import local
from matchwood.storage.remote import RemoteLocation


@pytest.fixture(params=["local", "remote"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> storage.Location:
    if request.param == "local":
        return storage.location_of(tmp_path)
    return RemoteLocation(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "index", "test://index")


def _part(value: int) -> storage.SavedPart:
    return storage.SavedPart({}, {"numbers": np.arange(value)})


def test_the_second_is_told(place: storage.Location) -> None:
    storage.save(place, {"0": _part(3)}, {})
    first, second = storage.begin(place), storage.begin(place)
    descriptions = [staging.write_part("0", _part(5)) for staging in (first, second)]
    first.publish(descriptions[:1], {}, after=1)
    with pytest.raises(storage.Overtaken, match=r"version 1 of .* was replaced"):
        second.publish(descriptions[1:], {}, after=1)
    assert storage.current_version(place) == first.version


def test_of_many_at_once_one_wins(place: storage.Location) -> None:
    storage.save(place, {"0": _part(3)}, {})
    won: list[int] = []

    def publish() -> None:
        staging = storage.begin(place)
        described = [staging.write_part("0", _part(5))]
        try:
            won.append(staging.publish(described, {}, after=1))
        except storage.Overtaken:
            staging.abort()

    threads = [threading.Thread(target=publish) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.current_version(place) == won[0]


@pytest.mark.parametrize("step", ["write", "files"])
def test_a_version_that_another_gives_up_while_it_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    place = RemoteLocation(fs.LocalFileSystem(), str(tmp_path))
    original = getattr(RemoteLocation, step)

    def without_directory(self: RemoteLocation, name: str, *rest: object) -> object:
        if name.startswith("v000001"):
            shutil.rmtree(tmp_path / "v000001")
        return original(self, name, *rest)

    monkeypatch.setattr(RemoteLocation, step, without_directory)
    assert storage.begin(place).version == 2


def test_parts_are_taken_over(place: storage.Location) -> None:
    storage.save(place, {"0": _part(3), "1": _part(4)}, {})
    old = storage.load(place)
    with storage.begin(place) as staging:
        descriptions = old.link_parts(["1"], staging)
        staging.publish([*descriptions, staging.write_part("2", _part(5))], {}, after=1)
    new = storage.load(place)
    assert {name: new.parts[name].arrays["numbers"].size for name in new.parts} == {"1": 4, "2": 5}


def test_a_part_that_is_vacuumed_while_it_is_listed_leaves_no_open_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = storage.save(tmp_path, {name: _part(3) for name in "0123"}, {})
    listed = local._regular_files

    def vacuum_first(directory: str) -> list[tuple[str, int]]:
        shutil.rmtree(directory)
        return listed(directory)

    monkeypatch.setattr(local, "_regular_files", vacuum_first)
    with pytest.raises(FileNotFoundError):
        storage.location_of(tmp_path).files(f"v{version:06}")
    gc.collect()  # an iterator left open warns here, and warnings fail the test
