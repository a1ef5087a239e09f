"""Snapshots on file systems that PyArrow reaches: the same promises, through the host's cache."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pyarrow import fs

from matchwood.errors import CorruptSnapshot, InvalidArgument, SnapshotNotFound
from matchwood.storage import (
    SavedPart,
    begin,
    current_version,
    load,
    location_of,
    remote,
    rollback,
    save,
    vacuum,
    versions,
)
from matchwood.storage.cache import cache_root
from matchwood.storage.local import LocalLocation
from matchwood.storage.remote import RemoteLocation
from tests.storage.snapshot_samples import HEADER, content, sample_parts, save_sample


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MATCHWOOD_SNAPSHOTS_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["subtree", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> RemoteLocation:
    if request.param == "memory":
        return RemoteLocation(fs._MockFileSystem(), "bucket/snapshot", "mock://bucket/snapshot")
    return subtree(tmp_path)


def copies(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file() and not path.name.startswith(".")]


def subtree(tmp_path: Path) -> RemoteLocation:
    (tmp_path / "far").mkdir(exist_ok=True)
    return RemoteLocation(fs.SubTreeFileSystem(str(tmp_path / "far"), fs.LocalFileSystem()), "snapshot")


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    names: list[str] = []
    real = RemoteLocation._download

    def counted(self: RemoteLocation, name: str, target: str) -> None:
        names.append(name)
        real(self, name, target)

    monkeypatch.setattr(RemoteLocation, "_download", counted)
    return names


def test_file_uris_are_local_paths(tmp_path: Path) -> None:
    uri = (tmp_path / "a b").as_uri()
    assert location_of(uri) == LocalLocation(str(tmp_path / "a b"))
    assert save(uri, sample_parts(), HEADER) == 1
    assert content(load(uri)) == content(load(tmp_path / "a b"))


def test_uris_of_other_schemes_are_remote() -> None:
    place = location_of("mock:///bucket/snapshot")
    assert isinstance(place, RemoteLocation)
    assert str(place) == "mock:///bucket/snapshot"
    assert location_of(place) is place


def test_save_load_rollback_vacuum(place: RemoteLocation) -> None:
    assert [save(place, sample_parts(), {**HEADER, "n": n}) for n in range(3)] == [1, 2, 3]
    local = sample_parts()
    snapshot = load(place, verify="full")
    assert snapshot.version == current_version(place) == 3
    assert {name: part.header for name, part in snapshot.parts.items()} == {n: p.header for n, p in local.items()}
    for name, part in local.items():
        for key, array in part.arrays.items():
            back = snapshot.parts[name].arrays[key]
            assert np.array_equal(back, array)
            assert back.dtype == array.dtype
            assert not back.flags.writeable
    assert rollback(place, 1) == 4
    assert load(place).header["n"] == 0
    assert [info.restored_from for info in versions(place)] == [None, None, None, 1]
    assert vacuum(place, keep=1, grace="0 seconds") == [1, 2, 3]
    assert [info.version for info in versions(place)] == [4]
    assert content(load(place))["arrays"] == content(snapshot)["arrays"]


def test_nothing_there(place: RemoteLocation) -> None:
    with pytest.raises(SnapshotNotFound, match="no snapshot is there"):
        load(place)
    with pytest.raises(SnapshotNotFound, match="no snapshot is there"):
        versions(place)
    save(place, sample_parts(), HEADER)
    with pytest.raises(InvalidArgument, match=r"no version 7 \(it has 1\)"):
        load(place, version=7)


def test_parts_are_copied_once_and_on_demand(place: RemoteLocation, downloads: list[str]) -> None:
    save(place, sample_parts(), HEADER)
    snapshot = load(place)
    assert downloads == []
    assert snapshot.parts["1"].arrays["flags"].tolist() == [True, False]
    assert [name.rsplit("-", 1)[1] for name in downloads] == ["flags.bin"]
    content(load(place))
    content(load(place))
    content(load(place, verify="full"))
    assert len(downloads) == 4


def test_copies_are_checked_in_full(tmp_path: Path, cache: Path) -> None:
    place = subtree(tmp_path)
    save(place, {"0": SavedPart({}, {"it": np.zeros(100)})}, {})
    [file] = (tmp_path / "far").rglob("*-it.bin")
    whole = file.read_bytes()
    file.write_bytes(b"\1" + whole[1:])
    with pytest.raises(CorruptSnapshot, match=r"it\.bin: its contents do not have the checksum"):
        load(place).parts["0"]
    with pytest.raises(CorruptSnapshot, match="checksum"):
        load(place, verify="full")
    assert not copies(cache)
    file.write_bytes(whole[1:])
    with pytest.raises(CorruptSnapshot, match="has 799 bytes where the manifest says 800"):
        load(place).parts["0"]
    file.write_bytes(whole)
    assert load(place).parts["0"].arrays["it"].sum() == 0


def test_a_damaged_copy_is_found_by_a_full_check(tmp_path: Path, cache: Path) -> None:
    place = subtree(tmp_path)
    save(place, {"0": SavedPart({}, {"it": np.zeros(100)})}, {})
    load(place, verify="full")
    [copy] = copies(cache)
    copy.write_bytes(b"\1" * 800)
    with pytest.raises(CorruptSnapshot, match="checksum"):
        load(place, verify="full")


def test_a_snapshot_built_anew_is_not_taken_for_the_old_one(place: RemoteLocation) -> None:
    save(place, {"0": SavedPart({}, {"it": np.array([1])})}, {})
    assert load(place).parts["0"].arrays["it"][0] == 1
    place.filesystem.delete_dir(place.root)
    assert save(place, {"0": SavedPart({}, {"it": np.array([2])})}, {}) == 1
    assert load(place).parts["0"].arrays["it"][0] == 2


def test_two_claims_never_win_together(place: RemoteLocation) -> None:
    assert place.claim("v000001")
    assert not place.claim("v000001")
    assert begin(place).version == 2
    place.make("v000005")
    place.write("v000005/claim-other", b"")
    assert begin(place).version == 6
    assert set(place.files("v000005")) == {"claim-other"}


@pytest.mark.parametrize("withdrawn", ["before the other looks", "after it"])
def test_claims_at_the_same_moment(withdrawn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, other = subtree(tmp_path), subtree(tmp_path)
    real, outcomes = RemoteLocation.files, []

    def other_first(self: RemoteLocation, directory: str) -> dict[str, int]:
        if self is place and not outcomes:
            outcomes.append(other.claim(directory))
        return real(self, directory)

    monkeypatch.setattr(RemoteLocation, "files", other_first)
    if withdrawn == "after it":
        monkeypatch.setattr(RemoteLocation, "remove", lambda self, name: None)
    assert place.claim("v000001") == (withdrawn == "before the other looks")
    assert outcomes == [False]


def test_parts_from_elsewhere(tmp_path: Path) -> None:
    staging = begin(subtree(tmp_path))
    copy = pickle.loads(pickle.dumps(staging))
    assert staging.publish([copy.write_part("0", SavedPart({}, {"it": np.arange(3)}))], {}) == 1
    assert load(subtree(tmp_path)).parts["0"].arrays["it"].tolist() == [0, 1, 2]
    with pytest.raises(InvalidArgument, match="already been published"):
        copy.publish([copy.write_part("0", SavedPart())], {})


def test_an_array_that_stays_is_neither_written_nor_fetched_again(place: RemoteLocation, downloads: list[str]) -> None:
    first = {"same": np.arange(5000), "other": np.arange(3)}
    save(place, {"0": SavedPart({}, first)}, {})
    content(load(place))
    save(place, {"0": SavedPart({}, {**first, "other": np.arange(4)})}, {})
    assert sorted(name.rpartition("-")[2] for name in place.files("v000002") if "/" in name) == ["other.bin"]
    downloads.clear()
    assert load(place).parts["0"].arrays["other"].tolist() == [0, 1, 2, 3]
    assert [name.rpartition("-")[2] for name in downloads] == ["other.bin"]


def test_contents_that_another_place_has_are_not_fetched_again(tmp_path: Path, downloads: list[str]) -> None:
    one = subtree(tmp_path)
    other = RemoteLocation(one.filesystem, "other")
    for place in (one, other):
        save(place, {"0": SavedPart({}, {"it": np.arange(1000)})}, {})
        assert load(place).parts["0"].arrays["it"][-1] == 999
    assert len(downloads) == 1


def test_versions_that_share_files_survive_each_other(place: RemoteLocation, cache: Path) -> None:
    arrays = {name: np.full(50, number) for number, name in enumerate("abc")}
    for number in range(4):
        save(place, {"0": SavedPart({}, {**arrays, "changed": np.full(50, number)})}, {"n": number})
    assert vacuum(place, keep=1, grace="0 seconds") == [1, 2, 3]
    assert {name.rpartition("-")[2] for name in place.files("v000001") if "/" in name} == {"a.bin", "b.bin", "c.bin"}
    with pytest.raises(InvalidArgument, match=r"no version 1 \(it has 4\)"):
        load(place, version=1)
    shutil.rmtree(cache, ignore_errors=True)
    assert {name: array[0] for name, array in load(place, verify="full").parts["0"].arrays.items()} == {
        "a": 0,
        "b": 1,
        "c": 2,
        "changed": 3,
    }
    save(place, {"0": SavedPart({}, {"new": np.arange(3)})}, {})
    vacuum(place, keep=1, grace="0 seconds")
    assert {name for name in place.names() if name[0] == "v"} == {"v000005"}


def test_files_wait_while_a_save_may_share_them(place: RemoteLocation) -> None:
    for number in range(2):
        save(place, {"0": SavedPart({}, {"it": np.full(50, number)})}, {})
    under_way = begin(place)
    assert vacuum(place, keep=1, grace="0 seconds") == [1]
    assert any("/" in name for name in place.files("v000001"))
    under_way.abort()
    assert vacuum(place, keep=1, grace="0 seconds") == []
    assert sorted(name for name in place.names() if name[0] == "v") == ["v000002", "v000003"]
    assert [place.read(f"v000003/{file}", 100) for file in place.files("v000003")] == [b"given up\n"]


def test_a_save_that_was_given_up_for_it_is_told(place: RemoteLocation) -> None:
    staging = begin(place)
    described = staging.write_part("0", SavedPart({}, {"it": np.arange(3)}))
    place.remove("v000001")
    with pytest.raises((CorruptSnapshot, FileNotFoundError)):
        staging.publish([described], {})


def test_a_number_is_never_given_twice(place: RemoteLocation) -> None:
    staging = begin(place)
    staging.write_part("0", SavedPart({}, {"it": np.arange(3)}))
    staging.abort()
    assert not any("/" in name for name in place.files("v000001"))
    assert begin(place).version == 2


def test_a_lock_is_never_taken_from_its_owner(place: RemoteLocation, monkeypatch: pytest.MonkeyPatch) -> None:
    save(place, {"0": SavedPart({}, {"it": np.arange(3)})}, {})
    monkeypatch.setattr(remote, "_PATIENCE", 0.0)
    ahead = time.time() + 7200
    with place.alone():
        monkeypatch.setattr(time, "time", lambda: ahead)
        with pytest.raises(TimeoutError, match=r"publishing/claim-\w+, which tells its host and process"):
            save(place, {"0": SavedPart({}, {"it": np.arange(4)})}, {})
    assert save(place, {"0": SavedPart({}, {"it": np.arange(4)})}, {}) > 1


def test_the_cache_has_a_limit(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = subtree(tmp_path)
    monkeypatch.setenv("MATCHWOOD_CACHE_BYTES", "2kB")
    for number in range(4):
        save(place, {"0": SavedPart({}, {"it": np.full(100, number)})}, {})
    old = load(place, version=1).parts["0"].arrays["it"]
    for number, copy in enumerate([*copies(cache), cache / ".new-left"]):
        copy.touch()
        os.utime(copy, (time.time() - 200_000 + number,) * 2)
    assert load(place, version=2).parts["0"].arrays["it"][0] == 1
    assert len(copies(cache)) == 2
    assert not (cache / ".new-left").exists()
    for copy in copies(cache):
        os.utime(copy, (copy.stat().st_mtime - 1000,) * 2)
    load(place, version=3).parts["0"]
    assert old[0] == 0
    assert sum(copy.stat().st_size for copy in copies(cache)) <= 2000
    assert load(place, version=1).parts["0"].arrays["it"][0] == 0


def test_a_limit_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = subtree(tmp_path)
    save(place, {"0": SavedPart({}, {"it": np.arange(3)})}, {})
    monkeypatch.setenv("MATCHWOOD_CACHE_BYTES", "much")
    with pytest.raises(InvalidArgument, match="MATCHWOOD_CACHE_BYTES must be a number of bytes such as 20GB"):
        load(place).parts["0"]


def test_current_that_is_away_for_a_moment_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = subtree(tmp_path)
    save(place, sample_parts(), HEADER)
    current = tmp_path / "far" / "snapshot" / "CURRENT"
    data = current.read_bytes()
    current.unlink()
    monkeypatch.setattr(time, "sleep", lambda _: current.write_bytes(data))
    assert current_version(place) == 1


def test_a_store_that_will_not_rename_over_a_file(tmp_path: Path) -> None:
    class Stubborn:
        def __init__(self, inner: fs.FileSystem) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

        def move(self, source: str, target: str) -> None:
            if self._inner.get_file_info(target).type != fs.FileType.NotFound:
                raise OSError("rename: the target exists")
            self._inner.move(source, target)

    place = RemoteLocation(Stubborn(subtree(tmp_path).filesystem), "snapshot")
    assert [save(place, sample_parts(), HEADER) for _ in range(2)] == [1, 2]
    assert load(place).version == 2


def test_where_copies_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_root() == tmp_path / "cache"
    monkeypatch.delenv("MATCHWOOD_SNAPSHOTS_DIR")
    monkeypatch.setenv("MATCHWOOD_CACHE_DIR", str(tmp_path / "shared"))
    assert cache_root() == tmp_path / "shared" / "snapshots"
    monkeypatch.delenv("MATCHWOOD_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "matchwood" / "snapshots"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_root() == tmp_path / f"matchwood-snapshots-{os.getuid()}"
    cache_root().chmod(0o777)
    assert cache_root().name.startswith("matchwood-snapshots-")
    assert cache_root() != tmp_path / f"matchwood-snapshots-{os.getuid()}"


def test_local_and_remote_write_the_same_format(tmp_path: Path) -> None:
    save_sample(tmp_path / "far" / "snapshot")
    place = subtree(tmp_path)
    assert content(load(place)) == content(load(tmp_path / "far" / "snapshot"))
    assert save(place, sample_parts(), HEADER) == 2
    assert content(load(tmp_path / "far" / "snapshot", version=2)) == content(load(place, version=1))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of arrays and patches that were sent."""
    sizes: list[int] = []
    real = RemoteLocation.write

    def counted(self: RemoteLocation, name: str, data: object) -> None:
        if name.endswith((".bin", ".patch")):
            sizes.append(memoryview(data).nbytes)  # type: ignore[arg-type]
        real(self, name, data)

    monkeypatch.setattr(RemoteLocation, "write", counted)
    return sizes


def saved(place: RemoteLocation, **arrays: object) -> int:
    return save(place, {"0": SavedPart({}, {name: np.asarray(array) for name, array in arrays.items()})}, {})


def test_a_save_sends_what_changed(place: RemoteLocation, sent: list[int], downloads: list[str]) -> None:
    large, other = np.arange(50_000), np.arange(3)
    saved(place, large=large, other=other)
    assert sorted(sent) == [24, 400_000]
    sent.clear()
    saved(place, large=large, other=other[::-1])
    assert (sent, downloads) == ([24], [])
    load(place).parts["0"].arrays["large"][0]  # this host has a copy from now on
    sent.clear()
    changed = large.copy()
    changed[20_000] = -1
    saved(place, large=changed, other=other[::-1])
    assert sent == [4096 + 8]
    sent.clear()
    saved(place, large=changed, other=other)  # of which it has none: what is patched is copied with its patch
    assert sent == [24]
    assert np.array_equal(load(place, verify="full").parts["0"].arrays["large"], changed)
    assert np.array_equal(load(place, 2).parts["0"].arrays["large"], large)
