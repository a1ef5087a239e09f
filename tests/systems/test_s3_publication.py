"""Publication on a real object store: of two writers one is told, and whoever is killed, readers find old or new."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchwood import storage
from tests.systems.publication_support import check_leftovers
from tests.systems.publisher_script import number_at, part_of
from tests.systems.s3_server import S3Server

obstore = pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")

ROOT = Path(__file__).parents[2]


def test_one_that_is_overtaken_between_its_last_look_and_its_put(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(uri, {"0": part_of(0)}, {})
    place = storage.location_of(uri)
    quick = storage.begin(uri)
    described = [quick.write_part("0", part_of(1))]
    real, is_first = obstore.put, True

    def other_first(store: Any, name: str, data: Any, **how: Any) -> Any:
        nonlocal is_first
        if isinstance(how.get("mode"), dict) and is_first:
            is_first = False
            quick.publish(described, {}, after=1)
        return real(store, name, data, **how)

    monkeypatch.setattr(obstore, "put", other_first)
    with pytest.raises(storage.Overtaken), storage.begin(place) as slow:
        slow.publish([slow.write_part("0", part_of(7))], {}, after=1)
    assert number_at(uri) == 1
    assert [info.version for info in storage.versions(uri)] == [1, 2]


def test_a_put_whose_answer_is_lost_counts(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = obstore.put

    def twice(store: Any, name: str, data: Any, **how: Any) -> Any:
        real(store, name, data, **how)
        return real(store, name, data, **how)

    monkeypatch.setattr(obstore, "put", twice)
    for number in range(3):
        assert storage.save(uri, {"0": part_of(number)}, {}) == number + 1
    assert number_at(uri) == 2


def test_a_server_that_is_killed_meanwhile(uri: str, s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(uri, {"0": part_of(1)}, {})
    arrays = {f"a{number}": np.full(200_000, number) for number in range(12)}
    outcome: list[str] = []

    def save() -> None:
        try:
            storage.save(uri, {"0": storage.SavedPart({}, {"number": np.array([2]), **arrays})}, {})
            outcome.append("saved")
        except OSError as error:
            outcome.append(type(error).__name__)

    saving = threading.Thread(target=save)
    saving.start()
    while not any("a0" in key for key in s3.objects()):
        assert saving.is_alive()
    s3.kill()
    s3.start()
    saving.join()
    assert number_at(uri) == (2 if outcome == ["saved"] else 1)
    assert storage.load(uri, verify="full").version == storage.current_version(uri)
    storage.save(uri, {"0": part_of(3)}, {})
    check_leftovers(uri, monkeypatch)


def test_a_server_that_is_killed_while_a_host_downloads(
    uri: str, s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host has the old version or the new one, never a part of one, and fetches the rest when it can."""
    arrays = {f"a{number}": np.full(100_000, number) for number in range(8)}
    storage.save(uri, {"0": storage.SavedPart({}, {"number": np.array([1]), **arrays})}, {})
    real, fetched = obstore.get, list[str]()

    def killing(store: Any, name: str, **how: Any) -> Any:
        fetched.append(name)
        if sum(each.endswith(".bin") for each in fetched) == 3:
            s3.kill()
        return real(store, name, **how)

    monkeypatch.setattr(obstore, "get", killing)
    with pytest.raises(OSError, match=r"a\d|number|connect|send"):
        _sum_at(uri)
    monkeypatch.setattr(obstore, "get", real)
    assert not [file for file in (tmp_path / "cache").rglob(".new-*") if file.is_file()]
    s3.start()
    assert _sum_at(uri) == 100_000 * sum(range(8)) + 1
    assert storage.load(uri, verify="full").version == 1


def _sum_at(uri: str) -> int:
    """All numbers of a version, which must be downloaded whole."""
    return int(sum(array.sum() for array in storage.load(uri).parts["0"].arrays.values()))
