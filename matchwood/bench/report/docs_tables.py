"""Tables of figures on pages: each says which rows of which result it shows, and a command writes it.

A page has the description of a table in a comment, and what `matchwood bench pages` makes of it below::

    <!-- figures betree
    where: section = workload size
    rows: engine
    across: workload
    show: us_per_event as µs
    -->
    (the table, and the command that took its figures)
    <!-- end of figures -->

| line | |
|---|---|
| `where` | rows whose field has one of some values, in their order; `|` stands between them, `*` for anything |
| `rows` | the fields on the left, which tell one line from another |
| `with` | figures that a line has once, whatever the columns: those of its first row |
| `across` | the field whose values are columns |
| `show` | the figures |
| `call` | another name for a value of a field, as in `call: betree = betree, large leaves` |
| `bold` | `least`: in each line the least of the first figure is bold |
| `plot` | a figure that the site also draws as bars (`docs_charts.py`) |

A figure is a field, or one divided by a field or a number, as in `bytes_index / rules`; `%` behind it makes a share a
percentage; with `as` it has a title. All lines but `across`, `bold` and `plot` may come several times. So no figure is
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

BLOCK = re.compile(
    r"(<!-- figures (?P<name>\w+)\n(?P<lines>.*?)-->\n)(?P<table>.*?)(<!-- end of figures -->)", re.DOTALL
)
_KEYS = ("where", "rows", "with", "across", "show", "call", "bold", "plot")
_EMPTY = ""


@dataclass(frozen=True)
class Figure:
    """One field of a row, or its quotient, and the title of its column."""

    field: str
    divisor: str
    percent: bool
    title: str

    @classmethod
    def read(cls, text: str) -> Figure:
        """`field`, `field as title`, `field % as title`, `field / other as title`."""
        what, _, title = (part.strip() for part in text.partition(" as "))
        field, _, divisor = (part.strip() for part in what.removesuffix(" %").partition(" / "))
        return cls(field, divisor, what.endswith(" %"), title or what)

    def value(self, row: dict[str, Any]) -> Any:
        found = row.get(self.field)
        if found is None or not self.divisor:
            return found
        return float(found) / (row[self.divisor] if self.divisor in row else float(self.divisor))

    def of(self, row: dict[str, Any]) -> str:
        value = self.value(row)
        if value is None:
            return _EMPTY
        return f"{100 * value:,.0f}%" if self.percent else shown(value)


@dataclass(frozen=True)
class TableOfFigures:
    """What a comment on a page asks for."""

    experiment: str
    where: tuple[tuple[str, tuple[str, ...]], ...]
    left: tuple[Figure, ...]
    once: tuple[Figure, ...]
    across: str
    show: tuple[Figure, ...]
    names: dict[str, str]
    bold: bool
    plot: Figure | None

    @classmethod
    def read(cls, experiment: str, lines: str) -> TableOfFigures:
        asked: dict[str, list[str]] = {key: [] for key in _KEYS}
        for line in filter(None, map(str.strip, lines.splitlines())):
            key, colon, value = line.partition(":")
            if not colon or key not in asked:
                raise InvalidArgument(f"figures {experiment}: {line!r}; write one of {', '.join(asked)} and a colon")
            asked[key].append(value.strip())
        if not asked["rows"] or not asked["show"] or asked["bold"] not in ([], ["least"]):
            raise InvalidArgument(f"figures {experiment}: a table has `rows` and `show`; `bold` can be `least` alone")
        left, once, show = (_figures(asked[key]) for key in ("rows", "with", "show"))
        where = tuple((field, _values(values)) for field, values in map(_parted, asked["where"]))
        names = dict(map(_parted, asked["call"]))
        plot = _figures(asked["plot"])[0] if asked["plot"] else None
        return cls(experiment, where, left, once, "".join(asked["across"]), show, names, bool(asked["bold"]), plot)

    def markdown(self, result: dict[str, Any]) -> str:
        """The table, and below it the command and the day."""
        rows = self.chosen(result["rows"])
        if not rows:
            raise InvalidArgument(f"figures {self.experiment}: no row of the result is asked for; look at its `where`")
        lines = self._across(rows) if self.across else self._flat(rows)
        return "\n".join([*map(_line, (lines[0], ["---"] * len(lines[0]), *lines[1:])), "", _origin(result), ""])

    def chosen(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows for which all conditions hold, in the order in which the first one names values, then the second."""
        places = [[_place(row, *condition) for condition in self.where] for row in rows]
        order = sorted((place, number) for number, place in enumerate(places) if None not in place)
        return [rows[number] for _, number in order]

    def called(self, figure: Figure, row: dict[str, Any]) -> str:
        """A value of a row as the table shows it."""
        return self.names.get(str(row.get(figure.field)), figure.of(row))

    def _flat(self, rows: Sequence[dict[str, Any]]) -> list[list[str]]:
        figures = (*self.left, *self.once, *self.show)
        lines = [[self.called(figure, row) for figure in figures] for row in rows]
        return [[figure.title for figure in figures], *lines]

    def _across(self, rows: Sequence[dict[str, Any]]) -> list[list[str]]:
        """A line for each combination of the fields on the left, a column for each value of the field across."""
        columns = list(dict.fromkeys(str(row.get(self.across)) for row in rows))
        found: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
        for row in rows:
            line = found.setdefault(tuple(self.called(figure, row) for figure in self.left), {})
            if line.setdefault(str(row.get(self.across)), row) is not row:
                where = ", ".join([*(figure.of(row) for figure in self.left), str(row.get(self.across))])
                raise InvalidArgument(f"figures {self.experiment}: two rows of the result for {where}; narrow `where`")
        lines = [
            [*left, *(figure.of(next(iter(cells.values()))) for figure in self.once), *self._cells(cells, columns)]
            for left, cells in found.items()
        ]
        return [self._titles([self.names.get(column, column) for column in columns]), *lines]

    def _titles(self, columns: Sequence[str]) -> list[str]:
        """A figure that stands alone is named once, behind the first title."""
        left = [figure.title for figure in (*self.left, *self.once)]
        if len(self.show) > 1:
            return [*left, *(f"{column}: {figure.title}" for column in columns for figure in self.show)]
        return [f"{left[0]} ({self.show[0].title})", *left[1:], *columns]

    def _cells(self, cells: dict[str, dict[str, Any]], columns: Sequence[str]) -> list[str]:
        first = {column: self.show[0].value(cells.get(column, {})) for column in columns}
        least = min((value for value in first.values() if value is not None), default=None) if self.bold else None
        texts = []
        for column in columns:
            one, *others = (figure.of(cells.get(column, {})) for figure in self.show)
            texts += [f"**{one}**" if least is not None and first[column] == least else one, *others]
        return texts


