"""All results on one HTML page: a bar chart and a table for each experiment, nothing to install to look at it."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from matchwood.bench.charts import bar_chart
from matchwood.bench.registry import EXPERIMENTS, experiment
from matchwood.bench.tables import filled_columns, shown
from matchwood.errors import InvalidArgument

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
svg { margin: 1rem 0; max-width: 100%; height: auto }
"""


def write_report(results: Path, output: Path) -> int:
    """Write the page; returns how many experiments it shows."""
    found = [_read(results / f"{name}.json") for name in EXPERIMENTS if (results / f"{name}.json").is_file()]
    if not found:
        raise InvalidArgument(f"{results} holds no results yet: run 'matchwood bench run all' first")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(_page(found), encoding="utf-8")
    return len(found)


def _read(path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        experiment(result["experiment"])
        _section(result)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"{path}: not the result of an experiment ({error}); run it again") from None
    return dict(result)


def _page(results: list[dict[str, Any]]) -> str:
    sections = "\n".join(_section(result) for result in results)
    head = f"<meta charset='utf-8'><title>Matchwood benchmarks</title><style>{_STYLE}</style>"
    body = f"<h1>Matchwood benchmarks</h1>\n{sections}"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}\n</body></html>\n"


def _section(result: dict[str, Any]) -> str:
    known = experiment(result["experiment"])
    bars = [
        (_label(row, known.label), float(row[known.value]))
        for row in result["rows"]
        if row.get(known.value) is not None
    ]
    title = f"<h2 id='{known.name}'>{html.escape(known.title)} ({html.escape(str(result['scale']))})</h2>"
    return title + bar_chart(bars, known.value.replace("_", " "), known.log) + _table(result["rows"])


def _label(row: dict[str, Any], names: tuple[str, ...]) -> str:
    return " · ".join(shown(row.get(name)) for name in names)


def _table(rows: list[dict[str, Any]]) -> str:
    names = filled_columns(rows)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(shown(row.get(name)))}</td>" for name in names) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
