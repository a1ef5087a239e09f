"""Base expressions of BEGen: sets of equalities, the rules that keep some of them, the events that fulfil them all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.errors import InvalidArgument
from matchwood.workloads.shared.base import Events
from matchwood.workloads.shared.draws import distinct, offsets_of, pair_hashes, repeated, row_sums, weighted

NOISE = 2
"""Pairs that an event has beside those of its base."""

_CHUNK = 200_000
_ROUNDS = 100

Integers = NDArray[np.int64]


class Bases(NamedTuple):
    """Base b has the pairs offsets[b] : offsets[b + 1], ordered by attribute."""

    offsets: Integers
    attributes: NDArray[np.int32]
    values: Integers


def draw_bases(
    random: np.random.Generator, weights: NDArray[np.float64], size: int, count: int, cardinality: int
) -> Bases:
    """Attributes are drawn by weight, values are uniform in 1 … cardinality.

    Sizes go round size, size + 1, size - 1, size + 2, … up to a fifth more or less, so that a handful of bases has the
    right mean too.
    """
    turns = np.arange(count) % (size // 5 * 2 + 1)
    offsets, attributes = distinct(random, weights, size + np.where(turns % 2, turns + 1, -turns) // 2)
    return Bases(offsets, attributes, random.integers(1, cardinality + 1, len(attributes)))


def derive(
    random: np.random.Generator, bases: Bases, base_of_rule: Integers, mean: float, spread: int
) -> tuple[Integers, NDArray[np.int32], Integers]:
    """For each rule the pairs of its base that it keeps: one at least, `mean` on average, at most `spread` off that."""
    pieces = []
    for start in range(0, len(base_of_rule), _CHUNK):
        owners = base_of_rule[start : start + _CHUNK]
        pieces.append(_kept(random, bases, owners, _rule_sizes(random, bases, owners, mean, spread)))
    sizes, positions = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return offsets_of(sizes), bases.attributes[positions], bases.values[positions]


def _rule_sizes(random: np.random.Generator, bases: Bases, owners: Integers, mean: float, spread: int) -> Integers:
    """As if each pair were kept with one probability; sizes that are not allowed are drawn again."""
    available = np.diff(bases.offsets)
    keep = min(1.0, mean / float(available.mean()))
    sizes = np.zeros(len(owners), dtype=np.int64)
    pending = np.arange(len(owners))
    for _ in range(_ROUNDS):
        sizes[pending] = random.binomial(available[owners[pending]], keep)
        off = np.abs(sizes[pending] - mean) >= spread + 1
        pending = pending[off | (sizes[pending] == 0)]
    sizes[pending] = np.clip(round(mean), 1, available[owners[pending]])
    return sizes


def _kept(random: np.random.Generator, bases: Bases, owners: Integers, sizes: Integers) -> tuple[Integers, Integers]:
    """The positions of `sizes` pairs of each base, all choices equally likely."""
    available = np.diff(bases.offsets)[owners]
    columns = np.arange(available.max())
    keys = random.random((len(owners), len(columns)), dtype=np.float32)
    keys[columns >= available[:, None]] = 2.0
    order = np.argsort(np.argsort(keys, axis=1), axis=1)
    rows, steps = np.nonzero(order < sizes[:, None])
    return sizes, bases.offsets[owners[rows]] + steps


def noisy_events(
    random: np.random.Generator, bases: Bases, base_of_event: Integers, weights: NDArray[np.float64], cardinality: int
) -> Events:
    """Each event has its base's pairs and some noise; no two are equal."""
    count = len(base_of_event)
    attributes, values = np.empty((count, NOISE), dtype=np.int64), np.empty((count, NOISE), dtype=np.int64)
    base_hashes = row_sums(bases.offsets, pair_hashes(bases.attributes, bases.values))[base_of_event]
    pending = np.arange(count)
    for _ in range(_ROUNDS):
        attributes[pending] = _noise(random, bases, base_of_event[pending], weights)
        values[pending] = random.integers(1, cardinality + 1, (len(pending), NOISE))
        pending = repeated(base_hashes + pair_hashes(attributes, values).sum(axis=1, dtype=np.uint64))
        if not len(pending):
            return _assembled(bases, base_of_event, attributes, values)
    raise InvalidArgument(f"there are not {count} different events (ask for fewer, or for more dimensions or values)")


def _noise(random: np.random.Generator, bases: Bases, owners: Integers, weights: NDArray[np.float64]) -> Integers:
    """Different attributes, none of them in the event's base."""
    dimensions = len(weights)
    taken = np.repeat(np.arange(len(bases.offsets) - 1), np.diff(bases.offsets)) * dimensions + bases.attributes
    drawn = np.empty((len(owners), NOISE), dtype=np.int64)
    pending = np.arange(len(owners))
    for _ in range(_ROUNDS):
        drawn[pending] = np.sort(weighted(random, weights, (len(pending), NOISE)), axis=1)
        keys = owners[pending, None] * dimensions + drawn[pending]
        found = taken[np.minimum(places_in(taken, keys), len(taken) - 1)] == keys
        twice = (drawn[pending, 1:] == drawn[pending, :-1]).any(axis=1)
        pending = pending[found.any(axis=1) | twice]
    drawn[pending] = _rare_noise(random, bases, owners[pending], weights)
    return drawn


def _rare_noise(random: np.random.Generator, bases: Bases, owners: Integers, weights: NDArray[np.float64]) -> Integers:
    """The same draw where bases have all that is likely, so that trying again would take for ever."""
    keys = random.standard_exponential((len(owners), len(weights))) / weights
    for row, base in enumerate(owners.tolist()):
        keys[row, bases.attributes[bases.offsets[base] : bases.offsets[base + 1]]] = np.inf
    return np.sort(np.argpartition(keys, NOISE - 1, axis=1)[:, :NOISE], axis=1)


def _assembled(bases: Bases, owners: Integers, attributes: Integers, values: Integers) -> Events:
    sizes = np.diff(bases.offsets)[owners]
    offsets = offsets_of(sizes + NOISE)
    rows = np.repeat(np.arange(len(owners)), sizes)
    positions = np.arange(len(rows)) + np.repeat(bases.offsets[owners] - offsets_of(sizes)[:-1], sizes)
    noise_rows = np.repeat(np.arange(len(owners)), NOISE)
    all_rows = np.concatenate((rows, noise_rows))
    all_attributes = np.concatenate((bases.attributes[positions], attributes.ravel()))
    all_values = np.concatenate((bases.values[positions], values.ravel()))
    order = np.lexsort((all_attributes, all_rows))
    return Events(offsets, all_attributes[order].astype(np.int32), all_values[order])
