"""Random draws that the generators share, vectorised and reproducible from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in

_CELLS = 8_000_000
"""How many random keys are held at once."""


def zipf_weights(count: int, exponent: float) -> NDArray[np.float64]:
    """The probabilities of ranks 1, 2, …: in proportion to rank ** -exponent (0: uniform)."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def weighted(random: np.random.Generator, weights: NDArray[np.float64], size: Any) -> NDArray[np.int64]:
    """Positions drawn with these probabilities, with repetition."""
    drawn = places_in(np.cumsum(weights, dtype=np.float64)[:-1], random.random(size), "right")
    return np.asarray(drawn, dtype=np.int64)


def distinct(
    random: np.random.Generator, weights: NDArray[np.float64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """For each size, that many different positions, drawn one after the other by weight: offsets and sorted positions.

    The smallest of independent exponential keys, each divided by its weight, are such a draw.
    """
    offsets = offsets_of(sizes)
    positions = np.empty(offsets[-1], dtype=np.int32)
    order = np.argsort(sizes, kind="stable")
    rows = max(1, _CELLS // len(weights))
    scale = (1 / weights).astype(np.float32)
    for size in np.unique(sizes):
        owners = order[places_in(sizes[order], size) : places_in(sizes[order], size, "right")]
        for start in range(0, len(owners), rows):
            some = owners[start : start + rows]
            keys = random.standard_exponential((len(some), len(weights)), dtype=np.float32) * scale
            chosen = _smallest(keys, int(size))
            positions[offsets[some][:, None] + np.arange(size)] = chosen
    return offsets, positions


def _smallest(keys: NDArray[np.float32], size: int) -> NDArray[np.int64]:
    """The positions of the smallest keys of each row, in increasing order."""
    if size >= keys.shape[1]:
        return np.broadcast_to(np.arange(keys.shape[1]), keys.shape)
    return np.sort(np.argpartition(keys, max(size - 1, 0), axis=1)[:, :size], axis=1)


def offsets_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))


def pair_hashes(attributes: NDArray[Any], values: NDArray[Any]) -> NDArray[np.uint64]:
    """One hash a pair; the sum over a row's pairs is a hash of the row that does not depend on their order."""
    mixed = attributes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + values.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def row_sums(offsets: NDArray[np.int64], numbers: NDArray[Any]) -> NDArray[Any]:
    """The sum of each row's numbers; unsigned ones wrap around."""
    sums = np.concatenate((np.zeros(1, dtype=numbers.dtype), np.cumsum(numbers, dtype=numbers.dtype)))
    return np.asarray(sums[offsets[1:]] - sums[offsets[:-1]])


def repeated(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The rows whose hash an earlier row has."""
    _, first = np.unique(hashes, return_index=True)
    later = np.ones(len(hashes), dtype=bool)
    later[first] = False
    return np.flatnonzero(later)
