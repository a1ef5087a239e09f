"""The settings of ABE-Gen: the rows of the A-Tree paper's Table 3, and what its text leaves open."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from matchwood.errors import InvalidArgument
from matchwood.workloads.shared.trees import JUNCTIONS

MOST_PREDICATES = 200_000_000
"""Predicates of all rules together, beyond which the columns of a workload would not fit into memory."""


@dataclass(frozen=True)
class AbeSettings:
    """Table 3's rows with their defaults, in bold there (recovered from the text of 6.1 and 6.4).

    `depth`             levels of a tree, its predicates included: 1 is a single predicate
    `children`          operands of an `and` or an `or`
    `alpha`             Zipf exponent by which subexpressions and predicates are shared; at 0 none is
    `dimension_alpha`   Zipf exponent of the predicates' attributes (Fig. 12 (g)); the paper names no default
    `junctions`         shares of and, or, not, xor, xnor
    `matching`          how many of the rules match an event; None leaves it to the operators, as the paper does
    """

    rules: int = 1_000_000
    events: int = 1_000
    depth: int = 3
    children: int = 4
    alpha: float = 0.6
    dimensions: int = 1_000
    cardinality: int = 100
    event_size: int = 20
    dimension_alpha: float = 0.6
    junctions: tuple[float, ...] = (0.4, 0.4, 0.1, 0.05, 0.05)
    seed: int = 0
    matching: float | None = None

    @property
    def mean_children(self) -> float:
        both, _or, alone, *pairs = self.junctions
        return (both + _or) * self.children + alone + 2 * sum(pairs)

    @property
    def predicates(self) -> float:
        """How many predicates all rules have together, on average."""
        return float(self.rules * self.mean_children ** (self.depth - 1))

    def random(self, stream: int) -> np.random.Generator:
        """Independent streams, so that more events do not change the rules."""
        return np.random.default_rng([self.seed, stream])


def checked(settings: AbeSettings) -> AbeSettings:
    shares = settings.junctions
    faults = {
        "rules and events must be at least 1": settings.rules < 1 or settings.events < 1,
        "depth must be at least 1": settings.depth < 1,
        "children must be at least 2": settings.children < 2,
        "alpha must be from 0 to 1": not 0 <= settings.alpha <= 1,
        "dimension_alpha must be from 0 to 2": not 0 <= settings.dimension_alpha <= 2,
        "cardinality must be at least 2": settings.cardinality < 2,
        "event_size must be at least 1": settings.event_size < 1,
        "dimensions must be at least 1.2 times event_size": settings.dimensions < 1.2 * settings.event_size,
        "matching must be between 0 and 1": settings.matching is not None and not 0 < settings.matching < 1,
        "matching needs rules of depth 2 or more": settings.matching is not None and settings.depth < 2,
        f"junctions must be {len(JUNCTIONS)} shares that add up to 1": len(shares) != len(JUNCTIONS)
        or min(shares, default=0) < 0
        or not math.isclose(sum(shares), 1),
    }
    for message, present in faults.items():
        if present:
            raise InvalidArgument(message)
    if settings.predicates > MOST_PREDICATES:
        raise InvalidArgument(
            f"{settings.rules:,} rules of depth {settings.depth} would have some {settings.predicates:,.0f} predicates "
            f"(at most {MOST_PREDICATES:,}; ask for fewer rules, levels or children)"
        )
    return settings
