"""`bench auto`: both halves have every family, answers agree, regret is what it says, and a box ends what is in it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from matchwood.bench.auto import experiment as auto
from matchwood.bench.auto import fit as auto_fit
from matchwood.bench.auto.grid import FRESH, GRID
from matchwood.bench.auto.plan import cells, fresh_cells, table_cells
from matchwood.bench.auto.trees import encoded_trees
from matchwood.bench.frame.boxed import Ended, boxed
from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.frame.parts import chosen
from matchwood.bench.frame.setup import insert_all
from matchwood.bench.registry import experiment
from matchwood.choosing.model import read_model
from matchwood.engines import ATree, chosen_names, engine_names
from matchwood.errors import InvalidArgument
from matchwood.index import Index
from matchwood.matching.engine_matcher import EngineMatcher
from matchwood.workloads.contracts import contracts


def test_a_smoke_run_judges_every_engine_on_both_halves(results: dict[str, Any]) -> None:
    found = results["auto"]["rows"]
    cells_of = {half: {row["workload"] for row in found if row["half"] == half} for half in ("fitted", "held out")}
    assert all(len(names) >= 3 for names in cells_of.values())
    for row in found:
        assert row["checked"]
        if row["engine"] == "auto" and "chosen" in row:
            own = [each for each in found if each["workload"] == row["workload"] and each["engine"] != "auto"]
            assert {each["engine"] for each in own} >= set(chosen_names())
            best = min(each["match_us"] for each in own if each["match_us"])
            assert row["regret"] == pytest.approx(row["match_us"] / best, rel=0.02)
            assert row["chosen"] in chosen_names()
    lines = experiment("auto").table(found)
    assert [line["workload"] for line in lines if line["workload"].startswith("all")] == [
        "all, fitted", "all, held out", "all, fresh", "all, table"
    ]  # fmt: skip


def test_the_table_has_every_workload_and_can_be_run_alone(results: dict[str, Any]) -> None:
    found = [row for row in results["auto"]["rows"] if row["section"] == "table"]
    assert [part.name for part in chosen(auto.parts("smoke"), "table")] == [cell.name for cell in table_cells("smoke")]
    assert experiment("auto").summed([row for row in found if "cells" not in row]) == found
    assert {row["workload"] for row in found} == {cell.name for cell in table_cells("smoke")} | {"all, table"}
    kinds = {name.rsplit(" ", 1)[0] for name in (row["workload"] for row in found)}
    begen = {f"begen {kind}" for kind in ("0.01%", "1%", "10%", "zipf", "equalities")}
    trees = {"contracts dnf", "contracts cnf", "ads, expressions", "abegen"}
    assert kinds == {*begen, "ads", "hem", "query logs", "q-grams", *trees, "all,"}
    for kind in kinds - {"all,"}:
        engines = [row["engine"] for row in found if row["workload"].rsplit(" ", 1)[0] == kind]
        assert set(engines) == {*chosen_names(), "auto", *(("atree",) if kind in trees else ())}
        assert len(engines) == len(set(engines))


def test_expressions_are_read_once_and_are_what_each_index_makes_of_them() -> None:
    workload = contracts(rules=400, events=12, form="cnf", dimensions=200, seed=3)
    trees = encoded_trees(workload)
    for engine, side in (("scan", trees.plain), ("kindex", trees.clauses)):
        index = Index(engine)
        insert_all(index, workload.rules_text())
        matcher = index._matcher
        assert isinstance(matcher, EngineMatcher)
        assert (side.store.live, side.forms.live) == (matcher.parts[0].store.live, matcher.parts[-1].store.live)
    assert trees.plain.forms.live > 0 == trees.clauses.forms.live
    with pytest.raises(WrongAnswer, match="event 0 has"):
        trees.plain.check("scan", ATree(), trees.events, trees.expected)


def test_both_halves_of_the_grid_have_cells_of_every_family() -> None:
    grid = cells("quick")
    halves = [{cell.family for cell in grid if cell.held_out == half} for half in (False, True)]
    assert halves[0] == halves[1] == {"begen", "ads", "hem", "qgrams", "query logs", "trees", "two kinds"}
    assert len({cell.name for cell in grid}) == len(grid)
    assert not table_cells("quick")
    assert "begen 1% 1,000,000" in {cell.name for cell in table_cells("full")}


def test_fresh_cells_are_drawn_between_the_values_of_the_grid() -> None:
    assert {cell.family for cell in fresh_cells("quick")} == {cell.family for cell in cells("quick")}
    assert not {cell.name for cell in fresh_cells("quick")} & {cell.name for cell in cells("quick")}
    for name, values in FRESH.begen.items():
        known = GRID.begen[name]
        assert min(known) <= min(values) <= max(values) < max(known)
        assert not set(values) & set(known) - {0.0}


def test_what_sums_up_follows_rows_that_were_measured_again() -> None:
    row = {"half": "table", "workload": "w1", "engine": "scan", "regret": 1.0, "us_per_event": 8.0}
    before = auto.with_summary([row])
    assert [each["workload"] for each in before] == ["w1", "all, table"]
    after = auto.with_summary([*before, {**row, "workload": "w2", "us_per_event": 2.0}])
    assert [(each["workload"], each["us_per_event"]) for each in after][1:] == [("w2", 2.0), ("all, table", 4.0)]


def test_the_summary_is_over_all_cells_of_a_half() -> None:
    rows = [
        {"half": "held out", "workload": "w1", "engine": "scan", "regret": 4.0, "us_per_event": 8.0},
        {"half": "held out", "workload": "w2", "engine": "scan", "regret": 1.0, "us_per_event": 2.0},
        {"half": "held out", "workload": "w1", "engine": "hem", "regret": 1.0, "us_per_event": 2.0},
        {"half": "held out", "workload": "w2", "engine": "hem", "timeout": 30.0},
        {"half": "fitted", "workload": "w3", "engine": "scan", "regret": 9.0, "us_per_event": 1.0},
    ]
    scan, hem = auto.summary(rows, "held out")
    assert (scan["regret"], scan["us_per_event"], scan["regret_worst"], scan["cells"]) == (2.0, 4.0, 4.0, 2)
    assert (hem["regret"], hem["cells"]) == (None, 1)


def test_weights_can_be_fitted_anew_by_one_command(tmp_path: Path) -> None:
    count = auto_fit.write_weights("smoke", tmp_path / "weights.json")
    written = json.loads((tmp_path / "weights.json").read_text())
    assert (written["cells"], written["made_by"]) == (count, "python -m matchwood.bench.auto.fit smoke")
    assert set(read_model(written).engines) == set(engine_names("conjunctions"))


def test_a_box_returns_what_is_done_in_time_and_ends_what_is_not() -> None:
    assert boxed(lambda: [1, 2], 20) == [1, 2]
    started = time.monotonic()
    assert boxed(lambda: time.sleep(60), 0.2) is Ended.TIME
    assert time.monotonic() - started < 30


def test_a_box_ends_what_takes_more_memory_than_there_is() -> None:
    assert boxed(lambda: len(bytearray(2**50)), 20) is Ended.MEMORY
    assert boxed(lambda: os._exit(9), 20) is Ended.MEMORY


def test_an_error_in_a_box_is_an_error_outside() -> None:
    def fail() -> None:
        raise InvalidArgument("no such thing")

    with pytest.raises(InvalidArgument, match="no such thing"):
        boxed(fail, 20)
