"""Bar charts as SVG: small enough to write by hand, so that a report needs no plotting library."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from matchwood.bench.tables import shown

_BAR, _GAP, _LABELS, _WIDTH, _VALUES, _AXIS = 20, 6, 260, 560, 90, 24


def bar_chart(bars: Sequence[tuple[str, float]], axis: str, log: bool = False) -> str:
    """Horizontal bars with their values; on a logarithmic axis each decade is as long as the next."""
    if not bars:
        return ""
    lengths = bar_lengths([value for _, value in bars], log)
    width, height = _LABELS + _WIDTH + _VALUES, (_BAR + _GAP) * len(bars) + _AXIS
    rows = "".join(_bar(number, label, value, lengths[number]) for number, (label, value) in enumerate(bars))
    scale = " (logarithmic)" if log else ""
    caption = f"<text x='{_LABELS}' y='{height - 6}' font-size='12' fill='#555'>{html.escape(axis)}{scale}</text>"
    size = f"width='{width}' height='{height}' viewBox='0 0 {width} {height}'"
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size} font-family='sans-serif'>{rows}{caption}</svg>"


def bar_lengths(values: Sequence[float], log: bool) -> list[float]:
    """How long each bar is, in pixels; the shortest on a logarithmic axis still has half a decade.

    >>> [round(length) for length in bar_lengths([1, 10, 100], log=True)], bar_lengths([0, 5, 10], log=False)
    ([112, 336, 560], [0.0, 280.0, 560.0])
    """
    largest = max(values)
    if largest <= 0:
        return [0.0 for _ in values]
    if not log:
        return [_WIDTH * max(0.0, value) / largest for value in values]
    floor = math.log10(min(value for value in values if value > 0)) - 0.5
    span = math.log10(largest) - floor
    return [_WIDTH * (math.log10(value) - floor) / span if value > 0 else 0.0 for value in values]


def _bar(number: int, label: str, value: float, length: float) -> str:
    top = number * (_BAR + _GAP)
    middle = top + _BAR * 0.72
    return (
        f"<text x='{_LABELS - 8}' y='{middle}' font-size='13' text-anchor='end'>{html.escape(label)}</text>"
        f"<rect x='{_LABELS}' y='{top}' width='{length:.1f}' height='{_BAR}' fill='#3b7dd8' rx='2'/>"
        f"<text x='{_LABELS + length + 6:.1f}' y='{middle}' font-size='12'>{shown(value)}</text>"
    )
