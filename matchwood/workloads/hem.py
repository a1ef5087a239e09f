"""The generator of the HEM paper (Sci. China 2016, section 5, Table 1): one interval on every attribute.

Values have six decimals in [0, 1]; we write them as integers from 0 to 1,000,000. Each interval is δ wide: its lower
end is drawn from [0, 1 - δ], so that the upper one lies in [δ, 1], which is what the paper says of both. (Drawn apart,
they would be the wrong way round for every δ below a half.) Ends are inclusive and exclusive in all four combinations,
equally often. With narrow intervals on ten attributes nothing would match: so, for each event, one rule is placed
around it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.base import BETWEEN, Events, Rules, Workload

SPAN = 1_000_000
LOW_OPERATORS, HIGH_OPERATORS = (">", ">="), ("<", "<=")

_CHUNK = 50_000


@dataclass(frozen=True)
class HemSettings:
    """Table 1, with the values that its experiments fix."""

    rules: int = 900_000
    events: int = 500
    attributes: int = 10
    width: float = 0.5
    seed: int = 0


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


def hem(rules: int = 900_000, events: int = 500, attributes: int = 10, width: float = 0.5, seed: int = 0) -> Intervals:
    """A workload of Table 1.

    >>> hem(rules=1, events=1, attributes=1, seed=1).rules_text()
    ['a0 >= 295634 and a0 <= 795634']
    """
    settings = HemSettings(rules, events, attributes, width, seed)
    if not 0 < width < 1 or not 1 <= events <= rules or attributes < 1:
        raise InvalidArgument("width must be between 0 and 1, attributes and events at least 1, rules at least as many")
    span = int(width * SPAN)
    values = np.random.default_rng([seed, 1]).integers(0, SPAN + 1, (events, attributes))
    random = np.random.default_rng([seed, 2])
    low = random.integers(0, SPAN - span + 1, (rules, attributes))
    around = np.random.default_rng([seed, 3])
    planted = around.permutation(rules)[:events]
    shift = around.integers(1, span, (events, attributes)) if span > 1 else np.ones((events, attributes), np.int64)
    low[planted] = np.clip(values - shift, 0, SPAN - span)
    ends = random.integers(0, 4, (rules, attributes)).astype(np.int8)
    ends[planted] = 3
    return _workload(settings, low, low + span, ends, values)


def _workload(
    settings: HemSettings,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    ends: NDArray[np.int8],
    values: NDArray[np.int64],
) -> Intervals:
    rules, attributes = low.shape
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
