"""Derived attributes: list tests and patterns, each distinct one a Boolean attribute of its own.

A `DerivedSource` holds all of them that test one name. Event encoders call it once for a batch, with the
distinct values of the column (or all of them: repetition costs time, not correctness):

    verdicts = source.derived.evaluate(values)     # pyarrow array without NULLs: string, large_string,
                                                   # list<int64> or list<string>; NULL elements are ignored
    verdicts.attributes[verdicts.offsets[i] : verdicts.offsets[i + 1]]    # what value i is encoded to,
    verdicts.labels[verdicts.offsets[i] : verdicts.offsets[i + 1]]        # ordered by attribute

A single event uses `evaluate_one(value)` with a str, or a list of int or str (None elements are ignored).
A verdict that no live rule can tell from NULL is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Verdicts(NamedTuple):
    """The pairs of value i are attributes[offsets[i] : offsets[i + 1]] and the labels beside them."""

    offsets: NDArray[np.int64]
    attributes: NDArray[np.int32]
    labels: NDArray[np.int32]


class DerivedSource:
    """The derived attributes of one name. Evaluation may run in many threads."""

    def evaluate(self, values: pa.Array) -> Verdicts:
        """The verdicts on a column of strings, or of lists."""
        raise RuntimeError

    def evaluate_one(self, value: str | Sequence[int | str | None]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Attributes and labels for one value."""
        raise RuntimeError
