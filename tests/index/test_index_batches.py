"""`match_many` and `match_batches`: schemas, bounds, and rules that change while batches are read."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.engines import Workspace
from matchwood.rules import RuleTable
from matchwood.rules.hits import ROOM


def hits_schema(kind: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field("event", pa.int64(), False), pa.field("rule", kind, False)])


@pytest.mark.parametrize(("ids", "kind"), [([], pa.string()), ([5, 2], pa.int64()), (["b", "a"], pa.string())])
def test_the_schema_of_results(ids: list[Any], kind: pa.DataType, engine: str) -> None:
    index = mw.Index(engine=engine)
    for rule_id in ids:
        index[rule_id] = "x = 1"
    for events in ([], [{}], [{"x": 1}], pa.table({"x": [1]}), pa.table({"x": pa.array([], pa.int64())}), {"x": 1}):
        table = index.match_many(events)
        assert table.schema.equals(hits_schema(kind))
        reader = index.match_batches(events)
        assert isinstance(reader, pa.RecordBatchReader)
        assert reader.schema.equals(hits_schema(kind))
        assert reader.read_all().equals(table)
    assert index.match_many([{"x": 2}, {"x": 1}]).to_pydict() == {"event": [1] * len(ids), "rule": ids}


def test_wrong_arguments_are_refused_at_once(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["a"] = "x = 1"
    for call in (index.match_many, index.match_batches):
        for events in (5, None, "x", b"x"):
            with pytest.raises(mw.InvalidArgument, match="events must be"):
                call(events)
        with pytest.raises(mw.InvalidArgument, match="missing must be"):
            call([{}], missing="ignore")


def test_errors_reach_who_reads_the_batches(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["a"] = "x = 1"
    with pytest.raises(mw.EventError, match=r"event 1.*'x' must be"):
        index.match_batches([{"x": 1}, {"x": "one"}]).read_all()
    with pytest.raises(mw.EventError, match="'x'"):
        index.match_batches(pa.table({"y": [1]}), missing="error").read_all()
    assert index.match({"x": 1}) == ["a"]
    index["b"] = "x = 1"


def test_many_hits_come_in_bounded_batches() -> None:
    """10,000 events with 1,000 hits each: ten million hits, at most a million and one event's more at a time."""
    index = mw.Index()
    index.insert_many({number: f"x >= {number % 10} or y = {number}" for number in range(1000)})
    events = pa.table({"x": [100] * 10_000})
    sizes, total, last = [], 0, -1
    for batch in index.match_batches(events):
        sizes.append(batch.num_rows)
        first, end = batch["event"][0].as_py(), batch["event"][-1].as_py()
        assert first == last + 1
        assert batch.num_rows == 1000 * (end - first + 1)
        total, last = total + batch.num_rows, end
    assert (total, last) == (10_000_000, 9_999)
    assert len(sizes) >= 9
    assert max(sizes) <= ROOM + 1000


