"""Workloads of arbitrary expressions: what their generators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.base import Events, Rules, Workload
from matchwood.workloads.draws import offsets_of
from matchwood.workloads.trees import Trees, leaves

Integers = NDArray[np.int64]


def arbitrary_workload(
    name: str, dimensions: int, trees: Trees, events: Events, parameters: dict[str, Any]
) -> Workload:
    """A workload of these trees; its `rules` are their predicates, written out."""
    offsets, numbers = leaves(trees)
    return Workload(name, dimensions, picked(trees.predicates, offsets, numbers), events, parameters, trees)


def picked(predicates: Rules, offsets: Integers, numbers: Integers) -> Rules:
    """Rules with the predicates of these numbers."""
    lengths = np.diff(predicates.constant_offsets)[numbers]
    starts = offsets_of(lengths)
    positions = np.arange(starts[-1]) + np.repeat(predicates.constant_offsets[numbers] - starts[:-1], lengths)
    return Rules(
        offsets,
        predicates.attributes[numbers],
        predicates.operators[numbers],
        starts,
        predicates.constants[positions],
    )


def zipf_ranks(random: np.random.Generator, slots: int, ranks: int, alpha: float) -> Integers:
    """For each slot a rank below `ranks`, drawn in proportion to (rank + 1) ** -alpha, by the inverse of its sum."""
    uniform = random.random(slots)
    if alpha == 1:
        drawn = (ranks + 1.0) ** uniform
    else:
        drawn = (((ranks + 1.0) ** (1 - alpha) - 1) * uniform + 1) ** (1 / (1 - alpha))
    return np.minimum(drawn.astype(np.int64) - 1, ranks - 1)
