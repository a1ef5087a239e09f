"""All results on one HTML page: charts in the papers' form and every figure, nothing to install to look at it."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from matchwood.bench.registry import EXPERIMENTS, experiment
from matchwood.bench.report.figures import PAPERS
from matchwood.bench.report.sections import section_html, sections_of
from matchwood.bench.report.tables import filled_columns, shown
from matchwood.errors import InvalidArgument

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: #222 }
h2 { margin: 3rem 0 .2rem; border-top: 2px solid #ddd; padding-top: 1rem }
h3 { margin: 1.8rem 0 .2rem }
h3 small { font-weight: normal; color: #777; margin-left: .6rem }
nav { columns: 3 16rem; margin: 1rem 0 }
nav a { display: block }
.about { color: #555; margin: .2rem 0 1rem }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; margin: .5rem 0 }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #e4e4e4; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
details { margin: 1rem 0 }
summary { cursor: pointer; color: #3b7dd8 }
.charts { display: flex; flex-wrap: wrap; gap: 1rem }
svg { margin: .6rem 0; max-width: 100%; height: auto }
"""


def write_report(results: Path, output: Path) -> int:
    """Write the page; returns how many experiments it shows."""
    found = [read_result(results / f"{name}.json") for name in EXPERIMENTS if (results / f"{name}.json").is_file()]
    if not found:
        raise InvalidArgument(f"{results} holds no results yet: run 'matchwood bench run all' first")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(_page(found), encoding="utf-8")
    return len(found)


def read_result(path: Path) -> dict[str, Any]:
    """The JSON that a run has written."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        experiment(result["experiment"])
        _experiment_html(result)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"{path}: not the result of an experiment ({error}); run it again") from None
    return dict(result)


def write_result(path: Path, result: dict[str, Any]) -> None:
    """What `read_result` reads, a line for each row, so that a change of figures shows which ones have changed."""
    about = {name: value for name, value in result.items() if name != "rows"}
    rows = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in result["rows"])
    head = json.dumps(about, ensure_ascii=False, separators=(",", ":"))[:-1]
    path.write_text(f'{head},\n"rows":[\n{rows}\n]}}\n', encoding="utf-8")


def _page(results: list[dict[str, Any]]) -> str:
    body = "\n".join([_summary(results), *map(_experiment_html, results)])
    head = f"<meta charset='utf-8'><title>Matchwood benchmarks</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}\n</body></html>\n"


def _summary(results: list[dict[str, Any]]) -> str:
    """What there is, and what it was taken on: each machine once."""
    links = "".join(
        f"<a href='#{result['experiment']}'>{result['experiment']}: "
        f"{html.escape(experiment(result['experiment']).title)}</a>"
        for result in results
    )
    machines: dict[str, None] = {}
    for run in (run for result in results for run in result.get("runs", ())):
        machines[", ".join(f"{name.replace('_', ' ')} {shown(value)}" for name, value in run["machine"].items())] = None
    taken = sorted(run["taken"] for result in results for run in result.get("runs", ()))
    dates = f"<p class='about'>Taken from {taken[0]} to {taken[-1]}.</p>" if taken else ""
    on = "".join(f"<p class='about'>{html.escape(machine)}</p>" for machine in machines)
    words = (
        "<p>Every answer was checked: engines against each other, against brute force and against the oracle. "
        "A cross is a cell that did not fit into its time box, measured with fewer events; a diamond is a number that "
        "a paper prints, on its own machine and data.</p>"
    )
    return f"<h1>Matchwood benchmarks</h1>{dates}{on}{words}<nav>{links}</nav>"


def _experiment_html(result: dict[str, Any]) -> str:
    known = experiment(result["experiment"])
    rows = result["rows"]
    title = f"<h2 id='{known.name}'>{html.escape(known.title)} ({html.escape(str(result['scale']))})</h2>"
    command = f"<code>matchwood bench run {known.name} --scale {html.escape(str(result['scale']))}</code>"
    paper = f" · {html.escape(PAPERS[known.name])}" if known.name in PAPERS else ""
    again = [f"; {html.escape(run['only'])!r} again {run['taken']}" for run in result.get("runs", [])[1:]]
    taken = "".join([f" · {run['taken']}" for run in result.get("runs", [])[:1]] + again)
    charts = "".join(section_html(known, section) for section in sections_of(rows))
    figures = f"<details><summary>All {len(rows)} rows</summary>{_table(rows)}</details>"
    return f"{title}<p class='about'>{command}{paper}{taken}</p>{charts}{figures}"


def _table(rows: list[dict[str, Any]]) -> str:
    names = filled_columns(rows)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(shown(row.get(name)))}</td>" for name in names) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
