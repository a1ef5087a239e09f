"""Publication on a real object store: of two writers one is told, and whoever is killed, readers find old or new."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchwood import storage
from matchwood.storage import version_log
from tests.systems.publisher_script import number_at, part_of
from tests.systems.s3_server import S3Server

obstore = pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")

ROOT = Path(__file__).parents[2]


def _writer(mode: str, uri: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.systems.publisher_script", mode, uri, str(number)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_lose_nothing(uri: str) -> None:
    storage.save(uri, {"0": part_of(0)}, {})
    writers = [_writer("count", uri, 6) for _ in range(2)]
    for writer in writers:
        told = writer.communicate(timeout=300)
        assert writer.returncode == 0, told[1]
    assert number_at(uri) == 12
    assert len(storage.versions(uri)) == 13


def test_the_second_writer_is_told_whatever_its_clock_says(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(uri, {"0": part_of(0)}, {})
    first, second = storage.begin(uri), storage.begin(uri)
    described = [staging.write_part("0", part_of(number)) for number, staging in enumerate((first, second), 1)]
    first.publish(described[:1], {}, after=1)
    ahead = time.time() + 7200
    monkeypatch.setattr(time, "time", lambda: ahead)
    with pytest.raises(storage.Overtaken, match=r"version 1 of s3://.* was replaced"):
        second.publish(described[1:], {}, after=1)
    assert number_at(uri) == 1


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


@pytest.mark.parametrize("step", range(5))
def test_a_writer_that_is_killed(uri: str, s3: S3Server, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the claim, the two arrays, the manifest, CURRENT."""
    storage.save(uri, {"0": part_of(1)}, {})
    killed = _writer("die", uri, step)
    told = killed.communicate(timeout=300)
    assert killed.returncode == 9, told[1]
    assert number_at(uri) == 1
    storage.save(uri, {"0": part_of(3)}, {})
    assert number_at(uri) == 3
    _check_leftovers(uri, s3, monkeypatch)


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
    _check_leftovers(uri, s3, monkeypatch)


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


def _check_leftovers(uri: str, s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a vacuum, nothing is there but the version that counts."""
    monkeypatch.setattr(version_log, "_UNFINISHED", timedelta(0))
    time.sleep(1.1)  # the store's times are whole seconds
    storage.vacuum(uri, keep=1, grace="0 seconds")
    left = [info.version for info in storage.versions(uri)]
    assert len(left) == 1
    below = {
        key.split("/")[2] for key in s3.objects(uri.removeprefix("s3://rules/").removesuffix("/index")) if "/" in key
    }
    assert below == {"CURRENT", f"v{left[0]:06d}"}


def test_history(uri: str) -> None:
    for number in range(3):
        storage.save(uri, {"0": part_of(number)}, {"n": number})
    assert storage.rollback(uri, 1) == 4
    assert number_at(uri) == 0
    assert [(info.version, info.restored_from) for info in storage.versions(uri)] == [
        (1, None),
        (2, None),
        (3, None),
        (4, 1),
    ]
    assert storage.vacuum(uri, keep=1, grace="0 seconds") == [1, 2, 3]
    assert number_at(uri) == 0
    assert storage.load(uri, verify="full").version == 4
    assert storage.save(uri, {"0": part_of(9)}, {}) == 5
