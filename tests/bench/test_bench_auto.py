"""`bench auto`: both halves have every family, answers agree, regret is what it says, and a box ends what is in it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from matchwood.bench import auto, auto_fit
from matchwood.bench.auto_plan import SCALES, cells, table_cells
from matchwood.bench.boxed import boxed
from matchwood.bench.registry import experiment
from matchwood.choosing.model import read_model
from matchwood.engines import engine_names
from matchwood.errors import InvalidArgument


def test_a_smoke_run_judges_every_engine_on_both_halves() -> None:
    found = experiment("auto").run("smoke")["rows"]
    cells_of = {half: {row["workload"] for row in found if row["half"] == half} for half in ("fitted", "held out")}
    assert all(len(names) >= 3 for names in cells_of.values())
    for row in found:
        assert row["checked"]
        if row["engine"] == "auto" and "chosen" in row:
            own = [each for each in found if each["workload"] == row["workload"] and each["engine"] != "auto"]
            assert {each["engine"] for each in own} >= set(engine_names("conjunctions"))
            best = min(each["us_per_event"] for each in own if each["us_per_event"])
            assert row["regret"] == pytest.approx(row["us_per_event"] / best, rel=0.02)
            assert row["chosen"] in engine_names("conjunctions")
    lines = experiment("auto").table(found)
    assert [line["workload"] for line in lines][-2:] == ["all, fitted", "all, held out"]


def test_both_halves_of_the_grid_have_cells_of_every_family() -> None:
    grid = cells("quick")
    halves = [{cell.family for cell in grid if cell.held_out == half} for half in (False, True)]
    assert halves[0] == halves[1] == {"begen", "ads", "hem", "qgrams", "query logs", "trees"}
    assert len({cell.name for cell in grid}) == len(grid)
    assert not table_cells("quick")
    assert len(table_cells("full")) == 8


def test_the_summary_is_over_all_cells_of_a_half() -> None:
    rows = [
        {"half": "held out", "workload": "w1", "engine": "scan", "regret": 4.0, "us_per_event": 8.0},
        {"half": "held out", "workload": "w2", "engine": "scan", "regret": 1.0, "us_per_event": 2.0},
        {"half": "held out", "workload": "w1", "engine": "hem", "regret": 1.0, "us_per_event": 2.0},
        {"half": "held out", "workload": "w2", "engine": "hem", "timed_out": True},
        {"half": "fitted", "workload": "w3", "engine": "scan", "regret": 9.0, "us_per_event": 1.0},
    ]
    scan, hem = auto.summary(rows, "held out")
    assert (scan["regret"], scan["us_per_event"], scan["regret_worst"], scan["cells"]) == (2.0, 4.0, 4.0, 2)
    assert (hem["regret"], hem["cells"]) == (None, 1)


def test_weights_can_be_fitted_anew_by_one_command(tmp_path: Path) -> None:
    count = auto_fit.write_weights("smoke", tmp_path / "weights.json")
    written = json.loads((tmp_path / "weights.json").read_text())
    assert (written["cells"], written["made_by"]) == (count, "python -m matchwood.bench.auto_fit smoke")
    assert set(read_model(written).engines) == set(engine_names("conjunctions"))


def test_a_box_returns_what_is_done_in_time_and_ends_what_is_not() -> None:
    assert boxed(lambda: [1, 2], 20) == [1, 2]
    started = time.monotonic()
    assert boxed(lambda: time.sleep(60), 0.2) is None
    assert time.monotonic() - started < 30


def test_an_error_in_a_box_is_an_error_outside() -> None:
    def fail() -> None:
        raise InvalidArgument("no such thing")

    with pytest.raises(InvalidArgument, match="no such thing"):
        boxed(fail, 20)


def test_scales_have_time_boxes() -> None:
    assert all(size.box > 0 for size in SCALES.values())
