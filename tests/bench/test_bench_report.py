"""Tables, charts, the report, and the commands around them."""

from __future__ import annotations

import html
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.registry import EXPERIMENTS, Experiment, complete
from matchwood.bench.report.axes import axis
from matchwood.bench.report.charts import Bar, bar_chart
from matchwood.bench.report.lines import Point, line_chart
from matchwood.bench.report.sections import section_html, sections_of
from matchwood.bench.report.tables import filled_columns, terminal_width, text_table, transposed
from matchwood.commands.cli import main

ROWS = [{"engine": "scan", "us_per_event": 100.0, "note": None}, {"engine": "<b>", "us_per_event": 1.5, "more": 7}]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Experiments that return at once; those named in `fails` give wrong answers."""
    calls: dict[str, list[str]] = {"ran": [], "fails": []}

    def run(experiment: Experiment, scale: str, only: str | None = None, box_s: float | None = None) -> dict[str, Any]:
        calls["ran"].append(f"{experiment.name} {scale}")
        if experiment.name in calls["fails"]:
            raise WrongAnswer("two and two are five")
        row = complete({"engine": "scan", experiment.value: 5.0, "checked": True})
        return {"experiment": experiment.name, "scale": scale, "rows": [row]}

    monkeypatch.setattr(Experiment, "run", run)
    return calls


def test_columns_without_values_are_left_out() -> None:
    assert filled_columns(ROWS) == ["engine", "us_per_event", "more"]
    assert text_table(ROWS).splitlines()[0] == "engine  us_per_event  more"
    assert transposed(ROWS).splitlines() == [
        "engine        scan  <b>",
        "us_per_event   100  1.5",
        "more             -    7",
    ]
    assert text_table([]) == "(no rows)"


def test_tables_fit_into_a_terminal() -> None:
    times = {"encode_us": 1.5, "match_us": 2.5, "us_per_event": 4.0}
    rows = [{"engine": f"engine {n}", **times, **{f"figure {k}": 10.0**k for k in range(30)}} for n in range(20)]
    for table, width in ((text_table(rows), 120), (transposed(rows), 120), (text_table(rows, 80), 80)):
        assert max(map(len, table.splitlines())) <= width
        assert all(name in table for name in (*times, "figure 29", "engine 19"))
    assert text_table(rows[:2]).split("\n\n")[1].split()[:2] == ["engine", "figure"]


def test_a_text_that_is_longer_than_the_line_is_cut() -> None:
    rows = [{"engine": "e" * 200, "why": "w" * 300, "rules": 5}]
    for table in (text_table(rows, 80), transposed(rows, 80)):
        assert max(map(len, table.splitlines())) <= 80
        assert "…" in table


def test_tables_are_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal_width() == 120
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for columns, width in (("40", 80), ("100", 100), ("300", 120)):
        monkeypatch.setenv("COLUMNS", columns)
        assert terminal_width() == width


def test_a_sweep_tells_encoding_from_matching() -> None:
    rows = [
        {"engine": "hem", "section": "width", "x_name": "width", "x": x, "us_per_event": 3.0, "encode_us": 1.0,
         "match_us": 2.0}
        for x in (0.1, 0.2)
    ]  # fmt: skip
    page = section_html(EXPERIMENTS["hem"], sections_of(rows)[0])
    assert page.count("<table") == 3
    assert "µs to find an event&#x27;s spaces" in page
    assert "µs per event, its spaces known" in page


def test_a_chart_escapes_its_labels_and_orders_lengths() -> None:
    chart = bar_chart([(str(row["engine"]), float(str(row["us_per_event"]))) for row in ROWS], "µs", log=True)
    assert "&lt;b&gt;" in chart
    widths = [float(width) for width in re.findall(r"<rect [^>]*width='([\d.]+)'", chart)]
    assert widths[0] > widths[1] > 0
    assert bar_chart([], "µs") == ""
    assert "width='0.0'" in bar_chart([("none", 0.0)], "µs", log=True)


def test_bars_stand_in_groups_and_beside_the_papers_numbers() -> None:
    bars = [Bar("scan", 5.0, "small"), Bar("scan", 50.0, "large", paper=500.0), Bar("hem", 1.0, "large", "timeout")]
    chart = bar_chart(bars, "µs", log=True)
    assert re.findall(r"font-weight='600'>(\w+)<", chart) == ["small", "large"]
    assert "50 (paper: 500)" in chart
    assert "1 timeout" in chart
    (diamond,) = re.findall(r"<path d='M([\d.]+) ", chart)
    ends = [float(x) + float(w) for x, w in re.findall(r"<rect x='(\d+)'[^>]*width='([\d.]+)'", chart)]
    assert float(diamond) > max(ends)


def test_lines_rise_with_what_they_show() -> None:
    series = {
        "scan": [Point(1, 10), Point(10, 100), Point(100, 1_000)],
        "hem": [Point(1, 1), Point(100, 2, timeout=True, paper=20.0)],
    }
    chart = line_chart(series, "rules", "µs per event")
    ElementTree.fromstring(chart)
    scan, hem = (
        [tuple(map(float, pair.split(","))) for pair in points.split()]
        for points in re.findall(r"<polyline points='([^']*)'", chart)
    )
    assert [x for x, _ in scan] == sorted(x for x, _ in scan)
    assert [y for _, y in scan] == sorted((y for _, y in scan), reverse=True)
    assert scan[1][0] - scan[0][0] == pytest.approx(scan[2][0] - scan[1][0], abs=0.2), "decades are equally long"
    assert hem[0][1] > scan[0][1]
    assert "rules (logarithmic)" in chart
    assert "µs per event (logarithmic)" in chart
    assert "the paper's number" in html.unescape(chart)
    assert "timeout" in chart
    assert line_chart({}, "x", "y") == ""


@pytest.mark.parametrize(
    ("values", "log", "low", "high"),
    [([3, 470], True, 2, 500), ([0, 7], False, 0, 8), ([5, 5], False, 0, 5), ([0.05, 0.8], True, 0.05, 1)],
)
def test_axes_are_rounded_outwards(values: list[float], log: bool, low: float, high: float) -> None:
    found = axis(values, 100, from_zero=True)
    assert (found.log, found.low, found.high) == (log, pytest.approx(low), pytest.approx(high))
    assert all(low <= tick <= high * 1.001 for tick in found.ticks())
    assert len(found.ticks()) >= 3


def test_sections_share_the_usual_case() -> None:
    rows = [
        {"engine": "scan", "section": "a", "x_name": "a", "x": 2, "also": [["b", "b", 7], ["c", "c", 1]]},
        {"engine": "scan", "section": "a", "x_name": "a", "x": 1},
        {"engine": "scan", "section": "b", "x_name": "b", "x": 9},
        {"engine": "hem"},
    ]
    found = sections_of(rows)
    assert [(each.name, each.x_name, [row.get("x") for row in each.rows]) for each in found] == [
        ("a", "a", [1, 2]), ("b", "b", [7, 9]), (None, None, [None]),
    ]  # fmt: skip


def test_a_sweep_is_drawn_and_tabled_and_names_its_figure() -> None:
    rows = [
        {"engine": engine, "section": "width", "x_name": "width", "x": x, "us_per_event": 10 * x, "paper_us": 3.0}
        for engine in ("hem", "<scan>")
        for x in (0.2, 0.5)
    ]
    (section,) = sections_of(rows)
    shown = section_html(EXPERIMENTS["hem"], section)
    assert "HEM, Sci. China 2016, Fig. 7" in shown
    assert "<th>0.2</th><th>0.5</th>" in shown
    assert "&lt;scan&gt;</td><td>2</td><td>5</td>" in shown
    assert shown.count("<polyline") == 2


def test_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "list"]) == 0
    out = capsys.readouterr().out
    for name, experiment in EXPERIMENTS.items():
        assert re.search(rf"^{name} +{re.escape(experiment.title)}$", out, re.MULTILINE)
    reproduced = out[out.index("hem reproduces these parts of HEM, Sci. China 2016:\n") :]
    assert re.search(r"^width +Fig. 7$", reproduced, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("call", [["run", "core"], ["core"]])
def test_run_writes_and_prints(
    call: list[str], known: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *call, "--scale", "full"]) == 0
    assert known["ran"] == ["core full"]
    result = json.loads(Path("bench-results/core.json").read_text())
    assert (result["experiment"], result["scale"], result["rows"][0]["us_per_event"]) == ("core", "full", 5.0)
    out = capsys.readouterr().out
    assert "core (full): Building and matching" in out
    assert "written to bench-results/core.json" in out


def test_json_goes_where_it_is_sent(known: dict[str, list[str]]) -> None:
    assert main(["bench", "run", "single", "--json", "deep/er/x.json"]) == 0
    assert json.loads(Path("deep/er/x.json").read_text())["experiment"] == "single"
    assert not Path("bench-results").exists()


def test_a_wrong_answer_fails_the_command(known: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    known["fails"].append("core")
    assert main(["bench", "run", "core"]) == 1
    assert capsys.readouterr().err == "matchwood: two and two are five\n"
    assert not Path("bench-results/core.json").exists()


def test_all_goes_on_after_a_failure_and_fails_at_the_end(
    known: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "run", "all"]) == 0
    known["fails"].append("core")
    assert main(["bench", "run", "all"]) == 1
    assert known["ran"] == 2 * [f"{name} quick" for name in EXPERIMENTS]
    assert capsys.readouterr().err == (
        "matchwood: core: two and two are five\nmatchwood: these experiments failed: core\n"
    )


def test_the_report_shows_every_result(known: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    main(["bench", "run", "all"])
    assert main(["bench", "report"]) == 0
    page = Path("bench-results/report.html").read_text()
    assert [name for name in EXPERIMENTS if f"id='{name}'" in page] == list(EXPERIMENTS)
    assert page.count("<svg") == page.count("<table") == page.count("href='#") == len(EXPERIMENTS)
    assert main(["bench", "report", "-o", "page.html"]) == 0
    assert Path("page.html").read_text() == page
    assert f"{len(EXPERIMENTS)} experiments in page.html" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"experiment": "core"}', '{"experiment": "x", "rows": [], "scale": ""}']
)
def test_a_broken_result_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bench-results").mkdir()
    Path("bench-results/core.json").write_text(text)
    assert main(["bench", "report"]) == 1
    assert capsys.readouterr().err.startswith("matchwood: bench-results/core.json: not the result of an experiment")
