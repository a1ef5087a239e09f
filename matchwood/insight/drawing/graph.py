"""Trees as SVG: boxes in rows, lines between them, names of rows on the left, and what lines mean at the bottom."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_LETTER, _LINE, _PAD = 6.7, 16, 9
"""Width of a letter at 12 px, distance of two lines of text, room around text."""
_GAP, _ROWS, _NAMES, _EDGE = 16, 56, 78, 20
"""Room between boxes and between rows, for the names of rows, and around the picture."""
_SWEEPS = 6
"""How often rows are put in the order of their neighbours; more changes little."""

_STROKES = {"plain": "", "thick": ' stroke-width="2.6"', "dotted": ' stroke-dasharray="3 3"'}


class Box(NamedTuple):
    """A node: its name, its row (0 at the top), its lines of text, and its shape: plain, round or double."""

    name: str
    row: int
    lines: tuple[str, ...]
    shape: str = "plain"


class Link(NamedTuple):
    """A line from a box to one in a lower row, or to the next one in its row; plain, thick or dotted, with a text."""

    above: str
    below: str
    style: str = "plain"
    text: str = ""


class _Place(NamedTuple):
    left: float
    top: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def graph_svg(boxes: Sequence[Box], links: Sequence[Link], rows: Mapping[int, str], styles: Mapping[str, str]) -> str:
    """The picture; `rows` names rows, `styles` says what the styles of lines mean."""
    places = _places(boxes, links)
    used = [style for style in styles if any(link.style == style for link in links)]
    width = max((place.left + place.width for place in places.values()), default=_NAMES) + _EDGE
    bottom = max((place.top + place.height for place in places.values()), default=0.0) + _EDGE
    width, height = max(width, _NAMES + 300), bottom + _LINE * len(used) + _EDGE
    parts = [_drawn_link(places[link.above], places[link.below], link.style) for link in links]
    parts += [part for box in boxes for part in _drawn_box(box, places[box.name])]
    parts += [_link_text(places[link.above], places[link.below], link.text) for link in links if link.text]
    tops = {box.row: places[box.name] for box in boxes}
    parts += [_text(_EDGE / 2, tops[row].top + 20, name, "start", "#666") for row, name in rows.items() if row in tops]
    return svg_text(width, height, [*parts, *_legend(used, styles, bottom)])


def svg_text(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole picture, on white, so that its dark text can be read on a dark page too."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    look = 'font-family="sans-serif" font-size="12" style="background:#fff" role="img"'
    body = "\n".join(f"  {part}" for part in parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look}>\n{body}\n</svg>\n'


def _places(boxes: Sequence[Box], links: Sequence[Link]) -> dict[str, _Place]:
    """Each row from left to right in the order of its neighbours, centred below each other."""
    ordered = _ordered(boxes, links)
    widths = {box.name: 2 * _PAD + _LETTER * max(map(len, box.lines)) for box in boxes}
    heights = {row: 2 * _PAD + _LINE * max(len(box.lines) for box in some) - 4 for row, some in ordered.items()}
    lengths = {row: sum(widths[box.name] + _GAP for box in some) - _GAP for row, some in ordered.items()}
    widest = max(lengths.values(), default=0.0)
    places, top = dict[str, _Place](), float(_EDGE)
    for row, some in ordered.items():
        left = _NAMES + (widest - lengths[row]) / 2
        for box in some:
            places[box.name] = _Place(left, top, widths[box.name], heights[row])
            left += widths[box.name] + _GAP
        top += heights[row] + _ROWS
    return places


def _ordered(boxes: Sequence[Box], links: Sequence[Link]) -> dict[int, list[Box]]:
    """Boxes by row; each row sorted by the mean place of what its boxes are linked with, again and again.

    A row whose boxes are linked with each other keeps its order.
    """
    rows: dict[int, list[Box]] = {}
    for box in sorted(boxes, key=lambda box: box.row):
        rows.setdefault(box.row, []).append(box)
    near: dict[str, list[str]] = {box.name: [] for box in boxes}
    for link in links:
        near[link.above].append(link.below)
        near[link.below].append(link.above)
    place = {box.name: (index + 0.5) / len(some) for some in rows.values() for index, box in enumerate(some)}
    fixed = {box.row for box in boxes for other in boxes if box.row == other.row and other.name in near[box.name]}
    for _ in range(_SWEEPS):
        for some in (some for row, some in rows.items() if row not in fixed):
            some.sort(key=lambda box: _mean([place[other] for other in near[box.name]], place[box.name]))
            place.update((box.name, (index + 0.5) / len(some)) for index, box in enumerate(some))
    return rows


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _drawn_link(above: _Place, below: _Place, style: str) -> str:
    (x1, y1), (x2, y2) = _ends(above, below)
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#555"{_STROKES[style]}/>'


def _link_text(above: _Place, below: _Place, text: str) -> str:
    """Beside the upper part of a link, where other boxes do not hide it."""
    (x1, y1), (x2, y2) = _ends(above, below)
    share = min(0.5, _ROWS / 2 / max(y2 - y1, 1.0))
    return _text(x1 + share * (x2 - x1) + 8, y1 + share * (y2 - y1) + 4, text, "start", "#666")


def _ends(above: _Place, below: _Place) -> tuple[tuple[float, float], tuple[float, float]]:
    """From the bottom of a box to the top of another, or to the side of one in the same row."""
    if above.top != below.top:
        return (above.middle, above.top + above.height), (below.middle, below.top)
    left, right = sorted((above, below))
    return (left.left + left.width, left.top + left.height / 2), (right.left, left.top + left.height / 2)


def _drawn_box(box: Box, place: _Place) -> Iterable[str]:
    radius = place.height / 2 if box.shape == "round" else 3
    for inset in (0.0, 3.0) if box.shape == "double" else (0.0,):
        size = f'width="{place.width - 2 * inset:.1f}" height="{place.height - 2 * inset:.1f}" rx="{radius:.1f}"'
        at = f'x="{place.left + inset:.1f}" y="{place.top + inset:.1f}"'
        yield f'<rect {at} {size} fill="#f4f8fc" stroke="#3b6ea5"/>'
    first = place.top + place.height / 2 + 4 - _LINE * (len(box.lines) - 1) / 2
    for number, line in enumerate(box.lines):
        yield _text(place.middle, first + _LINE * number, line)


def _legend(used: Sequence[str], styles: Mapping[str, str], top: float) -> Iterable[str]:
    for number, style in enumerate(used):
        y = top + _LINE * number + 8
        line = f'x1="{_NAMES}" y1="{y:.1f}" x2="{_NAMES + 34}" y2="{y:.1f}"'
        yield f'<line {line} stroke="#555"{_STROKES[style]}/>'
        yield _text(_NAMES + 44, y + 4, styles[style], "start", "#666")


def _text(x: float, y: float, text: str, anchor: str = "middle", fill: str = "#222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{html.escape(text)}</text>'
