"""Random events, of which no two are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.shared.base import Events
from matchwood.workloads.shared.draws import distinct, pair_hashes, repeated, row_sums

_ROUNDS = 100

Integers = NDArray[np.int64]


def session_attributes(
    random: np.random.Generator, weights: NDArray[np.float64], size: int, count: int
) -> tuple[Integers, NDArray[np.int32]]:
    """Which attributes each event has; sizes are uniform, up to a fifth off their mean."""
    spread = size // 5
    return distinct(random, weights, size + random.integers(-spread, spread + 1, count))


def distinct_events(
    random: np.random.Generator, weights: NDArray[np.float64], size: int, count: int, cardinality: Integers
) -> Events:
    """Events of about `size` pairs; values are uniform in 1 … cardinality[attribute]."""
    offsets, attributes = session_attributes(random, weights, size, count)
    values = random.integers(1, cardinality[attributes] + 1)
    owners = np.repeat(np.arange(count), np.diff(offsets))
    for _ in range(_ROUNDS):
        again = repeated(row_sums(offsets, pair_hashes(attributes, values)))
        if not len(again):
            return Events(offsets, attributes, values)
        changed = np.isin(owners, again)
        values[changed] = random.integers(1, cardinality[attributes[changed]] + 1)
    raise InvalidArgument(f"there are not {count} different events (ask for fewer)")
