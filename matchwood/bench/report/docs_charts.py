"""Charts of the tables of figures on pages, for the site: a line `plot: FIGURE` in a table's comment asks for one.

They are drawn from the kept results while the site is built, so that no picture is older than its table.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matchwood.bench.report.charts import Bar, bar_chart, colour
from matchwood.bench.report.docs_tables import BLOCK, Figure, TableOfFigures, command_of
from matchwood.bench.report.page import read_result

_LINEAR = 30.0
"""The largest share of two bars at which both can be seen on a linear axis; beyond it the axis is logarithmic."""


def page_with_charts(page: str, results: Path) -> str:
    """The text of a page, with a chart above each table that asks for one."""
    for block in reversed(list(BLOCK.finditer(page))):
        asked = TableOfFigures.read(block["name"], block["lines"])
        if asked.plot is not None:
            drawn = chart(asked, asked.plot, read_result(results / f"{block['name']}.json"))
            page = f"{page[: block.start()]}{drawn}\n\n{page[block.start() :]}"
    return page


def chart(asked: TableOfFigures, figure: Figure, result: dict[str, Any]) -> str:
    """One line of HTML: the bars, and below them the command that measured them."""
    bars = _bars(asked, figure, asked.chosen(result["rows"]))
    values = [bar.value for bar in bars if bar.value > 0]
    log = bool(values) and max(values) > _LINEAR * min(values)
    caption = f"<figcaption><code>{html.escape(command_of(result))}</code></figcaption>"
    return f'<figure class="bars">{bar_chart(bars, figure.title, log)}{caption}</figure>'


def _bars(asked: TableOfFigures, figure: Figure, rows: Sequence[dict[str, Any]]) -> list[Bar]:
    """A bar for each row that has a value, in groups by all fields but the one that tells bars apart."""
    found = []
    for row in rows:
        value = figure.value(row)
        left = [asked.called(field, row) for field in asked.left]
        *group, label = [*left, asked.called(Figure.read(asked.across), row)] if asked.across else left
        if value is not None:
            found.append(Bar(label, float(value), ", ".join(group), paint=colour(str(row.get("engine", "")))))
    return sorted(found, key=lambda bar: list(dict.fromkeys(each.group for each in found)).index(bar.group))
