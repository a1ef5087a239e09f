"""Rules enter an index that other threads use in slices, prepared without the lock; an empty one is filled at once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from matchwood import Index
from matchwood.encoding import RuleReader
from matchwood.engines import engine_class
from matchwood.errors import InvalidArgument, LimitExceeded
from matchwood.matching import EngineMatcher
from matchwood.matching.loading import load as bulk
from matchwood.matching.loading import preparation, sources, storing
from matchwood.progress import LoadProgress, Progress
from tests.index.test_index_compiled import one_typed


def table(first: int, texts: list[str]) -> pa.Table:
    return pa.table({"id": list(range(first, first + len(texts))), "expression": texts})


def numbered(count: int, shift: int = 0) -> list[str]:
    return [f"a = {number % 50 + shift} and b > {number}" for number in range(count)]


def use_in_another_thread(index: Index) -> None:
    thread = threading.Thread(target=lambda: index.match({"a": 1}))
    thread.start()
    thread.join()


@pytest.fixture
def strokes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rules were changed while the lock was held, time after time; rules are never prepared meanwhile."""
    sizes: list[int] = []
    held: list[Index | None] = [None]
    enter = Index._storing

    @contextlib.contextmanager
    def storing_(index: Index) -> Iterator[None]:
        with enter(index):
            held[0] = None if index._rehearses else index
            yield
            held[0] = None

    def outside(function: Any) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            assert held[0] is None
            return function(*given, **named)

        return called

    def noted(function: Any, size: Any) -> Any:
        def called(self: Any, *given: Any) -> Any:
            if held[0] is not None:
                sizes.append(size(*given))
            return function(self, *given)

        return called

    monkeypatch.setattr(Index, "_storing", storing_)
    monkeypatch.setattr(preparation.Preparation, "prepare", outside(preparation.Preparation.prepare))
    monkeypatch.setattr(RuleReader, "read", outside(RuleReader.read))
    monkeypatch.setattr(EngineMatcher, "insert", noted(EngineMatcher.insert, lambda batch: len(batch.ids)))
    monkeypatch.setattr(EngineMatcher, "replace", noted(EngineMatcher.replace, lambda rows, *_: len(rows)))
    return sizes


@pytest.mark.parametrize("engine", ["auto", "counting", "kindex", "atree"])
def test_replacing_beside_other_threads_goes_in_slices(engine: str, strokes: list[int]) -> None:
    index = Index(engine)
    index.insert_many(table(0, numbered(500)))
    use_in_another_thread(index)
    strokes.clear()
    report = index.insert_many(table(100, numbered(300, shift=7)), on_duplicate="replace")
    assert report.replaced == 300
    assert sum(strokes) == 300
    assert max(strokes) <= storing.SLICE_RULES
    other = Index(engine)
    other.insert_many(table(0, [*numbered(500)[:100], *numbered(300, shift=7), *numbered(500)[400:]]))
    events = [{"a": value, "b": 1_000} for value in range(60)]
    assert index.match_many(events).equals(other.match_many(events))
    assert index.audit() == []


def test_new_rules_in_columns_beside_other_threads_go_in_slices(
    strokes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "LEAST_COMPILED", 1)
    index, other = Index("counting"), Index("counting")
    texts = [*one_typed(400), *["a = 1 and"] * 3, *[f"`a` = {number}" for number in range(200)]]
    for each in (index, other):
        each[10_000] = "a = 1"
    use_in_another_thread(index)
    strokes.clear()
    given = table(0, texts)
    report = index.insert_many(given)
    assert report.rejected.num_rows == 3
    assert sum(strokes) == 600
    assert max(strokes) <= storing.SLICE_RULES
    strokes.clear()
    other.insert_many(given)
    assert strokes == [600]
    assert dict(index) == dict(other)
    events = [{"a": value, "b": value} for value in range(-3, 60)]
    assert index.match_many(events).equals(other.match_many(events))
    assert index.audit() == []


def test_an_empty_index_is_filled_at_one_stroke_whoever_uses_it(strokes: list[int]) -> None:
    index = Index()
    use_in_another_thread(index)
    assert index.insert_many(table(0, numbered(300))).inserted == 300
    assert strokes == [300]
    index.insert_many(table(300, numbered(100)))
    assert strokes[1:] == [32, 32, 32, 4]
    index.insert_many(table(400, numbered(64)))
    assert strokes[5:] == [64], "so few are seen together"


def test_an_id_that_comes_twice_is_stored_with_the_whole_chunk(strokes: list[int]) -> None:
    """Types agree when the last of its rules is stored: before, `x` is text in one rule and a number in another."""
    index = Index()
    index.insert_many([(0, "x = 1"), *((number, f"y = {number}") for number in range(1, 200))])
    use_in_another_thread(index)
    strokes.clear()
    others = [(number, f"x = 'text {number}'") for number in range(1, 200)]
    index.insert_many([(0, "y = 0"), *others, (0, "x = 'a'")], on_duplicate="replace")
    assert strokes == [200]
    assert index.match({"x": "a"}) == [0]
    assert index.audit() == []


