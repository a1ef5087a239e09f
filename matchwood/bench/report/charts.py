"""Bar charts as SVG: small enough to write by hand, so that a report needs no plotting library."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matchwood.bench.report.tables import shown

_BAR, _GAP, _LABELS, _WIDTH, _VALUES, _AXIS, _HEAD = 18, 5, 240, 520, 190, 24, 22

_COLOURS = (
    "#3b7dd8", "#d1495b", "#3a9b6a", "#8e5bb5", "#e08e26", "#1f9fb3", "#8a6d3b", "#c2559b", "#6b7a8f", "#7a9a1e",
    "#b5651d", "#4b5fc0", "#2f6f5e", "#a63d2f", "#5e3c99",
)  # fmt: skip
_FIRST = (
    "pstbloom", "scan", "counting", "psthash", "kindex", "hem", "betree", "atree", "auto", "REIN", "TAMA", "H-TREE",
)  # fmt: skip
_OTHER = "#7d8fa6"


def colours(names: Iterable[str]) -> dict[str, str]:
    """Colours of the lines of one chart: those of engines are their own, others take what is left.

    >>> found = colours(["hem", "hem, optimum", "scan", "other"])
    >>> found["hem"] == colour("hem"), len(set(found.values()))
    (True, 4)
    """
    names = list(names)
    found = {name: colour(name) for name in names if name in _FIRST}
    left = [each for each in _COLOURS[::-1] if each not in found.values()] or list(_COLOURS)
    others = [name for name in names if name not in found]
    return found | {name: left[place % len(left)] for place, name in enumerate(others)}


def colour(name: str) -> str:
    """The colour of an engine and of its variants, the same on every page; whatever else there is has one in common.

    >>> colour("hem") == colour("hem, optimum") != colour("scan")
    True
    """
    engine = name.split(",")[0]
    return _COLOURS[_FIRST.index(engine)] if engine in _FIRST else _OTHER


class Bar(NamedTuple):
    """A label and a value; a note behind the value; the number that a paper prints, which is marked on the axis.

    Bars of a group stand together, below its name.
    """

    label: str
    value: float
    group: str = ""
    note: str = ""
    paper: float | None = None
    paint: str = _COLOURS[0]


def bar_chart(given: Sequence[Bar | tuple[str, float]], axis: str, log: bool = False) -> str:
    """Horizontal bars with their values; on a logarithmic axis each decade is as long as the next."""
    if not given:
        return ""
    bars = [Bar(*each) for each in given]
    papers = [bar.paper for bar in bars if bar.paper is not None]
    lengths = bar_lengths([*(bar.value for bar in bars), *papers], log)
    marks = iter(lengths[len(bars) :])
    drawn, top, group = [], 0.0, ""
    for bar, length in zip(bars, lengths, strict=False):
        if bar.group != group:
            group, top = bar.group, top + _HEAD
            head = f"x='0' y='{top - 6:.0f}' font-size='13' font-weight='600'"
            drawn.append(f"<text {head}>{html.escape(group)}</text>")
        drawn.append(_bar(top, bar, length, next(marks) if bar.paper is not None else None))
        top += _BAR + _GAP
    width, height = _LABELS + _WIDTH + _VALUES, round(top + _AXIS)
    scale = f"{' (logarithmic)' if log else ''}{'; diamonds: what the paper prints of its own data' if papers else ''}"
    caption = f"<text x='{_LABELS}' y='{height - 6}' font-size='12' fill='#555'>{html.escape(axis)}{scale}</text>"
    size = f"width='{width}' height='{height}' viewBox='0 0 {width} {height}'"
    body = "".join(drawn) + caption
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size} font-family='sans-serif' role='img'>{body}</svg>"


def bar_lengths(values: Sequence[float], log: bool) -> list[float]:
    """How long each bar is, in pixels; the shortest on a logarithmic axis still has half a decade.

    >>> [round(length) for length in bar_lengths([1, 10, 100], log=True)], bar_lengths([0, 5, 10], log=False)
    ([104, 312, 520], [0.0, 260.0, 520.0])
    """
    largest = max(values)
    if largest <= 0:
        return [0.0 for _ in values]
    if not log:
        return [_WIDTH * max(0.0, value) / largest for value in values]
    floor = math.log10(min(value for value in values if value > 0)) - 0.5
    span = math.log10(largest) - floor
    return [_WIDTH * (math.log10(value) - floor) / span if value > 0 else 0.0 for value in values]


def _bar(top: float, bar: Bar, length: float, mark: float | None) -> str:
    middle = top + _BAR * 0.74
    note = f" {bar.note}" if bar.note else ""
    paper = "" if bar.paper is None else f" (paper: {shown(bar.paper)})"
    end = max(length, mark or 0.0) + (12 if mark is not None else 6)
    drawn = (
        f"<text x='{_LABELS - 8}' y='{middle:.1f}' font-size='12' text-anchor='end'>{html.escape(bar.label)}</text>"
        f"<rect x='{_LABELS}' y='{top:.1f}' width='{length:.1f}' height='{_BAR}' fill='{bar.paint}' rx='2'/>"
        f"<text x='{_LABELS + end:.1f}' y='{middle:.1f}' font-size='12'>"
        f"{html.escape(shown(bar.value) + note + paper)}</text>"
    )
    if mark is None:
        return drawn
    x, y = _LABELS + mark, top + _BAR / 2
    return drawn + f"<path d='M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z' fill='#fff' stroke='#222' stroke-width='1.6'/>"
