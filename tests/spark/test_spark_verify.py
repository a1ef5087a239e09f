"""verify: a lost and an invented hit are found, what is not verified is named, and nothing else is told."""

from __future__ import annotations

import math
import random
from decimal import Context, Decimal
from typing import Any

import pytest

from matchwood import spark as mws
from matchwood.errors import InvalidArgument
from matchwood.index import Index
from matchwood.spark.insight.verify import NotVerified

RULES = [(f"r{number}", f"x >= {number} and (y = {number % 5} or y is null)") for number in range(40)]


@pytest.fixture(scope="module")
def events(spark: Any) -> Any:
    return spark.range(300).selectExpr("id AS event_id", "CAST(id % 50 AS int) AS x", "nullif(id % 6, 5) AS y")


@pytest.fixture(scope="module")
def rules(spark: Any) -> Any:
    return spark.createDataFrame(RULES, "id string, expression string")


@pytest.fixture(scope="module")
def hits(events: Any) -> list[tuple[int, str]]:
    index = Index()
    index.insert_many(RULES)
    found = index.match_many([row.asDict() for row in events.orderBy("event_id").collect()])
    return list(zip(found["event"].to_pylist(), found["rule"].to_pylist(), strict=True))


def frame(spark: Any, pairs: list[tuple[int, str]]) -> Any:
    return spark.createDataFrame(pairs, "event_id bigint, rule string")


@pytest.mark.everywhere
def test_right_hits_in_either_form(spark: Any, events: Any, rules: Any, hits: list[tuple[int, str]]) -> None:
    from pyspark.sql import functions as sf

    rows = frame(spark, hits)
    assert len(hits) > 500
    assert mws.verify(events, rules, rows).collect() == []
    arrays = rows.groupBy("event_id").agg(sf.collect_list("rule").alias("rules"))
    assert mws.verify(events, rules, arrays).collect() == []


@pytest.mark.everywhere_in_soak
def test_a_lost_and_an_invented_hit_are_found(spark: Any, events: Any, rules: Any, hits: list[tuple[int, str]]) -> None:
    lost, invented = hits[100], (3, "r39")
    assert invented not in hits
    wrong = frame(spark, [pair for pair in hits if pair != lost] + [invented])
    told = mws.verify(events, rules, wrong)
    assert told.columns == ["key", "rule", "ours", "theirs"]
    assert {tuple(row) for row in told.collect()} == {(*lost, False, True), (*invented, True, False)}


@pytest.mark.long
def test_the_sample_is_small_and_always_the_same(spark: Any, events: Any, rules: Any) -> None:
    told = [mws.verify(events, rules, frame(spark, []), rules_sample=5, events_sample=20).collect() for _ in range(2)]
    assert sorted(told[0]) == sorted(told[1]) != []
    assert len({row["rule"] for row in told[0]}) <= 5
    assert len({row["key"] for row in told[0]}) <= 20


def test_half_of_the_sample_are_rules_that_hit(spark: Any, events: Any, rules: Any) -> None:
    """Of 40 rules, the only one with a hit, a wrong one, is in a sample of two."""
    told = mws.verify(events, rules, frame(spark, [(0, "r39")]), rules_sample=2)
    assert (0, "r39", True, False) in {tuple(row) for row in told.collect()}


def test_what_cannot_be_asked_is_named(spark: Any, events: Any) -> None:
    rules = spark.createDataFrame(
        [(1, "x > 48"), (2, "x = 'text'"), (3, "x => 1"), (4, "nothing is null")], "id bigint, expression string"
    )
    hits = spark.createDataFrame([(0, 4)], "event_id bigint, rule bigint")
    with pytest.warns(NotVerified) as warned:
        told = mws.verify(events, rules, hits, events_sample=5).collect()
    message = str(warned[0].message)
    assert message.startswith("2 of 4 sampled rules are not verified: ")
    assert "2: x = 'text' compares string with a column of type int" in message
    assert "3: line 1, column 3: found '=>'" in message
    assert {row["rule"] for row in told} >= {4}
    with pytest.warns(NotVerified):
        assert mws.verify(events, rules.where("id = 3"), hits).collect() == []


def test_wrong_columns_are_named(spark: Any, events: Any, rules: Any) -> None:
    with pytest.raises(InvalidArgument, match="events have no column 'no'"):
        mws.verify(events, rules, frame(spark, []), key="no")
    with pytest.raises(InvalidArgument, match="rules have no column 'id'"):
        mws.verify(events, rules.withColumnRenamed("id", "other"), frame(spark, []))
    with pytest.raises(InvalidArgument, match="hits have no column 'rules'"):
        mws.verify(events, rules, events)


@pytest.mark.long
def test_random_decimals_doubles_and_integers(spark: Any, tmp_path: Any) -> None:
    """Spark SQL agrees on columns of each type, of values that lie close to the constants."""
    rng = random.Random(18)
    rows = [(number, *_numbers(rng)) for number in range(200)]
    schema = "event_id bigint, price decimal(10,2), amount decimal(38,18), score double, units bigint"
    events = spark.createDataFrame(rows, schema)
    texts = [_test(rng, name) for name in ("price", "amount", "score", "units") for _ in range(60)]
    rules = spark.createDataFrame(
        [(f"r{number}", text) for number, text in enumerate(texts)], "id string, expression string"
    )
    report = mws.build(rules, str(tmp_path / "index"))
    assert report.rejected == 0
    hits = mws.match(events, str(tmp_path / "index"), keep=["event_id"]).collect()
    assert mws.verify(events, rules, frame(spark, [tuple(row) for row in hits]), rules_sample=240).collect() == []
    index = Index()
    index.insert_many({f"r{number}": text for number, text in enumerate(texts)})
    found = index.match_many([row.asDict() for row in events.orderBy("event_id").collect()])
    ours = set(zip(found["event"].to_pylist(), found["rule"].to_pylist(), strict=True))
    assert ours == {tuple(row) for row in hits}
    assert len(hits) > 5_000


def _numbers(rng: random.Random) -> tuple[Any, ...]:
    cents, wei = rng.randint(-300, 1100), rng.randint(-5, 5)
    price = None if rng.random() < 0.1 else Decimal(cents).scaleb(-2)
    amount = Decimal(rng.choice(("0.1", "10.05", "2", "12345678901234567.25"))) + Decimal(wei).scaleb(-18)
    score = math.nextafter(rng.choice((0.1, 10.05, 0.3)), rng.choice((-1, 1))) if rng.random() < 0.5 else cents / 100
    units = rng.choice((cents, 2**53 + wei, 2**63 - 1 - abs(wei)))
    return price, amount.quantize(Decimal("1E-18"), context=Context(prec=60)), score, units


def _test(rng: random.Random, name: str) -> str:
    constants = [
        str(each) for each in ("0.1", "10.05", "2.5", "2", "0.100000000000000001", "9007199254740993", "1.005")
    ]
    constants += [
        "0.1000000000000000055511",
        "9007199254740993.0",
        "0.30000000000000004",
        "1e-3",
        "-0.5",
        "12345678901234567.25",
    ]
    first, second = rng.sample(constants, 2)
    return f"{name} " + rng.choice(
        (f"= {first}", f"!= {first}", f"< {first}", f"<= {first}", f"> {first}", f">= {first}",
         f"in ({first}, {second})", f"not in ({first}, {second})", f"between {first} and {second}",
         f"not between {first} and {second}")
    )  # fmt: skip
