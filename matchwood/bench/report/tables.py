"""Rows of figures as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

HIDDEN = ("also", "series")
"""Fields for the report alone."""


WIDTH = 120
"""Characters in a line of a terminal, at most."""


def text_table(rows: Sequence[dict[str, Any]]) -> str:
    """Columns in the order of the rows, numbers to the right; columns without any value are left out.

    Columns that a terminal is too narrow for follow below, each time after the first one.

    >>> print(text_table([{"engine": "scan", "rules": 1000, "bytes": None}, {"engine": "counting", "rules": 20}]))
    engine    rules
    --------  -----
    scan      1,000
    counting     20
    """
    names = filled_columns(rows)
    if not names:
        return "(no rows)"
    cells = [[shown(row.get(name)) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[column]) for line in cells)) for column, name in enumerate(names)]
    numeric = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in names]
    lines = [_aligned(line, widths, numeric) for line in (names, ["-" * width for width in widths], *cells)]
    blocks = [(0, *block) for block in _blocks(widths[1:], WIDTH - widths[0], first=1)] or [(0,)]
    return "\n\n".join("\n".join(_joined([line[column] for column in block]) for line in lines) for block in blocks)


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


def transposed(rows: Sequence[dict[str, Any]]) -> str:
    """One row as a column, for rows with more figures than a terminal is wide; as many beside each other as fit."""
    names = filled_columns(rows)
    width = max(map(len, names), default=0)
    columns = [[shown(row.get(name)) for name in names] for row in rows]
    widths = [max(map(len, column), default=0) for column in columns]
    return "\n\n".join(
        "\n".join(
            _joined([name.ljust(width), *(columns[row][line].rjust(widths[row]) for row in block)])
            for line, name in enumerate(names)
        )
        for block in _blocks(widths, WIDTH - width)
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
