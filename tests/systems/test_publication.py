"""Publication on real systems without a lock: of two writers one is told, and whoever is killed, readers find old or
new."""

from __future__ import annotations

import time

import pytest

from matchwood import storage
from tests.systems.publication_support import check_leftovers, writer
from tests.systems.publisher_script import number_at, part_of


def test_history(either_uri: str) -> None:
    for number in range(3):
        storage.save(either_uri, {"0": part_of(number)}, {"n": number})
    assert storage.rollback(either_uri, 1) == 4
    assert number_at(either_uri) == 0
    history = [(info.version, info.restored_from) for info in storage.versions(either_uri)]
    assert history == [(1, None), (2, None), (3, None), (4, 1)]
    assert storage.vacuum(either_uri, keep=1, grace="0 seconds") == [1, 2, 3]
    assert (number_at(either_uri), storage.load(either_uri, verify="full").version) == (0, 4)
    assert storage.save(either_uri, {"0": part_of(9)}, {}) == 5


def test_two_processes_lose_nothing(either_uri: str) -> None:
    storage.save(either_uri, {"0": part_of(0)}, {})
    writers = [writer("count", either_uri, 6) for _ in range(2)]
    for each in writers:
        told = each.communicate(timeout=300)
        assert each.returncode == 0, told[1]
    assert number_at(either_uri) == 12
    assert len(storage.versions(either_uri)) == 13


def test_the_second_writer_is_told_whatever_its_clock_says(either_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(either_uri, {"0": part_of(0)}, {})
    first, second = storage.begin(either_uri), storage.begin(either_uri)
    described = [staging.write_part("0", part_of(number)) for number, staging in enumerate((first, second), 1)]
    first.publish(described[:1], {}, after=1)
    ahead = time.time() + 7200
    monkeypatch.setattr(time, "time", lambda: ahead)
    with pytest.raises(storage.Overtaken, match=r"version 1 of (s3|hdfs)://.* was replaced"):
        second.publish(described[1:], {}, after=1)
    assert number_at(either_uri) == 1


@pytest.mark.parametrize("step", range(5))
def test_a_writer_that_is_killed(either_uri: str, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the claim, the two arrays, the manifest, the publication."""
    storage.save(either_uri, {"0": part_of(1)}, {})
    killed = writer("die", either_uri, step)
    told = killed.communicate(timeout=300)
    assert killed.returncode == 9, told[1]
    assert number_at(either_uri) == 1
    storage.save(either_uri, {"0": part_of(3)}, {})
    assert number_at(either_uri) == 3
    check_leftovers(either_uri, monkeypatch)
