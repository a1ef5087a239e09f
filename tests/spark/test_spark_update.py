"""`update`: a delta and tombstones that come to the same as building the changed rules anew."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from build_support import EVENTS, embedded, frame, same_answers, sound_rules

import matchwood as mw
from matchwood import spark as mws
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.sharding import open_shards


def _apply(rules: dict[Any, str], changes: list[tuple[Any, str | None]]) -> None:
    for rule_id, text in changes:
        rules.pop(rule_id, None)
        if text is not None:
            rules[rule_id] = text


def _check(path: str, rules: dict[Any, str]) -> None:
    expected, report = embedded(rules.items())
    assert report.rejected.num_rows == 0
    opened = mw.open(path)
    same_answers(opened, expected)
    lists = open_shards(path).match_lists(EVENTS).to_pylist()
    assert lists == [expected.match(event) for event in EVENTS]
    assert opened.types() == expected.types()


@pytest.mark.long(1)
@pytest.mark.parametrize(
    "shards", [pytest.param(1, marks=pytest.mark.everywhere_in_soak), pytest.param(3, marks=pytest.mark.everywhere)]
)
def test_insert_replace_delete(spark: Any, path: str, shards: int) -> None:
    rules = dict(sound_rules(300))
    mws.build(frame(spark, rules.items()), path, shards=shards)
    steps: list[list[tuple[Any, str | None]]] = [
        [(5, "age > 60"), (6, None), (900, "vip"), (999, None)],
        [(5, None), (900, "city = 'Bonn'"), (901, "age is null")],
        [(6, "not vip"), (7, "tags none of ('b')")],
    ]
    counts = []
    for changes in steps:
        report = mws.update(frame(spark, changes), path)
        _apply(rules, changes)
        _check(path, rules)
        counts.append((report.inserted, report.replaced, report.deleted, report.rules, report.compacted))
    assert counts == [(1, 1, 1, 300, False), (1, 1, 1, 300, False), (1, 1, 0, 301, False)]
    layout = open_shards(path).layout
    assert len(layout.bases) == shards
    assert len(layout.deltas) < 3
    assert sum(layout.rules.values()) == 301


def test_unchanged_shards_are_linked_not_copied(spark: Any, path: str) -> None:
    mws.build(frame(spark, sound_rules(100)), path)
    mws.update(frame(spark, [(1, "vip")]), path)
    old, new = (sorted(Path(path, version).glob("part-0-*/*")) for version in ("v000001", "v000002"))
    assert old
    assert [file.stat().st_ino for file in old] == [file.stat().st_ino for file in new]


def test_deltas_and_tombstones_of_a_tenth_are_compacted(spark: Any, path: str) -> None:
    rules = dict(sound_rules(100))
    mws.build(frame(spark, rules.items()), path, shards=2)
    few: list[tuple[Any, str | None]] = [(number, "vip") for number in range(4)]
    many: list[tuple[Any, str | None]] = [(number, None) for number in range(4, 14)]
    assert not mws.update(frame(spark, few), path).compacted
    report = mws.update(frame(spark, many), path)
    _apply(rules, [*few, *many])
    _check(path, rules)
    assert report.compacted
    assert open_shards(path).layout.deltas == ()
    assert (report.version, report.rules, report.shards) == (4, 90, 2)


@pytest.mark.long
def test_a_compaction_that_fails_leaves_the_update(
    spark: Any, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any) -> int:
        raise RuntimeError("executor lost\nin the middle")

    rules = dict(sound_rules(100))
    mws.build(frame(spark, rules.items()), path)
    changes: list[tuple[Any, str | None]] = [(number, "vip") for number in range(30)]
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["matchwood.spark.build.update"], "compact", fails)
        report = mws.update(frame(spark, changes), path)
    _apply(rules, changes)
    _check(path, rules)
    assert (report.version, report.replaced, report.compacted) == (2, 30, False)
    assert report.problem == "RuntimeError: executor lost"
    assert "not compacted: RuntimeError: executor lost" in str(report)
    assert "the next update will try again" in caplog.text
    again = mws.update(frame(spark, [(99, "vip")]), path)
    assert (again.compacted, again.problem) == (True, None)


def test_a_type_may_change_with_the_rules_that_use_it(spark: Any, path: str) -> None:
    rules = {**dict(sound_rules(200)), 500: "x = 'text'", 501: "x is null"}
    mws.build(frame(spark, rules.items()), path)
    changes: list[tuple[Any, str | None]] = [(500, None), (502, "x > 5")]
    mws.update(frame(spark, changes), path)
    _apply(rules, changes)
    _check(path, rules)
    opened = open_shards(path)
    assert opened.attributes["x"] == "number"
    answers = opened.match_lists(pa.table({"x": [7, None]})).to_pylist()
    assert [answer[-1] for answer in answers] == [502, 501]


def test_rejected_changes(spark: Any, path: str) -> None:
    """A replacement that is refused leaves the old rule, which stands against other changes then."""
    mws.build(frame(spark, [*sound_rules(100), (500, "x = 'a'"), (501, "y = 1")]), path)
    changes = [(500, "x = 5 and"), (502, "x = 7"), (501, "y = 'b'"), (503, "z")]
    report = mws.update(frame(spark, changes), path)
    opened = mw.open(path)
    assert {rule_id: opened.get(rule_id) for rule_id in range(500, 504)} == {
        500: "x = 'a'",
        501: "y = 'b'",
        502: None,
        503: "z",
    }
    errors = {row["id"]: row["error"] for row in mws.rejects(spark, path).collect()}
    assert errors.keys() == {500, 502}
    assert "as in rule 500 " in errors[502]
    assert (report.inserted, report.replaced, report.deleted, report.rejected) == (1, 1, 0, 2)
    with pytest.raises(MatchwoodError, match="1 rule was rejected"):
        mws.update(frame(spark, [(1, "age =")]), path, on_error="fail")
    assert open_shards(path).version == report.version


def test_an_index_that_was_saved_can_be_updated(spark: Any, path: str) -> None:
    index = mw.Index(engine="scan", schema={"age": "int"}, options={"spaces": "sorted"})
    index.insert_many([(str(number), f"age > {number}") for number in range(50)])
    index.save(path)
    mws.update(frame(spark, [("7", None), ("x", "age = 3")], "id string, expression string"), path)
    opened = mw.open(path)
    del index["7"]
    index["x"] = "age = 3"
    assert sorted(opened.match({"age": 10})) == sorted(index.match({"age": 10}))
    assert opened.types() == {"age": "int"}
    assert opened.engine == "scan"


def test_what_an_update_refuses(spark: Any, path: str) -> None:
    with pytest.raises(OSError, match="no snapshot"):
        mws.update(frame(spark, [(1, "vip")]), path)
    mws.build(frame(spark, [(1, "vip")]), path)
    with pytest.raises(InvalidArgument, match="the ids of the changes are string"):
        mws.update(frame(spark, [("a", "vip")], "id string, expression string"), path)
    with pytest.raises(InvalidArgument, match=r"more than once .*: 3"):
        mws.update(frame(spark, [(3, "vip"), (3, "age = 1")]), path)
    assert mws.update(frame(spark, []), path).version == 1
    assert len(mws.versions(path)) == 1


@pytest.mark.long
def test_updates_at_once_are_all_applied(spark: Any, path: str) -> None:
    mws.build(frame(spark, sound_rules(100)), path)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            mws.update(frame(spark, [(1000 + number, "vip")]), path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {1000, 1001, 1002} <= set(mw.open(path))


@pytest.mark.everywhere
def test_rollback_and_vacuum(spark: Any, path: str) -> None:
    mws.build(frame(spark, [(1, "vip")]), path)
    mws.update(frame(spark, [(2, "not vip")]), path)
    before = mws.versions(path)[-1].version
    assert mws.rollback(path, 1) == before + 1
    assert list(mw.open(path)) == [1]
    assert [info.restored_from for info in mws.versions(path)][-1] == 1
    assert mws.vacuum(path, keep=1) == []
    assert 1 in mws.vacuum(path, keep=1, grace="0 seconds")
    assert list(mw.open(path)) == [1]


def test_vacuum_keeps_what_a_stream_has_recorded(spark: Any, path: str) -> None:
    from matchwood.storage import pinned_version

    for number in range(4):
        mws.build(frame(spark, [(number, "vip")]), path)
    pinned_version(path, "clicks", "query", 7, 2)
    assert mws.vacuum(path, keep=1, grace="0 seconds") == [1, 3]
    assert open_shards(path, 2).text(1) == "vip"
