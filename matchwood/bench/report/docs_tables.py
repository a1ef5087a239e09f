"""Tables of figures on pages: each says which rows of which result it shows, and a command writes it anew.

A page has the description of a table in a comment, and what `matchwood bench pages` makes of it below::

    <!-- figures betree
    where: section = workload size
    rows: engine
    across: workload
    show: us_per_event as µs
    -->
    (the table, and the command that took its figures)
    <!-- end of figures -->

`where` keeps the rows whose field has one of some values (`|` between them, `*` stands for anything; several lines all
hold), `rows` names the fields on the left, `across` the field whose values are columns, `show` the figures. A figure is
a field, or one divided by a field or a number, as in `bytes_index / rules`; with `as` it has a title. So no figure is
copied by hand, and all tables of an experiment show one run of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from matchwood.bench.report.page import read_result
from matchwood.bench.report.tables import shown
from matchwood.errors import InvalidArgument

_BLOCK = re.compile(
    r"(<!-- figures (?P<name>\w+)\n(?P<lines>.*?)-->\n)(?P<table>.*?)(<!-- end of figures -->)", re.DOTALL
)
_EMPTY = ""


@dataclass(frozen=True)
class Figure:
    """One field of a row, or its quotient, and the title of its column."""

    field: str
    divisor: str
    title: str

    @classmethod
    def read(cls, text: str) -> Figure:
        """`field`, `field as title`, `field / other as title`."""
        what, _, title = (part.strip() for part in text.partition(" as "))
        field, _, divisor = (part.strip() for part in what.partition(" / "))
        return cls(field, divisor, title or what)

    def of(self, row: dict[str, Any]) -> str:
        value = row.get(self.field)
        if value is None or not self.divisor:
            return _EMPTY if value is None else shown(value)
        divisor = row[self.divisor] if self.divisor in row else float(self.divisor)
        return shown(float(value) / divisor)


@dataclass(frozen=True)
class TableOfFigures:
    """What a comment on a page asks for."""

    experiment: str
    where: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[Figure, ...]
    across: str
    show: tuple[Figure, ...]

    @classmethod
    def read(cls, experiment: str, lines: str) -> TableOfFigures:
        asked: dict[str, list[str]] = {"where": [], "rows": [], "across": [], "show": []}
        for line in filter(None, map(str.strip, lines.splitlines())):
            key, colon, value = line.partition(":")
            if not colon or key not in asked:
                raise InvalidArgument(f"figures {experiment}: {line!r}; write one of {', '.join(asked)} and a colon")
            asked[key].append(value.strip())
        figures = {key: tuple(map(Figure.read, ", ".join(asked[key]).split(", "))) for key in ("rows", "show")}
        across = asked["across"][0] if asked["across"] else ""
        return cls(experiment, tuple(map(_condition, asked["where"])), figures["rows"], across, figures["show"])

    def markdown(self, result: dict[str, Any]) -> str:
        """The table, and below it the command and the day."""
        rows = [row for row in result["rows"] if all(_holds(row, *condition) for condition in self.where)]
        if not rows:
            raise InvalidArgument(f"figures {self.experiment}: no row of the result is asked for; look at its `where`")
        lines = self._across(rows) if self.across else self._flat(rows)
        return "\n".join([*map(_line, (lines[0], ["---"] * len(lines[0]), *lines[1:])), "", _origin(result), ""])

    def _flat(self, rows: Sequence[dict[str, Any]]) -> list[list[str]]:
        figures = (*self.rows, *self.show)
        return [[figure.title for figure in figures], *([figure.of(row) for figure in figures] for row in rows)]

    def _across(self, rows: Sequence[dict[str, Any]]) -> list[list[str]]:
        """A line for each combination of the fields on the left, a column for each value of the field across."""
        columns = list(dict.fromkeys(str(row.get(self.across)) for row in rows))
        found: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
        for row in rows:
            found.setdefault(tuple(figure.of(row) for figure in self.rows), {})[str(row.get(self.across))] = row
        titles = [f"{column}: {figure.title}" for column in columns for figure in self.show]
        return [
            [*(figure.title for figure in self.rows), *titles],
            *(
                [*left, *(figure.of(cells.get(column, {})) for column in columns for figure in self.show)]
                for left, cells in found.items()
            ),
        ]


def _condition(text: str) -> tuple[str, tuple[str, ...]]:
    field, _, values = text.partition("=")
    return field.strip(), tuple(value.strip() for value in values.split("|"))


def _holds(row: dict[str, Any], field: str, values: Sequence[str]) -> bool:
    return any(fnmatchcase(str(row.get(field)), value) for value in values)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _origin(result: dict[str, Any]) -> str:
    days = sorted({run["taken"][:10] for run in result.get("runs", ())})
    taken = f", {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "") if days else ""
    return f"`matchwood bench run {result['experiment']} --scale {result['scale']}`{taken}."


def page_with_figures(page: str, results: Path) -> str:
    """The text of a page, with each of its tables as the results have it."""

    def written(block: re.Match[str]) -> str:
        table = TableOfFigures.read(block["name"], block["lines"])
        return f"{block[1]}\n{table.markdown(read_result(results / (block['name'] + '.json')))}\n{block[5]}"

    return _BLOCK.sub(written, page)


def write_pages(pages: Sequence[Path], results: Path) -> list[Path]:
    """Write the tables of all pages anew; returns the pages that have changed."""
    changed = []
    for path in pages:
        page = path.read_text(encoding="utf-8")
        written = page_with_figures(page, results)
        if written != page:
            path.write_text(written, encoding="utf-8")
            changed.append(path)
    return changed
