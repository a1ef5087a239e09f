"""Results are kept by the bytes that they and their values take, not by their number."""

from __future__ import annotations

from matchwood.encoding.derived.recent import KEPT_LENGTH, Recent
from matchwood.encoding.spaces.base import MEMO_LENGTH
from matchwood.encoding.spaces.sorted import SortedSpaces


def test_large_results_push_each_other_out() -> None:
    recent = Recent(room=10_000)
    for place in range(100):
        recent.keep(f"text {place}", place, 4_000)
        assert 1 <= len(recent) <= 2
    assert recent.get("text 99") == 99
    assert recent.get("text 0") is None


def test_what_is_larger_than_the_room_is_not_kept() -> None:
    recent = Recent(room=10_000)
    recent.keep("small", 1, 100)
    recent.keep("large", 2, 10_001)
    assert recent.get("small") == 1
    assert recent.get("large") is None


def test_long_values_are_not_kept() -> None:
    recent = Recent()
    recent.keep("x" * (KEPT_LENGTH + 1), 1, 0)
    recent.keep(("x" * (KEPT_LENGTH + 1),), 2, 0)
    recent.keep(tuple(range(KEPT_LENGTH)), 3, 0)
    assert len(recent) == 0
    recent.keep((1, None, "x"), 4, 0)
    assert recent.get((1, None, "x")) == 4


def test_spaces_remember_the_labels_of_short_texts_only() -> None:
    spaces = SortedSpaces("string")
    (label,) = spaces.add_many(["b"]).tolist()
    long = "c" * (MEMO_LENGTH + 1)
    assert spaces.locate(long) == spaces.locate("bc") == label
    assert set(spaces._memo) == {"bc"}
