"""Damage of every kind is found, named and explained; forged snapshots get an error and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchwood.errors import CorruptSnapshot, SnapshotNotFound
from matchwood.storage import SavedPart, load, save
from matchwood.storage.checksum import checksum
from matchwood.storage.current import current_bytes
from matchwood.storage.naming import version_name
from tests.storage.snapshot_samples import content, files_below, save_sample


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    save_sample(tmp_path)
    expected = content(load(tmp_path))
    flipped = 0
    for file in files_below(tmp_path):
        original = file.read_bytes()
        for position in range(len(original)):
            broken = bytearray(original)
            broken[position] ^= 1 << position % 8
            file.write_bytes(broken)
            with pytest.raises(CorruptSnapshot, match=r"\("):
                content(load(tmp_path))
            flipped += 1
        file.write_bytes(original)
    assert flipped > 500
    assert content(load(tmp_path)) == expected


def test_every_truncated_or_missing_file_is_found(tmp_path: Path) -> None:
    save_sample(tmp_path)
    for file in files_below(tmp_path):
        original = file.read_bytes()
        for broken in {original[:-1], original[: len(original) // 2], b"", original + b"\0"} - {original}:
            file.write_bytes(broken)
            with pytest.raises(CorruptSnapshot, match=f"{file.name}"):
                load(tmp_path)
        file.unlink()
        with pytest.raises(CorruptSnapshot):
            load(tmp_path)
        file.write_bytes(original)
    load(tmp_path)


def test_extra_files_are_never_read(tmp_path: Path) -> None:
    save_sample(tmp_path)
    expected = content(load(tmp_path))
    for directory in [tmp_path, *[entry for entry in tmp_path.rglob("*") if entry.is_dir()]]:
        (directory / "extra").write_bytes(b"?")
        (directory / "0009-extra.bin").write_bytes(b"?")
        (directory / "stray").mkdir()
    (tmp_path / "v000009").mkdir()
    (tmp_path / "v9").mkdir()
    assert content(load(tmp_path)) == expected


def test_large_snapshots_are_only_checked_in_full_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, {"0": SavedPart({}, {"it": np.zeros(100)})}, {})
    [file] = tmp_path.rglob("*-it.bin")
    file.write_bytes(b"\1" + file.read_bytes()[1:])
    with pytest.raises(CorruptSnapshot, match="checksum"):
        load(tmp_path)
    monkeypatch.setattr("matchwood.storage.snapshot.VERIFY_LIMIT", 799)
    assert load(tmp_path).parts["0"].arrays["it"][0] != 0
    with pytest.raises(CorruptSnapshot, match="checksum"):
        load(tmp_path, verify="full")


def test_a_file_that_shrinks_after_load_is_found_before_it_is_mapped(tmp_path: Path) -> None:
    save(tmp_path, {"0": SavedPart({}, {"it": np.zeros(100)})}, {})
    snapshot = load(tmp_path)
    [file] = tmp_path.rglob("*-it.bin")
    os.truncate(file, 8)
    with pytest.raises(CorruptSnapshot, match="has 8 bytes where the manifest says 800"):
        snapshot.parts["0"]


def test_current_cannot_name_another_version(tmp_path: Path) -> None:
    save_sample(tmp_path)
    save(tmp_path, {"0": SavedPart()}, {})
    current = tmp_path / "CURRENT"
    current.write_bytes(current.read_bytes().replace(b"v000002", b"v000001"))
    with pytest.raises(CorruptSnapshot, match="not the manifest of this version"):
        load(tmp_path)


def test_a_version_directory_under_another_number_is_refused(tmp_path: Path) -> None:
    save_sample(tmp_path)
    shutil.copytree(tmp_path / "v000001", tmp_path / "v000002")
    with pytest.raises(CorruptSnapshot, match="not the manifest of this version"):
        load(tmp_path, version=2)


def test_messages_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFound, match=r"no snapshot is there.*check the path"):
        load(tmp_path / "nowhere")
    with pytest.raises(SnapshotNotFound, match="not a snapshot: it has no CURRENT"):
        load(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(SnapshotNotFound, match="no snapshot is there"):
        load(file)
    save_sample(tmp_path / "s")
    (tmp_path / "s" / "CURRENT").unlink()
    with pytest.raises(CorruptSnapshot, match=r"CURRENT: the file is missing.*rollback\(path, version\)"):
        load(tmp_path / "s")


def forge(path: Path, change: Callable[[dict[str, Any]], object], number: int = 1, version: int = 1) -> None:
    """Change the manifest of a version, and make its checksum and CURRENT fit again."""
    file = path / version_name(version) / "manifest.json"
    body = json.loads(file.read_bytes())
    del body["format"], body["checksum"]
    change(body)
    seal(path, json.dumps(body).encode()[1:], number, version)


def seal(path: Path, rest: bytes, number: int = 1, version: int = 1) -> None:
    digest = checksum(b"%d\n" % number + rest)
    head = b'{"format": %d, "checksum": "%s",\n' % (number, digest.encode())
    (path / version_name(version) / "manifest.json").write_bytes(head + rest)
    (path / "CURRENT").write_bytes(current_bytes(version, digest))


def entry(body: dict[str, Any]) -> dict[str, Any]:
    return body["parts"]["0"]["arrays"]["offsets"]


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "parent directory": lambda body: entry(body).update(file="../../CURRENT"),
    "absolute path": lambda body: entry(body).update(file="/etc/passwd"),
    "dots": lambda body: entry(body).update(file=".."),
    "newline": lambda body: entry(body).update(file="0000-offsets.bin\n"),
    "null byte": lambda body: entry(body).update(file="a\0b"),
    "part outside": lambda body: body["parts"]["0"].update(directory=".."),
    "part path": lambda body: body["parts"]["0"].update(directory="a/b"),
    "object dtype": lambda body: entry(body).update(dtype="|O"),
    "structured dtype": lambda body: entry(body).update(dtype="i4,O"),
    "big-endian": lambda body: entry(body).update(dtype=">i8"),
    "dtype list": lambda body: entry(body).update(dtype=[["a", "O"]]),
    "huge shape": lambda body: entry(body).update(shape=[2**40, 2**40], bytes=2**83),
    "huge empty": lambda body: entry(body).update(shape=[0, 2**61, 2**61], bytes=0),
    "negative shape": lambda body: entry(body).update(shape=[-7, -1]),
    "boolean shape": lambda body: entry(body).update(shape=[True, 7]),
    "float shape": lambda body: entry(body).update(shape=[7.0]),
    "many dimensions": lambda body: entry(body).update(shape=[7] + [1] * 40),
    "shape and size": lambda body: entry(body).update(shape=[8]),
    "larger than the file": lambda body: entry(body).update(shape=[700], bytes=5600),
    "smaller than the file": lambda body: entry(body).update(shape=[6], bytes=48),
    "checksum": lambda body: entry(body).update(checksum="0" * 16),
    "checksum type": lambda body: entry(body).update(checksum=7),
    "no parts": lambda body: body.pop("parts"),
    "parts list": lambda body: body.update(parts=[]),
    "header list": lambda body: body.update(header=[]),
    "version text": lambda body: body.update(version="1"),
    "other version": lambda body: body.update(version=2),
    "created": lambda body: body.update(created="yesterday"),
    "naive time": lambda body: body.update(created="2026-01-01T00:00:00"),
    "restored": lambda body: body.update(restored_from="1"),
    "part number": lambda body: body["parts"].update({"0": 7}),
    "array text": lambda body: body["parts"]["0"]["arrays"].update(offsets="x"),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES.keys())
def test_forged_manifests_are_refused(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    save_sample(tmp_path)
    forge(tmp_path, lambda body: None)
    load(tmp_path)
    forge(tmp_path, change)
    with pytest.raises(CorruptSnapshot):
        content(load(tmp_path))


@pytest.mark.parametrize(
    "rest",
    [
        b'"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'"x": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001,
        b'"x": "' + b'\\"' * 200_000,
        b'"x": ' + b"9" * 10_000 + b"}",
        b'"x": NaN}',
        b'"x": "\xff"}',
        b"",
        b"[]",
    ],
    ids=["lists", "objects", "quotes", "digits", "NaN", "not UTF-8", "empty", "list"],
)
def test_hostile_json_is_refused(tmp_path: Path, rest: bytes) -> None:
    save_sample(tmp_path)
    seal(tmp_path, rest)
    with pytest.raises(CorruptSnapshot, match="not a valid manifest"):
        load(tmp_path)


def test_newer_formats_ask_for_an_upgrade(tmp_path: Path) -> None:
    save_sample(tmp_path)
    forge(tmp_path, lambda body: None, number=5)
    with pytest.raises(CorruptSnapshot, match=r"manifest.json: has format 5, this Matchwood reads up to 4 \(upgrade"):
        load(tmp_path)


def test_oversized_small_files_are_not_read(tmp_path: Path) -> None:
    save_sample(tmp_path)
    for file in ("v000001/manifest.json", "CURRENT"):
        original = (tmp_path / file).read_bytes()
        os.truncate(tmp_path / file, 2**40)
        with pytest.raises(CorruptSnapshot, match=f"{file}: not a regular file of at most"):
            load(tmp_path)
        (tmp_path / file).write_bytes(original)


def replace_by_link(path: Path, elsewhere: Path) -> None:
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("name", ["CURRENT", "v000001", "v000001/manifest.json", "*-offsets.bin", "part-0-*"])
def test_symbolic_links_are_not_followed(tmp_path: Path, name: str) -> None:
    save_sample(tmp_path / "s")
    [target] = (tmp_path / "s").rglob(name.split("/")[-1])
    replace_by_link(target, tmp_path / "elsewhere")
    with pytest.raises(CorruptSnapshot, match=r"not a regular file|not a directory"):
        content(load(tmp_path / "s"))


@pytest.mark.parametrize("name", ["CURRENT", "manifest.json", "*-offsets.bin"])
def test_pipes_do_not_block(tmp_path: Path, name: str) -> None:
    save_sample(tmp_path)
    [target] = tmp_path.rglob(name)
    target.unlink()
    os.mkfifo(target)
    with pytest.raises(CorruptSnapshot):
        load(tmp_path)


def test_the_path_itself_may_be_a_link(tmp_path: Path) -> None:
    save_sample(tmp_path / "s")
    (tmp_path / "link").symlink_to(tmp_path / "s")
    assert content(load(tmp_path / "link")) == content(load(tmp_path / "s"))
