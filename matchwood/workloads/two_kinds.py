"""Rules of two kinds: broad ones, true of every second or tenth event, and narrow ones, true of hardly any.

Campaigns and alerts are often like that, and no generator of a paper is. Events have all attributes; the first few
have many values, of which every narrow rule asks for one, and the others a range.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.shared.base import BETWEEN, EQUAL, Events, Rules, Workload, joined_rules

NAMES, RANGES = 3, 40
"""Attributes that have names, and that have numbers."""

NAME_COUNT, SPAN = 500, 1_000

BROAD_SIZE, NARROW_SIZE = 4, 6
"""Predicates of a rule."""


def two_kinds(rules: int, events: int, broad: float, seed: int) -> Workload:
    """So many rules, of which the share `broad` is of the first kind.

    >>> two_kinds(rules=3, events=1, broad=0.4, seed=1).rules_text()[0].count("between")
    4
    """
    random, many = np.random.default_rng(seed), round(broad * rules)
    parts = [_ranges(random, many, BROAD_SIZE, (600, 950)), _narrow(random, rules - many)]
    values = np.hstack(
        [random.integers(0, NAME_COUNT, (events, NAMES)), random.integers(0, SPAN, (events, RANGES))]
    )  # fmt: skip
    dimensions = NAMES + RANGES
    found = Events(
        np.arange(0, values.size + 1, dimensions),
        np.tile(np.arange(dimensions, dtype=np.int32), events),
        values.ravel(),
    )
    return Workload("two kinds", dimensions, joined_rules(parts), found, {"broad": broad, "seed": seed})


def _attributes(random: np.random.Generator, count: int, size: int) -> NDArray[np.int32]:
    """Of each rule, distinct attributes that have numbers, increasing."""
    drawn = np.argsort(random.random((count, RANGES)), axis=1)[:, :size]
    return NAMES + np.sort(drawn, axis=1).astype(np.int32)


def _bounds(random: np.random.Generator, shape: tuple[int, int], widths: tuple[int, int]) -> NDArray[np.int64]:
    width = random.integers(*widths, shape)
    low = (random.random(shape) * (SPAN - width)).astype(np.int64)
    return np.stack((low, low + width), axis=2)


def _ranges(random: np.random.Generator, count: int, size: int, widths: tuple[int, int]) -> Rules:
    every, bounds = np.arange(count * size + 1), _bounds(random, (count, size), widths)
    attributes = _attributes(random, count, size).ravel()
    return Rules(
        every[::size], attributes, np.full(count * size, BETWEEN, np.int8), 2 * every, bounds.ravel()
    )  # fmt: skip


def _narrow(random: np.random.Generator, count: int) -> Rules:
    """One name, and ranges: a tenth to a third of the values each."""
    size = NARROW_SIZE
    bounds = _bounds(random, (count, size - 1), (100, 300)).reshape(count, -1)
    constants = np.hstack([random.integers(0, NAME_COUNT, (count, 1)), bounds])
    names = random.integers(0, NAMES, (count, 1)).astype(np.int32)
    attributes = np.hstack([names, _attributes(random, count, size - 1)])
    operators = np.tile(np.array([EQUAL] + [BETWEEN] * (size - 1), np.int8), count)
    lengths = np.tile(np.array([1] + [2] * (size - 1)), count)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    every = np.arange(0, count * size + 1, size)
    return Rules(every, attributes.ravel(), operators, offsets, constants.ravel())
