"""`mws.plot`: charts whose data Spark counts, the same as those of an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from matchwood import spark as mws

RULES = [("adults", "age >= 18 and country in ('US', 'CA')"), ("minors", "age < 18"), ("all", "age >= 0")]
EVENTS: list[dict[str, Any]] = [
    {"key": 1, "age": 20, "country": "US"},
    {"key": 2, "age": 30, "country": "NO"},
    {"key": 3, "age": None, "country": "CA"},
    {"key": 4, "age": 3, "country": None},
]


@pytest.fixture(scope="module")
def path(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("plots") / "index")
    mws.build(spark.createDataFrame(RULES, "id string, expression string"), made)
    return made


@pytest.fixture(scope="module")
def events(spark: Any) -> Any:
    rows = [tuple(event.values()) for event in EVENTS]
    return spark.createDataFrame(rows, "key int, age int, country string")


def _index() -> mw.Index:
    index = mw.Index("scan")
    index.insert_many(RULES)
    return index


def test_charts_have_the_data_of_an_index(spark: Any, path: str, events: Any) -> None:
    hits, plot = mws.match(events, path), _index().plot
    both = [
        (mws.plot.why_not(events, path, ["adults"]), plot.why_not(EVENTS, ["adults"])),
        (mws.plot.hits_per_rule(hits), plot.hits_per_rule(EVENTS)),
        (mws.plot.hits_per_event(mws.match(events, path, output="count")), plot.hits_per_event(EVENTS)),
    ]
    for ours, theirs in both:
        assert ours.to_dict()["data"]["values"] == theirs.to_dict()["data"]["values"] != []
    graphs = [mws.plot.overlap(hits, "key", least=0.0), plot.overlap(EVENTS, least=0.0)]
    ours, theirs = ([layer["data"]["values"] for layer in graph.to_dict()["layer"]] for graph in graphs)
    assert ours == theirs
    assert len(ours[0]) == 2


def test_what_is_missing_is_told(path: str, events: Any, tmp_path: Path) -> None:
    with pytest.raises(mw.InvalidArgument, match="hits have no column 'view'"):
        mws.plot.overlap(mws.match(events, path), "view")
    with pytest.raises(mw.InvalidArgument, match="have no column 'rule_count'"):
        mws.plot.hits_per_event(mws.match(events, path))