def test_types_change_slice_by_slice(strokes: list[int]) -> None:
    index = Index()
    index.insert_many([(0, "x = 1"), *((number, f"y = {number}") for number in range(1, 200))])
    use_in_another_thread(index)
    strokes.clear()
    others = [(number, f"x = 'text {number}'") for number in range(1, 200)]
    index.insert_many([(0, "y = 0"), *others], on_duplicate="replace")
    assert max(strokes) <= storing.SLICE_RULES
    assert index.match({"x": "text 150"}) == [150]
    assert index.audit() == []


@pytest.fixture
def layouts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many units engines took, each time that they took any."""
    monkeypatch.setattr(sources, "CHUNK_RULES", 300)
    taken: list[int] = []
    chosen = engine_class("counting")
    insert = chosen.insert

    def noted(self: Any, units: Any) -> None:
        taken.append(len(units))
        insert(self, units)

    monkeypatch.setattr(chosen, "insert", noted)
    return taken


def test_an_empty_index_is_laid_out_once(layouts: list[int]) -> None:
    index = Index("counting")
    index.insert_many(table(0, numbered(1_000)))
    assert layouts == [1_000]
    assert index.audit() == []
    assert len(index.match({"a": 1, "b": 10_000})) == 20


def test_a_source_that_fails_leaves_what_came_before(layouts: list[int]) -> None:
    def failing() -> Iterator[tuple[int, str]]:
        yield from enumerate(numbered(700))
        raise OSError("the disk is gone")

    index = Index("counting")
    with pytest.raises(OSError, match="the disk is gone"):
        index.insert_many(failing())
    assert len(index) == 600
    assert index.audit() == []
    assert len(index.match({"a": 1, "b": 10_000})) == 12


def test_rules_of_earlier_chunks_can_be_replaced(layouts: list[int]) -> None:
    index = Index("counting")
    report = index.insert_many([*enumerate(numbered(700)), (1, "c = 1")], on_duplicate="replace")
    assert report.replaced == 1
    assert index.match({"c": 1}) == [1]
    assert index.audit() == []


def test_a_load_that_is_refused_leaves_an_empty_index(layouts: list[int]) -> None:
    index = Index("counting")
    with pytest.raises(LimitExceeded):
        index.insert_many(enumerate([*numbered(700), *["a ="] * 20]), max_rejected=5)
    assert len(index) == 0
    assert index.match({"a": 1, "b": 10_000}) == []
    assert index.audit() == []


def test_a_chunk_with_too_many_odd_rules_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "TURN_RULES", 100)
    monkeypatch.setattr(bulk, "LEAST_COMPILED", 10)
    odd = [f"`a` = {number}" for number in range(150)]
    index, other = Index("scan"), Index("scan")
    index.insert_many(list(enumerate([*numbered(300), *odd])))
    for number, text in enumerate([*numbered(300), *odd]):
        other[number] = text
    assert dict(index) == dict(other)
    events = [{"a": value, "b": 1_000} for value in range(60)]
    assert index.match_many(events).equals(other.match_many(events))


def test_progress_tells_rules_read_and_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", 300)
    told: list[LoadProgress] = []
    Index("scan").insert_many(table(0, [*numbered(650), "a ="]), progress=told.append)
    assert [(each.read, each.rejected, each.total) for each in told] == [(300, 0, 651), (600, 0, 651), (651, 1, 651)]
    assert all(each.seconds >= 0 for each in told)
    assert told[-1].seconds_left == 0
    told.clear()
    Index("scan").insert_many(((number, "a = 1") for number in range(3)), progress=told.append)
    assert [(each.total, each.seconds_left) for each in told] == [(None, None)]


def test_progress_is_a_line_a_function_or_nothing() -> None:
    assert Index("scan").insert_many([(1, "a = 1")], progress=True).inserted == 1
    with pytest.raises(InvalidArgument, match=r"progress must be True, False or a function \(got 'yes'\)"):
        Index("scan").insert_many([(1, "a = 1")], progress="yes")  # type: ignore[arg-type]


def test_a_line_tells_what_was_rejected_and_how_long_the_rest_takes() -> None:
    progress = Progress("inserting", "rules", 1_000)
    progress._started -= 10
    progress.follow(LoadProgress(500, 3, 1_000, 10.0))
    assert str(progress) == "inserting: 500 of 1,000 rules (50%), 3 rejected, 50 per second, 10 s, 10 s left"
