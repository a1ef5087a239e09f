"""The generator of the HEM paper (Sci. China 2016, section 5, Table 1): one interval on every attribute.

Values have six decimals in [0, 1]; we write them as integers from 0 to 1,000,000. Each interval is δ wide: its lower
end is drawn from [0, 1 - δ], so that the upper one lies in [δ, 1], which is what the paper says of both. (Drawn apart,
they would be the wrong way round for every δ below a half.) A value then lies in an interval with probability δ, and in
all those of a rule with δ to the power of their number: so a wanted matching probability becomes a width. Ends are
inclusive and exclusive in all four combinations, equally often. With narrow intervals on ten attributes nothing would
match: so, for each event, one rule is placed around it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.shared.base import BETWEEN, Events, Rules, Workload
from matchwood.workloads.shared.blocks import Block, blocks_of

SPAN = 1_000_000
LOW_OPERATORS, HIGH_OPERATORS = (">", ">="), ("<", "<=")

_CHUNK, _WIDTH = 50_000, 0.5


@dataclass(frozen=True)
class HemSettings:
    """Table 1, with the values that its experiments fix: intervals are 0.5 wide, unless `matching` says how many of
    the rules are to match an event."""

    rules: int = 900_000
    events: int = 500
    attributes: int = 10
    width: float | None = None
    seed: int = 0
    matching: float | None = None

    @property
    def span(self) -> int:
        """How wide an interval is, in the units of values."""
        return int((_WIDTH if self.width is None else self.width) * SPAN)


@dataclass(frozen=True)
class Intervals(Workload):
    """Rules of one interval an attribute. `low`, `high` have a row for each rule; so has `ends`: 1 where the lower
    end is inclusive, plus 2 where the upper one is."""

    low: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 0), np.int64))
    high: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 0), np.int64))
    ends: NDArray[np.int8] = field(default_factory=lambda: np.empty((0, 0), np.int8))

    def rules_table(self) -> pa.Table:
        """Columns id and expression: `a0 > 17 and a0 <= 500017 and a1 …`."""
        starts = range(0, self.rules.count, _CHUNK)
        texts = pa.chunked_array([self._texts(start, min(start + _CHUNK, self.rules.count)) for start in starts])
        return pa.table({"id": self.rule_ids, "expression": texts})

    def _texts(self, start: int, stop: int) -> pa.Array:
        parts = []
        for column, name in enumerate(self.attributes):
            low, high = (pa.array(ends[start:stop, column]).cast(pa.string()) for ends in (self.low, self.high))
            kinds = self.ends[start:stop, column]
            above = pa.array(LOW_OPERATORS).take(pa.array(kinds & 1))
            below = pa.array(HIGH_OPERATORS).take(pa.array(kinds >> 1))
            lower = pc.binary_join_element_wise(name, above, low, " ")
            parts.append(pc.binary_join_element_wise(lower, "and", name, below, high, " "))
        return pc.binary_join_element_wise(*parts, " and ")


def hem(
    rules: int = 900_000,
    events: int = 500,
    attributes: int = 10,
    width: float | None = None,
    seed: int = 0,
    matching: float | None = None,
) -> Intervals:
    """A workload of Table 1.

    >>> hem(rules=1, events=1, attributes=1, seed=1).rules_text()
    ['a0 >= 295634 and a0 <= 795634']
    >>> round(hem(rules=9, events=1, attributes=2, matching=0.01).parameters["width"], 3)
    0.1
    """
    settings = checked(HemSettings(rules, events, attributes, width, seed, matching))
    drawn = [_drawn(settings, block) for block in blocks_of(rules)]
    low, ends = (np.concatenate(column) for column in zip(*drawn, strict=True))
    return _workload(settings, low, ends, _planned(settings).values)


def hem_block(settings: HemSettings, block: Block) -> Intervals:
    """The rules of one block."""
    return _workload(settings, *_drawn(settings, block), np.zeros((0, settings.attributes), np.int64))


def checked(settings: HemSettings) -> HemSettings:
    """The settings with the width that they stand for."""
    width, matching, attributes = settings.width, settings.matching, settings.attributes
    if matching is not None and not 0 < matching < 1:
        raise InvalidArgument(f"matching must be between 0 and 1 (got {matching})")
    if attributes < 1 or not 1 <= settings.events <= settings.rules or (width is not None and not 0 < width < 1):
        raise InvalidArgument("width must be between 0 and 1, attributes and events at least 1, rules at least as many")
    if width is None:
        width = _WIDTH if matching is None else float(matching ** (1 / attributes))
    if matching is not None and not math.isclose(width**attributes, matching):
        raise InvalidArgument(
            f"intervals of width {width} on {attributes} attributes match with probability {width**attributes:.3g}, "
            f"not {matching} (give width or matching, not both)"
        )
    return replace(settings, width=width)


class _HemPlan(NamedTuple):
    """The values of the events, and the rule around each of them with its lower ends."""

    values: NDArray[np.int64]
    rules: NDArray[np.int64]
    low: NDArray[np.int64]


@lru_cache(maxsize=2)
def _planned(settings: HemSettings) -> _HemPlan:
    shape, span = (settings.events, settings.attributes), settings.span
    values = np.random.default_rng([settings.seed, 1]).integers(0, SPAN + 1, shape)
    around = np.random.default_rng([settings.seed, 3])
    planted = around.permutation(settings.rules)[: settings.events]
    shift = around.integers(1, span, shape) if span > 1 else np.ones(shape, np.int64)
    return _HemPlan(values, planted, np.clip(values - shift, 0, SPAN - span))


def _drawn(settings: HemSettings, block: Block) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """The lower ends of a block's rules, and which ends are inclusive."""
    random, shape, plan = block.random(settings.seed, 2), (block.count, settings.attributes), _planned(settings)
    low = random.integers(0, SPAN - settings.span + 1, shape)
    ends = random.integers(0, 4, shape).astype(np.int8)
    ours = (plan.rules >= block.first) & (plan.rules < block.first + block.count)
    low[plan.rules[ours] - block.first], ends[plan.rules[ours] - block.first] = plan.low[ours], 3
    return low, ends


def _workload(
    settings: HemSettings,
    low: NDArray[np.int64],
    ends: NDArray[np.int8],
    values: NDArray[np.int64],
) -> Intervals:
    (rules, attributes), high = low.shape, low + settings.span
    # Between integers, an exclusive end is the inclusive one beside it.
    constants = np.stack((low + 1 - (ends & 1), high - 1 + (ends >> 1)), axis=2)
    every = np.arange(rules * attributes + 1)
    return Intervals(
        "hem",
        attributes,
        Rules(
            every[::attributes],
            np.tile(np.arange(attributes, dtype=np.int32), rules),
            np.full(rules * attributes, BETWEEN, np.int8),
            2 * every,
            constants.ravel(),
        ),
        Events(
            np.arange(0, values.size + 1, attributes),
            np.tile(np.arange(attributes, dtype=np.int32), len(values)),
            values.ravel(),
        ),
        asdict(settings),
        None,
        low,
        high,
        ends,
    )
