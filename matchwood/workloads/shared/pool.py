"""A pool of predicates that rules share: how many values each covers, and with which constants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.shared.base import AT_LEAST, AT_MOST, BETWEEN, EQUAL, IN
from matchwood.workloads.shared.draws import offsets_of

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_OPERATORS = np.array([EQUAL, IN, BETWEEN, AT_MOST, AT_LEAST], dtype=np.int8)
_MIXTURE = (0.35, 0.25, 0.2, 0.1, 0.1)
_LONGEST_LIST = 8
_GOLDEN = 0.6180339887498949
_DOMAINS = (10, 500)


class Pool(NamedTuple):
    """Members offsets[a] : offsets[a + 1] are the predicates of attribute a, the most popular first.

    An attribute has the values 1 … cardinality. What is random about a member is drawn once, as numbers between 0
    and 1; its constants follow from them and from the factor by which lists and ranges widen.
    """

    offsets: Integers
    cardinality: Integers
    attributes: NDArray[np.int32]
    operators: NDArray[np.int8]
    widths: Floats
    places: Floats
    steps: Floats


def draw_pool(random: np.random.Generator, weights: Floats, count: int) -> Pool:
    """About `count` predicates, shared among the attributes by weight.

    Domains of all sizes lie evenly among popular and rare attributes: what matches hangs on the few most popular ones.
    """
    sizes = np.maximum(1, np.rint(weights * count)).astype(np.int64)
    members, (smallest, largest) = int(sizes.sum()), _DOMAINS
    evenly = (0.5 + np.arange(len(weights)) * _GOLDEN) % 1
    return Pool(
        offsets=offsets_of(sizes),
        cardinality=(smallest * (largest / smallest) ** evenly).astype(np.int64),
        attributes=np.repeat(np.arange(len(weights), dtype=np.int32), sizes),
        operators=random.choice(_OPERATORS, members, p=_MIXTURE),
        widths=random.random(members),
        places=random.random(members),
        steps=random.random(members),
    )


def covered(pool: Pool, members: Integers, factor: float) -> Integers:
    """How many values each member holds for."""
    cardinality, operators = pool.cardinality[pool.attributes[members]], pool.operators[members]
    wanted = np.rint((0.05 + 0.55 * pool.widths[members]) * factor * cardinality)
    lists = np.clip(wanted, 2, np.minimum(_LONGEST_LIST, cardinality))
    ranges = np.clip(wanted, 1, cardinality)
    chosen: Integers = np.select([operators == EQUAL, operators == IN], [1, lists], ranges).astype(np.int64)
    return chosen


def coverage(pool: Pool, members: Integers, factor: float) -> Floats:
    """The share of its attribute's values that each member holds for."""
    return covered(pool, members, factor) / pool.cardinality[pool.attributes[members]]


def pool_constants(pool: Pool, members: Integers, factor: float) -> tuple[Integers, Integers]:
    """The constants of these members: offsets and values. A list's elements are equally far apart."""
    cardinality, operators = pool.cardinality[pool.attributes[members]], pool.operators[members]
    count = covered(pool, members, factor)
    is_list, is_range = operators == IN, operators == BETWEEN
    lengths = np.select([is_list, is_range], [count, 2], 1)
    widest = (cardinality - 1) // np.maximum(1, count - 1)
    step = np.select([is_list, is_range], [1 + (pool.steps[members] * widest).astype(np.int64), count - 1], 0)
    span = (lengths - 1) * step
    anywhere = 1 + (pool.places[members] * (cardinality - span)).astype(np.int64)
    first = np.select([operators == AT_MOST, operators == AT_LEAST], [count, cardinality - count + 1], anywhere)
    offsets = offsets_of(lengths)
    rows = np.repeat(np.arange(len(members)), lengths)
    return offsets, first[rows] + (np.arange(offsets[-1]) - offsets[rows]) * step[rows]
