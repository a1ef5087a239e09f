"""Charts: the data of their specifications, and that they can be drawn."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.insight.plots.overlap import graph_of, overlap_of
from matchwood.insight.plots.tables import MOST_BARS, counts_of_hits, events_by_hits

RULES = {
    "adults": "age >= 18 and country in ('US', 'CA')",
    "minors": "age < 18",
    "all": "age >= 0",
    "never": "age = -5",
}
EVENTS: list[dict[str, Any]] = [
    {"age": 20, "country": "US"},
    {"age": 30, "country": "NO"},
    {"age": None, "country": "CA"},
    {"age": 3, "country": "FR"},
    {"age": 40},
]


@pytest.fixture
def index() -> mw.Index:
    made = mw.Index("scan")
    made.insert_many(RULES)
    return made


def values(chart: Any) -> list[dict[str, Any]]:
    """The rows of a chart's own data, from its specification."""
    found: list[dict[str, Any]] = chart.to_dict()["data"]["values"]
    return found


KINDS: dict[str, Any] = {"list": list, "arrow": pa.Table.from_pylist, "pandas": pd.DataFrame}


@pytest.mark.parametrize("kind", list(KINDS))
def test_why_not_counts_reasons(index: mw.Index, kind: str) -> None:
    rows = values(index.plot.why_not(KINDS[kind](EVENTS), ["adults", "minors"]))
    counts = {(row["rule"], row["predicate"], row["reason"]): row["events"] for row in rows if row["events"]}
    assert counts == {
        ("adults", "age >= 18", "the only reason, and unknown"): 1,
        ("adults", "age >= 18", "one of several reasons"): 1,
        ("adults", "country in ('US', 'CA')", "the only reason, and false"): 1,
        ("adults", "country in ('US', 'CA')", "the only reason, and unknown"): 1,
        ("adults", "country in ('US', 'CA')", "one of several reasons"): 1,
        ("minors", "age < 18", "the only reason, and false"): 3,
        ("minors", "age < 18", "the only reason, and unknown"): 1,
    }
    assert {row["share"] for row in rows if row["events"] == 3} == {0.6}


def test_why_not_wants_a_list_of_rules(index: mw.Index) -> None:
    with pytest.raises(mw.InvalidArgument, match="rules must be a list of ids"):
        index.plot.why_not(EVENTS, "adults")
    with pytest.raises(mw.UnknownRule):
        index.plot.why_not(EVENTS, ["nobody"])


@pytest.mark.parametrize("kind", list(KINDS))
def test_hits_per_event(index: mw.Index, kind: str) -> None:
    rows = values(index.plot.hits_per_event(KINDS[kind](EVENTS)))
    assert [(row["hits"], row["events"]) for row in rows] == [("0", 1), ("1", 2), ("2", 2)]


def test_many_hits_share_bars() -> None:
    rows = events_by_hits({0: 1, 999: 2, 500: 3})
    assert len(rows) <= MOST_BARS + 1
    assert sum(row["events"] for row in rows) == 6
    ends = [tuple(map(int, row["hits"].replace(",", "").split("–"))) for row in rows]
    assert all(before[1] + 1 == after[0] for before, after in pairwise(ends))
    assert counts_of_hits(pa.table({"event": pa.array([0, 0, 2], pa.int64())}), 4) == {0: 2, 1: 1, 2: 1}


def test_hits_per_rule(index: mw.Index) -> None:
    chart = index.plot.hits_per_rule(EVENTS)
    assert values(chart) == [{"rule": "all", "hits": 4}, {"rule": "adults", "hits": 1}, {"rule": "minors", "hits": 1}]
    assert chart.to_dict()["title"] == "all 3 rules with hits; 1 without"
    few = index.plot.hits_per_rule(EVENTS, n=1)
    assert (len(values(few)), few.to_dict()["title"]) == (1, "1 of 3 rules with hits; 1 without")


def test_overlap_is_what_rules_share(index: mw.Index) -> None:
    found = overlap_of(index.match_many(EVENTS), 10, 0.0)
    assert {(pair["rule"], pair["other"]): (pair["shared"], pair["jaccard"]) for pair in found.pairs} == {
        ("all", "adults"): (1, 0.25),
        ("all", "minors"): (1, 0.25),
    }
    assert overlap_of(index.match_many(EVENTS), 10, 0.3).pairs == []
    layers = index.plot.overlap(EVENTS).to_dict()["layer"]
    assert [len(layer["data"]["values"]) for layer in layers] == [2, 3, 3]


def test_rules_that_share_events_stand_together() -> None:
    shared = np.array([[5, 5, 0, 0], [5, 5, 0, 0], [0, 0, 5, 5], [0, 0, 5, 5]])
    found = graph_of([{"rule": number, "hits": 5} for number in range(4)], shared, 0.5, 4)
    places = np.array([(row["x"], row["y"]) for row in found.rules])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert max(apart[0, 1], apart[2, 3]) < min(apart[0, 2], apart[0, 3], apart[1, 2], apart[1, 3])
    assert graph_of([], np.zeros((0, 0), np.int64), 0.5, 0).rules == []


def test_regret_is_one_for_the_best(index: mw.Index) -> None:
    rows = values(index.plot.regret(EVENTS, engines=["scan", "counting"]))
    assert {row["engine"] for row in rows} == {"scan", "counting"}
    assert min(row["regret"] for row in rows) == 1.0
    assert [row["engine"] for row in rows if row["chosen"]] == ["scan"]


@pytest.mark.parametrize("name", ["why_not", "hits_per_event", "hits_per_rule", "overlap"])
def test_a_chart_can_be_saved(index: mw.Index, name: str, tmp_path: Path) -> None:
    chart = getattr(index.plot, name)(EVENTS, *([["adults", "minors"]] if name == "why_not" else []))
    chart.save(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    chart.save(tmp_path / "chart.html")
    assert "vega" in (tmp_path / "chart.html").read_text()


def test_without_events_there_is_a_chart(index: mw.Index) -> None:
    assert [row["events"] for row in values(index.plot.hits_per_event([]))] == [0]
    assert values(index.plot.hits_per_rule([])) == []
    assert index.plot.overlap([]).to_dict()["layer"][0]["data"]["values"] == []


def test_altair_is_an_extra() -> None:
    """Nobody loads it without a chart, and without it the error says what to install."""
    script = (
        "import sys, matchwood as mw\n"
        "index = mw.Index('scan'); index['a'] = 'x = 1'; plot = index.plot\n"
        "assert 'altair' not in sys.modules\n"
        "sys.modules['altair'] = None\n"
        "try: plot.hits_per_rule([{'x': 1}])\n"
        "except mw.MatchwoodError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "charts need Altair: pip install 'matchwood[plot]'\n"
