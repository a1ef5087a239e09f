"""Rows of figures as a table for the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

HIDDEN = ("also", "series")
"""Fields for the report alone."""


NARROWEST, WIDEST = 80, 120
"""Characters in a line that tables are made for."""


def terminal_width() -> int:
    """Characters in a line of the terminal, within what tables are made for; the most of these in a file or a pipe."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDEST
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def text_table(rows: Sequence[dict[str, Any]], width: int | None = None) -> str:
    """Columns in the order of the rows, numbers to the right; columns without any value are left out.

    No line is longer than the `width`, by default that of the terminal: columns that do not fit follow below, each
    time after the first one, and a text that is longer than that is cut.

    >>> print(text_table([{"engine": "scan", "rules": 1000, "bytes": None}, {"engine": "counting", "rules": 20}]))
    engine    rules
    --------  -----
    scan      1,000
    counting     20
    """
    names = filled_columns(rows)
    if not names:
        return "(no rows)"
    room = width or terminal_width()
    columns = _fitting([[shown(row.get(name)) for row in rows] for name in names], room)
    widths = [max(len(name), *map(len, column)) for name, column in zip(names, columns, strict=True)]
    numeric = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in names]
    cells = (names, ["-" * width for width in widths], *zip(*columns, strict=True))
    lines = [_aligned(line, widths, numeric) for line in cells]
    blocks = [(0, *block) for block in _blocks(widths[1:], room - widths[0], first=1)] or [(0,)]
    return "\n\n".join("\n".join(_joined([line[column] for column in block]) for line in lines) for block in blocks)


def _fitting(columns: Sequence[Sequence[str]], room: int) -> list[list[str]]:
    """Cells cut so that the first column and any other fit into a line together.

    >>> _fitting([["a", "long name"], ["x", "a text that is too long"]], 14)
    [['a', 'long n…'], ['x', 'a te…']]
    """
    first = [_cut(cell, room // 2) for cell in columns[0]]
    left = room - max(map(len, first), default=0) - 2
    return [first, *([_cut(cell, left) for cell in column] for column in columns[1:])]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _joined(cells: Sequence[str]) -> str:
    return "  ".join(cells).rstrip()


def _blocks(widths: Sequence[int], room: int, first: int = 0) -> list[list[int]]:
    """Columns, from the number `first` on, in groups of which each fits into a line; a wide one has its own.

    >>> _blocks([3, 4, 5], 13), _blocks([30, 2], 10)
    ([[0, 1], [2]], [[0], [1]])
    """
    found: list[list[int]] = []
    left = -1
    for column, width in enumerate(widths, first):
        left -= width + 2
        if left < 0:
            found.append([])
            left = room - width - 2
        found[-1].append(column)
    return found


def filled_columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The names under which some row has a value."""
    return [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if name not in HIDDEN and any(row.get(name) is not None for row in rows)
    ]


def transposed(rows: Sequence[dict[str, Any]], width: int | None = None) -> str:
    """Each row as a column, for rows with more figures than a terminal is wide; side by side where they fit."""
    names, room = filled_columns(rows), width or terminal_width()
    head = max(map(len, names), default=0)
    columns = [[_cut(shown(row.get(name)), room - head - 2) for name in names] for row in rows]
    widths = [max(map(len, column), default=0) for column in columns]
    return "\n\n".join(
        "\n".join(
            _joined([name.ljust(head), *(columns[row][line].rjust(widths[row]) for row in block)])
            for line, name in enumerate(names)
        )
        for block in _blocks(widths, room - head)
    )


def _aligned(line: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> list[str]:
    return [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(line, widths, numeric, strict=True)
    ]


def shown(value: Any) -> str:
    """One value for people: numbers grouped, at three significant digits or more.

    >>> [shown(value) for value in (1234567, 1234.5, 999.98, 3.14159, 0.000012, True, None)]
    ['1,234,567', '1,234', '1,000', '3.14', '1.2e-05', 'yes', '-']
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"
