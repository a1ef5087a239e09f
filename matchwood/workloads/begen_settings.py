"""The settings of BEGen: the rows of the BE-Tree paper's Table III, and the operators of its Table IV."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.bases import NOISE
from matchwood.workloads.shared.base import AT_LEAST, AT_MOST, BETWEEN, GREATER, IN, LESS, NOT_EQUAL, NOT_IN
from matchwood.workloads.shared.draws import zipf_weights

EXPRESSIVENESS: dict[str, tuple[int, ...]] = {
    "minimum": (),
    "low": (IN,),
    "medium": (LESS, AT_MOST, AT_LEAST, GREATER, IN, BETWEEN),
    "high": (LESS, AT_MOST, NOT_EQUAL, AT_LEAST, GREATER, IN, NOT_IN, BETWEEN),
}
"""The operators beside `=` at each level of Table IV."""

DISTRIBUTIONS = {"uniform": 0.0, "zipf": 2.0}
"""Exponents. The paper prints none, but says that under Zipf an event makes a predicate TRUE in 80 to 90% of the rules:
1 gives 48%, 1.5 gives 72%, 2 gives 82%."""


@dataclass(frozen=True)
class BegenSettings:
    """Table III's rows, with the defaults of its first column; `exponent` is Zipf's where that of 2 is not wanted."""

    rules: int = 1_000_000
    events: int = 1_000
    dimensions: int = 400
    cardinality: int = 48
    rule_size: float = 7
    event_size: int = 15
    matching: float = 0.01
    distribution: str = "uniform"
    exponent: float | None = None
    equality: float | None = None
    range_width: float = 0.12
    expressiveness: str = "medium"
    seed: int = 0

    @property
    def base_size(self) -> int:
        return self.event_size - NOISE

    @property
    def equality_share(self) -> float:
        return self.equality if self.equality is not None else 1.0 if self.expressiveness == "minimum" else 0.3

    @property
    def weights(self) -> NDArray[np.float64]:
        exponent = DISTRIBUTIONS[self.distribution] if self.exponent is None else self.exponent
        return zipf_weights(self.dimensions, exponent)

    def random(self, stream: int) -> np.random.Generator:
        """Independent streams, so that more events do not change the rules."""
        return np.random.default_rng([self.seed, stream])


def checked(settings: BegenSettings) -> BegenSettings:
    faults = {
        f"distribution must be one of {', '.join(DISTRIBUTIONS)}": settings.distribution not in DISTRIBUTIONS,
        f"expressiveness must be one of {', '.join(EXPRESSIVENESS)}": settings.expressiveness not in EXPRESSIVENESS,
        "matching must be above 0 and at most 1": not 0 < settings.matching <= 1,
        "rules and events must be at least 1": settings.rules < 1 or settings.events < 1,
        "cardinality must be at least 2": settings.cardinality < 2,
        f"rule_size must be from 1 to event_size - {NOISE}": not 1 <= settings.rule_size <= settings.base_size,
        "range_width must be above 0 and at most 1": not 0 < settings.range_width <= 1,
        "exponent must be from 0 to 5": not 0 <= (settings.exponent or 0) <= 5,
        "equality must be from 0 to 1": not 0 <= settings.equality_share <= 1,
        "expressiveness='minimum' has only equalities": settings.expressiveness == "minimum"
        and settings.equality_share != 1,
        "dimensions must be at least 1.2 times event_size": settings.dimensions < 1.2 * settings.event_size,
    }
    for message, present in faults.items():
        if present:
            raise InvalidArgument(message)
    return settings
