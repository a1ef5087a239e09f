"""Versions over time: listing, rolling back, vacuuming."""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchwood.errors import CorruptSnapshot, InvalidArgument, SnapshotNotFound
from matchwood.storage import SavedPart, begin, current_version, load, location_of, rollback, save, vacuum, versions
from matchwood.storage import staging as staging_module
from matchwood.storage.local import LocalLocation
from tests.storage.snapshot_samples import content

NOW = "0 seconds"


def save_value(path: Path, value: int) -> int:
    return save(path, {"0": SavedPart({"value": value}, {"it": np.full(9, value)})}, {"value": value})


@pytest.fixture
def five(tmp_path: Path) -> Path:
    for value in range(1, 6):
        save_value(tmp_path, value)
    return tmp_path


class OldClock(datetime.datetime):
    """Saves made ten days ago."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime.datetime:
        return super().now(tz) - datetime.timedelta(days=10)


def numbers(path: Path) -> list[int]:
    return [info.version for info in versions(path)]


def test_versions_tell_size_time_and_which_is_current(five: Path) -> None:
    infos = versions(five)
    assert [info.version for info in infos] == [1, 2, 3, 4, 5]
    assert [info.current for info in infos] == [False] * 4 + [True]
    assert {(info.bytes, info.parts, info.problem, info.restored_from) for info in infos} == {(72, 1, None, None)}
    created = [info.created for info in infos]
    assert created == sorted(created)
    assert abs(created[-1] - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(minutes=5)
    assert current_version(five) == 5


def test_versions_can_be_loaded_by_number(five: Path) -> None:
    assert [load(five, version).header["value"] for version in numbers(five)] == [1, 2, 3, 4, 5]
    for wrong in (0, 6, -1, "1", True, 1.0):
        with pytest.raises(InvalidArgument, match="version"):
            load(five, wrong)


def test_rollback_publishes_an_equal_version(five: Path) -> None:
    assert rollback(five, 2) == 6
    assert current_version(five) == 6
    assert content(load(five)) == content(load(five, 2))
    assert versions(five)[-1].restored_from == 2
    assert save_value(five, 7) == 7


def test_rollback_copies_no_data_and_survives_the_old_version(five: Path) -> None:
    rollback(five, 1)
    [first], [last] = (list((five / name).rglob("*-it.bin")) for name in ("v000001", "v000006"))
    assert first.stat().st_ino == last.stat().st_ino
    assert vacuum(five, keep=1, grace=NOW) == [1, 2, 3, 4, 5]
    assert load(five, verify="full").header == {"value": 1}


def test_rollback_where_there_are_no_hard_links(five: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refused)
    assert content(load(five, rollback(five, 3))) == content(load(five, 3))


def test_rollback_of_nothing_changes_nothing(five: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"no version 9 \(it has 1, 2, 3, 4, 5\)"):
        rollback(five, 9)
    [file] = (five / "v000002").rglob("*-it.bin")
    file.write_bytes(b"\1" * 72)
    with pytest.raises(CorruptSnapshot, match="checksum"):
        rollback(five, 2)
    assert numbers(five) == [1, 2, 3, 4, 5]
    assert current_version(five) == 5


def test_rollback_repairs_a_lost_current(five: Path) -> None:
    (five / "CURRENT").write_bytes(b"?")
    assert not any(info.current for info in versions(five))
    assert load(five, rollback(five, 5)).header["value"] == 5
    assert load(five).version == 6


def test_a_damaged_manifest_is_listed_with_its_problem_and_left_alone(five: Path) -> None:
    (five / "v000002" / "manifest.json").write_bytes(b"?")
    problems = {info.version: info.problem for info in versions(five) if info.problem}
    assert list(problems) == [2]
    assert "manifest.json: does not begin like a manifest" in str(problems[2])
    assert vacuum(five, keep=1, grace=NOW) == [1, 3, 4]
    assert numbers(five) == [2, 5]


def test_vacuum_keeps_the_newest(five: Path) -> None:
    assert vacuum(five, keep=3, grace=NOW) == [1, 2]
    assert numbers(five) == [3, 4, 5]
    assert vacuum(five, keep=3, grace=NOW) == []
    assert save_value(five, 6) == 6


def test_vacuum_keeps_what_is_protected_and_current(five: Path) -> None:
    (five / "CURRENT").write_bytes(_current_of(five, 2))
    assert vacuum(five, keep=1, grace=NOW, protected=[4]) == [1, 3]
    assert load(five).header["value"] == 2


def _current_of(path: Path, version: int) -> bytes:
    seal = (path / f"v{version:06d}" / "manifest.json").read_bytes().split(b'"')[5]
    return b"v%06d %s\n" % (version, seal)


def test_vacuum_keeps_what_is_younger_than_grace(five: Path) -> None:
    assert vacuum(five, keep=1) == []
    assert vacuum(five, keep=1, grace=datetime.timedelta(hours=1)) == []
    assert numbers(five) == [1, 2, 3, 4, 5]


def test_an_old_version_that_was_current_until_now_is_young(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as past:
        past.setattr(staging_module.datetime, "datetime", OldClock)
        for value in (1, 2, 3):
            save_value(tmp_path, value)
    save_value(tmp_path, 4)
    save_value(tmp_path, 5)
    assert vacuum(tmp_path, keep=1, grace="1 day") == [1, 2]


def test_vacuum_removes_what_unfinished_saves_left_but_not_those_under_way(five: Path) -> None:
    old, fresh = begin(five), begin(five)
    old.write_part("0", SavedPart({}, {"it": np.arange(3)}))
    (five / "CURRENT.new-0123456789ab").write_bytes(b"")
    past = time.time() - 7200
    for path in [five / "CURRENT.new-0123456789ab", five / "v000006", *(five / "v000006").rglob("*")]:
        os.utime(path, (past, past))
    (five / "keep me").write_bytes(b"")
    assert vacuum(five, keep=5, grace=NOW) == []
    assert not (five / "v000006").exists()
    assert not (five / "CURRENT.new-0123456789ab").exists()
    assert (five / "keep me").exists()
    assert fresh.publish([fresh.write_part("0", SavedPart())], {}) == 7


def test_vacuum_meets_what_goes_in_the_same_moment(five: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names were listed when they were still there: by another vacuum, or by a save that has just ended."""
    gone = ["CURRENT.new-0123456789ab", "v000006"]
    names = LocalLocation.names
    monkeypatch.setattr(LocalLocation, "names", lambda place: [*names(place), *gone])
    assert [location_of(five).changed(name) for name in gone] == [0, 0]
    assert vacuum(five, keep=5, grace=NOW) == []


@pytest.mark.parametrize("keep", [0, -1, True, 1.5, "3"])
def test_bad_keep(five: Path, keep: Any) -> None:
    with pytest.raises(InvalidArgument, match="keep must be"):
        vacuum(five, keep=keep)


@pytest.mark.parametrize("grace", ["", "day", "1", "1 fortnight", "-1 days", 5, datetime.timedelta(days=-1)])
def test_bad_grace(five: Path, grace: Any) -> None:
    with pytest.raises(InvalidArgument, match="grace must be"):
        vacuum(five, grace=grace)


@pytest.mark.parametrize("grace", ["1 day", "2 Weeks", "1.5 hours", " 30 minutes "])
def test_good_grace(five: Path, grace: str) -> None:
    assert vacuum(five, keep=1, grace=grace) == []


def test_no_snapshot(tmp_path: Path) -> None:
    for call in (versions, current_version, vacuum):
        with pytest.raises(SnapshotNotFound, match="no snapshot is there"):
            call(tmp_path / "nowhere")
