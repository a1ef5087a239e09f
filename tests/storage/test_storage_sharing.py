"""What a save writes when most of it is there already: links, patches, and the whole where that is better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchwood.errors import CorruptSnapshot
from matchwood.storage import SavedPart, load, rollback, save, vacuum
from tests.conftest import SOAK
from tests.storage.test_storage_damage import forge

SIZE = 100_000


def saved(path: Path, **arrays: Any) -> int:
    return save(path, {"0": SavedPart({}, arrays)}, {})


def written(path: Path, version: int) -> int:
    """The bytes that a version has on disk for itself alone."""
    files = (file for file in (path / f"v{version:06d}").rglob("*-*.*") if file.is_file())
    return sum(file.stat().st_size for file in files if file.stat().st_nlink == 1)


def manifest(path: Path, version: int) -> dict[str, Any]:
    return json.loads((path / f"v{version:06d}" / "manifest.json").read_text())


def test_what_did_not_change_is_linked(tmp_path: Path) -> None:
    saved(tmp_path, large=np.arange(SIZE), small=np.arange(3))
    assert saved(tmp_path, large=np.arange(SIZE), small=np.arange(3)) == 2
    assert written(tmp_path, 2) == 0
    assert manifest(tmp_path, 2)["format"] == 1


def test_a_small_change_writes_blocks(tmp_path: Path) -> None:
    large = np.arange(SIZE)
    saved(tmp_path, large=large)
    for changed in (1, 2, 3):
        large[changed * 20_000] = -1
        saved(tmp_path, large=large)
        assert written(tmp_path, changed + 1) == changed * (4096 + 8)
        assert load(tmp_path, verify="full").parts["0"].arrays["large"].tolist() == large.tolist()
    assert manifest(tmp_path, 4)["format"] == 2
    assert load(tmp_path, 2).parts["0"].arrays["large"][40_000] == 40_000


def test_arrays_grow_and_shrink(tmp_path: Path) -> None:
    saved(tmp_path, large=np.arange(SIZE))
    for size in (SIZE + 1, SIZE + 5000, SIZE - 1, SIZE - 20_000, SIZE):
        version = saved(tmp_path, large=np.arange(size))
        assert written(tmp_path, version) < 60_000
        assert np.array_equal(load(tmp_path, verify="full").parts["0"].arrays["large"], np.arange(size))


def test_a_large_change_writes_the_whole(tmp_path: Path) -> None:
    saved(tmp_path, large=np.arange(SIZE))
    saved(tmp_path, large=np.arange(SIZE) + 1)
    assert written(tmp_path, 2) == SIZE * 8
    saved(tmp_path, large=(np.arange(SIZE) + 1).astype(np.int32))
    assert written(tmp_path, 3) == SIZE * 4


def test_every_version_is_complete_by_itself(tmp_path: Path) -> None:
    large = np.arange(SIZE)
    for number in range(4):
        large[number] = -1
        saved(tmp_path, large=large)
    assert vacuum(tmp_path, keep=1, grace="0 seconds") == [1, 2, 3]
    assert np.array_equal(load(tmp_path, verify="full").parts["0"].arrays["large"], large)
    assert rollback(tmp_path, 4) == 5
    assert np.array_equal(load(tmp_path, verify="full").parts["0"].arrays["large"], large)


def test_random_changes(tmp_path: Path) -> None:
    choice = np.random.default_rng(3)
    array = choice.integers(0, 9, 30_000).astype(np.int16)
    for _ in range(200 if SOAK else 25):
        places = choice.integers(0, len(array), choice.integers(1, 9))
        array[places] += 1
        if choice.random() < 0.5:
            array = np.resize(array, max(1, len(array) + int(choice.integers(-4000, 4000))))
        saved(tmp_path, array=array)
        assert np.array_equal(load(tmp_path, verify="full").parts["0"].arrays["array"], array)


def test_a_damaged_earlier_version_is_not_trusted(tmp_path: Path) -> None:
    saved(tmp_path, large=np.arange(SIZE), gone=np.arange(SIZE))
    file = next(tmp_path.rglob("*-large.bin"))
    data = bytearray(file.read_bytes())
    data[5000] ^= 1
    file.write_bytes(bytes(data))
    next(tmp_path.rglob("*-gone.bin")).unlink()
    saved(tmp_path, large=np.arange(SIZE), gone=np.arange(SIZE))
    arrays = load(tmp_path, verify="full").parts["0"].arrays
    assert np.array_equal(arrays["large"], np.arange(SIZE))
    assert np.array_equal(arrays["gone"], np.arange(SIZE))


def patched(path: Path) -> Path:
    large = np.arange(SIZE)
    saved(path, large=large)
    large[:2000] = 0
    saved(path, large=large)
    return next(path.rglob("*.patch"))


@pytest.mark.parametrize("place", [0, 8, 40, 5000, -1])
def test_damage_to_a_patch_is_found(tmp_path: Path, place: int) -> None:
    file = patched(tmp_path)
    data = bytearray(file.read_bytes())
    data[place] ^= 255
    file.write_bytes(bytes(data))
    with pytest.raises(CorruptSnapshot, match=r"large\.patch: "):
        load(tmp_path)


def test_a_patch_that_is_cut_or_missing(tmp_path: Path) -> None:
    file = patched(tmp_path)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CorruptSnapshot, match=r"large\.patch: has \d+ bytes where the manifest says"):
        load(tmp_path)
    file.unlink()
    with pytest.raises(CorruptSnapshot, match=r"large\.patch: the file is missing"):
        load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": 10**9},
        {"blocks": -1},
        {"blocks": 3},
        {"bytes": 2**63},
        {"base_bytes": 8},
        {"file": "../x"},
        {"file": 1},
    ],
    ids=str,
)
def test_forged_patches(tmp_path: Path, change: dict[str, Any]) -> None:
    patched(tmp_path)
    forge(tmp_path, lambda body: body["parts"]["0"]["arrays"]["large"]["patch"].update(change), 2, 2)
    with pytest.raises(CorruptSnapshot):
        load(tmp_path)
