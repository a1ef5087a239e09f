"""Parts that describe themselves: what a version of many thousands of shards consists of."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pyarrow import fs

from matchwood.errors import CorruptSnapshot
from matchwood.storage import SavedPart, begin, load, location_of, rollback, save, vacuum, versions
from matchwood.storage import snapshot as snapshots
from matchwood.storage.checksum import checksum
from matchwood.storage.location import Location
from matchwood.storage.manifest import Manifest, manifest_bytes, read_manifest
from matchwood.storage.part import ENTRY, PartReference
from matchwood.storage.remote import RemoteLocation
from tests.storage.snapshot_samples import HEADER, content, sample_parts, save_sample

NOW = datetime.datetime.now(datetime.UTC)


@pytest.fixture(params=["local", "remote"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    monkeypatch.setenv("MATCHWOOD_SNAPSHOTS_DIR", str(tmp_path / "cache"))
    if request.param == "remote":
        return RemoteLocation(fs._MockFileSystem(), "bucket/snapshot", "mock://bucket/snapshot")
    return location_of(tmp_path / "snapshot")


def save_apart(path: Location | Path) -> int:
    with begin(path, apart=True) as staging:
        return staging.publish([staging.write_part(name, part) for name, part in sample_parts().items()], HEADER)


def entry_files(path: Path) -> list[Path]:
    return sorted(path.rglob(ENTRY))


def references(shards: int) -> dict[str, PartReference]:
    """What a build of so many shards publishes at most, rejected rules included."""
    sizes = (123_456_789, 150, 36_000, checksum(b""))
    named = [name for shard in range(shards) for name in (f"base-{shard}", f"rejects-{shard}")]
    return {name: PartReference(f"v123456/part-{name}-0123456789ab", *sizes) for name in named}


@pytest.mark.long(1)
@pytest.mark.parametrize("shards", [10_000, 50_000])
def test_a_manifest_of_many_shards_fits(shards: int) -> None:
    header = {"bases": [f"base-{n}" for n in range(shards)], "rules": {f"base-{n}": 1_000_000 for n in range(shards)}}
    manifest = Manifest(123_456, NOW, None, header, dict(references(shards)))
    data = manifest_bytes(manifest)
    assert read_manifest(data, "manifest.json") == manifest
    assert len(data) < 520 * shards


def test_they_say_the_same(place: Location, tmp_path: Path) -> None:
    save_sample(tmp_path / "other")
    save_apart(place)
    for verify in ("auto", "full"):
        assert content(load(place, verify=verify)) == content(load(tmp_path / "other"))
    opened = load(place)
    assert opened.header_of("0") == {"rules": 6, "names": []}
    assert opened.sizes == load(tmp_path / "other").sizes
    assert list(opened.some_of("0", "off").arrays) == ["offsets"]


def test_the_manifest_says_little_of_them(tmp_path: Path) -> None:
    save_apart(tmp_path)
    data = (tmp_path / "v000001" / "manifest.json").read_bytes()
    parts = json.loads(data)["parts"]
    assert data.startswith(b'{"format": 4, ')
    assert all(set(part) == {"directory", "bytes", "count", "size", "checksum"} for part in parts.values())


def test_looking_at_one_reads_no_other(place: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    save_apart(place)
    read: list[str] = []
    real = snapshots.read_entry
    monkeypatch.setattr(snapshots, "read_entry", lambda name, *more: [read.append(name), real(name, *more)][1])
    opened = load(place)
    assert read == []
    assert opened.parts["1"].arrays["flags"].tolist() == [True, False]
    assert read == ["1"]


def test_later_versions_share_them(place: Location) -> None:
    """An update links parts, a rollback does, and vacuum spares what is shared."""
    save_apart(place)
    first = load(place)
    with begin(place) as staging:
        more = staging.write_part("2", SavedPart({}, {"late": np.arange(3)}))
        staging.publish([*first.link_parts(["0"], staging), more], HEADER, after=1)
    assert rollback(place, 2) == 3
    assert rollback(place, 3) == 4
    assert vacuum(place, keep=1, grace="0 days") == [1, 2, 3]
    assert [info.version for info in versions(place)] == [4]
    parts = load(place, verify="full").parts
    assert parts["0"].arrays["offsets"].tolist() == list(range(7))
    assert parts["2"].arrays["late"].tolist() == [0, 1, 2]


def test_a_save_over_them_begins_anew(tmp_path: Path) -> None:
    save_apart(tmp_path)
    save(tmp_path, sample_parts(), HEADER)
    assert not entry_files(tmp_path / "v000002")
    assert content(load(tmp_path, verify="full")) == content(load(tmp_path, 1))


def test_a_version_that_was_written_remotely_opens_locally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCHWOOD_SNAPSHOTS_DIR", str(tmp_path / "cache"))
    (tmp_path / "far").mkdir()
    far = RemoteLocation(fs.SubTreeFileSystem(str(tmp_path / "far"), fs.LocalFileSystem()), "snapshot")
    save_apart(far)
    rollback(far, 1)
    near = tmp_path / "far" / "snapshot"
    assert content(load(near, 2)) == content(load(far, 1))
    assert rollback(near, 2) == 3
    assert content(load(near, 3)) == content(load(far, 1))


def test_publish_finds_what_is_missing(place: Location) -> None:
    staging = begin(place, apart=True)
    described = staging.write_part("0", sample_parts()["0"])
    (file,) = [file for file in place.files("v000001") if file.endswith("labels.bin")]
    place.remove_files([f"v000001/{file}"])
    with pytest.raises(CorruptSnapshot, match="is not there as described"):
        staging.publish([described], HEADER)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("change", [flip, Path.unlink, lambda file: file.write_bytes(b"")])
def test_damage_is_found_when_a_part_is_looked_at(tmp_path: Path, change: Callable[[Path], object]) -> None:
    for number, pattern in enumerate((ENTRY, "*-labels.bin")):
        path = tmp_path / str(number)
        save_apart(path)
        (damaged,) = (path / "v000001").glob(f"part-0-*/{pattern}")
        change(damaged)
        assert load(path).parts["1"].arrays["flags"].tolist() == [True, False]
        with pytest.raises(CorruptSnapshot, match=pattern.lstrip("*")):
            load(path).parts["0"]
        with pytest.raises(CorruptSnapshot):
            load(path, verify="full")


EMPTY = {"file": "x", "dtype": "|b1", "shape": [0], "bytes": 0, "checksum": checksum(b"")}

FORGED = {
    "a path": lambda body: body["arrays"]["flags"].update(file="v000001/part-0-1f/0000-offsets.bin"),
    "a size": lambda body: body["arrays"]["flags"].update(bytes=1, shape=[1]),
    "a file more": lambda body: body["arrays"].update(more=EMPTY),
    "no arrays": lambda body: body.pop("arrays"),
}


@pytest.mark.parametrize("name", FORGED)
def test_an_entry_is_not_believed(tmp_path: Path, name: str) -> None:
    """Nor where the checksums are right."""
    save_apart(tmp_path)
    (file,) = (tmp_path / "v000001").glob(f"part-1-*/{ENTRY}")
    body = json.loads(file.read_bytes())
    FORGED[name](body)
    data = json.dumps(body).encode()
    file.write_bytes(data)
    opened = load(tmp_path)
    manifest = opened._loaded.manifest.manifest  # type: ignore[attr-defined]
    old = manifest.parts["1"]
    manifest.parts["1"] = PartReference(old.directory, old.bytes, old.count, len(data), checksum(data))
    with pytest.raises(CorruptSnapshot, match=ENTRY):
        opened.parts["1"]


@pytest.mark.parametrize(
    "changed", [{"directory": "../x"}, {"directory": "v000001/../x"}, {"bytes": -1}, {"checksum": "x"}]
)
def test_a_reference_is_not_believed(changed: dict[str, object]) -> None:
    reference = {**references(1)["base-0"].to_json(), **changed}
    body = {"version": 1, "created": NOW.isoformat(), "restored_from": None, "header": {}, "parts": {"0": reference}}
    rest = json.dumps(body)[1:]
    sealed = checksum(b"4\n" + rest.encode())
    with pytest.raises(CorruptSnapshot, match="not a valid manifest"):
        read_manifest(f'{{"format": 4, "checksum": "{sealed}",\n{rest}'.encode(), "manifest.json")
