"""The demo in one process: campaigns are built into an index, page views matched, results shown and drawn."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from matchwood.bench.charts import bar_chart
from matchwood.bench.tables import text_table
from matchwood.demo.audience import campaigns, page_views
from matchwood.engines.oracle import evaluate
from matchwood.index import Index, open_index
from matchwood.language import parse


def run(rules: int, events: int, output: Path) -> None:
    """Everything from rules to a picture, each step with its time."""
    output.mkdir(parents=True, exist_ok=True)
    print(f"1. {rules:,} campaigns, like:")
    chosen = campaigns(rules)
    for name, rule in chosen[:3]:
        print(f"     {name}: {rule}")
    index = _build(chosen, output)
    views = page_views(events)
    hits = _match(index, views, output)
    _check(index, dict(chosen), views, hits)
    top = _top(hits)
    _explain(index, views, top[0]["campaign"])
    _draw(hits, events, top, output)


def _build(chosen: list[tuple[str, str]], output: Path) -> Index:
    index, started = Index(), time.perf_counter()
    report = index.insert_many([*chosen, ("campaign-typo", "age => 18"), ("campaign-type", "age = 'young'")])
    print(f"\n2. Built: {report} in {time.perf_counter() - started:.1f} s, engine {index.engine}. Rejected:")
    for row in report.rejected.to_pylist():
        print(f"     {row['id']}: {row['error'].splitlines()[0]}")
    version = index.save(output / "campaigns.matchwood")
    started = time.perf_counter()
    opened = open_index(output / "campaigns.matchwood", read_only=True)
    print(f"   Saved as version {version}; opened again in {1000 * (time.perf_counter() - started):.0f} ms")
    return opened


def _match(index: Index, views: pa.Table, output: Path) -> pa.Table:
    index.match_many(views.slice(0, 10))
    started = time.perf_counter()
    hits = index.match_many(views)
    seconds = time.perf_counter() - started
    pa_parquet.write_table(hits, output / "hits.parquet")
    print(
        f"\n3. {views.num_rows:,} page views matched in {seconds:.1f} s: {1e6 * seconds / views.num_rows:.0f} µs each, "
        f"{hits.num_rows:,} hits ({hits.num_rows / views.num_rows:.1f} a view), written to {output / 'hits.parquet'}"
    )
    return hits


def _check(index: Index, rules: dict[str, str], views: pa.Table, hits: pa.Table, sample: int = 300) -> None:
    """A sample of rules on a sample of views, evaluated one by one in plain Python."""
    draw = np.random.default_rng(0)
    chosen = [list(rules)[number] for number in draw.integers(0, len(rules), sample)]
    few = draw.integers(0, views.num_rows, 30).tolist()
    found = {(row["event"], row["rule"]) for row in hits.filter(pa.compute.is_in(hits["event"], pa.array(few))).to_pylist()}
    trees = {name: parse(rules[name]) for name in chosen}
    wrong = sum(
        (evaluate(tree, event) is True) != ((position, name) in found)
        for position in few
        for event in [views.slice(position, 1).to_pylist()[0]]
        for name, tree in trees.items()
    )
    print(f"   Checked {len(few) * len(trees):,} pairs against the oracle: {wrong} differ")
    if wrong:
        raise SystemExit("the demo's answers are wrong")


def _top(hits: pa.Table) -> list[dict[str, object]]:
    counts = hits.group_by("rule").aggregate([("event", "count")]).sort_by([("event_count", "descending"), ("rule", "ascending")])
    top = [{"campaign": row["rule"], "views": row["event_count"]} for row in counts.slice(0, 8).to_pylist()]
    print("\n4. The campaigns with the widest reach:\n")
    print("     " + text_table(top).replace("\n", "\n     "))
    return top


def _explain(index: Index, views: pa.Table, campaign: object) -> None:
    event = next(row for row in views.slice(0, 50).to_pylist() if campaign not in index.match(row))
    print(f"\n5. Why page view {event['view']} is not among those of {campaign}:\n")
    print("     " + str(index.explain(event, campaign)).replace("\n", "\n     "))


def _draw(hits: pa.Table, events: int, top: list[dict[str, object]], output: Path) -> None:
    per_view = np.bincount(hits["event"].to_numpy(), minlength=events)
    bounds = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10**9]
    names = [f"{low}" if low + 1 == high else f"{low} to {high - 1:,}" for low, high in zip(bounds, bounds[1:], strict=False)]
    counts = np.histogram(per_view, bounds)[0].tolist()
    bars = [(name, float(count)) for name, count in zip(names, counts, strict=True) if count]
    page = (
        "<!doctype html><meta charset='utf-8'><title>Matchwood demo</title><body style='font-family:sans-serif;margin:2rem'>"
        f"<h1>Campaigns and page views</h1><h2>Campaigns that a page view hits</h2>{bar_chart(bars, 'page views')}"
        f"<h2>Widest reach</h2>{bar_chart([(str(row['campaign']), float(str(row['views']))) for row in top], 'page views')}"
    )
    (output / "demo.html").write_text(page, encoding="utf-8")
    print(f"\n6. A picture to look at: {output / 'demo.html'}")
