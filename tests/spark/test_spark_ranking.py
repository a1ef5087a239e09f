"""`match(top=…)`: the best rules of each event, the same by every strategy, and the same as an Index finds."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from match_support import EVENTS_DDL, some_events, some_rules

from matchwood import Index
from matchwood import spark as mws
from matchwood.errors import InvalidArgument

EVENTS = some_events(40, seed=3)
RULES = some_rules(60, seed=4)
RULES_DDL = "id bigint, expression string, weight double, weights string"
WEIGHTS = {"age": 0.3, "country": 2.0}


def weighted(rules: dict[Any, str], seed: int) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)
    values = ({"country": {"A": 3.5, "E": 0.1}}, {"age": 0.7}, {"tags": {"w": 4.0}}, None)
    return [
        (number, text, draw.choice((None, 0.1, 0.25)), json.dumps(chosen) if (chosen := draw.choice(values)) else None)
        for number, text in rules.items()
    ]


def index_of(rules: list[tuple[Any, ...]]) -> Index:
    index = Index()
    for number, text, weight, weights in rules:
        report = index.insert_many([(number, text, {"weight": weight, "weights": weights})], on_duplicate="replace")
        assert not report.rejected.num_rows
    return index


def best(index: Index, n: int, weights: Any) -> dict[int, list[tuple[int, Any, float]]]:
    found: dict[int, list[tuple[int, Any, float]]] = {event["id"]: [] for event in EVENTS}
    for row in index.top_many(EVENTS, n, weights).to_pylist():
        found[EVENTS[row["event"]]["id"]].append((row["rank"], row["rule"], row["score"]))
    return found


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    rows = [tuple(event.values()) for event in EVENTS]
    return spark.createDataFrame(rows, EVENTS_DDL).repartition(3)


@pytest.fixture(scope="module")
def built(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """Indexes of one shard and of three, by that number."""
    paths = {}
    rules = spark.createDataFrame(weighted(RULES, seed=5), RULES_DDL)
    for shards in (1, 3):
        paths[shards] = str(tmp_path_factory.mktemp("ranked") / "index")
        report = mws.build(rules, paths[shards], weight="weight", weights="weights", shards=shards)
        assert (report.rules, report.rejected) == (len(RULES), 0)
    return paths


def arrays(hits: Any) -> dict[int, list[tuple[int, Any, float]]]:
    return {row["id"]: [tuple(each) for each in row["rules"]] for row in hits.collect()}


@pytest.mark.long(2)
@pytest.mark.parametrize(
    ("shards", "strategy"), [(1, "broadcast"), (3, "broadcast"), (3, "sharded"), (3, "partitioned")]
)
def test_the_best_rules_by_every_strategy(frame: Any, built: dict[int, str], shards: int, strategy: str) -> None:
    wanted = best(index_of(weighted(RULES, seed=5)), 3, WEIGHTS)
    options = {"keep": ["id"], "top": 3, "weights": WEIGHTS, "strategy": strategy, "key": "id"}
    found = mws.match(frame, built[shards], "array", **options)
    assert found.schema["rules"].dataType.simpleString() == "array<struct<rank:int,rule:bigint,score:double>>"
    assert arrays(found) == wanted
    rows = mws.match(frame, built[shards], **options)
    assert rows.columns == ["id", "rank", "rule", "score"]
    flat = sorted((event, *hit) for event, hits in wanted.items() for hit in hits)
    assert sorted(tuple(row) for row in rows.collect()) == flat
    counts = mws.match(frame, built[shards], "count", **options).collect()
    assert {row["id"]: row["rule_count"] for row in counts} == {event: len(hits) for event, hits in wanted.items()}


def test_a_weight_of_an_attribute_that_no_rule_names_is_passed_over(
    frame: Any, built: dict[int, str], caplog: pytest.LogCaptureFixture
) -> None:
    wanted = best(index_of(weighted(RULES, seed=5)), 4, {"age": 0.5})
    with caplog.at_level("WARNING", "matchwood.spark"):
        hits = mws.match(frame, built[3], "array", keep=["id"], top=4, weights={"age": 0.5, "aeg": 9.0})
    assert arrays(hits) == wanted
    assert "weights were given for attributes that no rule has, and have no effect: no 'aeg', but 'age'" in caplog.text


def test_each_event_has_weights_of_its_own(spark: Any, built: dict[int, str]) -> None:
    draw = random.Random(6)
    own = [draw.choice((None, {"age": 0.5, "unheard_of": 2.0}, {"country": 3.0, "age": 0.0})) for _ in EVENTS]
    rows = [(*event.values(), weights) for event, weights in zip(EVENTS, own, strict=True)]
    events = spark.createDataFrame(rows, f"{EVENTS_DDL}, w map<string, double>").repartition(3)
    known = [weights and {name: w for name, w in weights.items() if name != "unheard_of"} for weights in own]
    wanted = best(index_of(weighted(RULES, seed=5)), 4, known)
    for strategy in ("broadcast", "partitioned"):
        hits = mws.match(events, built[3], "array", keep=["id"], top=4, weights="w", strategy=strategy, key="id")
        assert arrays(hits) == wanted
    structs = events.selectExpr("*", "struct(w.age as age, w.country as country) as s")
    assert arrays(mws.match(structs, built[1], "array", keep=["id"], top=4, weights="s")) == wanted


@pytest.mark.long
def test_an_update_keeps_and_changes_weights(spark: Any, frame: Any, built: dict[int, str]) -> None:
    path = built[3]
    version = mws.versions(path)[-1]
    rules = weighted(RULES, seed=5)
    changes = [(5, "age >= 0", 50.0, None), (6, None, None, None), (900, "country like 'A%'", None, '{"country": 9}')]
    report = mws.update(spark.createDataFrame(changes, RULES_DDL), path, weight="weight", weights="weights")
    assert report.rejected == 0
    live = {rule[0]: rule for rule in [*rules, *changes]}
    wanted = best(index_of([live[number] for number in sorted(live) if number != 6]), 3, None)
    assert arrays(mws.match(frame, path, "array", keep=["id"], top=3, strategy="broadcast")) == wanted
    assert arrays(mws.match(frame, path, "array", keep=["id"], top=3, strategy="partitioned", key="id")) == wanted
    old = best(index_of(rules), 3, None)
    number = getattr(version, "version", version)
    assert arrays(mws.match(frame, path, "array", keep=["id"], top=3, version=int(number))) == old


def test_a_score_asks_for_more_than_matching_does(spark: Any, path: str) -> None:
    index = Index()
    index.insert_many([(1, "a = 1 or true", {"weights": {"a": 4}}), (2, "b = 1 and (b = 1 or c = 1)")])
    index.save(path)
    rows = [(1, 1, 1, 1), (2, 2, 1, None)]
    events = spark.createDataFrame(rows, "id int, a int, b int, c int")
    packed = events.selectExpr("id", "to_json(struct(a, b, c)) as e", "map('a', string(a), 'b', string(b)) as m")
    wanted = {1: [(1, 1, 4.0), (2, 2, 2.0)], 2: [(1, 2, 2.0), (2, 1, 0.0)]}
    assert arrays(mws.match(events, path, "array", keep=["id"], top=5, missing="error")) == wanted
    for name in ("e", "m"):
        assert arrays(mws.match(packed, path, "array", keep=["id"], top=5, event=name)) == wanted


def test_errors_are_reported_beside_ranks(spark: Any, built: dict[int, str]) -> None:
    events = spark.createDataFrame([(1, "x", "A"), (2, "30", None)], "id int, age string, country string")
    rows = mws.match(events, built[1], keep=["id"], top=1, on_error="report").orderBy("id", "rank")
    assert rows.columns == ["id", "rank", "rule", "score", "match_error"]
    told = {row["id"]: row["match_error"] for row in rows.collect()}
    assert "'age' must be" in told[1]
    with pytest.raises(InvalidArgument, match="prefix="):
        mws.match(events.withColumnRenamed("country", "score"), built[1], top=1, on_error="null")


def test_a_stream_ranks_as_a_table_does(spark: Any, built: dict[int, str], tmp_path: Path) -> None:
    rows = [tuple(event.values()) for event in EVENTS]
    source = str(tmp_path / "in")
    for part in (rows[:20], rows[20:]):
        spark.createDataFrame(part, EVENTS_DDL).coalesce(1).write.mode("append").parquet(source)
    stream = spark.readStream.schema(EVENTS_DDL).option("maxFilesPerTrigger", 1).parquet(source)
    found: dict[int, list[tuple[int, Any, float]]] = {}
    batches: list[int] = []

    def write(hits: Any, batch_id: int, version: int) -> None:
        batches.append(batch_id)
        found.update(arrays(hits))

    version = int(min(getattr(each, "version", each) for each in mws.versions(built[1])))
    query = mws.match_stream(
        stream, built[1], write, checkpointLocation=str(tmp_path / "checkpoint"), queryName="ranks",
        trigger={"availableNow": True}, output="array", keep=["id"], top=3, weights=WEIGHTS, version=version,
    )  # fmt: skip
    query.awaitTermination()
    assert batches == [0, 1]
    assert found == best(index_of(weighted(RULES, seed=5)), 3, WEIGHTS)


@pytest.mark.few(0)
@pytest.mark.parametrize(("shards", "strategy"), [(1, "broadcast"), (3, "sharded")])
def test_the_best_by_constant_weights_alone(frame: Any, built: dict[int, str], shards: int, strategy: str) -> None:
    constants = {number: weight or 0.0 for number, _, weight, _ in weighted(RULES, seed=5)}
    table = index_of(weighted(RULES, seed=5)).top_many(EVENTS, 3, weight="only").to_pylist()
    assert all(row["score"] == constants[row["rule"]] for row in table)
    wanted: dict[int, list[tuple[int, Any, float]]] = {event["id"]: [] for event in EVENTS}
    for row in table:
        wanted[EVENTS[row["event"]]["id"]].append((row["rank"], row["rule"], row["score"]))
    found = mws.match(frame, built[shards], "array", keep=["id"], top=3, weight="only", strategy=strategy, version=1)
    assert arrays(found) == wanted


def test_constants_alone_need_a_rank_and_no_weights(frame: Any, built: dict[int, str]) -> None:
    with pytest.raises(InvalidArgument, match="weight= is for ranking: give top="):
        mws.match(frame, built[1], weight="only")
    with pytest.raises(InvalidArgument, match="leave weights= out"):
        mws.match(frame, built[1], top=3, weights={"age": 2.0}, weight="only")
