"""Axes of charts: where a value lies, linear or logarithmic, and which values to name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_FACTOR = 8
"""Values that differ by more than this have a logarithmic axis."""

_FEW = 300
"""Up to this factor, decades alone would be too few lines."""


class Axis(NamedTuple):
    """From `low` to `high`, which lie at 0 and at `length` pixels."""

    low: float
    high: float
    length: float
    log: bool

    def place(self, value: float) -> float:
        """The pixel of a value; what lies outside is moved to the nearest end.

        >>> Axis(1, 100, 200, log=True).place(10), Axis(0, 10, 200, log=False).place(5)
        (100.0, 100.0)
        """
        low, high = self._scaled(self.low), self._scaled(self.high)
        share = (self._scaled(value) - low) / (high - low)
        return self.length * min(1.0, max(0.0, share))

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def ticks(self) -> list[float]:
        """Values worth a line: decades, with 2 and 5 between few of them; or some five round numbers.

        >>> Axis(1, 1000, 9, log=True).ticks(), Axis(0, 10, 9, log=False).ticks()
        ([1, 10, 100, 1000], [0, 2, 4, 6, 8, 10])
        """
        if self.log:
            first, last = math.floor(math.log10(self.low) + 1e-9), math.ceil(math.log10(self.high) - 1e-9)
            steps = (1, 2, 5) if self.high / self.low < _FEW else (1,)
            found = [_plain(step * 10.0**power) for power in range(first, last + 1) for step in steps]
        else:
            step = _round_step((self.high - self.low) / 5)
            found = [_plain(step * k) for k in range(math.floor(self.low / step), math.ceil(self.high / step) + 1)]
        return [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


def axis(values: Sequence[float], length: float, log: bool | None = None, from_zero: bool = False) -> Axis:
    """An axis for these values, rounded outwards; logarithmic where they differ by much, unless that is said."""
    low, high = min(values), max(values)
    if log is None:
        log = low > 0 and high / low > _FACTOR
    if log and low > 0:
        return Axis(_outwards(low, down=True), _outwards(max(high, low * 1.01), down=False), length, True)
    low = min(low, 0.0) if from_zero else low
    step = _round_step(max(high - low, abs(high) * 0.1, 1e-12) / 5)
    first = math.floor(low / step)
    return Axis(step * first, step * max(math.ceil(high / step), first + 1), length, False)


def tight(values: Sequence[float], length: float) -> Axis:
    """An axis from the smallest to the largest value, for settings, of which only these mean anything."""
    low, high = min(values), max(values)
    if low == high:
        return axis(values, length)
    return Axis(low, high, length, low > 0 and high / low > _FACTOR)


def _outwards(value: float, down: bool) -> float:
    """The next of …, 1, 2, 5, 10, … at or beyond a value."""
    power = math.floor(math.log10(value) + 1e-12)
    steps = [step * 10.0**power for step in (1, 2, 5, 10)]
    beyond = [step for step in steps if (step <= value * (1 + 1e-9) if down else step >= value * (1 - 1e-9))]
    return max(beyond) if down else min(beyond)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def _plain(value: float) -> float:
    """Without the noise of arithmetic, and whole where it is."""
    rounded = float(f"{value:.10g}")
    return int(rounded) if rounded == int(rounded) else rounded


def tick_text(value: float) -> str:
    """A value beside an axis, short.

    >>> [tick_text(value) for value in (0, 0.05, 12, 1_000, 30_000, 2_500_000, 1e-05)]
    ['0', '0.05', '12', '1,000', '30K', '2.5M', '1e-05']
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "K")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'K' else size):g}{unit}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:g}"
