"""The demo on Spark, in small: every step is shown, the picture has the figures, and wrong answers fail it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from matchwood import spark as mws
from matchwood.commands.cli import main
from matchwood.demo import audience, pipeline, spark_audience
from matchwood.demo.spark_join import joined_hits
from matchwood.index import Index


@pytest.fixture(autouse=True)
def few_to_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark takes most of the demo's time to analyse a hundred rules."""
    monkeypatch.setattr(pipeline, "_CHECK_RULES", 10)
    monkeypatch.setattr(pipeline, "_CHECK_VIEWS", 200)


def test_from_rules_to_a_picture(spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["demo", "--rules", "1500", "--events", "1200", "-o", str(tmp_path)])
    printed = capfd.readouterr().out
    assert status == 0
    for step in range(1, 9):
        assert re.search(rf"^{step}\. ", printed, re.MULTILINE)
    assert "1,500 rules, 2 rejected" in printed
    assert "campaign-typo: line 1, column 5" in printed
    hits = spark.read.parquet(str(tmp_path / "hits.parquet"))
    count = hits.selectExpr("sum(size(rules))").first()[0]
    assert count > 300
    assert f"{count:,} hits" in printed
    assert f"with the same\n   {count:,} hits" in printed
    page = (tmp_path / "demo.html").read_text()
    assert page.count("<svg") == 5
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    shown = [float(value.replace(",", "")) for value in re.findall(r"font-size='12'>([\d.,]+)<", page.split("<h2>")[1])]
    assert sum(shown) == 1_200


@pytest.mark.long
def test_wrong_answers_fail_the_demo(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    match = mws.match

    def losing(events: Any, path: str, **options: Any) -> Any:
        hits = match(events, path, **options)
        return hits.selectExpr("view", "age", "slice(rules, 2, 1000) AS rules") if "rules" in hits.columns else hits

    monkeypatch.setattr(mws, "match", losing)
    assert main(["demo", "--rules", "500", "--events", "300", "-o", str(tmp_path)]) == 1
    assert "the demo's answers are wrong: view " in capfd.readouterr().err
    assert not (tmp_path / "demo.html").exists()


@pytest.mark.everywhere_in_soak
def test_made_on_spark_as_in_one_process(spark: Any) -> None:
    """Whatever the partitions: 7,000 rows are a block of 5,000 and one of 2,000."""
    rules = spark_audience.rules_on_spark(spark, 7_000).orderBy("id").collect()
    expected = [*audience.campaigns(5_000, "1/0"), *audience.campaigns(2_000, "1/1", 5_000)]
    assert [tuple(row) for row in rules] == expected
    views = spark_audience.views_on_spark(spark, 7_000).orderBy("view").toArrow()
    assert views.slice(5_000).to_pylist() == audience.page_views(2_000, (2, 1), 5_000).to_pylist()


def test_the_join_finds_the_same(spark: Any) -> None:
    rules = dict(audience.campaigns(400))
    index = Index()
    index.insert_many(rules)
    views = audience.page_views(300)
    ours = index.match_many(views)
    joined = joined_hits(rules, spark.createDataFrame(views)).collect()
    expected = zip(ours["event"].to_pylist(), ours["rule"].to_pylist(), strict=True)
    assert sorted(map(tuple, joined)) == sorted(expected)
    assert len(joined) > 20


def test_master_is_not_for_the_embedded_demo(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--embedded", "--master", "local[2]"]) == 2
    assert "--master is for the demo on Spark" in capfd.readouterr().err
