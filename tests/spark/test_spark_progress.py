"""How far builds and updates are, and that a build reads its source once."""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from build_support import embedded, frame, same_answers, sound_rules

import matchwood as mw
from matchwood import spark as mws
from matchwood import storage
from matchwood.progress import LoadProgress, Progress
from matchwood.spark.build import notes
from matchwood.spark.jobs import counted_tasks, described

everywhere = pytest.mark.everywhere
PARTITIONS = 3
AGAINST = [(100, "age = 'x'"), (101, "age like 'a%'")]
"""Rules that contradict the others on a type, so that several shards must agree on it."""


def read_by(directory: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function that leaves a file for every time that a partition is read."""

    def reading(batches: Iterator[Any]) -> Iterator[Any]:
        (directory / uuid.uuid4().hex).touch()
        yield from batches

    return reading


@pytest.mark.long(1)
@everywhere
@pytest.mark.few
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("shards", ["auto", 1, 3])
def test_the_source_is_read_once(
    spark: Any, path: str, tmp_path: Path, shards: Any, watched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["matchwood.spark.jobs"], "_is_watched", lambda: watched)
    (tmp_path / "reads").mkdir()
    rules = [*sound_rules(40), *AGAINST]
    source = frame(spark, rules).mapInArrow(read_by(tmp_path / "reads"), "id long, expression string")
    report = mws.build(source, path, shards=shards)
    assert (report.rules, report.rejected) == (40, 2)
    assert len(list((tmp_path / "reads").iterdir())) == PARTITIONS
    same_answers(mw.open(path), embedded(rules)[0])


def test_what_is_kept_for_a_build_is_let_go(spark: Any, path: str) -> None:
    held = spark.sparkContext._jsc.getPersistentRDDs().size()
    mws.build(frame(spark, sound_rules(10)), path, shards=2)
    with pytest.raises(mw.InvalidArgument, match="more than once"):
        mws.build(frame(spark, [(1, "vip"), (1, "vip")]), path)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == held


@everywhere
def test_tasks_tell_how_many_rules_they_have_read(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["matchwood.spark.jobs"], "_is_watched", lambda: True)
    told: list[dict[str, Any]] = []
    real = storage.Staging.publish

    def publish(self: storage.Staging, *arguments: Any, **more: Any) -> int:
        told.append({name: json.loads(self.noted_text(name)) for name in self.noted()})
        return real(self, *arguments, **more)

    monkeypatch.setattr(storage.Staging, "publish", publish)
    mws.build(frame(spark, [*sound_rules(40), (99, "age >")]), path, shards=2)
    mws.update(frame(spark, [(1, "vip"), (99, "age >")]), path)
    built, updated = told
    assert set(built) == {"0", "1"}
    assert [sum(each) for each in zip(*built.values(), strict=True)] == [41, 1, 2]
    assert updated == {"delta": [2, 1, True]}
    assert not list(Path(path).rglob("notes"))


def test_nobody_is_told_where_nobody_watches(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["matchwood.spark.jobs"], "_is_watched", lambda: False)
    monkeypatch.setattr(storage.Staging, "publish", lambda self, *_, **__: len(self.noted()))
    assert mws.build(frame(spark, sound_rules(10)), path).version == 0


def test_notes_are_added_up(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "EVERY_SECONDS", 0.0)
    staging, line = storage.begin(path), Progress("building")
    first, second = (notes.NoteWriter(staging, name) for name in ("0", "1"))
    with notes.counting_rules(line, staging, 100):
        assert line.look is not None
        line.look(line)
        assert (line.done, line.rejected, line.total, line.unit) == (0, 0, 100, "rules")
        first(LoadProgress(30, 1, None, 1.0))
        second(LoadProgress(20, 2, None, 1.0))
        line.look(line)
        assert (line.done, line.rejected) == (50, 3)
        first(LoadProgress(40, 1, None, 1.0))
        first.finish()
        line.look(line)
        assert (line.done, line.rejected) == (60, 3)
        assert "60 of 100 rules (60%), 3 rejected" in str(line)
    with notes.counting_rules(line, staging, None):
        line.look(line)
        assert line.done == 0, "what an earlier run told is old"
    assert (line.unit, line.total, line.look) == ("", None, None)


def test_tasks_are_counted(spark: Any) -> None:
    with counted_tasks(spark) as tasks:
        spark.range(0, 100, numPartitions=7).foreach(lambda row: None)
        deadline = time.monotonic() + 60.0
        while tasks() != (7, 7) and time.monotonic() < deadline:
            time.sleep(0.05)  # Spark tells its listeners a little later
        assert tasks() == (7, 7)
    spark.range(0, 100, numPartitions=5).foreach(lambda row: None)
    assert tasks() == (7, 7), "what others do is not counted"


def test_tasks_are_counted_through_connect() -> None:
    handlers: list[Any] = []
    client = SimpleNamespace(registerProgressHandler=handlers.append, removeProgressHandler=handlers.remove)
    with counted_tasks(client) as tasks:
        assert tasks() == (0, 0)
        stages = [SimpleNamespace(stage_id=number, num_tasks=10, num_completed_tasks=4) for number in range(2)]
        handlers[0](stages, 1, "a", False)
        handlers[0](stages[:1], 1, "b", False)
        assert tasks() == (12, 30)
        stages[0].num_completed_tasks = 10
        handlers[0](stages, 1, "a", False)
        handlers[0](None, 0, "a", True)
        assert tasks() == (18, 30)
    assert not handlers


def test_where_the_jvm_may_not_be_called_jobs_run_without_descriptions() -> None:
    class Guarded:
        """A session as on platforms that let Python call a few methods of the JVM only."""

        @property
        def sparkContext(self) -> Any:  # noqa: N802
            raise RuntimeError("not whitelisted")

    with described(Guarded(), "building"), counted_tasks(Guarded()) as tasks:
        assert tasks() == (0, 0)
