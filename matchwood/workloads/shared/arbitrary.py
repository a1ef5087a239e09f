"""Workloads of arbitrary expressions: what their generators share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.shared.base import Events, Rules, Workload, joined_rules
from matchwood.workloads.shared.draws import offsets_of
from matchwood.workloads.shared.trees import Trees, leaves

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


def joined_trees(parts: Sequence[Trees]) -> Trees:
    """The trees of all parts, those of the first one first; what parts have in common is not shared between them."""
    if len(parts) == 1:
        return parts[0]
    depth = max(part.depth for part in parts)
    starts = np.array([[*part.levels[:-1], *[0] * (depth - part.depth)] for part in parts], np.int64)
    sizes = np.array([[*np.diff(part.levels), *[0] * (depth - part.depth)] for part in parts], np.int64)
    levels = offsets_of(sizes.sum(axis=0))
    firsts = levels[:-1] + np.cumsum(sizes, axis=0) - sizes
    renumbered = [
        np.repeat(first - start, size) + np.arange(size.sum())
        for first, start, size in zip(firsts, starts, sizes, strict=True)
    ]
    inner = [
        (part, numbers, part.inner(level))
        for level in range(2, depth + 1)
        for part, numbers in zip(parts, renumbered, strict=True)
        if level <= part.depth
    ]
    none = np.zeros(0, np.int64)
    return Trees(
        predicates=joined_rules([part.predicates for part in parts]),
        junctions=np.concatenate([np.zeros(0, np.int8), *(part.junctions[nodes] for part, _, nodes in inner)]),
        offsets=offsets_of(np.concatenate([none, *(np.diff(part.offsets)[nodes] for part, _, nodes in inner)])),
        children=np.concatenate([none, *(numbers[part.children_of(nodes)[1]] for part, numbers, nodes in inner)]),
        levels=levels,
        roots=np.concatenate([numbers[part.roots] for part, numbers in zip(parts, renumbered, strict=True)]),
    )


def zipf_ranks(random: np.random.Generator, slots: int, ranks: int, alpha: float) -> Integers:
    """For each slot a rank below `ranks`, drawn in proportion to (rank + 1) ** -alpha, by the inverse of its sum."""
    uniform = random.random(slots)
    if alpha == 1:
        drawn = (ranks + 1.0) ** uniform
    else:
        drawn = (((ranks + 1.0) ** (1 - alpha) - 1) * uniform + 1) ** (1 / (1 - alpha))
    return np.minimum(drawn.astype(np.int64) - 1, ranks - 1)
