"""Rows of figures as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def text_table(rows: Sequence[dict[str, Any]]) -> str:
    """Columns in the order of the first row, numbers to the right.

    >>> print(text_table([{"engine": "scan", "rules": 1000}, {"engine": "counting", "rules": 20}]))
    engine    rules
    --------  -----
    scan      1,000
    counting     20
    """
    if not rows:
        return "(no rows)"
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[shown(row.get(name)) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[column]) for line in cells)) for column, name in enumerate(names)]
    numeric = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in names]
    lines = [names, ["-" * width for width in widths], *cells]
    return "\n".join("  ".join(_aligned(line, widths, numeric)).rstrip() for line in lines)


def _aligned(line: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> list[str]:
    return [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(line, widths, numeric, strict=True)
    ]


def shown(value: Any) -> str:
    """One value for people: numbers grouped, at three significant digits or more."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
