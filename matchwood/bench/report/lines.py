"""Line charts as SVG: one line an engine over the values of a setting, the paper's numbers as diamonds."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from matchwood.bench.report.axes import Axis, axis, tick_text, tight
from matchwood.bench.report.charts import colours

_LEFT, _TOP, _BOTTOM, _LEGEND = 66, 12, 46, 210
_WIDTH, _HEIGHT = 470, 290
_ROW = 17
_INSET, _CLOSE = 12, 36
"""Pixels between the axes and the outermost points, and between two values that can both be named."""


class Point(NamedTuple):
    """A value of the setting, what was measured there, whether it did not fit into the time box, and the paper's."""

    x: float
    y: float
    timeout: bool = False
    paper: float | None = None


def line_chart(series: Mapping[str, Sequence[Point]], x_name: str, y_name: str) -> str:
    """All series over one pair of axes; each is logarithmic if its values differ by much."""
    points = [point for line in series.values() for point in line]
    if not points:
        return ""
    heights = [point.y for point in points] + [point.paper for point in points if point.paper is not None]
    widest = _WIDTH - 2 * _INSET
    across = tight([point.x for point in points], widest)
    up = axis(heights, _HEIGHT, from_zero=True)
    names = sorted(series, key=lambda name: -max(series[name], key=lambda point: point.x).y)
    paints = colours(series)
    has_paper = any(point.paper is not None for point in points)
    height = max(_TOP + _HEIGHT + _BOTTOM, _TOP + _ROW * (len(names) + 2))
    width = _LEFT + _WIDTH + _LEGEND
    body = _grid(across, up, _named_values(points, across), x_name, y_name)
    body += "".join(_line(name, paints[name], series[name], across, up) for name in names)
    size = f"width='{width}' height='{height}' viewBox='0 0 {width} {height}'"
    drawn = body + _legend(names, paints, has_paper)
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size} font-family='sans-serif' role='img'>{drawn}</svg>"


def _named_values(points: Sequence[Point], across: Axis) -> list[float]:
    """The measured values of the setting, as the papers' figures name them, unless they are too close together."""
    values = sorted({point.x for point in points})
    gaps = [across.place(right) - across.place(left) for left, right in pairwise(values)]
    return values if min(gaps, default=_CLOSE) >= _CLOSE else across.ticks()


def _x(across: Axis, value: float) -> float:
    return _LEFT + _INSET + across.place(value)


def _grid(across: Axis, up: Axis, named: Sequence[float], x_name: str, y_name: str) -> str:
    """Lines and values of both axes, and what they mean."""
    base, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    parts = []
    for value in up.ticks():
        y = base - up.place(value)
        parts.append(f"<line x1='{_LEFT}' y1='{y:.1f}' x2='{right}' y2='{y:.1f}' stroke='#e4e4e4'/>")
        parts.append(_text(_LEFT - 7, y + 4, tick_text(value), "end"))
    for value in named:
        x = _x(across, value)
        parts.append(f"<line x1='{x:.1f}' y1='{_TOP}' x2='{x:.1f}' y2='{base}' stroke='#f0f0f0'/>")
        parts.append(_text(x, base + 16, tick_text(value), "middle"))
    parts.append(f"<path d='M{_LEFT} {_TOP}V{base}H{right}' fill='none' stroke='#888'/>")
    parts.append(_text(_LEFT + _WIDTH / 2, base + 36, _named(x_name, across), "middle", "#555"))
    middle = _TOP + _HEIGHT / 2
    label = html.escape(_named(y_name, up))
    turned = f"transform='rotate(-90 14 {middle})' x='14' y='{middle}' text-anchor='middle' font-size='12' fill='#555'"
    return "".join([*parts, f"<text {turned}>{label}</text>"])


def _named(name: str, drawn: Axis) -> str:
    return f"{name.replace('_', ' ')}{' (logarithmic)' if drawn.log else ''}"


def _text(x: float, y: float, text: str, anchor: str, fill: str = "#333") -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' font-size='12' text-anchor='{anchor}' fill='{fill}'"
    return f"<text {place}>{html.escape(text)}</text>"


def _line(name: str, paint: str, line: Sequence[Point], across: Axis, up: Axis) -> str:
    """A line through its points, dashed if it is a variant; a cross is a timeout, a diamond the paper's number."""
    base, dashes = _TOP + _HEIGHT, " stroke-dasharray='6 4'" if "," in name else ""
    placed = [(_x(across, point.x), base - up.place(point.y), point) for point in sorted(line)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in placed)
    drawn = [f"<polyline points='{path}' fill='none' stroke='{paint}' stroke-width='1.8'{dashes}/>"]
    for x, y, point in placed:
        title = html.escape(f"{name}: {point.y:,.4g} at {point.x:,g}{', timeout' if point.timeout else ''}")
        drawn.append(_marker(x, y, paint, point.timeout, title))
        if point.paper is not None:
            drawn.append(diamond(x, base - up.place(point.paper), paint, f"{name}, paper: {point.paper:,.4g}"))
    return "".join(drawn)


def _marker(x: float, y: float, paint: str, timeout: bool, title: str) -> str:
    if timeout:
        strokes = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
        return f"<path d='{strokes}' stroke='{paint}' stroke-width='2'><title>{title}</title></path>"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{paint}'><title>{title}</title></circle>"


def diamond(x: float, y: float, paint: str, title: str) -> str:
    """The mark of a number that a paper prints."""
    shape = f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"
    return (
        f"<path d='{shape}' fill='#fff' stroke='{paint}' stroke-width='1.8'><title>{html.escape(title)}</title></path>"
    )


def _legend(names: Sequence[str], paints: Mapping[str, str], has_paper: bool) -> str:
    """The names in the order of the lines' ends, from the top."""
    x, parts = _LEFT + _WIDTH + 14, []
    for row, name in enumerate(names):
        y, paint, dashes = _TOP + 8 + row * _ROW, paints[name], " stroke-dasharray='6 3'" if "," in name else ""
        parts.append(f"<line x1='{x}' y1='{y}' x2='{x + 18}' y2='{y}' stroke='{paint}' stroke-width='3'{dashes}/>")
        parts.append(_text(x + 24, y + 4, name, "start"))
    if has_paper:
        y = _TOP + 8 + len(names) * _ROW
        parts += [diamond(x + 9, y, "#555", "the paper"), _text(x + 24, y + 4, "the paper's number", "start", "#555")]
    return "".join(parts)
