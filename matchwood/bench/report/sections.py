"""The rows of a result by section, as the report shows them: lines where a setting is swept, bars otherwise."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

from matchwood.bench.registry import Experiment
from matchwood.bench.report.axes import tick_text
from matchwood.bench.report.charts import Bar, bar_chart, colour
from matchwood.bench.report.figures import MORE, reproduced
from matchwood.bench.report.lines import Point, line_chart
from matchwood.bench.report.tables import shown

Row = dict[str, Any]

_UNITS = {
    "us_per_event": "µs per event",
    "us_per_event_all": "µs per event, with all rules",
    "build_s": "seconds to build",
    "bytes_index": "bytes of the index",
    "bytes": "bytes to match and to change",
    "match_us": "µs per event, its spaces known",
    "encode_us": "µs to find an event's spaces",
    "us_per_insert": "µs per insertion",
    "us_per_delete": "µs per deletion",
}
_TIMES = ("encode_us", "match_us")
"""What the time of an event consists of, where that is measured."""

_PAPER = {"us_per_event": "paper_us", "build_s": "paper_build_s"}


class Section(NamedTuple):
    """A section's name and rows; those of a swept setting have its name and value in `x_name` and `x`."""

    name: str | None
    rows: list[Row]

    @property
    def x_name(self) -> str | None:
        """The setting that is swept: one that has at least two values here."""
        swept = self.rows[0].get("x_name")
        return swept if swept and len({row.get("x") for row in self.rows}) > 1 else None


def sections_of(rows: Sequence[Row]) -> list[Section]:
    """Sections in order of appearance; a row that belongs to several sweeps is in each of their sections."""
    found: dict[str | None, list[Row]] = {}
    for row in rows:
        found.setdefault(row.get("section"), []).append(row)
    for row in rows:
        for section, x_name, x in row.get("also") or ():
            if section in found:
                found[section].append({**row, "x_name": x_name, "x": x})
    return [Section(name, _by_x(given)) for name, given in found.items()]


def _by_x(rows: list[Row]) -> list[Row]:
    if any(row.get("x") is None for row in rows):
        return rows
    return sorted(rows, key=lambda row: float(row["x"]))


def section_html(known: Experiment, section: Section) -> str:
    """A heading with the paper's figure, the charts, and the numbers of a sweep as a table."""
    values = (known.value, *MORE.get(known.name, {}).get(section.name or "", ()))
    head = "" if section.name is None else _heading(known.name, section)
    if section.x_name is None:
        return head + "".join(_bars(known, section.rows, value) for value in values[:1])
    charts = "".join(_lines(section, value) for value in values)
    parts = [part for part in _TIMES if known.value == "us_per_event" and any(row.get(part) for row in section.rows)]
    tables = "".join(_pivot(section, value) for value in (known.value, *parts))
    return f"{head}<div class='charts'>{charts}</div>{tables}"


def _heading(experiment: str, section: Section) -> str:
    figure = reproduced(experiment, section.name or "")
    source = f" <small>{html.escape(figure)}</small>" if figure else ""
    return f"<h3>{html.escape(str(section.name).replace('_', ' '))}{source}</h3>"


def _lines(section: Section, value: str) -> str:
    series: dict[str, list[Point]] = {}
    for row in section.rows:
        if row.get(value) is not None:
            timeout, paper = row.get("timeout") is not None, row.get(_PAPER.get(value, ""))
            point = Point(float(row["x"]), float(row[value]), timeout, None if paper is None else float(paper))
            series.setdefault(_series(row), []).append(point)
    return line_chart(series, section.x_name or "", unit(value))


def _series(row: Row) -> str:
    """The line that a row belongs to: its engine's, unless it says otherwise."""
    return str(row.get("series") or row["engine"])


def _bars(known: Experiment, rows: Sequence[Row], value: str) -> str:
    """A bar a row; the labels beside the engine, or whatever is compared, name its group."""
    own = "engine" if "engine" in known.label else known.label[0]
    others = [name for name in known.label if name != own]
    given = [row for row in rows if row.get(value) is not None]
    several = len({_label(row, others) for row in given}) > 1
    bars = [
        Bar(
            shown(row.get(own)),
            float(row[value]),
            _label(row, others) if several else "",
            "timeout" if row.get("timeout") is not None else "",
            row.get(_PAPER.get(value, "")),
            colour(shown(row.get(own))),
        )
        for row in given
    ]
    return bar_chart(bars, unit(value), known.log)


def _label(row: Row, names: Sequence[str]) -> str:
    return " · ".join(f"{shown(row[name])}{_counted(name)}" for name in names if row.get(name) is not None)


def _counted(name: str) -> str:
    return f" {name}" if name in ("rules", "events", "partitions") else ""


def _pivot(section: Section, value: str) -> str:
    """A line an engine, a column for each value of the setting."""
    columns = list(dict.fromkeys(row["x"] for row in section.rows))
    cells: dict[str, dict[Any, str]] = {}
    for row in section.rows:
        mark = " timeout" if row.get("timeout") is not None else ""
        cells.setdefault(_series(row), {})[row["x"]] = shown(row.get(value)) + mark
    head = "".join(f"<th>{html.escape(tick_text(float(x)))}</th>" for x in columns)
    body = "".join(
        f"<tr><td>{html.escape(name)}</td>{_cells([found.get(x, '') for x in columns])}</tr>"
        for name, found in cells.items()
    )
    title = html.escape(f"{unit(value)}, by {(section.x_name or '').replace('_', ' ')}")
    return f"<table><thead><tr><th>{title}</th>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(texts: Sequence[str]) -> str:
    return "".join(f"<td>{html.escape(text)}</td>" for text in texts)


def unit(value: str) -> str:
    """What a column's figures are, in words.

    >>> unit("us_per_event"), unit("rules_per_second")
    ('µs per event', 'rules per second')
    """
    return _UNITS.get(value, value.replace("_", " "))
