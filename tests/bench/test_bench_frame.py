"""Parts, `--only`, places in figures, and the time box of a cell."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchwood.bench.frame.measure import (
    WrongAnswer,
    box_seconds,
    check_agreement,
    first_events,
    measure_engine,
    time_box,
)
from matchwood.bench.frame.parts import TIME_BOXES, ExperimentPart, FigurePlace, chosen, placed, run_parts
from matchwood.bench.frame.setup import prepare
from matchwood.bench.own import core
from matchwood.bench.papers.atree import experiment as atree
from matchwood.bench.papers.betree import experiment as betree
from matchwood.bench.papers.hem import experiment as hem
from matchwood.bench.papers.kindex import experiment as kindex
from matchwood.bench.papers.pst import experiment as pstree
from matchwood.bench.registry import EXPERIMENTS, SCALES, SMOKE, experiment
from matchwood.bench.report.figures import FIGURES, PAPERS
from matchwood.commands.cli import main
from matchwood.engines import Hits
from matchwood.errors import InvalidArgument
from matchwood.workloads.begen import begen


def part(name: str, *places: FigurePlace) -> ExperimentPart:
    return ExperimentPart(name, lambda: [{"engine": "scan", "workload": name, "box": box_seconds()}], places)


PARTS = [
    part("usual", FigurePlace("depth", "depth", 3), FigurePlace("alpha", "alpha", 0.6)),
    part("depth 5", FigurePlace("depth", "depth", 5)),
    part("alpha 1", FigurePlace("alpha", "alpha", 1.0)),
]


def test_only_picks_by_name_and_by_section() -> None:
    assert chosen(PARTS, None) == PARTS
    assert [each.name for each in chosen(PARTS, "depth")] == ["usual", "depth 5"]
    assert [each.name for each in chosen(PARTS, "alpha 1")] == ["alpha 1"]
    assert [each.name for each in chosen([*PARTS, part("depth 50", FigurePlace("depth"))], "depth 5")] == ["depth 5"]
    with pytest.raises(InvalidArgument, match=r"contains 'width' \(there are: 'usual', 'depth 5', 'alpha 1'\)"):
        chosen(PARTS, "width")


def test_rows_are_placed_and_run_inside_the_box() -> None:
    rows = run_parts("test", PARTS, 7.0)
    assert [(row["section"], row["x"], row["box"]) for row in rows] == [
        ("depth", 3, 7.0), ("depth", 5, 7.0), ("alpha", 1.0, 7.0),
    ]  # fmt: skip
    assert rows[0]["also"] == [["alpha", "alpha", 0.6]]
    assert "also" not in rows[1]
    assert placed({"section": "own"}, [FigurePlace("depth")]) == {"section": "own"}
    assert box_seconds() == math.inf


OTHERS = {
    "insertion", "locate, int", "locate, number", "locate, string", "ads", "expressive events", "dnf, usual",
    "cnf, usual", "deletion", "orders", "rules", "depth", "children", "matching", "q-grams", "Bloom filter", "grid",
}  # fmt: skip
"""Sections that reproduce no figure of a paper."""


@pytest.mark.parametrize("module", [core, pstree, atree, hem, betree, kindex])
@pytest.mark.parametrize("scale", [SMOKE, *SCALES])
def test_parts_have_names_of_their_own_and_known_sections(module: Any, scale: str) -> None:
    parts = module.parts(scale)
    keys = [(each.name, each.places) for each in parts]
    assert len(set(keys)) == len(keys)
    assert all(each.places for each in parts)
    if scale in SCALES and module is not core:
        name = next(name for name, each in EXPERIMENTS.items() if each.module == module.__name__)
        sections = {place.section for each in parts for place in each.places}
        assert set(FIGURES[name]) <= sections or scale == "quick"
        assert sections - set(FIGURES[name]) <= OTHERS


def test_every_paper_has_its_experiment() -> None:
    assert set(FIGURES) == set(PAPERS) <= set(EXPERIMENTS)
    assert set(TIME_BOXES) == {SMOKE, *SCALES}


class Slow:
    """An engine that takes its time for each event."""

    def __init__(self, engine: Any, seconds: float) -> None:
        self.engine, self.seconds, self.matched = engine, seconds, 0

    def match(self, events: Any, first: int, workspace: Any) -> Hits:
        found: Hits = self.engine.match(events, first, workspace)
        time.sleep(self.seconds * found.count)
        self.matched += found.count
        return found


@pytest.fixture(scope="module")
def prepared() -> Any:
    return prepare(begen(rules=400, events=60, matching=0.02, seed=3), "counting")


def test_a_timeout_is_a_result(prepared: Any) -> None:
    engine = prepared.rules._matcher.engine
    whole = measure_engine(engine, prepared.events)
    assert (whole.rounds.timeout, whole.marks(), whole.events) == (None, {}, 60)
    slow: Any = Slow(engine, 0.005)
    with time_box(0.2):
        part = measure_engine(slow, prepared.events, 10.0)
    assert part.rounds.timeout == 0.2
    assert part.marks() == {"timeout": 0.2}
    assert 6 <= part.events < 60
    assert slow.matched == part.events
    assert part.match_us > 5_000
    check_agreement({"fast": whole, "slow": part})
    with pytest.raises(WrongAnswer, match="the engines disagree"):
        check_agreement({"fast": whole, "slow": part._replace(checksum=part.checksum + 1)})


def test_building_counts_towards_the_box(prepared: Any) -> None:
    engine = prepared.rules._matcher.engine
    with time_box(5.0):
        assert measure_engine(engine, prepared.events, 0, spent_s=1.0).marks() == {}
        late = measure_engine(engine, prepared.events, 0, spent_s=9.0)
    assert (late.marks(), late.events) == ({"timeout": 5.0}, 6)


def test_the_first_events_are_views(prepared: Any) -> None:
    some = first_events(prepared.events, 7)
    assert some.count == 7
    assert not some.labels.flags.writeable
    assert np.array_equal(some.labels, prepared.events.labels[: some.offsets[-1]])
    assert first_events(prepared.events, 60) is prepared.events


def test_one_figure_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = ["first"]

    def parts(scale: str) -> list[ExperimentPart]:
        row = {"engine": "scan", "us_per_event": 5.0, "checked": True}
        return [
            ExperimentPart(name, lambda name=name: [{**row, "workload": name, "call": calls[-1]}])
            for name in ("a 1", "b 2")
        ]

    monkeypatch.setattr(core, "parts", parts)
    monkeypatch.setattr(core, "warm_up", lambda: None)
    assert main(["bench", "run", "core"]) == 0
    calls.append("second")
    assert main(["bench", "run", "core", "--only", "b", "--time-box", "9"]) == 0
    result = json.loads(Path("bench-results/core.json").read_text())
    assert [(row["workload"], row["call"]) for row in result["rows"]] == [("a 1", "first"), ("b 2", "second")]
    assert [(run["only"], run["time_box_s"]) for run in result["runs"]] == [(None, 30.0), ("b", 9)]
    assert main(["bench", "report"]) == 0
    assert "'b' again" in Path("bench-results/report.html").read_text()
    capsys.readouterr()
    assert main(["bench", "run", "core", "--only", "z"]) == 1
    error = "matchwood: no workload's name contains 'z' (there are: 'a 1', 'b 2')\n"
    assert capsys.readouterr().err == error
    assert main(["bench", "run", "all", "--only", "b"]) == 2


def test_an_experiment_in_one_piece_has_one_name() -> None:
    with pytest.raises(InvalidArgument, match="there are: 'single'"):
        experiment("single").run(SMOKE, only="nothing")