def _figures(lines: Sequence[str]) -> tuple[Figure, ...]:
    return tuple(Figure.read(text) for line in lines for text in line.split(", "))


def _parted(text: str) -> tuple[str, str]:
    left, _, right = text.partition(" = ")
    return left.strip(), right.strip()


def _values(text: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in text.split("|"))


def _place(row: dict[str, Any], field: str, values: Sequence[str]) -> int | None:
    """Which of the values the row has, if any."""
    return next((place for place, value in enumerate(values) if fnmatchcase(str(row.get(field)), value)), None)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _origin(result: dict[str, Any]) -> str:
    days = sorted({run["taken"][:10] for run in result.get("runs", ())})
    taken = f", {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "") if days else ""
    return f"`{command_of(result)}`{taken}."


def command_of(result: dict[str, Any]) -> str:
    """The command that takes such a result."""
    return f"matchwood bench run {result['experiment']} --scale {result['scale']}"


def page_with_figures(page: str, results: Path) -> str:
    """The text of a page, with each of its tables as the results have it."""
    kept = {name: read_result(results / f"{name}.json") for name in {block["name"] for block in BLOCK.finditer(page)}}

    def written(block: re.Match[str]) -> str:
        table = TableOfFigures.read(block["name"], block["lines"])
        return f"{block[1]}\n{table.markdown(kept[block['name']])}\n{block[5]}"

    return BLOCK.sub(written, page)


def write_pages(pages: Sequence[Path], results: Path) -> list[Path]:
    """Write the tables of all pages again; returns the pages that have changed."""
    changed = []
    for path in pages:
        page = path.read_text(encoding="utf-8")
        written = page_with_figures(page, results)
        if written != page:
            path.write_text(written, encoding="utf-8")
            changed.append(path)
    return changed
