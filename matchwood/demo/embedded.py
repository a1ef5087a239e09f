"""The demo in one process: campaigns are built into an index, page views matched, results checked, shown and drawn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from matchwood.bench import text_table
from matchwood.demo.audience import MISTAKES, campaigns, page_views
from matchwood.demo.checking import check
from matchwood.demo.picture import by_age, sections_of, write_page
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.sharding import open_index

_VIEWS_AT_ONCE = 10_000
_INDENT = "     "


def run(rules: int, events: int, output: Path) -> None:
    """Everything from rules to a picture, each step with its time."""
    output.mkdir(parents=True, exist_ok=True)
    print(f"1. {rules:,} campaigns, each a rule, such as")
    chosen = campaigns(rules)
    for name, rule in chosen[:3]:
        print(f"{_INDENT}{name}: {rule}")
    index = _build(chosen, output / "campaigns.matchwood")
    views = page_views(events)
    hits, seconds = _match(index, views, output / "hits.parquet")
    _check(dict(chosen), views, hits)
    reach = _reach(hits)
    _explain(index, views, reach[0][0] if reach else chosen[0][0])
    facts = f"{rules:,} campaigns, {events:,} page views, {hits.num_rows:,} hits in {seconds:.1f} s"
    per_view = np.bincount(hits["event"].to_numpy(), minlength=views.num_rows)
    bars = [(name, float(count)) for name, count in reach]
    write_page(output / "demo.html", facts, sections_of(per_view, by_age(per_view, views["age"]), bars))
    print(f"\n6. Charts of the results: {output / 'demo.html'}")


def _build(chosen: list[tuple[str, str]], path: Path) -> Index:
    index = Index()
    with Progress("building", "rules", len(chosen)) as progress:
        report = index.insert_many([*chosen, *MISTAKES], progress=progress.follow)
    print(f"\n2. Built in {progress.seconds:.1f} s with engine {index.engine}: {report}. The rejected ones:")
    for row in report.rejected.to_pylist():
        print(f"{_INDENT}{row['id']}: {row['error'].splitlines()[0]}")
    version = index.save(path)
    started = time.perf_counter()
    opened = open_index(path, read_only=True)
    print(
        f"   Saved to {path} as version {version}, and opened again in {1000 * (time.perf_counter() - started):.0f} ms."
    )
    return opened


def _match(index: Index, views: pa.Table, path: Path) -> tuple[pa.Table, float]:
    index.match_many(views.slice(0, 10))  # kernels compile on first use, once per machine
    found = []
    with Progress("matching", "page views", views.num_rows) as progress:
        for first in range(0, views.num_rows, _VIEWS_AT_ONCE):
            part = views.slice(first, _VIEWS_AT_ONCE)
            hits = index.match_many(part)
            found.append(hits.set_column(0, "event", pa.compute.add(hits["event"], first)))
            progress.advance(part.num_rows)
    hits, count, seconds = pa.concat_tables(found), views.num_rows, progress.seconds
    pa_parquet.write_table(hits, path)
    print(
        f"\n3. {count:,} page views matched in {seconds:.1f} s, {1e6 * seconds / count:,.0f} µs each: "
        f"{hits.num_rows:,} hits ({hits.num_rows / count:.1f} per view), written to {path}."
    )
    return hits, seconds


def _check(rules: dict[str, str], views: pa.Table, hits: pa.Table) -> None:
    checked = check(rules, views, hits)
    alone = checked.us_per_pair * len(rules) / 1e6
    print(
        f"   Checked {checked.pairs:,} pairs, {checked.hits:,} of them hits, one by one in plain Python: all agree. "
        f"At {checked.us_per_pair:.0f} µs per pair, a view would take {alone:.1f} s that way."
    )


def _reach(hits: pa.Table, most: int = 8) -> list[tuple[str, int]]:
    """The campaigns with the most page views, and how many."""
    counts = hits.group_by("rule").aggregate([("event", "count")])
    order = [("event_count", "descending"), ("rule", "ascending")]
    top = counts.sort_by(order).slice(0, most).to_pylist()
    rows: list[dict[str, Any]] = [{"campaign": row["rule"], "page views": row["event_count"]} for row in top]
    print("\n4. The campaigns with the widest reach:\n")
    print(_indented(text_table(rows)))
    return [(row["rule"], row["event_count"]) for row in top]


def _explain(index: Index, views: pa.Table, campaign: str) -> None:
    rows = views.slice(0, 50).to_pylist()
    event = next((row for row in rows if campaign not in index.match(row)), rows[0])
    verdict = "matches" if campaign in index.match(event) else "does not match"
    print(f"\n5. Why {campaign} {verdict} page view {event['view']}:\n")
    print(_indented(str(index.explain(event, campaign))))


def _indented(text: str) -> str:
    return _INDENT + text.replace("\n", f"\n{_INDENT}")
