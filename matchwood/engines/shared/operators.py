"""The order in which VLDB 2018, 3.3, ranks predicates by their operators, the most selective first: = ∈ in < ∉ ≠.

Units no longer have operators, only sets of values. So a set is given the operator that a rule would write it with:

    one value                       =
    several pieces, both ends       ∈
    one piece, both ends            in, that is `between`
    one open end                    <, ≤, >, ≥
    all but some values             ∉
    all but one value               ≠

Of two sets with one operator the wider has the higher rank. A range's width is that of its labels, since engines know
of no other; lists are as wide as they have values. What is true of every value comes last.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions

EQUAL, LISTED, RANGE, ONE_SIDED, NOT_LISTED, DIFFERENT, ANY = range(7)

_BITS = 64
"""No width is above two to this power."""


class LabelValues(Protocol):
    """What the encoding knows of the values behind labels."""

    def values_between(
        self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """How many values each label interval of an attribute holds; infinite where nobody counts them."""


class NoValues:
    """For an engine that nobody told: no interval is taken for a single value, so that equalities count as ranges."""

    def values_between(
        self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        return np.full(len(attributes), np.inf)


def operator_costs(encoded: EncodedConjunctions, values: LabelValues) -> NDArray[np.float32]:
    """From 0 to 1 for each constraint, in the order of the operators and of the widths within one."""
    operators, widths = _operators(encoded, values)
    # On a scale of logarithms single precision tells widths apart that differ by a hundred thousandth.
    within = np.log2(np.clip(widths, 1.0, 2.0**_BITS)) / (_BITS + 1)
    return ((operators + np.where(operators == NOT_LISTED, 1 - within, within)) / (ANY + 1)).astype(np.float32)


def _operators(encoded: EncodedConjunctions, values: LabelValues) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The operator of each constraint, and how wide its set is; of ∉ how wide the set is that it leaves out."""
    pieces, count = np.diff(encoded.pieces), len(encoded.attributes)
    owners, some = np.repeat(np.arange(count), pieces), pieces > 0
    first, last = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    first[some] = encoded.low[encoded.pieces[:-1][some]] == BOTTOM_LABEL
    last[some] = encoded.high[encoded.pieces[1:][some] - 1] == TOP_LABEL
    held = _counted(encoded, values, owners, encoded.low, encoded.high)
    behind = np.flatnonzero(owners[1:] == owners[:-1])
    gaps = behind[(first & last)[owners[behind]]]
    left_out = _counted(encoded, values, owners[gaps], encoded.high[gaps], encoded.low[gaps + 1])
    labels = np.bincount(owners, encoded.high.astype(np.float64) - encoded.low, count)
    ends = [held == 1, first & last & (left_out == 0), first & last & (left_out == 1), first & last, first | last]
    operators = np.select([*ends, pieces > 1], [EQUAL, ANY, DIFFERENT, NOT_LISTED, ONE_SIDED, LISTED], RANGE)
    alike = np.isin(operators, (EQUAL, DIFFERENT, ANY))
    widths = np.select([alike, operators == NOT_LISTED, operators == LISTED], [1.0, left_out, held], labels)
    return operators, widths


def _counted(
    encoded: EncodedConjunctions,
    values: LabelValues,
    owners: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> NDArray[np.float64]:
    """How many values the intervals of each constraint hold together."""
    found = values.values_between(encoded.attributes[owners], low, high)
    return np.bincount(owners, found, len(encoded.attributes)).astype(np.float64)
