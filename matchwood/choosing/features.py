"""What tells engines apart: a few figures of the rules, and of the events once some are known.

All are per event, and follow from one quantity: the share of events that each constraint lets through, as engines that
choose access predicates estimate it (`engines/shared/access.py`): by width, by how many rules name the attribute, and
by event statistics where there are any. Constraints count as independent; how many rules really match is measured
as soon as events have been matched."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.choosing._feature_kernels import write_attributes
from matchwood.encoding import BOTTOM_LABEL, TOP_LABEL
from matchwood.engines import OFTEN, ConjunctionStore, EventShares, read_only, selectivity_order, unit_shares
from matchwood.engines._scan_kernels import count_attributes

MOST_UNITS = 20_000
"""Of more units, so many at even distances are looked at: some 20 ms."""

BYTES_NEAR = 2**20
"""Constraints of together so many bytes are near the processor; what lies beyond is looked up more slowly."""

_BYTES_A_CONSTRAINT = 12
"""With a share of what it refers to and of what leads to it: coefficients are fitted to this."""


class Features(NamedTuple):
    """Figures of one index.

    `units`        distinct conjunctions
    `constraints`  of a unit, on average
    `attributes`   that units name
    `sharing`      rules for each unit
    `pairs`        attributes of an event that some unit names
    `satisfied`    constraints of all units that hold for an event: what counting counts
    `candidates`   units whose most selective constraint holds: what access predicates lead to
    `narrowed`     units whose two most selective constraints hold
    `violated`     constraints on attributes of the event that do not hold: what exclusion excludes
    `always`       units that give no access at all, so that every event looks at them
    `hits`         units that are true of an event
    `distance`     doublings of the constraints' bytes beyond what lies near the processor
    `often`        units that should match often enough for `grouped` to unite them; and of these
    `often_candidates`, `often_narrowed`, `often_hits`
    """

    units: float
    constraints: float
    attributes: float
    sharing: float
    pairs: float
    satisfied: float
    candidates: float
    narrowed: float
    violated: float
    always: float
    hits: float
    distance: float
    often: float = 0.0
    often_candidates: float = 0.0
    often_narrowed: float = 0.0
    often_hits: float = 0.0

    @property
    def seldom(self) -> Features:
        """The same without the units that should match often, as far as access predicates care."""
        return self._replace(
            units=self.units - self.often,
            candidates=self.candidates - self.often_candidates,
            narrowed=self.narrowed - self.often_narrowed,
            hits=self.hits - self.often_hits,
        )


def features_of(store: ConjunctionStore, statistics: EventShares | None, hits: float | None = None) -> Features:
    """The figures of all live units; `hits` are those of an event, where they have been counted."""
    live = store.live_units()
    units = read_only(live[:: max(1, math.ceil(len(live) / MOST_UNITS))], np.int32)
    scale = len(live) / max(1, len(units))
    conjunctions, frequency = store.view(), np.zeros(store.attributes, np.int64)
    count_attributes(conjunctions, units, frequency)
    frequency.flags.writeable = False
    selectivity = selectivity_order(conjunctions, units, frequency, len(units), statistics)
    usable = np.isfinite(selectivity.costs)
    shares = np.where(usable, selectivity.costs, 1.0).astype(np.float64)
    presence = _presence(frequency, len(units), statistics)
    best, second = _two_best(selectivity.starts, selectivity.order, selectivity.costs)
    constraints = len(shares) / max(1, len(units))
    named = np.empty(len(shares), np.int32)
    write_attributes(conjunctions, units, named)
    matching = unit_shares(selectivity)
    expected = scale * float(matching.sum())
    found = expected if hits is None else hits
    often = matching >= OFTEN
    return Features(
        units=float(len(live)),
        constraints=constraints,
        attributes=float(np.count_nonzero(frequency)),
        sharing=float(store.uses.sum() / max(1, len(live))),
        pairs=float(presence.sum()),
        satisfied=scale * float(shares[usable].sum()),
        candidates=scale * float(best.sum()),
        narrowed=scale * float((best * second).sum()),
        violated=scale * float(np.maximum(presence[named] - shares, 0.0)[usable].sum()),
        always=scale * float(np.count_nonzero(best >= 1.0)),
        hits=found,
        distance=max(0.0, math.log2(max(1.0, len(live) * constraints * _BYTES_A_CONSTRAINT / BYTES_NEAR))),
        often=scale * float(np.count_nonzero(often)),
        often_candidates=scale * float(best[often].sum()),
        often_narrowed=scale * float((best * second)[often].sum()),
        often_hits=scale * float(matching[often].sum()) * found / max(1e-12, expected),
    )


def _presence(frequency: NDArray[np.int64], units: int, statistics: EventShares | None) -> NDArray[np.float64]:
    """The share of events that have each attribute."""
    if statistics is None or not statistics.events:
        found: NDArray[np.float64] = np.minimum(1.0, frequency / max(1, units))
        return found
    attributes = np.flatnonzero(frequency).astype(np.int32)
    everything = np.full((2, len(attributes)), BOTTOM_LABEL, np.int32)
    everything[1] = TOP_LABEL
    present = np.zeros(len(frequency), np.float64)
    present[attributes] = statistics.shares(attributes, *everything)
    return present


def _two_best(
    starts: NDArray[np.int64], order: NDArray[np.int32], costs: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the next share of each unit; 1 where there is none."""
    counts = np.diff(starts)
    padded = np.append(costs, np.float32(1.0))
    found = []
    for rank in (0, 1):
        has = counts > rank
        places = np.full(len(counts), len(costs))
        places[has] = starts[:-1][has] + order[starts[:-1][has] + rank]
        found.append(np.minimum(padded[places].astype(np.float64), 1.0))
    return found[0], found[1]
