"""Predicates that hold for a given value: Table II of the BE-Tree paper.

Values are 1 … cardinality. A slip in the table: `i < v1` follows from `i = v` only for v1 > v, not for v1 >= v; and
likewise `>`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.shared.base import AT_LEAST, AT_MOST, BETWEEN, EQUAL, GREATER, IN, LESS, NOT_EQUAL, NOT_IN
from matchwood.workloads.shared.draws import offsets_of

Integers = NDArray[np.int64]

_LONGEST_LIST = 6


def widened(
    random: np.random.Generator,
    operators: NDArray[np.int8],
    values: Integers,
    cardinality: Integers,
    width: float,
) -> tuple[Integers, Integers]:
    """Constants (offsets, constants) that make each predicate TRUE for its value.

    `cardinality` is that of each predicate's attribute; `width` is the mean share of the values that a between covers.
    Lists have up to six elements; other constants are uniform among those that are allowed.
    """
    counts = np.ones(len(values), dtype=np.int64)
    is_list, is_range = (operators == IN) | (operators == NOT_IN), operators == BETWEEN
    lists, kept = _lists(random, operators[is_list], values[is_list], cardinality[is_list])
    counts[is_list], counts[is_range] = kept.sum(axis=1), 2
    offsets = offsets_of(counts)
    constants = np.empty(offsets[-1], dtype=np.int64)
    constants[np.repeat(is_list, counts)] = lists[kept]
    starts = offsets[:-1]
    low, high = _ranges(random, values[is_range], cardinality[is_range], width)
    constants[starts[is_range]], constants[starts[is_range] + 1] = low, high
    for operator in (EQUAL, NOT_EQUAL, LESS, AT_MOST, GREATER, AT_LEAST):
        chosen = operators == operator
        constants[starts[chosen]] = _comparands(random, operator, values[chosen], cardinality[chosen])
    return offsets, constants


def _comparands(random: np.random.Generator, operator: int, values: Integers, cardinality: Integers) -> Integers:
    if operator == EQUAL:
        return values
    if operator == NOT_EQUAL:
        return _others(values, random.integers(1, cardinality), cardinality)
    bounds = {
        LESS: (values + 1, cardinality + 1),
        AT_MOST: (values, cardinality),
        GREATER: (np.zeros_like(values), values - 1),
        AT_LEAST: (np.ones_like(values), values),
    }
    low, high = bounds[operator]
    return random.integers(low, high + 1)


def _others(values: Integers, steps: Integers, cardinality: Integers) -> Integers:
    """Walk 1 … cardinality - 1 steps around the circle of values: never back to the value itself."""
    return np.asarray((values - 1 + steps) % cardinality + 1)


def _ranges(
    random: np.random.Generator, values: Integers, cardinality: Integers, width: float
) -> tuple[Integers, Integers]:
    """Bounds around each value; the number of values covered is uniform around its mean, two at least."""
    mean = np.maximum(2, np.rint(width * cardinality).astype(np.int64))
    covered = np.minimum(random.integers(2, 2 * mean - 1), cardinality)
    low = np.clip(values - random.integers(0, covered), 1, cardinality - covered + 1)
    return low, low + covered - 1


def _lists(
    random: np.random.Generator, operators: NDArray[np.int8], values: Integers, cardinality: Integers
) -> tuple[Integers, NDArray[np.bool_]]:
    """Sorted rows of elements, and which of them count; rows with the value for in, without it for not in."""
    shape = (len(values), _LONGEST_LIST)
    drawn = _others(values[:, None], random.integers(1, cardinality[:, None], shape), cardinality[:, None])
    is_in = operators == IN
    drawn[is_in, 0] = values[is_in]
    lengths = random.integers(1 + is_in, _LONGEST_LIST + 1)
    rows = np.sort(np.where(np.arange(_LONGEST_LIST) < lengths[:, None], drawn, drawn[:, :1]), axis=1)
    kept = np.ones(shape, dtype=bool)
    kept[:, 1:] = rows[:, 1:] != rows[:, :-1]
    return rows, kept