def small_buffers(index: mw.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many pieces as there can be: no room beyond the hits of one event, in the engines and behind them."""
    index._matcher._local.workspace = Workspace(room=0)
    monkeypatch.setattr(RuleTable, "rows", functools.partialmethod(RuleTable.rows, room=1))


@pytest.mark.parametrize("start", [None, 0, -7])
def test_others_are_matched_between_two_batches(
    start: int | None, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of a batch is not lost when the same thread matches other events meanwhile; ids of all kinds."""
    index = mw.Index(engine=engine)
    names = [f"r{number}" for number in range(60)] if start is None else list(range(start, start + 60))
    index.insert_many({name: f"x >= {number} or y = {number}" for number, name in enumerate(names)})
    events = [{"x": number % 50, "y": 55} for number in range(40)]
    wanted = [[number, names[rule]] for number in range(40) for rule in [*range(number % 50 + 1), 55]]
    if engine != "oracle":
        monkeypatch.setattr(RuleTable, "rows", functools.partialmethod(RuleTable.rows, room=70))
    found: list[list[Any]] = []
    for batch in index.match_batches(events):
        found += [list(hit.values()) for hit in batch.to_pylist()]
        assert index.match_many([{"x": 59}] * 3).num_rows == 180
        assert index.match({"y": 3}) == [names[3]]
    assert found == wanted
    assert [list(hit.values()) for hit in index.match_many(events).to_pylist()] == wanted


def compacted(index: mw.Index) -> None:
    del index["a"]
    index["d"] = "x >= 75"
    index.compact()


def relabelled(index: mw.Index) -> None:
    """Boundaries that close in on a value from both sides use up the labels of one gap."""
    for number in range(20):
        index[f"r{number}"] = f"x >= {55 + 2.0**-number} or x < {55 - 2.0**-number}"
    assert index.engine == "oracle" or index.stats()["encoding"]["relabelled"] > 0


def emptied(index: mw.Index) -> None:
    index.clear()
    index["z"] = "x < 90 or w = 1"


CHANGES: dict[str, Callable[[mw.Index], object]] = {
    "nothing": lambda index: None,
    "a new boundary": lambda index: index.__setitem__("c", "x >= 75"),
    "a boundary gone": lambda index: index.__delitem__("a"),
    "a replacement": lambda index: index.__setitem__("a", "x between 60 and 80"),
    "another attribute": lambda index: index.__setitem__("c", "y is null and w < 5"),
    "a new form": lambda index: index.__setitem__("c", "(x > 70 or y = 1) and (x < 85 or w = 1)"),
    "many at once": lambda index: index.insert_many({f"m{n}": f"x >= {n}" for n in range(0, 100, 7)}),
    "compaction": compacted,
    "new labels": relabelled,
    "all rules gone": emptied,
}
RULES = {"a": "x >= 50", "b": "x < 30 or y = 1", "n": "w is null and x is not null", "t": "s like '%a%b%'"}
EVENTS = [{"x": number, "y": number % 3, "s": "ab" * (number % 2)} for number in range(100)]


@pytest.mark.few
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("limit", [1, 256])
def test_rules_change_between_two_batches(
    change: str, limit: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = mw.Index(engine=engine, dnf_limit=limit)
    index.insert_many(RULES)
    before = answers(index)
    if engine != "oracle":
        small_buffers(index, monkeypatch)
    reader = index.match_batches(EVENTS)
    found: dict[int, list[str]] = {number: [] for number in range(100)}
    seen = collect(found, reader, stop=40)
    CHANGES[change](index)
    collect(found, reader)
    after = answers(index)
    assert seen >= 40
    if engine == "oracle":
        assert seen == 99  # the oracle answers for many events at a time
    for number in range(100):
        assert found[number] == (before if number <= seen else after)[number], number
    assert index.audit() == []


def collect(found: dict[int, list[str]], reader: pa.RecordBatchReader, stop: int = 10**9) -> int:
    """Read until an event at or beyond `stop` has been answered; returns the last."""
    last = -1
    while last < stop:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            break
        for event, rule in zip(batch["event"].to_pylist(), batch["rule"].to_pylist(), strict=True):
            found[event].append(rule)
            last = event
    return last


def answers(index: mw.Index) -> list[list[str]]:
    """The answer to each event by itself."""
    return [index.match(event) for event in EVENTS]


@pytest.mark.parametrize("kind", ["dicts", "generator", "table", "stream", "pandas"])
def test_every_source_can_be_encoded_again(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.Table.from_pylist(EVENTS)
    given = {
        "dicts": lambda: EVENTS,
        "generator": lambda: iter(EVENTS),
        "table": lambda: table,
        "stream": lambda: table.to_reader(max_chunksize=33),
        "pandas": table.to_pandas,
    }[kind]()
    index = mw.Index()
    index.insert_many(RULES)
    before = answers(index)
    small_buffers(index, monkeypatch)
    found: dict[int, list[str]] = {number: [] for number in range(100)}
    reader = index.match_batches(given)
    seen = collect(found, reader, stop=10)
    relabelled(index)
    index["c"] = "y = 2"
    collect(found, reader)
    after = answers(index)
    assert seen < 50
    assert [found[number] for number in range(100)] == [*before[: seen + 1], *after[seen + 1 :]]


def test_pandas_columns_that_only_later_rules_name(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.matching.event_rows.ROWS_AT_ONCE", 2)
    index = mw.Index(engine=engine)
    index["a"] = "x > 0"
    if engine != "oracle":
        small_buffers(index, monkeypatch)
    reader = index.match_batches(pd.DataFrame({"x": [1, 2, 3, 4], "y": [5, 5, 5, 5], "z": [object()] * 4}))
    first = reader.read_next_batch()
    index["b"] = "y = 5"
    rest = reader.read_all().to_pydict()
    done = first["event"][-1].as_py() + 1
    assert rest["event"] == [number for number in range(done, 4) for _ in "ab"]
    assert rest["rule"] == ["a", "b"] * (4 - done)


def test_the_source_may_change_the_rules_between_chunks(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No lock is held while the next events are waited for."""
    monkeypatch.setattr("matchwood.matching.event_rows.ROWS_AT_ONCE", 1)
    monkeypatch.setattr("matchwood.encoding.events.plan.ROWS", 1)
    index = mw.Index(engine=engine)
    index["a"] = "x = 1"

    def events() -> Iterator[dict[str, Any]]:
        yield {"x": 1}
        index["b"] = "x = 1"
        yield {"x": 1}
        del index["a"]
        yield {"x": 1}

    table = index.match_batches(events()).read_all()
    assert table.to_pydict() == {"event": [0, 1, 1, 2], "rule": ["a", "a", "b", "b"]}


def test_match_many_is_the_answer_of_one_moment(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its events cannot change the rules that they are matched by: an error, not a deadlock."""
    index = mw.Index(engine=engine)
    index["a"] = "x = 1"
    changes: list[Callable[[], object]] = [
        lambda: index.__setitem__("b", "x = 1"),
        lambda: index.__delitem__("a"),
        lambda: index.insert_many({"b": "x = 1"}),
        index.compact,
        index.clear,
    ]
    for change in changes:

        def events(change: Callable[[], object] = change) -> Iterator[dict[str, Any]]:
            yield {"x": 1}
            change()

        with pytest.raises(mw.MatchwoodError, match="cannot be changed by the events"):
            index.match_many(events())
    assert dict(index) == {"a": "x = 1"}

    def reading() -> Iterator[dict[str, Any]]:
        assert (len(index), index["a"], index.audit(), index.lint().num_rows) == (1, "x = 1", [], 0)
        yield {"x": 1}

    assert index.match_many(reading()).num_rows == 1


def test_a_writer_need_not_wait_for_a_slow_source(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["a"] = "x = 1"
    waiting, go_on = threading.Event(), threading.Event()

    def events() -> Iterator[dict[str, Any]]:
        yield {"x": 1}
        waiting.set()
        assert go_on.wait(30)
        yield {"x": 1}

    reader = index.match_batches(events())
    read: list[pa.Table] = []
    thread = threading.Thread(target=lambda: read.append(reader.read_all()))
    thread.start()
    assert waiting.wait(30)
    index["b"] = "x = 1"  # waits for ever if the reader held the lock
    go_on.set()
    thread.join(30)
    assert read[0]["rule"].to_pylist()[-1] == "b"


def test_ids_of_another_kind_while_batches_are_read(engine: str) -> None:
    index = mw.Index(engine=engine)
    reader = index.match_batches([{"x": 1}])
    index[5] = "x = 1"
    with pytest.raises(mw.MatchwoodError, match="became int64"):
        reader.read_all()
