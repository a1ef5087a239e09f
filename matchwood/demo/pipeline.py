"""The demo on Spark: campaigns and page views are made, built, matched, verified, compared, shown and drawn there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.bench import bar_chart, text_table
from matchwood.demo.audience import MISTAKES
from matchwood.demo.picture import Bars, age_class, sections_of, write_page
from matchwood.demo.spark_audience import rules_on_spark, views_on_spark
from matchwood.demo.spark_join import joined_hits
from matchwood.errors import MatchwoodError
from matchwood.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_INDENT = "     "
_JOIN_RULES, _JOIN_VIEWS = 5_000, 5_000
_CHECK_RULES, _CHECK_VIEWS = 100, 1_000


class Matched(NamedTuple):
    """The hits as a table (view, age, rules), how many there are, and how long matching took."""

    frame: DataFrame
    hits: int
    seconds: float


def run(rules: int, events: int, output: Path, master: str | None = None) -> None:
    """Everything from rules to a picture, each step with its time."""
    from matchwood import spark as mws

    output.mkdir(parents=True, exist_ok=True)
    with Progress("starting Spark"):
        spark = mws.session(**({"master": master} if master else {}))
    campaigns, views = _data(spark, rules, events, output)
    path = output / "campaigns.matchwood"
    _build(spark, campaigns, path)
    matched = _match(views, path, output / "hits.parquet")
    _verify(views, campaigns, matched)
    reach = _reach(matched)
    reasons = _why_not(views, path, reach[0][0] if reach else campaigns.first()["id"])
    rates = _compare(campaigns, views, matched, rules * events)
    sections = [*_sections(matched, reach), _why_section(reasons), _rate_section(rates)]
    facts = f"{rules:,} campaigns, {events:,} page views, {matched.hits:,} hits in {matched.seconds:.1f} s on Spark"
    write_page(output / "demo.html", facts, sections)
    print(f"\n8. Charts of the results: {output / 'demo.html'}")


def _data(spark: SparkSession, rules: int, events: int, output: Path) -> tuple[DataFrame, DataFrame]:
    """Both as tables on disk, as they would be elsewhere."""
    made = []
    with Progress("making rules and events on Spark") as progress:
        for frame, name in ((rules_on_spark(spark, rules), "rules"), (views_on_spark(spark, events), "views")):
            place = str(output / f"{name}.parquet")
            frame.write.mode("overwrite").parquet(place)
            made.append(spark.read.parquet(place))
    print(f"1. {rules:,} campaigns and {events:,} page views, made on Spark in {progress.seconds:.1f} s. Each campaign")
    print("   is a rule, such as")
    for row in made[0].orderBy("id").limit(3).collect():
        print(f"{_INDENT}{row['id']}: {row['expression']}")
    return made[0], made[1]


def _build(spark: SparkSession, campaigns: DataFrame, path: Path) -> None:
    from matchwood import spark as mws

    # As an Arrow table: of Python's tuples, workers would make rows.
    mistakes = pa.Table.from_pylist([dict(zip(campaigns.columns, rule, strict=True)) for rule in MISTAKES])
    with_mistakes = campaigns.union(spark.createDataFrame(mistakes))
    with Progress("building"):
        report = mws.build(with_mistakes, str(path))
    print(f"\n2. Built: {report}. The rejected ones:")
    for row in mws.rejects(spark, str(path)).orderBy("id").collect():
        print(f"{_INDENT}{row['id']}: {row['error'].splitlines()[0]}")


def _match(views: DataFrame, path: Path, place: Path) -> Matched:
    from pyspark.sql import functions as sf

    from matchwood import spark as mws

    with Progress("getting ready: workers compile on first use, once per machine"):
        mws.match(views.limit(100), str(path), output="count", keep=[]).agg(sf.sum("rule_count")).collect()
    with Progress("matching") as progress:
        hits = mws.match(views, str(path), output="array", keep=["view", "age"])
        hits.write.mode("overwrite").parquet(str(place))
    frame = views.sparkSession.read.parquet(str(place))
    found, count = frame.agg(sf.sum(sf.size("rules")), sf.count("*")).first()
    seconds = progress.seconds
    print(f"\n3. {count:,} page views matched in {seconds:.1f} s, {1e6 * seconds / count:,.0f} µs each: {found:,} hits")
    print(f"   ({found / count:.1f} per view), written to {place}.")
    return Matched(frame, int(found), seconds)


def _verify(views: DataFrame, campaigns: DataFrame, matched: Matched) -> None:
    from matchwood import spark as mws

    with Progress("verifying a sample with Spark SQL") as progress:
        wrong = mws.verify(views, campaigns, matched.frame, "view", _CHECK_RULES, _CHECK_VIEWS).limit(1).collect()
    if wrong:
        raise MatchwoodError(f"the demo's answers are wrong: view {wrong[0]['key']} and {wrong[0]['rule']}")
    sample = f"{_CHECK_RULES} campaigns on {_CHECK_VIEWS:,} page views"
    print(f"\n4. Verified: Spark SQL's own evaluator agrees on a sample of {sample} ({progress.seconds:.1f} s).")


def _reach(matched: Matched, most: int = 8) -> list[tuple[str, int]]:
    """The campaigns with the most page views, and how many."""
    from pyspark.sql import functions as sf

    counts = matched.frame.select(sf.explode("rules").alias("campaign")).groupBy("campaign").count()
    top = counts.orderBy(sf.desc("count"), "campaign").limit(most).collect()
    print("\n5. The campaigns with the widest reach:\n")
    print(_indented(text_table([{"campaign": row["campaign"], "page views": row["count"]} for row in top])))
    return [(row["campaign"], row["count"]) for row in top]


def _why_not(views: DataFrame, path: Path, campaign: str) -> list[dict[str, Any]]:
    from matchwood import spark as mws

    with Progress("counting the reasons"):
        rows = [row.asDict() for row in mws.why_not(views, str(path), rules=[campaign]).collect()]
    print(f"\n6. Why {campaign} does not match the other page views: how often each condition is the only")
    print("   reason, because it is false or NULL, and how often it is one of several:\n")
    shown = ("predicate", "alone_false", "alone_null", "among_several")
    print(_indented(text_table([{name: row[name] for name in shown} for row in rows])))
    return rows


def _compare(campaigns: DataFrame, views: DataFrame, matched: Matched, pairs: int) -> Bars:
    """Pairs of a rule and an event a second: the whole job above, and a sample of it as a join."""
    some_rules = {row["id"]: row["expression"] for row in campaigns.orderBy("id").limit(_JOIN_RULES).collect()}
    some_views = views.where(f"view < {_JOIN_VIEWS}").cache()
    sampled = len(some_rules) * some_views.count()
    joined_hits(dict(list(some_rules.items())[:10]), some_views).count()  # compiles, as the first match did
    with Progress("the same as a join of Spark SQL, on a sample"):
        started = time.perf_counter()
        joined = joined_hits(some_rules, some_views).count()
        seconds = time.perf_counter() - started
    some_views.unpersist()
    _check_join(joined, matched, list(some_rules))
    ours, theirs = pairs / matched.seconds, sampled / seconds
    some = f"{len(some_rules):,} of the campaigns and {sampled // len(some_rules):,} of the page views"
    print(f"\n7. As a join of Spark SQL, {some} take {seconds:.1f} s, with the same")
    print(f"   {joined:,} hits; at that rate, all of them would take {pairs / theirs:,.0f} s.")
    print(f"   Matchwood took {matched.seconds:.1f} s: {ours / theirs:,.0f} times as fast.")
    return [("Matchwood on Spark", ours), ("Spark SQL join", theirs)]


def _check_join(joined: int, matched: Matched, rules: list[str]) -> None:
    from pyspark.sql import functions as sf

    hits = matched.frame.where(f"view < {_JOIN_VIEWS}").select(sf.explode("rules").alias("rule"))
    ours = hits.where(sf.col("rule").between(rules[0], rules[-1])).count()
    if ours != joined:
        raise MatchwoodError(f"the demo's answers are wrong: {ours:,} hits of the sample, {joined:,} by a join")


def _sections(matched: Matched, reach: list[tuple[str, int]]) -> list[tuple[str, str]]:
    from pyspark.sql import functions as sf

    per_view = matched.frame.select(sf.size("rules").alias("hits"), sf.expr("coalesce(age div 10, -1)").alias("tens"))
    sizes = per_view.groupBy("hits").count().collect()
    repeated = np.repeat([row["hits"] for row in sizes], [row["count"] for row in sizes])
    ages = per_view.groupBy("tens").agg(sf.avg("hits").alias("mean")).orderBy("tens").collect()
    bars = [(age_class(row["tens"]), float(row["mean"])) for row in ages]
    return sections_of(repeated, bars, [(name, float(count)) for name, count in reach])


def _why_section(reasons: list[dict[str, Any]]) -> tuple[str, str]:
    kinds = {"alone_false": "alone, false", "alone_null": "alone, NULL", "among_several": "with others"}
    bars = [(f"{row['predicate']:.28} ({told})", float(row[kind])) for row in reasons for kind, told in kinds.items()]
    return f"Why {reasons[0]['rule']} does not match the other page views", bar_chart(bars, "page views")


def _rate_section(rates: Bars) -> tuple[str, str]:
    return "Pairs of a campaign and a page view, decided per second", bar_chart(rates, "pairs per second", log=True)


def _indented(text: str) -> str:
    return _INDENT + text.replace("\n", f"\n{_INDENT}")
