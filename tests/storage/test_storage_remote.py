"""Snapshots on file systems that PyArrow reaches: the same promises, through the host's cache."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pyarrow import fs

from matchwood.errors import CorruptSnapshot, InvalidArgument, SnapshotNotFound
from matchwood.storage import SavedPart, begin, current_version, load, location_of, rollback, save, vacuum, versions
from matchwood.storage.cache import cache_root
from matchwood.storage.local import LocalLocation
from matchwood.storage.remote import RemoteLocation
from tests.storage.snapshot_samples import HEADER, content, sample_parts, save_sample


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MATCHWOOD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["subtree", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> RemoteLocation:
    if request.param == "memory":
        return RemoteLocation(fs._MockFileSystem(), "bucket/snapshot", "mock://bucket/snapshot")
    return subtree(tmp_path)


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
    assert not list(cache.rglob("*.bin"))
    file.write_bytes(whole[1:])
    with pytest.raises(CorruptSnapshot, match="has 799 bytes where the manifest says 800"):
        load(place)
    file.write_bytes(whole)
    assert load(place).parts["0"].arrays["it"].sum() == 0


def test_a_damaged_copy_is_found_by_a_full_check(tmp_path: Path, cache: Path) -> None:
    place = subtree(tmp_path)
    save(place, {"0": SavedPart({}, {"it": np.zeros(100)})}, {})
    load(place, verify="full")
    [copy] = cache.rglob("*-it.bin")
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


def test_old_copies_are_forgotten(tmp_path: Path, cache: Path) -> None:
    place = subtree(tmp_path)
    for value in (1, 2):
        save(place, {"0": SavedPart({}, {"it": np.array([value])})}, {})
    old = load(place, version=1).parts["0"].arrays["it"]
    [copy] = cache.glob("*/v000001-*")
    past = time.time() - 2 * 86_400
    os.utime(copy, (past, past))
    assert load(place).parts["0"].arrays["it"][0] == 2
    assert not copy.exists()
    assert old[0] == 1
    assert load(place, version=1).parts["0"].arrays["it"][0] == 1


def test_old_copies_that_another_process_removes_first(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = subtree(tmp_path)
    for value in (1, 2):
        save(place, {"0": SavedPart({}, {"it": np.array([value])})}, {})
    load(place, version=1)
    monkeypatch.setattr(Path, "iterdir", lambda path: (path / name for name in [*os.listdir(path), "gone"]))
    is_dir = Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda path, **how: path.name == "gone" or is_dir(path, **how))
    assert load(place).parts["0"].arrays["it"][0] == 2


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


def test_a_store_that_cannot_copy_is_sent_everything(
    place: RemoteLocation, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: RemoteLocation, source: str, target: str) -> None:
        raise NotImplementedError("this store cannot copy")

    monkeypatch.setattr(RemoteLocation, "link", refuse)
    for _ in range(2):
        saved(place, large=np.arange(50_000))
    assert sent == [400_000, 400_000]
    assert np.array_equal(load(place, verify="full").parts["0"].arrays["large"], np.arange(50_000))
