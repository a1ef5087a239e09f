"""Inside a task the engine that was built does the work, whichever it is, before and after updates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from match_support import EVENTS_DDL, expected, index_of, some_events, some_rules
from pyspark.sql import functions as sf

from matchwood import spark as mws
from matchwood.engines import engine_names
from matchwood.spark.match.event_columns import by_position
from matchwood.spark.match.opened import open_version
from matchwood.spark.match.options import MatchOptions
from matchwood.spark.match.plan import planned
from matchwood.spark.match.task import answers
from tests.conftest import SOAK

EVERY = ["oracle", "auto", *engine_names()] if SOAK else ["oracle", "auto", "kindex", "atree"]
"""In the short form one engine of each kind: over conjunctions, clauses and whole rules, and none at all."""
CLAUSES = "(age = 1 or score > 0.5 or country = 'A') and (age < 70 or score < 0.9 or country = 'B')"
STRATEGIES = ["broadcast", "sharded", "partitioned"]
WAYS = list(zip(STRATEGIES * 2, [None, 2] * 3, strict=True))
"""All strategies with and without `top`; neighbours differ in both."""
CHANGED = {3: "age >= 10", 4: None, 1000: "country = 'A'"}


def in_tasks(frame: Any, path: str, strategy: str, **options: Any) -> list[Any]:
    """What workers tell of each shard that they have open once they did what a task of `match` does."""
    settings = MatchOptions.from_names({"output": "array", "strategy": strategy, "key": "id", **options})
    plan = planned(frame, path, settings)
    task, shards = plan.task, plan.shards if strategy == "partitioned" else 1

    def told(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        answered = [list(answers(task, iter([tuple(batch.columns)]))) for batch in batches]
        for shard in open_version(task.path, task.version, task.room).kept() if answered else []:
            work = shard.index.stats()["matching"]
            row = shard.name, shard.matcher.setting, shard.matcher.name, work["events"], work["scored"]
            yield pa.record_batch([pa.array([value]) for value in row], names=TOLD)

    numbered = by_position(frame).select(sf.explode(sf.sequence(sf.lit(0), sf.lit(shards - 1))).alias("shard"), "*")
    numbered = numbered.repartition("shard").sortWithinPartitions("shard") if shards > 1 else numbered.coalesce(1)
    columns = (sf.col(value) if isinstance(value, str) else value for value in plan.arguments)
    arguments = [column.alias(f"a{number}") for number, column in enumerate(columns)]
    sent = numbered.select(*(["shard"] if strategy == "partitioned" else []), *arguments)
    return sent.mapInArrow(told, "name string, setting string, engine string, events bigint, scored bigint").collect()


TOLD = ["name", "setting", "engine", "events", "scored"]


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(some_events(60, seed=3), EVENTS_DDL)


@pytest.fixture(scope="module", params=EVERY)
def built(request: pytest.FixtureRequest, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, int]:
    """An engine, where its index is, and its first version; the second has a delta and tombstones."""
    path = str(tmp_path_factory.mktemp("engines") / request.param)
    rules = spark.createDataFrame(list(every_rule().items()), "id bigint, expression string")
    mws.build(rules, path, engine=request.param, shards=2)
    mws.update(spark.createDataFrame(list(CHANGED.items()), "id bigint, expression string"), path)
    return request.param, path, 1


def every_rule() -> dict[Any, Any]:
    return {**some_rules(60, seed=4), 500: CLAUSES}


@pytest.mark.long(2)
@pytest.mark.parametrize("turn", range(len(WAYS) if SOAK else 1))
def test_tasks_run_what_was_built(built: tuple[str, str, int], frame: Any, turn: int) -> None:
    """In the short form an engine has one of the ways, and the next engine the next."""
    engine, path, first = built
    strategy, top = WAYS[(EVERY.index(engine) + turn) % len(WAYS)]
    for version, shards in ((first, 2), (None, 3)):
        told = in_tasks(frame, path, strategy, version=version, top=top)
        names = {row["name"] for row in told}
        # A worker of `partitioned` has the last shard open that it had events for.
        assert names if strategy == "partitioned" else len(names) == shards
        assert {row["setting"] for row in told} == {engine}
        assert engine == "auto" or {row["engine"] for row in told} == {engine}
        assert all(row["events"] >= 60 for row in told)
        assert top is None or any(row["scored"] for row in told)


@pytest.mark.long(2)
def test_updates_are_answered_by_every_engine(built: tuple[str, str, int], frame: Any) -> None:
    changed = {number: text for number, text in {**every_rule(), **CHANGED}.items() if text is not None}
    answers_now = expected(index_of(changed), some_events(60, seed=3))
    found = mws.match(frame, built[1], "array", keep=["id"]).collect()
    assert {row["id"]: row["rules"] for row in found} == answers_now
