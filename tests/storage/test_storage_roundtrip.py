"""What is saved comes back equal; what cannot come back equal is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matchwood.errors import InvalidArgument, LimitExceeded
from matchwood.storage import SavedPart, load, save
from matchwood.storage.entries import DTYPES
from tests.storage.snapshot_samples import HEADER, content, sample_parts, save_sample

NUMBERS = np.random.default_rng(5).integers(0, 256, 960, dtype=np.uint8)


def returned(path: Path, array: Any) -> np.ndarray[Any, Any]:
    save(path, {"0": SavedPart({}, {"it": array})}, {})
    return load(path).parts["0"].arrays["it"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_comes_back(tmp_path: Path, dtype: str) -> None:
    array = (NUMBERS % 2 == 0) if dtype == "|b1" else NUMBERS.view(dtype)
    back = returned(tmp_path, array)
    assert back.dtype == np.dtype(dtype)
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (2, 3, 4), (1,) * 8])
def test_every_shape_comes_back(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    back = returned(tmp_path, array)
    assert back.shape == shape
    assert np.array_equal(back, array)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3).T,
        np.arange(10)[::-2],
        np.arange(5, dtype=">i4"),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        [1, 2, 3],
    ],
)
def test_layout_and_byte_order_do_not_matter(tmp_path: Path, array: Any) -> None:
    back = returned(tmp_path, array)
    assert np.array_equal(back, np.asarray(array))
    assert back.flags.c_contiguous
    assert back.dtype.isnative


def test_parts_headers_and_version_numbers(tmp_path: Path) -> None:
    path = tmp_path / "made" / "on the way"
    assert save_sample(path) == 1
    assert save_sample(path) == 2
    snapshot = load(path)
    assert snapshot.version == 2
    assert content(snapshot) == content(load(path, version=1))
    assert snapshot.header == HEADER
    assert list(snapshot.parts) == ["0", "1"]
    assert len(snapshot.parts) == 2
    assert "2" not in snapshot.parts
    for name, part in sample_parts().items():
        assert snapshot.parts[name].header == part.header
        assert list(snapshot.parts[name].arrays) == list(part.arrays)


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    names = ["a/b", "..", "A", "a", "é ü", "x" * 200, "CON", "a.b", "-", "*"]
    save(tmp_path, {name: SavedPart({}, {key: np.array([i]) for i, key in enumerate(names)}) for name in names}, {})
    snapshot = load(tmp_path)
    for name in names:
        assert {key: int(array[0]) for key, array in snapshot.parts[name].arrays.items()} == {
            key: i for i, key in enumerate(names)
        }
    assert all(file.is_relative_to(tmp_path) for file in tmp_path.rglob("*"))


def test_arrays_are_aligned_read_only_and_never_become_writable(tmp_path: Path) -> None:
    save_sample(tmp_path)
    for part in load(tmp_path).parts.values():
        for array in part.arrays.values():
            assert not array.flags.writeable
            if array.size:
                assert array.ctypes.data % 64 == 0
                with pytest.raises(ValueError, match="WRITEABLE"):
                    array.flags.writeable = True


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(header=st.dictionaries(st.text(), JSON, max_size=4))
def test_any_json_header_comes_back(tmp_path: Path, header: dict[str, Any]) -> None:
    save(tmp_path, {"0": SavedPart(header, {})}, header)
    assert load(tmp_path).header == load(tmp_path).parts["0"].header == header


NESTED: list[Any] = []
for _ in range(70):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    "value",
    [(1, 2), {1: "a"}, float("nan"), float("inf"), np.int64(3), {1, 2}, b"x", NESTED],
    ids=lambda v: str(v)[:20],
)
def test_headers_that_would_change_are_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InvalidArgument, match="the version's header"):
        save(tmp_path, {"0": SavedPart()}, {"x": value})
    with pytest.raises(InvalidArgument, match="the header of part 'p'"):
        save(tmp_path, {"p": SavedPart({"x": value})}, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("array", [np.array([{}]), np.array(["text"]), np.array([1j]), np.array(["2026"], "M8[D]")])
def test_other_types_are_refused(tmp_path: Path, array: Any) -> None:
    with pytest.raises(InvalidArgument, match="array 'it' has the type"):
        returned(tmp_path, array)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, 7])
def test_bad_names_are_refused(tmp_path: Path, name: Any) -> None:
    with pytest.raises(InvalidArgument, match="the name of a part"):
        save(tmp_path, {name: SavedPart()}, {})
    with pytest.raises(InvalidArgument, match="the name of an array"):
        save(tmp_path, {"0": SavedPart({}, {name: np.array([1])})}, {})


def test_a_version_needs_a_part(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="at least one part"):
        save(tmp_path, {}, {})


def test_a_header_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.storage.manifest.MANIFEST_LIMIT", 1000)
    with pytest.raises(LimitExceeded, match="into arrays"):
        save(tmp_path, {"0": SavedPart()}, {"x": "y" * 1000})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["", b"bytes", "nowhere://bucket/x", "dbfs:/x"])
def test_bad_paths_are_refused(path: Any) -> None:
    with pytest.raises(InvalidArgument):
        load(path)


def test_verify_takes_two_values(tmp_path: Path) -> None:
    save_sample(tmp_path)
    with pytest.raises(InvalidArgument, match="auto, full"):
        load(tmp_path, verify="none")
    assert content(load(tmp_path, verify="full")) == content(load(tmp_path))
