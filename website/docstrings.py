"""Docstrings as the site shows them: aligned lists of arguments become tables, examples become blocks of code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

_ENTRY = re.compile(r"^(`[^`]+`(?:, `[^`]+`)*) {2,}(\S.*)$")
_CONTINUED = re.compile(r"^ {4,}(\S.*)$")


class ArgumentTables(Extension):
    """Rewrites every docstring as it is loaded."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_blocks(with_tables(obj.docstring.value))


def with_tables(text: str) -> str:
    """A docstring in which each list of "`name`  what it is" is a Markdown table.

    >>> print(with_tables("Match.\\n\\n`on_error`  a value\\n            that does not fit\\n`missing`   NULL"))
    Match.
    <BLANKLINE>
    | | |
    |---|---|
    | `on_error` | a value that does not fit |
    | `missing` | NULL |
    """
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        entry, continued = _ENTRY.match(line), _CONTINUED.match(line)
        if entry:
            lines += [] if inside else ["", "| | |", "|---|---|"][bool(lines and not lines[-1]) :]
            lines.append(f"| {entry[1]} | {_cell(entry[2])} |")
        elif inside and continued:
            lines[-1] = f"{lines[-1][:-2]} {_cell(continued[1])} |"
        else:
            lines.append(line)
        inside = bool(entry) or (inside and bool(continued))
    return "\n".join(lines)


def with_blocks(text: str) -> str:
    """A docstring in which each example with prompts is a block of code.

    >>> with_blocks("Add. >>> is a prompt")
    'Add. >>> is a prompt'
    """
    return "\n\n".join(f"```pycon\n{part}\n```" if part.startswith(">>> ") else part for part in text.split("\n\n"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
