"""The heap of strings: appending, replacing, taking, collecting, and damaged snapshots."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from matchwood.errors import CorruptSnapshot, InvalidArgument
from matchwood.rules import heap as heap_module
from matchwood.rules.heap import ByteHeap
from matchwood.rules.strings import encode_many

TEXTS = ["age > 5", "", "naïve = 'ü'", "𝒳 in ('日本', '\U0001f600')", "x" * 1000]


def filled(texts: list[str] = TEXTS) -> ByteHeap:
    heap = ByteHeap()
    heap.extend(encode_many(texts))
    return heap


def all_texts(heap: ByteHeap) -> list[str]:
    return [heap.text(row) for row in range(len(heap))]


def test_texts_come_back_as_given() -> None:
    heap = filled()
    assert heap.append("last") == len(TEXTS)
    assert all_texts(heap) == [*TEXTS, "last"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["skipped", *TEXTS])[1:],
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
        pa.array(TEXTS).dictionary_encode(),
        np.array(TEXTS),
        np.array(TEXTS, object),
        tuple(TEXTS),
    ],
    ids=["slice", "large", "view", "chunks", "dictionary", "numpy", "objects", "tuple"],
)
def test_every_kind_of_column_is_taken(column: object) -> None:
    heap = ByteHeap()
    heap.append("before")
    heap.extend(encode_many(column))
    assert all_texts(heap) == ["before", *TEXTS]


def test_take_follows_the_rows_given() -> None:
    rows = np.array([4, 0, 0, 2, 1], np.int32)
    taken = filled().take(rows)
    taken.validate(full=True)
    assert taken.type == pa.string()
    assert taken.to_pylist() == [TEXTS[row] for row in rows]
    assert filled().take(np.empty(0, np.int32)).to_pylist() == []


def test_a_lone_surrogate_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgument, match=r"text 'a\\ud800' holds a lone surrogate at position 1"):
        encode_many(["fine", "a\ud800"])
    heap = filled()
    with pytest.raises(InvalidArgument, match="lone surrogate"):
        heap.replace(0, "\udfff")
    assert all_texts(heap) == TEXTS


@pytest.mark.parametrize("wrong", [3, b"bytes", 2.5])
def test_what_is_no_string_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(InvalidArgument, match=f"must be a string .got {wrong!r}"):
        encode_many(["fine", wrong])


def test_none_is_refused_unless_it_stands_for_nothing() -> None:
    with pytest.raises(InvalidArgument, match="NULL at position 1"):
        encode_many(["fine", None])
    heap = ByteHeap()
    heap.extend(encode_many(["fine", None], optional=True))
    assert all_texts(heap) == ["fine", ""]


def test_a_column_of_numbers_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"must be a column of strings .got int64"):
        encode_many(pa.array([1, 2]))


def test_arrow_text_that_is_not_utf8_is_refused() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    with pytest.raises(InvalidArgument, match="not UTF-8"):
        encode_many(broken)


def test_replaced_strings_are_counted_as_garbage_until_collected() -> None:
    heap = filled()
    heap.replace(0, "vip")
    heap.replace_many(np.array([2, 4], np.int32), encode_many(["b", "c"]))
    heap.clear(np.array([3], np.int32))
    assert all_texts(heap) == ["vip", "", "b", "", "c"]
    assert heap.garbage == sum(len(TEXTS[row].encode()) for row in (0, 2, 3, 4))
    assert heap.audit("texts") == []
    heap.keep(np.array([0, 2, 4], np.int32))
    assert (all_texts(heap), heap.garbage, len(heap.view().data)) == (["vip", "b", "c"], 0, 5)


def test_garbage_is_collected_when_it_outgrows_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap_module, "GARBAGE_FLOOR", 100)
    heap = filled()
    for turn in range(50):
        heap.replace(4, f"{turn:0100d}")
        assert heap.garbage <= 1100
    assert all_texts(heap) == [*TEXTS[:4], f"{49:0100d}"]
    assert len(heap.view().data) < 1500


def test_a_restored_heap_copies_before_it_writes() -> None:
    saved = {name: array.copy() for name, array in filled().arrays().items()}
    for array in saved.values():
        array.flags.writeable = False
    heap = ByteHeap()
    heap.restore(saved, 0)
    heap.replace(1, "new")
    heap.append("more")
    assert all_texts(heap) == [TEXTS[0], "new", *TEXTS[2:], "more"]
    untouched = ByteHeap()
    untouched.restore(saved, 0)
    assert all_texts(untouched) == TEXTS


@pytest.mark.parametrize(
    ("name", "value"), [("start", -1), ("start", 2**62), ("start", 1030), ("length", -1), ("length", 2**30)]
)
def test_a_row_outside_of_the_bytes_is_noticed_by_every_reader(name: str, value: int) -> None:
    saved = {key: array.copy() for key, array in filled().arrays().items()}
    saved[name][4] = value
    heap = ByteHeap()
    heap.restore(saved, 0)
    with pytest.raises(CorruptSnapshot, match="row 4"):
        heap.check("texts")
    with pytest.raises(CorruptSnapshot, match="row 4"):
        heap.text(4)
    assert heap.text(3) == TEXTS[3]
    if (name, value) != ("length", 2**30):
        with pytest.raises(CorruptSnapshot, match="row 4"):
            heap.take(np.array([3, 4], np.int32))
    with pytest.raises(CorruptSnapshot):
        heap.keep(np.arange(5, dtype=np.int32))


def test_text_that_is_no_longer_utf8_is_a_damaged_snapshot() -> None:
    saved = {key: array.copy() for key, array in filled().arrays().items()}
    saved["data"][0] = 0xFF
    heap = ByteHeap()
    heap.restore(saved, 0)
    with pytest.raises(CorruptSnapshot, match="not UTF-8"):
        heap.text(0)


def test_audit_notices_bytes_that_nobody_accounts_for() -> None:
    heap = filled()
    heap.garbage += 1
    assert heap.audit("texts") == [
        f"texts: {len(heap.view().data)} bytes, but rows and garbage account for {len(heap.view().data) + 1}"
    ]
