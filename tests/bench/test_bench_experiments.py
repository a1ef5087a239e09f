"""Every experiment runs, at the scale of the tests, and its rows have what the interface promises."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.frame.rounds import drawn
from matchwood.bench.own import generating, ranges, single
from matchwood.bench.registry import EXPERIMENTS, FIELDS, SCALES, SMOKE, experiment
from matchwood.errors import InvalidArgument
from matchwood.workloads.catalogue import GENERATORS, generate

INTERFACE = [
    "engine", "workload", "rules", "events", "build_s", "encode_us", "match_us", "us_per_event", "hits_per_event",
    "candidates_per_event", "bytes_index", "bytes_verify", "bytes", "bytes_text", "fallback_rules",
    "ratio_to_scan", "checked",
]  # fmt: skip


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_gives_checked_rows(results: dict[str, Any], name: str) -> None:
    result = json.loads(json.dumps(results[name]))
    assert list(result) == ["experiment", "scale", "rows", "runs"]
    assert result["runs"][0]["machine"]["cores"] >= 1
    assert (result["experiment"], result["scale"]) == (name, SMOKE)
    most = max(row.get("cells", 0) for row in result["rows"])
    for row in result["rows"]:
        assert list(row)[: len(FIELDS)] == INTERFACE
        assert row["checked"] is True
        if row.get("cells", most) == most:  # `auto` has no mean where a workload is missing
            measured = row[experiment(name).value]
            assert (row["build_s"] if measured is None else measured) > 0  # a row may tell of a build alone


@pytest.mark.every_day
def test_core_measures_every_figure(results: dict[str, Any]) -> None:
    rows = results["core"]["rows"]
    engines = ["scan", "counting", "pstbloom", "pstbloom, units alone", "psthash"]
    assert [(row["workload"], row["engine"]) for row in rows] == [
        (workload, engine) for workload in ("begen 1%", "dense 0.01%") for engine in engines
    ]
    for row in rows:
        assert None not in [row[name] for name in INTERFACE]
        assert row["rules_per_s_text"] < row["rules_per_s_encoded"]
    for scan, *others in (rows[: len(engines)], rows[len(engines) :]):
        assert scan["ratio_to_scan"] == 1
        assert scan["candidates_per_event"] == scan["rules"]
        for other in others:
            assert scan["hits_per_event"] == other["hits_per_event"]
            assert scan["candidates_per_event"] > other["candidates_per_event"]


def test_generators_make_the_same_rules_on_spark(results: dict[str, Any]) -> None:
    rows = results["generate"]["rows"]
    assert [row["workload"] for row in rows[::2]] == list(GENERATORS)
    assert [row["engine"] for row in rows] == ["one process", "Spark"] * len(GENERATORS)
    assert all(row["rules"] == 4_000 and 0 < row["matching"] < 1 and row["rules_per_s"] > 0 for row in rows)


def test_other_rules_on_spark_fail_the_run() -> None:
    settings = {"rules": 50, "events": 20, "seed": 17}
    made = generate("hem", **settings).rules_table()
    wrong = made.set_column(1, "expression", pa.array([*made["expression"].to_pylist()[:-1], "a = 1"]))
    with pytest.raises(WrongAnswer, match="hem: block 0 made on Spark has other rules"):
        generating._compared("hem", settings, ds.dataset(wrong))
    more = pa.concat_tables([made, made.slice(0, 1).set_column(0, "id", pa.array([50]))])
    with pytest.raises(WrongAnswer, match="Spark made 51 rules instead of 50"):
        generating._compared("hem", settings, ds.dataset(more))
    assert generating._compared("hem", settings, ds.dataset(made)) > 0


@pytest.mark.every_day
def test_access_shows_what_choosing_anew_gains(results: dict[str, Any]) -> None:
    rows = {(row["engine"], row["workload"]): row for row in results["access"]["rows"]}
    assert len(rows) == 6
    for engine in ("pstbloom", "psthash"):
        before, after = rows[engine, "events unknown"], rows[engine, "chosen anew"]
        assert before["hits_per_event"] == after["hits_per_event"] > 0
        assert before["candidates_per_event"] > 3 * after["candidates_per_event"]


@pytest.mark.every_day
def test_core_matches_as_often_as_it_says(results: dict[str, Any]) -> None:
    begen = results["core"]["rows"][0]
    assert 0.5 < begen["hits_per_event"] / begen["rules"] / 0.01 < 2


def test_single_tells_the_tail(results: dict[str, Any]) -> None:
    rows = results["single"]["rows"]
    hits = {"begen, few hits": (3, 30), "begen 1%": (5, 20), "ads 0.1%": (0.5, 4), "equalities 1%": (5, 20)}
    assert [(row["workload"], row["engine"]) for row in rows] == list(itertools.product(hits, single.ENGINES))
    for row in rows:
        least, most = hits[row["workload"]]
        assert row["us_median"] <= row["us_p99"]
        assert 0 < row["us_empty"] <= row["us_empty_p99"]
        assert least < row["hits_per_event"] < most


def test_ranges_run_in_processes_of_their_own(results: dict[str, Any]) -> None:
    bulk, one_by_one = results["ranges"]["rows"]
    assert (bulk["workload"], one_by_one["workload"]) == ("scan, bulk", "scan, one by one")
    assert bulk["core_us_last_tenth"] is None
    assert one_by_one["core_us_first_tenth"] > 0
    assert bulk["peak_mb"] > 50


@pytest.mark.parametrize("way", ranges.WAYS)
def test_ranges_with_the_other_engine(way: str) -> None:
    row = ranges.measure("counting", way, 200)
    assert row["checked"] is True
    assert 95 < row["hits_per_event"] < 105


def test_all_peers_have_rows_and_say_their_samples(results: dict[str, Any]) -> None:
    rows = {row["engine"]: row for row in results["peers"]["rows"]}
    assert list(rows) == [
        "matchwood, batch", "matchwood, batch, all cores", "matchwood, encoded events",
        "matchwood, encoded events, all cores",
        "matchwood, one by one", "matchwood, scan",
        "DuckDB, counting join", "DuckDB, access join", "Polars, counting join", "Polars, access join",
        "Spark SQL, counting join",
        "rule-engine", "zen-engine", "zen-engine, one array", "common-expression-language",
    ]  # fmt: skip
    for row in rows.values():
        assert row["events"] <= (drawn(60) if row["engine"].startswith("matchwood") else 60)
        assert row["rules"] <= 300
        assert row["us_per_event_all"] == pytest.approx(row["us_per_event"] * 300 / row["rules"], rel=0.01)
    assert rows["matchwood, batch"]["times_slower"] == rows["matchwood, encoded events"]["times_slower_encoded"] == 1
    assert rows["matchwood, batch, all cores"]["times_slower_all_cores"] == 1
    assert rows["matchwood, batch"]["cores"] == 1
    assert rows["matchwood, batch, all cores"]["cores"] == rows["DuckDB, access join"]["cores"]


def test_every_module_knows_every_scale() -> None:
    from matchwood.bench.own import core, linting
    from matchwood.bench.papers.pst import access
    from matchwood.bench.peers import experiment as peers

    assert set(access.SIZES) == {SMOKE, *SCALES}
    for table in (core.SIZES, single.RULES, single.EVENTS, ranges.RULES, linting.RULES, peers.RULES, peers.SQL_EVENTS):
        assert set(table) == {SMOKE, *SCALES}
    assert core.SIZES["full"] == ((100_000, 4_000), (1_000_000, 1_000))
    assert ranges.RULES["full"] == linting.RULES["full"] == 1_000_000


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="there is no experiment 'nothing'"):
        experiment("nothing")
    with pytest.raises(InvalidArgument, match="scale must be one of quick, full, paper"):
        experiment("core").run("huge")
