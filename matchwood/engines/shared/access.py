"""Which predicates give access to a rule: the ones that let the fewest events through (PS-Tree, 3.3).

Two ways to rank them, by name:

- `shares`     the share of events expected to pass: that of the labels covered, as long as no event was observed, and
               what was observed takes over bit by bit
- `operators`  as published: the events that passed, if any was observed, and until then the operator and its width
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled
from matchwood.engines.base import EventShares
from matchwood.engines.shared._access_kernels import (
    PRIOR_EVENTS,
    UNUSABLE,
    blend_shares,
    estimate_costs,
    order_constraints,
)
from matchwood.engines.shared.constraints.words import constraint_counts, unpacked
from matchwood.engines.shared.operators import LabelValues, operator_costs
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only

_CHUNK = 2**16
"""Units whose intervals are looked up in the statistics together, so that bulk loads stay within bounded memory."""

_LEAST_SHARE = 1e-12


class SelectivityOrder(NamedTuple):
    """The constraints of some units, those of the i-th from starts[i] on.

    `costs`  the share of events that each is expected to let through; infinite if it accepts NULL
    `order`  positions within the unit, the most selective constraint first
    """

    starts: NDArray[np.int64]
    costs: NDArray[np.float32]
    order: NDArray[np.int32]


def selectivity_order(
    conjunctions: Conjunctions,
    units: NDArray[np.int32],
    frequency: NDArray[np.int64],
    live: int,
    statistics: EventShares | None,
    operators: LabelValues | None = None,
) -> SelectivityOrder:
    """Rank all constraints of these units; `frequency` counts how many of `live` units name each attribute.

    With `operators`, which tells the values behind labels, as published.
    """
    counts = constraint_counts(conjunctions.places, conjunctions.words, units)
    starts = np.zeros(len(units) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    costs, order = pooled(int(starts[-1]), np.float32), pooled(int(starts[-1]), np.int32)
    if operators is None:
        estimate_costs(conjunctions, units, starts, frequency, live, costs)
    else:
        _rank_operators(conjunctions, units, starts, operators, costs)
    if statistics is not None and statistics.events > 0:
        _observe(conjunctions, units, starts, statistics, costs, PRIOR_EVENTS if operators is None else 0)
    order_constraints(starts, costs, order)
    return SelectivityOrder(read_only(starts, np.int64), read_only(costs, np.float32), read_only(order, np.int32))


def unit_shares(selectivity: SelectivityOrder) -> NDArray[np.float64]:
    """The share of events that each unit should be true of, as if its constraints were independent."""
    starts, costs = selectivity.starts, selectivity.costs
    shares = np.where(np.isfinite(costs), costs, 1.0).astype(np.float64)
    logarithms = np.append(np.log(np.maximum(shares, _LEAST_SHARE)), 0.0)
    sums = np.add.reduceat(logarithms, starts[:-1]) if len(starts) > 1 else np.empty(0)
    return np.where(np.diff(starts) > 0, np.exp(sums), 1.0)


def _observe(
    conjunctions: Conjunctions,
    units: NDArray[np.int32],
    starts: NDArray[np.int64],
    statistics: EventShares,
    costs: NDArray[np.float32],
    prior: int,
) -> None:
    for first, last in _chunks(units):
        encoded = unpacked(*conjunctions, units[first:last], as_stored=True)
        attributes = np.repeat(encoded.attributes, np.diff(encoded.pieces))
        shares = np.asarray(statistics.shares(attributes, encoded.low, encoded.high), dtype=np.float64)
        part = costs[starts[first] : starts[last]]
        blend_shares(encoded.pieces, shares, statistics.events, prior, part)


def _rank_operators(
    conjunctions: Conjunctions,
    units: NDArray[np.int32],
    starts: NDArray[np.int64],
    values: LabelValues,
    costs: NDArray[np.float32],
) -> None:
    for first, last in _chunks(units):
        encoded = unpacked(*conjunctions, units[first:last], as_stored=True)
        found = operator_costs(encoded, values)
        costs[starts[first] : starts[last]] = np.where(encoded.accepts_null, UNUSABLE, found)


def _chunks(units: NDArray[np.int32]) -> list[tuple[int, int]]:
    return [(first, min(first + _CHUNK, len(units))) for first in range(0, len(units), _CHUNK)]
