"""Tables, charts, the report, and the commands around them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from matchwood.bench.charts import bar_chart
from matchwood.bench.measure import WrongAnswer
from matchwood.bench.registry import EXPERIMENTS, Experiment, complete
from matchwood.bench.tables import filled_columns, text_table, transposed
from matchwood.cli import main

ROWS = [{"engine": "scan", "us_per_event": 100.0, "note": None}, {"engine": "<b>", "us_per_event": 1.5, "more": 7}]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Experiments that return at once; those named in `fails` give wrong answers."""
    calls: dict[str, list[str]] = {"ran": [], "fails": []}

    def run(experiment: Experiment, scale: str) -> dict[str, Any]:
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


def test_a_chart_escapes_its_labels_and_orders_lengths() -> None:
    chart = bar_chart([(row["engine"], row["us_per_event"]) for row in ROWS], "µs", log=True)
    assert "&lt;b&gt;" in chart
    widths = [float(width) for width in re.findall(r"<rect [^>]*width='([\d.]+)'", chart)]
    assert widths[0] > widths[1] > 0
    assert bar_chart([], "µs") == ""
    assert "width='0.0'" in bar_chart([("none", 0.0)], "µs", log=True)


def test_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "list"]) == 0
    out = capsys.readouterr().out
    for name, experiment in EXPERIMENTS.items():
        assert re.search(rf"^{name} +{re.escape(experiment.title)}$", out, re.MULTILINE)


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
    assert page.count("<svg") == page.count("<table") == len(EXPERIMENTS)
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
