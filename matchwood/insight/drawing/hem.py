"""A picture of one of HEM's triangles, from real data: every rule is a point, and an event excludes some of them.

The x-axis has the middle of each rule's interval, the y-axis half its length, both in labels, which are ordered like
the values of the attribute. Squares of the grid that hold points are shaded; an event draws its two lines, and its
squares are excluded, kept, or checked point by point.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from matchwood.encoding import TOP_LABEL, Encoder, is_derived
from matchwood.engines import (
    EDGE,
    EXCLUDED,
    HEM,
    KEPT,
    Interval,
    Square,
    TriangleView,
    column_of,
    point,
    square_of,
    verdict,
)
from matchwood.errors import InvalidArgument
from matchwood.insight.drawing.atree import check_limit
from matchwood.insight.drawing.graph import svg_text
from matchwood.matching import EngineMatcher, Matcher
from matchwood.rules import RuleTable

ENGINE = HEM.name
FORMAT = "svg"

_LEFT, _TOP, _SIDE, _AXIS = 60, 30, 600, 62
_COLOURS = {EXCLUDED: "#c0504d", EDGE: "#e0a030", KEPT: "#4f9d54", None: "#3b7dd8"}
_MOST_RULES = 5


def triangle_picture(
    table: RuleTable,
    encoder: Encoder,
    matcher: Matcher,
    form: str | None,
    limit: int,
    attribute: str | None,
    event: Mapping[str, Any] | None,
) -> str:
    """The triangle of an attribute as SVG."""
    if form not in (None, FORMAT):
        raise InvalidArgument(f"format must be {FORMAT} for the engine {ENGINE!r} (got {form!r:.80})")
    check_limit(limit)
    assert isinstance(matcher, EngineMatcher)
    engine = matcher.engine
    assert isinstance(engine, HEM)
    name = attribute if attribute is not None else _widest(encoder, engine)
    number = encoder.vocabulary.table.number(name)
    if number < 0:
        raise InvalidArgument(f"no rule constrains {name!r:.80}")
    label = None if event is None else _label(encoder, number, event)
    if event is not None and label is None:
        raise InvalidArgument(f"the event has no value for {name!r}, whose triangle is drawn")
    view = engine.triangle(number)
    value = f" = {event[name]!r:.40}" if event is not None and name in event else ""
    return _svg(view, label, name, value, _titles(table, view, limit))


def _widest(encoder: Encoder, engine: HEM) -> str:
    """The attribute of the most points; not a derived one, which has two values."""
    keys = zip(encoder.vocabulary.table.keys(), engine.totals.tolist(), strict=False)
    points = {key: total for key, total in keys if total and not is_derived(key)}
    if not points:
        raise InvalidArgument("no rule constrains an attribute by its values: there is no triangle to draw")
    return max(points, key=lambda key: points[key])


def _label(encoder: Encoder, number: int, event: Mapping[str, Any]) -> int | None:
    codes = encoder.encode_event(event)
    found = np.flatnonzero(codes.attributes == number)
    return int(codes.labels[found[0]]) if len(found) else None


def _titles(table: RuleTable, view: TriangleView, limit: int) -> list[str]:
    """The rules of each point, if there are few enough to draw."""
    if len(view.units) > limit:
        return []
    titles = []
    for unit in view.units.tolist():
        ids = table.id_list(table.rows_of_unit(unit, "conjunctions"))
        more = f", and {len(ids) - _MOST_RULES:,} more" if len(ids) > _MOST_RULES else ""
        titles.append(", ".join(map(str, ids[:_MOST_RULES])) + more)
    return titles


def _svg(view: TriangleView, label: int | None, name: str, value: str, titles: list[str]) -> str:
    intervals = [Interval(low, high, True, False) for low, high in view.bounds.tolist()]
    counts: dict[Square, int] = {}
    for interval in intervals:
        square = square_of(interval, TOP_LABEL, view.tau)
        counts[square] = counts.get(square, 0) + 1
    column = None if label is None else column_of(label, TOP_LABEL, view.tau)
    parts = [*_axes(name), *_squares(counts, view.tau, column), *_sides(), *_lines(label)]
    parts += [_dot(interval, title) for interval, title in zip(intervals, titles, strict=False)]
    parts.append(_text(_LEFT, 20, f"{name}{value}: {_told(counts, column, len(intervals))}", "start"))
    return svg_text(_SIDE + 2 * _LEFT, _TOP + _SIDE // 2 + _AXIS, [*parts, *_legend(label)])


def _told(counts: Mapping[Square, int], column: int | None, points: int) -> str:
    if column is None:
        return f"{points:,} points in {len(counts):,} squares"
    sums = dict.fromkeys((EXCLUDED, EDGE, KEPT), 0)
    for square, count in counts.items():
        sums[verdict(square, column)] += count
    return f"{sums[EXCLUDED]:,} points excluded, {sums[EDGE]:,} checked, {sums[KEPT]:,} kept"


def _squares(counts: Mapping[Square, int], tau: int, column: int | None) -> Iterable[str]:
    side, most = _SIDE / (2 * tau), max(counts.values(), default=1)
    for square, count in sorted(counts.items()):
        colour = _COLOURS[None if column is None else verdict(square, column)]
        x, y = _LEFT + square.column * side, _TOP + _SIDE / 2 - (square.row + 1) * side
        place = f'x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}"'
        yield f'<rect {place} fill="{colour}" fill-opacity="{0.15 + 0.6 * count / most:.2f}"/>'


def _place(x: float, y: float) -> str:
    return f"{_LEFT + x * _SIDE:.1f},{_TOP + (0.5 - y) * _SIDE:.1f}"


def _sides() -> Iterable[str]:
    """The triangle: L1 on the left, L2 on the right."""
    corners = f"{_place(0, 0)} {_place(0.5, 0.5)} {_place(1, 0)}"
    yield f'<polygon points="{corners}" fill="none" stroke="#555"/>'
    yield _text(_LEFT + _SIDE * 0.22, _TOP + _SIDE * 0.25, "L1", "end")
    yield _text(_LEFT + _SIDE * 0.78, _TOP + _SIDE * 0.25, "L2", "start")


def _axes(name: str) -> Iterable[str]:
    """The two axes with their names; places are shares of the range of labels."""
    base, top = _TOP + _SIDE / 2, float(_TOP)
    yield f'<path d="M{_LEFT} {top:.0f}V{base:.0f}H{_LEFT + _SIDE}" fill="none" stroke="#888"/>'
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield _text(_LEFT + share * _SIDE, base + 32, f"{share:g}")
        if share <= 0.5:
            yield _text(_LEFT - 6, base - share * _SIDE + 4, f"{share:g}", "end")
    yield _text(_LEFT + _SIDE / 2, base + 50, f"middle of a rule's interval, among the constants of {name:.40}")
    turned = f'transform="rotate(-90 16 {(top + base) / 2:.0f})"'
    yield _text(16, (top + base) / 2, "half of its length", more=turned)


def _legend(label: int | None) -> Iterable[str]:
    """What the colours of squares mean, if an event gives them a meaning."""
    words = {EXCLUDED: "excluded", EDGE: "checked one by one", KEPT: "kept"}
    for number, (kind, word) in enumerate(words.items() if label is not None else ()):
        yield _text(
            _LEFT + _SIDE, _TOP + 12 + 16 * number, f"\N{BLACK SQUARE} {word}", "end", f'fill="{_COLOURS[kind]}"'
        )


def _lines(label: int | None) -> Iterable[str]:
    """The lines of a value, from its place on the x-axis to the sides, and the names of what lies between."""
    if label is None:
        return
    value = label / TOP_LABEL
    corners = f"{_place(value / 2, value / 2)} {_place(value, 0)} {_place((1 + value) / 2, (1 - value) / 2)}"
    yield f'<polyline points="{corners}" fill="none" stroke="#222" stroke-width="1.5"/>'
    bottom = _TOP + _SIDE / 2 + 18
    yield _text(_LEFT + _SIDE * value / 2, bottom, "Subarea 1")
    yield _text(_LEFT + _SIDE * (1 + value) / 2, bottom, "Subarea 2")
    x, y = _place(0.25 + value / 2, 0.25).split(",")
    yield _text(float(x), float(y), "Subarea 3")


def _dot(interval: Interval, title: str) -> str:
    x, y = (float(part) / TOP_LABEL for part in point(interval))
    cx, cy = _place(x, y).split(",")
    return f'<circle cx="{cx}" cy="{cy}" r="2.5" fill="#222"><title>{html.escape(title)}</title></circle>'


def _text(x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{" " * bool(more)}{more}>{html.escape(shown)}</text>'
