"""What changes would gain and lose on past events, held against matching with and without them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from match_support import EVENTS_DDL, expected, index_of, some_events, some_rules

from matchwood import InvalidArgument
from matchwood import spark as mws
from matchwood.commands.cli import main

CHANGES = {3: "age >= 30", 4: None, 5: "country = 'A' and age > 20", 1000: "country = 'B'", 2000: None}
EVENTS = some_events(150, seed=11)


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(EVENTS, EVENTS_DDL).repartition(3)


@pytest.fixture(scope="module")
def index(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Shared by all: a backtest changes nothing."""
    path = str(tmp_path_factory.mktemp("backtest") / "index")
    rules = spark.createDataFrame(list(some_rules(60, seed=12).items()), "id bigint, expression string")
    mws.build(rules, path, shards=2)
    mws.update(changes_of(spark, {7: "score > 0.5"}), path)
    return path


def changes_of(spark: Any, changes: dict[int, str | None]) -> Any:
    return spark.createDataFrame(list(changes.items()), "id bigint, expression string")


def by_hand() -> dict[int, tuple[set[int], set[int]]]:
    """The events of each rule that changes, before and after."""
    before = {**some_rules(60, seed=12), 7: "score > 0.5"}
    after = {rule: text for rule, text in {**before, **CHANGES}.items() if text is not None}
    hits = [expected(index_of(rules), EVENTS) for rules in (before, after)]
    return {
        rule: tuple({event for event, found in each.items() if rule in found} for each in hits)  # type: ignore[misc]
        for rule in CHANGES
    }


@pytest.mark.everywhere
def test_a_backtest_tells_what_matching_would(spark: Any, frame: Any, index: str) -> None:
    tested = mws.backtest(frame, index, changes_of(spark, CHANGES), key="id")
    assert tested.columns == ["rule", "before", "after", "gained", "lost", "sample"]
    rows, wanted = {row["rule"]: row for row in tested.collect()}, by_hand()
    assert list(rows) == list(CHANGES)
    for rule, (before, after) in wanted.items():
        counts = len(before), len(after), len(after - before), len(before - after)
        assert tuple(rows[rule])[1:5] == counts, rule
        assert set(rows[rule]["sample"]) <= before ^ after
        assert len(rows[rule]["sample"]) == min(5, len(before ^ after))
    assert sum(row["gained"] + row["lost"] for row in rows.values()) > 20
    assert mws.versions(index)[-1].version == 2
    assert not list(Path(index, "lent").iterdir())


def test_the_page_tells_why(spark: Any, frame: Any, index: str, tmp_path: Path) -> None:
    changes = changes_of(spark, {**CHANGES, 6: "country = '<b>' or age = 41"})
    mws.backtest(frame, index, changes, key="id").report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "6 changes" in page
    assert "country = &#x27;&lt;b&gt;&#x27;" in page
    assert "<b>" not in page
    assert "TRUE: country = &#x27;B&#x27;" in page
    assert "<code>age &gt;= 30</code>" in page
    assert "no rule" in page


def test_changes_that_would_be_rejected(spark: Any, frame: Any, index: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="matchwood.spark"):
        tested = mws.backtest(frame, index, changes_of(spark, {3: "age = 'old'", 9: "age >"}), key="id").collect()
    assert "2 changes would be rejected" in caplog.text
    assert all(row["before"] == row["after"] and not row["gained"] for row in tested)


def test_what_a_backtest_refuses(spark: Any, frame: Any, index: str) -> None:
    with pytest.raises(InvalidArgument, match="no column 'event_id'"):
        mws.backtest(frame, index, changes_of(spark, CHANGES), key="event_id")
    doubled = changes_of(spark, CHANGES).union(changes_of(spark, {3: "true"}))
    with pytest.raises(InvalidArgument, match="more than once among the changes: 3"):
        mws.backtest(frame, index, doubled, key="id")
    texts = spark.createDataFrame([("a", "true")], "id string, expression string")
    with pytest.raises(InvalidArgument, match="the ids of the changes are string"):
        mws.backtest(frame, index, texts, key="id")
    assert mws.backtest(frame, index, changes_of(spark, CHANGES).limit(0), key="id").collect() == []


def test_the_command(spark: Any, frame: Any, index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame.write.parquet(str(tmp_path / "events"))
    changes_of(spark, CHANGES).write.parquet(str(tmp_path / "changes"))
    page = tmp_path / "page.html"
    arguments = [str(tmp_path / "events"), index, str(tmp_path / "changes"), "--key", "id", "--html", str(page)]
    assert main(["spark", "backtest", *arguments]) == 0
    told = capsys.readouterr().out
    before, after = by_hand()[1000]
    assert f"1000: 0 hits before, {len(after)} after, +{len(after)} -0" in told
    assert not before
    assert "5 changes: " in told
    assert page.exists()
