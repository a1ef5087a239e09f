"""What becomes of a feed of changes, and tables that cannot be followed; real tables are in tests/systems/lake."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from matchwood import spark as mws
from matchwood.errors import InvalidArgument
from matchwood.spark.follow.changes import compared, net_changes

COLUMNS = "id string, expression string, weight double, weights string"
State = dict[str | None, tuple[str, float | None, None]]


def _next(state: State, draw: random.Random) -> State:
    """A table after one more commit: rules come, go, change, and are rewritten as they are."""
    new = {rule: state[rule] for rule in state if draw.random() < 0.8}
    for rule in draw.sample("abcdef", 3):
        new[rule] = (f"x = {draw.randrange(3)}", draw.choice([None, 1.0]), None)
    return new


def _feed(states: list[State], draw: random.Random) -> list[tuple[Any, ...]]:
    """Rows that go and rows that come, as a feed has them, in any order; some rows are rewritten as they are."""
    rows = []
    for commit, (old, new) in enumerate(pairwise(states), 1):
        rewritten = {rule for rule in sorted(old.keys() & new.keys()) if old[rule] != new[rule] or draw.random() < 0.5}
        rows += [(rule, *old[rule], 2 * commit) for rule in old if rule not in new or rule in rewritten]
        rows += [(rule, *new[rule], 2 * commit + 1) for rule in new if rule not in old or rule in rewritten]
    draw.shuffle(rows)
    return rows


def _applied(state: State, changes: list[Any]) -> State:
    new = dict(state)
    for row in changes:
        new.pop(row["id"], None)
        if row["expression"] is not None:
            new[row["id"]] = (row["expression"], row["weight"], row["weights"])
    return new


@pytest.mark.few(0)
@pytest.mark.parametrize("seed", range(3))
def test_a_feed_and_a_comparison_lead_to_the_same_rules(spark: Any, seed: int) -> None:
    draw = random.Random(seed)
    states: list[State] = [_next({}, draw)]
    for _ in range(5):
        states.append(_next(states[-1], draw))
    feed = spark.createDataFrame(_feed(states, draw), f"{COLUMNS}, order bigint")
    first, last = (
        spark.createDataFrame([(rule, *state[rule]) for rule in state], COLUMNS) for state in (states[0], states[-1])
    )
    different = {rule for rule in {**states[0], **states[-1]} if states[0].get(rule) != states[-1].get(rule)}
    by_feed, by_comparison = net_changes(feed).collect(), compared(first, last).collect()
    assert _applied(states[0], by_feed) == _applied(states[0], by_comparison) == states[-1]
    assert {row["id"] for row in by_comparison} == different
    assert different <= {row["id"] for row in by_feed} <= set("abcdef")
    unchanged = {row["id"] for row in by_feed} - different
    assert not unchanged & states[-1].keys()  # came and went, and nothing else


def test_one_id_twice_stays_twice(spark: Any) -> None:
    rows = [("a", "x = 1", None, None, 3), ("a", "x = 2", None, None, 3), (None, "x = 3", None, None, 2)]
    found = net_changes(spark.createDataFrame(rows, f"{COLUMNS}, order bigint")).collect()
    assert sorted(row["expression"] for row in found) == ["x = 1", "x = 2"]


def test_what_is_no_table_with_a_feed(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="takes a Spark session first"):
        mws.follow("rules", "rules", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="table must be the name or path of a table"):
        mws.follow(spark, 7, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="nowhere is no table that this session can read"):
        mws.follow(spark, "nowhere", tmp_path)
    with pytest.raises(InvalidArgument, match=r"delta\.`/no/such` (is no table|cannot be read)"):
        mws.follow(spark, "/no/such", tmp_path)
    spark.sql("SELECT 'a' AS id, 'x = 1' AS expression").createOrReplaceTempView("no_table")
    with pytest.raises(InvalidArgument, match="only Delta and Iceberg tables tell what changed"):
        mws.follow(spark, "no_table", tmp_path)
