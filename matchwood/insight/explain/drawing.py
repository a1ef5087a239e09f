"""The tree of an explanation, drawn for a terminal: ✓ TRUE, ✗ FALSE, ? NULL, ◄ decides, ◁ fails as well."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Any

from matchwood.language import And, Expression, Not, Or, Truth, Xnor, Xor, names

DEEPEST, MOST_LINES, WIDEST = 40, 1_000, 100
"""What is drawn of a tree: levels, lines, and characters of one predicate or value. `to_dict` has all of it."""

SIGNS = {True: "✓", False: "✗", None: "?"}
NAMES = {True: "TRUE", False: "FALSE", None: "NULL"}
_ENDLESS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_WORDS: dict[type[Expression], str] = {And: "and", Or: "or", Xor: "xor", Xnor: "xnor", Not: "not"}


@dataclass
class Line:
    """One node: an operator, or a predicate with the value that its attribute has in the event."""

    text: str
    verdict: bool | None
    parent: int | None
    depth: int
    decides: bool
    attribute: str | None = None
    value: Any = None
    fails: bool = False

    def value_text(self) -> str:
        """The attribute with its value in the event, as a line shows it."""
        name = names.spell(self.attribute or "")
        return f"{name} is null" if self.value is None else f"{name} = {_shortened(repr(self.value))}"

    def to_dict(self) -> dict[str, Any]:
        node = {"text": self.text, "verdict": self.verdict, "parent": self.parent}
        if self.attribute is None:
            return node
        told = {"attribute": self.attribute, "value": plain_data(self.value)}
        return {**node, **told, "decides": self.decides, "fails": self.fails}


def plain_data(value: Any) -> Any:
    """A value as JSON can write it: moments in ISO 8601, what JSON does not know as text.

    >>> plain_data(("a", datetime.date(2026, 1, 31), None))
    ['a', '2026-01-31', None]
    """
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain_scalar(element) for element in value]
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    """Subclasses of Python's own types, such as NumPy's doubles and enumerations, become those types."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _ENDLESS[repr(float(value))]
    if isinstance(value, str):
        return str.__str__(value)
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def words(node: Expression) -> str:
    """What stands on a node's line: its text, or for an operator its word."""
    if isinstance(node, Truth):
        return f"is not {node.test}" if node.negated else f"is {node.test}"
    return _WORDS.get(type(node)) or str(node)


def draw(lines: list[Line], verdict: bool | None, decided_by: list[str]) -> str:
    """The tree, one node a line, and the verdict below it."""
    shown = _shown(lines)
    left = [_left(prefix, line) for prefix, line in zip(_prefixes(shown), shown, strict=True)]
    width = max((len(text) for text, line in zip(left, shown, strict=True) if line.attribute), default=0)
    drawn = [_with_value(text, line, width) for text, line in zip(left, shown, strict=True)]
    if len(shown) < len(lines):
        drawn.append(f"… {len(lines) - len(shown):,} more nodes, too deep or too many to draw")
    others = any(line.fails and not line.decides for line in shown)
    return "\n".join([*drawn, _conclusion(verdict, decided_by) + ("; ◁ fails as well" if others else "")])


def _shown(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.depth <= DEEPEST][:MOST_LINES]


def _prefixes(lines: list[Line]) -> list[str]:
    """The branches before each line; the last operand at each level is told by looking from the end."""
    prefixes: list[str] = []
    open_levels: list[bool] = []
    """For each level whether a later line still hangs there."""
    for line in reversed(lines):
        open_levels = open_levels[: line.depth + 1] + [False] * (line.depth + 1 - len(open_levels))
        bars = ["│  " if more else "   " for more in open_levels[1 : line.depth]]
        corner = ("├─ " if open_levels[line.depth] else "└─ ") if line.depth else ""
        prefixes.append("".join(bars) + corner)
        open_levels[line.depth] = True
    return prefixes[::-1]


def _left(prefix: str, line: Line) -> str:
    return f"{prefix}{SIGNS[line.verdict]} {_shortened(line.text)}"


def _with_value(left: str, line: Line, width: int) -> str:
    if line.attribute is None:
        return left
    mark = "  ◄" if line.decides else "  ◁" if line.fails else ""
    return f"{left:<{width}}  {line.value_text()}{mark}"


def _conclusion(verdict: bool | None, decided_by: list[str]) -> str:
    if not decided_by:
        return f"{NAMES[verdict]} for every event"
    return f"{NAMES[verdict]}, decided by ◄"


def _shortened(text: str) -> str:
    text = text.replace("\n", "\\n")
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
